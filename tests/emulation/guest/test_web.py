"""Tests of emulation.guest.web in a rig that is booted, without load."""

import re
from pathlib import Path
from typing import Any

import pytest
import web_sites as sites

from qdisclab.emulation import kernel
from qdisclab.emulation.config.catalogue import select
from qdisclab.emulation.config.job import job_of
from qdisclab.emulation.machine import rootfs, vm
from qdisclab.emulation.model.run import Experiment, Run
from qdisclab.emulation.model.units import Duration

pytestmark = pytest.mark.kernel

#: Builds the rig of the job, starts the web on the server, then takes the steps of `STEPS`: a
#: command on the client; or `stop`, which kills a server; or `hole`, into which packets to the
#: server disappear from one time to another, in seconds; the next step begins at 0.01.
WORK = """
import subprocess, time, web
from rig import Rig
rig = Rig(job)
traffic = job['traffic']
address = traffic['hosts'][0]['address']
running = dict(zip(('dns', 'web'), web.start(rig, traffic), strict=True))
rig.run(traffic['client'], 'ping', '-c', '1', address)  # so that ARP is done
for step in STEPS:
    if step[0] == 'stop':
        running[step[1]].kill()
    elif step[0] == 'hole':
        route = f'ip route %s blackhole {address}'
        script = f"sleep {step[1]}; {route % 'add'}; sleep {step[2] - step[1]}; {route % 'del'}"
        subprocess.Popen(rig.inside('router_up', 'sh', '-c', script))
        time.sleep(0.01)
    else:
        start = time.monotonic()
        done = subprocess.run(rig.inside(traffic['client'], *step), capture_output=True, text=True)
        took = time.monotonic() - start
        said = web.failures() if step[0] == 'http-getter' else []
        status('ran', out=done.stdout, status=done.returncode, took_s=took, failures=said)
"""

SAMPLE = re.compile(r"^\[([0-9.]+)\] ([0-9]+) request\(s\) received ([0-9]+) bytes in ([0-9.]+) s")


@pytest.fixture(scope="module")
def rrul_run(rrul: Experiment) -> Run:
    """The rig of RRUL at 10/10 Mbit/s, 50 ms."""
    length = Duration.parse("5 s")
    (run,) = select(rrul, link="10/10", qdisc="fq_codel", cc="cubic", seed=1, length=length)
    return run


def boot(run: Run, folder: Path, *steps: tuple[str | float, ...]) -> list[dict[str, Any]]:
    """What the status says of a guest that takes `steps`; its last line included."""
    folder.mkdir()
    root = rootfs.build()
    job = job_of(run)
    job |= {"work": "script", "uses": ["rig", "web"]}
    machine = vm.Machine(kernel.build().path, root.path, seed=run.seed)
    vm.prepare(folder, machine, job, script=WORK.replace("STEPS", repr(steps)))
    return vm.run(machine, folder).steps


def ran(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The commands' lines of the status; the job is done."""
    assert steps[-1]["step"] == "done", steps[-1]
    return [step for step in steps if step["step"] == "ran"]


def page(site: str) -> tuple[str, ...]:
    return ("http-getter", "-4", "-c", "1", f"http://{site}/{sites.LIST}")


def seconds(step: dict[str, Any], requests: int, received: int) -> float:
    """Of the only page, which is whole and took that many requests and bytes, headers included."""
    found = SAMPLE.match(step["out"])
    assert found is not None, step
    assert (step["status"], int(found[2])) == (0, requests)
    assert 0 < int(found[3]) - received < 600 * requests
    assert step["failures"] == []
    return float(found[4])


def test_names_are_looked_up_across_the_link(rrul_run: Run, tmp_path: Path) -> None:
    ask = ("python3", "-c", "import socket, sys; print(socket.gethostbyname(sys.argv[1]))")
    steps = boot(
        rrul_run, tmp_path / "guest", (*ask, "large.example"), (*ask, "large.example"),
        (*ask, "other.example"), ("hole", 0.0, 1.0), (*ask, "large.example"),
    )  # fmt: skip
    there, again, nobody, late = ran(steps)
    assert job_of(rrul_run)["traffic"]["hosts"][0]["address"] in there["out"]
    assert nobody["status"] != 0
    # Each takes the RTT, since nobody keeps an answer; a lost question is repeated after 5 s.
    for step in (there, again, nobody):
        assert step["took_s"] == pytest.approx(0.050, abs=0.002)
    assert late["took_s"] == pytest.approx(5.050, abs=0.01)


def test_pages_are_fetched_whole(rrul_run: Run, tmp_path: Path) -> None:
    steps = boot(rrul_run, tmp_path / "guest", page("small.example"), page("large.example"))
    small, large = ran(steps)
    # The list: name, connection, request. The objects by other workers: the same again. Then what
    # 56 kB take at 10 Mbit/s, and one RTT for what is beyond the initial window of 10 segments.
    assert 6 * 0.050 + 0.045 <= seconds(small, 4, 56_000) <= 7 * 0.050 + 0.050
    # 3 MB at 10 Mbit/s, and not much more.
    assert 2.4 <= seconds(large, 111, 3_000_000) <= 5.0


def test_a_lost_syn_is_repeated_by_the_kernel(rrul_run: Run, tmp_path: Path) -> None:
    """The first repetition of a SYN comes after 1 s (RFC 6298, 2.1).

    The kernel's timer wheel rounds 1 s up by as much as 64 ms.
    """
    steps = boot(
        rrul_run, tmp_path / "guest",
        page("small.example"), ("hole", 0.03, 0.3), page("small.example"),
    )  # fmt: skip
    usual, late = (seconds(step, 4, 56_000) for step in ran(steps))
    assert 1.0 <= late - usual <= 1.064


def test_pages_that_fail_are_told(rrul_run: Run, tmp_path: Path) -> None:
    small = page("small.example")
    steps = boot(
        rrul_run, tmp_path / "guest", ("stop", "web"), small, ("stop", "dns"), small
    )  # fmt: skip
    refused, unknown = ran(steps)
    assert (refused["status"], unknown["status"]) == (1, 1)
    assert SAMPLE.search(refused["out"] + unknown["out"]) is None
    assert "(curl 7)" in refused["failures"][1]
    assert len(unknown["failures"]) == 4
    assert "(curl 6)" in unknown["failures"][3]


def test_a_getter_that_goes_wrong_fails_the_run(rrul_run: Run, tmp_path: Path) -> None:
    # Debian's libcurl asks the servers of resolv.conf only.
    steps = boot(rrul_run, tmp_path / "guest", (*page("small.example"), "-d", "10.0.0.1"))
    assert (steps[-1]["step"], steps[-1]["cause"]) == ("failed", "traffic")
    assert "set them there" in steps[-1]["problems"][0]
