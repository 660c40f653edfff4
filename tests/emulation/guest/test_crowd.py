"""emulation.guest.crowd: a rig of many hosts is connected as Mininet connects a small one."""

import tarfile
from pathlib import Path

import pytest

from qdisclab.emulate import cli
from qdisclab.emulation.config.catalogue import select
from qdisclab.emulation.config.job import job_of
from qdisclab.emulation.machine import guestcode
from tests.studyfile import Read

LOOK = (
    "ip -4 -o address show | sed 's/^[0-9]*: //'; ip route; ls /sys/class/net; tc qdisc show; "
    "cat /sys/class/net/eth0/address /sys/class/net/eth0/tx_queue_len; ip -o link show eth0 | "
    "grep -o '<.*>'"
)

STUDY = """\
format: 1
study: mine
title: A study
experiments:
  first:
    title: First
    traffic:
      kind: programs
      length: 2 s
      programs:
        - {kind: ping, name: ping, from: sender1, to: receiver2, interval: 100 ms}
        - {kind: command, name: look, node: receiver2, command: [sh, -c, "LOOK"]}
    rig: {kind: dumbbell, base_rtt: 50 ms, edge_rate: 1 Gbit/s, pairs: 2}
    sweep: {link: [10/10], qdisc: [fq_codel], cc: [cubic]}
"""


def test_a_rig_of_more_than_32_hosts_is_a_crowd(first_of: Read) -> None:
    for pairs, crowd in ((16, False), (17, True)):
        text = STUDY.replace("pairs: 2", f"pairs: {pairs}")
        (run,) = select(first_of(text))
        code = guestcode.files(job_of(run))
        assert ("crowd.py" in code) is crowd
        assert (b"import crowd" in code["rig.py"]) is crowd


@pytest.mark.kernel
def test_a_host_has_what_mininet_gives_it(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (study / "study.yaml").write_text(STUDY.replace("LOOK", LOOK))
    seen = []
    for most in (32, 0):
        monkeypatch.setattr(guestcode, "MOST_HOSTS", most)
        output = tmp_path / str(most)
        words = ["run", f"{study}/first", "--trust", "--seed", "1", "--output", str(output)]
        assert cli.main(words) == 0
        (archive,) = output.rglob("*.output.tar.gz")
        with tarfile.open(archive) as tar:
            tar.extractall(output)
        seen.append({path.parent.name: path.read_text() for path in output.rglob("stdout")})
    assert "10.0.3.2/24" in seen[0]["look"]
    assert seen[0]["look"] == seen[1]["look"]
    assert " 0% packet loss" in seen[1]["ping"]
