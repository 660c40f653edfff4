"""The command `emulate score`."""

from pathlib import Path

import pytest

from qdisclab.analysis.measures import score as numbers
from qdisclab.emulate import cli
from qdisclab.emulate.commands import score as command
from qdisclab.emulation import kernel
from qdisclab.emulation.checks import identities
from qdisclab.emulation.config.job import job_of
from qdisclab.emulation.datafile import read_json
from qdisclab.emulation.machine import rootfs
from qdisclab.emulation.machine.provenance import guest_code_digest, job_digest
from qdisclab.emulation.model.run import Run
from qdisclab.emulation.runs import campaign
from qdisclab.emulation.runs.run import Result, execute


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "neither a qdisc nor --cc"),
        (["coddle"], "coddle"),
        (["dualpi2"], "7.2"),
        (["codel", "--cc", "cubik"], "cubik"),
        (["codel", "--kernel", "9.9"], "9.9"),
        (["codel", "--jobs", "0"], "--jobs"),
        (["cake", "cake"], "'cake' is named twice"),
        (["cake", "--cc", ""], "--cc: names no congestion control"),
        (["cake", "--record", "nowhere/known.csv"], "its folder does not exist"),
        (["cake", "--record", "README.md"], "README.md: not a table of scores"),
    ],
)
def test_bad_input_is_a_line(
    arguments: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        assert cli.main(["score", *arguments, "--output", str(tmp_path)])
    except SystemExit as usage:
        assert usage.code == 2
    captured = capsys.readouterr()
    assert told in captured.err.splitlines()[-1]
    assert not list(tmp_path.iterdir())


def test_a_qdisc_has_three_runs_of_each_label() -> None:
    runs = numbers.runs_of("cake", "bbr", None, numbers.LABELS)
    assert len(runs) == 3 * len(numbers.LABELS) == len({run.id for run in runs})
    assert {(run.qdisc, run.cc) for run in runs} == {("cake", "bbr")}


def test_a_page_is_compared_with_one_of_the_same_control() -> None:
    runs = numbers.all_runs([("codel", "bbr"), ("pie", "bbr")], None)
    idle = {(run.qdisc, run.cc) for run in runs if run.experiment.name == numbers.IDLE}
    assert idle == {("pfifo_fast", "bbr")}
    assert len(runs) == 3 * (2 * len(numbers.LABELS) + 1) == len({run.id for run in runs})


def test_a_control_has_the_draft_s_cases_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[str] = []

    def do(runs: list[Run], *_: object) -> list[Result]:
        asked.extend(run.id for run in runs)
        return []

    monkeypatch.setattr(command, "_do", do)
    known = numbers.known(Path("studies") / numbers.STUDY)
    monkeypatch.setattr(numbers, "measured", lambda *_: known[known["cc"] == "reno"])
    arguments = ["score", "codel", "--kernel", "7.2", "--output", str(tmp_path)]
    assert cli.main([*arguments, "--cc", "dctcp"]) == 0
    cases = [f"bbr/cases@linux-7.2/-/-/dctcp/seed-00{seed}" for seed in (1, 2, 3)]
    assert asked[-3:] == cases
    asked.clear()
    assert cli.main(arguments) == 0
    assert not any(run.startswith("bbr") for run in asked)
    pages = sorted(page.name for page in tmp_path.glob("*.html"))
    assert pages == ["codel_7.2.html", "codel_dctcp_7.2.html"]


def test_what_was_edited_since_is_run_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[campaign.Options] = []

    def do(*_: object, options: campaign.Options, **__: object) -> list[Result]:
        asked.append(options)
        return []

    monkeypatch.setattr(campaign, "do", do)
    monkeypatch.setattr(command, "named", lambda _: None)
    monkeypatch.setattr(rootfs, "build", lambda: None)
    command._do(numbers.runs_of("cake", "bbr", None, numbers.LABELS), tmp_path, 1)
    assert [(options.stale, options.again) for options in asked] == [(True, False)]


def test_the_known_ones_are_of_the_study_as_it_is() -> None:
    """Jobs are equal; the guest's code is, or gave the same bytes (`data/identities.csv`)."""
    table = numbers.known(Path("studies") / numbers.STUDY).query("qdisc != '-'")  # no case
    labels = {number.id: number.label for number in numbers.NUMBERS}
    known = {
        (labels[row.number], row.qdisc, row.cc, row.seed): (row.code, row.job)
        for row in table.itertuples()
    }
    now = {
        (label, qdisc, cc, run.seed): (guest_code_digest(job := job_of(run)), job_digest(job))
        for qdisc, cc in table[["qdisc", "cc"]].drop_duplicates().itertuples(index=False)
        for label in numbers.LABELS
        for run in numbers.runs_of(qdisc, cc, None, (label,))
    }
    assert known.keys() == now.keys()
    assert {run: job for run, (_, job) in known.items()} == {
        run: job for run, (_, job) in now.items()
    }
    codes = {(code, now[run][0]) for run, (code, _) in known.items() if code != now[run][0]}
    assert codes <= identities.read(Path("data"))


@pytest.mark.kernel
def test_a_known_number_comes_out_again(tmp_path: Path) -> None:
    known = numbers.known(Path("studies") / numbers.STUDY)
    row = known[
        (known["qdisc"] == "cake") & (known["cc"] == "cubic") & (known["number"] == "flood_lost")
    ].iloc[0]
    (run,) = [
        one for one in numbers.runs_of("cake", "cubic", None, ("flood",)) if one.seed == row["seed"]
    ]
    built, root = kernel.named(run.kernel), rootfs.build()
    result = execute(run, built, root, tmp_path)
    (ours,) = numbers.measured(tmp_path, [result.provenance]).to_dict("records")
    made_of = ours["kernel"], ours["guest"]
    if made_of != (row["kernel"], row["guest"]):
        pytest.skip(f"the known ones are of {row['kernel']} and {row['guest']}, not {made_of}")
    assert ours["value"] == row["value"]
    assert read_json(result.provenance)["data_sha256"] == row["data_sha256"]
