#!/usr/bin/env bash
# What the container runs: `lab` opens JupyterLab, `emulate ...` is the command of that name and
# `exec ...` its subcommand, options are those of ./reproduce-all, anything else is a command.
set -euo pipefail
cd /qdisc-lab
PATH=/qdisc-lab/.venv/bin:$PATH

# A user by number (docker run --user) has no home.
[[ -n ${HOME-} && -w $HOME ]] || HOME=$(mktemp -d)
export PATH HOME

# An image that is mounted read-only has a cache that takes no kernel more, and no lock.
shipped=$XDG_CACHE_HOME/qdisc-lab
if [[ ! -w $shipped/kernel ]]; then
    XDG_CACHE_HOME=$(mktemp -d)
    for kind in kernel module rootfs layer; do
        mkdir -p "$XDG_CACHE_HOME/qdisc-lab/$kind"
        ln -s "$shipped/$kind"/* "$XDG_CACHE_HOME/qdisc-lab/$kind/"
    done
    export XDG_CACHE_HOME
fi

if ! mkdir -p results/.snakemake 2>/dev/null || [[ ! -w results ]]; then
    printf 'container: error: %s\n' "/qdisc-lab/results cannot be written by user $(id -u); for a \
folder of your own, make it first and add --user \$(id -u):\$(id -g)" >&2
    exit 1
fi

case ${1-} in
    '' | -*) exec ./reproduce-all "$@" ;;
    exec) exec emulate "$@" ;;
    lab)
        exec jupyter lab --ip 0.0.0.0 --port 8888 --no-browser \
            --ServerApp.root_dir=/qdisc-lab --LabApp.default_url=/lab/tree/notebooks "${@:2}"
        ;;
    *) exec "$@" ;;
esac
