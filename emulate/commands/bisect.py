"""`emulate bisect -- EXPERIMENT …`: which commit of Linux changed what runs measure.

Find, with `git bisect run`, the first commit between two in a checkout of Linux with which a
measured number is beyond a bound: a kernel is built of each commit, compiling only what differs,
and the runs that the words after '--' select (as for 'emulate run') are made with it, first with a
kernel that is built already. Of several runs the mean counts. A commit that does not build or boot
is skipped. The checkout stays as it is.
"""

import argparse
import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from qdisclab.emulate.selection import add_length, add_selection, selection
from qdisclab.emulation import project
from qdisclab.emulation.errors import ConfigError, EmulationError
from qdisclab.emulation.host.terminal import note
from qdisclab.emulation.kernel.builder import Kernel, find
from qdisclab.emulation.machine import rootfs
from qdisclab.emulation.model.run import Experiment
from qdisclab.emulation.runs import bisect
from qdisclab.emulation.runs.index import run_file
from qdisclab.emulation.runs.run import execute
from qdisclab.emulation.study.schema import unknown


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `emulate bisect`."""
    parser.usage = "emulate bisect --good REF --bad REF --tree DIR --where TEXT -- EXPERIMENT …"
    parser.add_argument("--good", required=True, metavar="REF", help="a commit without the change")
    parser.add_argument(
        "--bad", required=True, metavar="REF", help="a later commit with the change"
    )
    parser.add_argument("--tree", type=Path, required=True, help="a checkout of Linux")
    parser.add_argument(
        "--where",
        required=True,
        help="condition that holds at bad commits: 'induced_latency_ms > 60'",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("bisect"),
        help=f"a new folder for the runs, {bisect.LOG} and {bisect.PAGE} (default: %(default)s)",
    )
    parser.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """Search, print what was found, and return the exit status."""
    condition = bisect.Condition.parse(args.where)
    words = args.words[1:] if args.words[:1] == ["--"] else args.words
    if not words:
        raise ConfigError("names no experiment", "emulate bisect", "write it after '--'")
    _selected(words)
    if args.output.exists():
        raise ConfigError("already exists", f"--output {args.output}", "name a new folder")
    bisect.commits(args.tree, args.good, args.bad)  # refused before the folder is made
    runs = selection(_selected(words))
    _check(condition, runs[0].experiment)
    args.output.mkdir(parents=True)
    output = args.output.resolve()
    if (there := find(runs[0].kernel)) is not None:  # a mistake costs no build
        try:
            condition.value(_measured(output, words)(there))
        except EmulationError:
            shutil.rmtree(output)
            raise
    plan = output / "plan.json"
    plan.write_text(json.dumps([str(output), args.where, words]))

    def check(place: Path) -> bisect.Step:
        return _step(place, output, condition, words)

    command = ["env", f"PYTHONPATH={project.ROOT}", sys.executable, "-P"]
    command += ["-m", "qdisclab.emulate.commands.bisect", str(plan)]
    first = bisect.search(args.tree, args.good, args.bad, command, check)
    about = {"runs": " ".join(words), "bad where": args.where}
    about |= {"good": args.good, "bad": args.bad}
    (output / bisect.PAGE).write_text(bisect.page(output / bisect.LOG, first, about))
    print(first.strip())
    note(f"{args.output / bisect.PAGE} has each step")
    return 0


def _selected(words: list[str], kernel: str | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="emulate bisect --", add_help=False)
    add_selection(parser)
    add_length(parser)
    selected = parser.parse_args(words)
    if selected.kernel is not None:
        raise ConfigError("use each commit's kernel", "the runs", "leave out --kernel")
    selected.kernel = kernel
    return selected


def _check(condition: bisect.Condition, about: Experiment) -> None:
    """Raise `ConfigError` where runs of the experiment measure nothing, or no run does so."""
    from qdisclab.analysis.measures.registry import measure_of, metrics
    from qdisclab.analysis.runs.study import study_at

    if measure_of(study_at(about.paper), about.name) is None:
        todo = "add 'measure: NAME' to the experiment (docs/studies.md)"
        raise ConfigError("measures nothing", f"{about.paper}/{about.name}", todo)
    if condition.name not in metrics():
        what, todo = unknown("metric", condition.name, metrics(), "valid: e.g. induced_latency_ms")
        raise ConfigError(what, "--where", todo)


def _measured(output: Path, words: list[str]) -> bisect.Measured:
    """Return what does the runs with a kernel, and says what each measured."""
    from qdisclab.analysis.measures.table import measure_beside  # pandas takes a second to import

    data = output / "data"

    def measured(kernel: Kernel) -> list[Mapping[str, float]]:
        runs, root = selection(_selected(words, kernel.digest)), rootfs.build()
        done = [execute(run, kernel, root, data, keep=output / "failed") for run in runs]
        return [measure_beside(data)(run_file(data, result.provenance)) for result in done]

    return measured


def _step(place: Path, output: Path, condition: bisect.Condition, words: list[str]) -> bisect.Step:
    """Test what is checked out at `place`, and say so."""
    step = bisect.test(place, condition, _measured(output, words), output / bisect.LOG)
    result = step.why if step.value is None else f"{condition.name} {step.value:g}"
    print(f"{step.commit} {step.verdict}: {result}  ({step.subject})", file=sys.stderr, flush=True)
    return step


def main() -> int:
    """Test the commit in the current folder for `git bisect run`; return its exit status."""
    output, where, words = json.loads(Path(sys.argv[1]).read_text())
    try:
        step = _step(Path.cwd(), Path(output), bisect.Condition.parse(where), words)
    except EmulationError as error:
        print(error, file=sys.stderr)
        return 255  # which git takes for the end of the search
    return {"good": bisect.GOOD, "bad": bisect.BAD, "skipped": bisect.SKIP}[step.verdict]


if __name__ == "__main__":
    sys.exit(main())
