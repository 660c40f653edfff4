#!/bin/bash
# The runs that RUNS selects, with the commit BASE and with what is checked out, in the current
# folder: what differs goes into the file SUMMARY as a table, and the exit status is 1 where WHERE
# holds. BUILD puts the programs into the study; CHECK, if set, has to give the same bytes twice (9).
set -eu -o pipefail
lab=$(cd "$(dirname "$0")/../.." && pwd)
work=$(pwd)
[ -x "$lab/.venv/bin/emulate" ] || (cd "$lab" && ./reproduce-all --setup-only)
PATH="$lab/.venv/bin:$PATH"

runs() {    # FOLDER OUTPUT: the runs of what is in a folder
    (cd "$1" && bash -c "$BUILD" >&2 && eval "emulate run --trust $RUNS" --output "$2" >&2)
}

[ -z "$(find data -name 'seed-*.json' -print -quit 2>/dev/null)" ] ||
    { echo "error: data: has runs, which would count as the change's; remove it" >&2; exit 2; }
base=$(mktemp -d)
trap 'rm -rf "$base"; git worktree prune' EXIT
git worktree add --quiet --detach "$base/tree" "$BASE"
runs "$base/tree" "$base/data"
runs "$work" "$work/data"
eval "set -- $RUNS"
for word; do    # a study that is not in the current folder, for what reads its runs
    [ ! -f "${word%/*}/study.yaml" ] || QDISC_LAB_STUDIES=$(realpath "${word%/*}")
done
export QDISC_LAB_STUDIES=${QDISC_LAB_STUDIES:-}
status=0
python "$lab/docs/ci/compare.py" ${WHERE:+--where "$WHERE"} "$base/data" "$work/data" |
    tee -a "${SUMMARY:-/dev/null}" || status=$?
[ -z "${CHECK:-}" ] || eval "emulate exec --check -- $CHECK" || status=$?
exit $status
