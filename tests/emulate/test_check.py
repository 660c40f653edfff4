"""`emulate check` finds what would only be refused when a run begins."""

from pathlib import Path

import pytest

from qdisclab.emulate.cli import main
from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.study import template
from tests import OwnFile


def test_a_congestion_control_that_the_kernel_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    template.make(tmp_path / "own")
    study = tmp_path / "own/study.yaml"
    assert main(["check", str(study.parent)]) == 0
    study.write_text(study.read_text().replace("cc: [cubic]", "cc: [renoo]"))
    assert main(["check", str(study.parent)]) == ConfigError.exit_status
    assert "own/first: Linux 6.12 here has no renoo; choose from bbr" in capsys.readouterr().err


def test_a_study_that_the_users_own_qdiscs_cannot_join(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = tmp_path / "own.yaml"
    own.write_text('papers: [rfc7982]\nqdiscs: {x: {kind: codel, color: "#882255", marker: p}}\n')
    assert main(["check", str(own)]) == ConfigError.exit_status
    assert "unknown paper 'rfc7982'; did you mean 'rfc7928'?" in capsys.readouterr().err
    own.write_text("papers: [gbw2015]\nqdiscs: {codel: {kind: codel}}\n")
    assert main(["check", str(own)]) == ConfigError.exit_status
    assert "own.yaml: 'codel' is a qdisc of gbw2015 already" in capsys.readouterr().err


def test_own_ones_that_do_not_join_a_study_are_said_to_be_there(
    own_file: OwnFile, capsys: pytest.CaptureFixture[str]
) -> None:
    qdiscs = '{x: {kind: codel, color: "#882255", marker: p}}'
    own = own_file(f"papers: [gbw2015]\nqdiscs: {qdiscs}\n")
    assert main(["run", "rfc7928/capacity", "--qdisc", "x", "--dry-run"]) == ConfigError.exit_status
    said = capsys.readouterr().err
    assert f"'x' of {own} can be used where its `papers` have rfc7928" in said


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("claims.csv", "rubbish\n", "claims.csv: not a table of claims"),
        ("figures/latency.yaml", "a: b\n", "latency.yaml:1: a: unknown key 'a'"),
        ("notebooks/rrul.ipynb", "junk", "rrul.ipynb: is no notebook"),
    ],
)
def test_statements_figures_and_notebooks_are_checked(
    name: str, text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    template.make(tmp_path / "mine")
    assert main(["check", str(tmp_path / "mine")]) == 0
    place = tmp_path / "mine" / name
    place.parent.mkdir(exist_ok=True)
    place.write_text(text)
    assert main(["check", str(tmp_path / "mine")]) == ConfigError.exit_status
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("{}", "{'mine001': within(of('first', 'codel'), high=50)}", ""),
        (
            "{}",
            "{'mine001': lambda claim: within(of('first', 'codle'))}",
            "qdisc 'codle' of 'first'",
        ),
        (
            "{}",
            "{'mine001': lambda claim: within(of('first', 'codel'), hihg=1)}",
            "argument 'hihg'",
        ),
        ("{}", "{'mine001': within(of('command', 'fifo'))}", "'command', which has no 'measure:'"),
        ("{}", "{'mine001': Same('mine002')}", "lacks mine002, of which"),
        ("rrul  ", "voip  ", "first.measure: 'voip' makes no numbers of flent, test rrul_be"),
        ("rrul_be  ", "tcp_upload", "first.measure: 'rrul' makes no numbers of flent, test tcp_"),
        ("rrul  ", "rrull ", "first.measure: unknown measure 'rrull'; did you mean 'rrul'? "),
        ("measure: rrul", "unloaded: first", "first.unloaded: is for measures that divide by runs"),
        ("measure: rrul", "measure: rrul\n    unloaded: first", "divide by runs without load: web"),
    ],
)
def test_rules_and_measures_are_checked(
    old: str, new: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    template.make(tmp_path / "mine")
    rules = tmp_path / "mine/claims.py"
    rules.write_text(
        "from qdisclab.analysis.claims.check import Quantity, Same, within\n\n\n"
        "def of(experiment, qdisc):\n"
        "    return Quantity('induced_latency_ms', experiment, '20/5', qdisc)\n\n\n"
        "RULES = {}\n"
    )
    (tmp_path / "mine/claims.csv").write_text(
        "id,paper,section,figure,kind,statement,value_low,value_high,unit,note\n"
        "mine001,mine,1,,ordering,CoDel has little latency.,,,,\n"
    )
    for path in (rules, tmp_path / "mine/study.yaml"):
        path.write_text(path.read_text().replace(old, new))
    assert main(["check", str(tmp_path / "mine")]) == (ConfigError.exit_status if said else 0)
    assert said in capsys.readouterr().err


def test_own_ones_are_known_by_the_variable_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "other.yaml"
    place.write_text("papers: [rfc7928]\nqdiscs: {mine: {kind: pfifo}}\n")
    monkeypatch.setenv("QDISC_LAB_OWN", str(place))
    monkeypatch.chdir(tmp_path)
    assert main(["check", "other.yaml"]) == 0
    assert capsys.readouterr().out == "other.yaml: mine in rfc7928\n"
