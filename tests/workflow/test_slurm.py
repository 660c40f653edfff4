"""Tests of the cluster profile: its options, and a real Slurm of one machine that is killed.

The Slurm is the test's own: its configuration, ports and state are in the test's folder, it needs
no root and no munge, and touches no Slurm that the machine may have.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from qdisclab.emulation import kernel
from qdisclab.emulation.errors import MissingTool
from qdisclab.emulation.machine import rootfs
from tests import ROOT, captured, write_executable
from tests.waiting import wait_for
from tests.workflow.plans import config
from workflow import cluster, reproduce
from workflow.plan import make_plan
from workflow.progress import STEP_S

DAEMONS = ("slurmctld", "slurmd")
CLIENTS = ("sbatch", "srun", "squeue", "scancel", "sinfo", "scontrol", "sacct")
LACKING = [tool for tool in (*DAEMONS, *CLIENTS) if shutil.which(tool) is None]
LACKING += [] if find_spec("snakemake_executor_plugin_slurm") else ["pip install '.[slurm]'"]

#: How many runs the campaign below has: 7 qdiscs, 2 seeds, 2 eras.
RUNS = 28

CONF = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=2
SlurmdTimeout=20
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory} State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class Slurm:
    """A Slurm of this machine alone, in `folder`; `path` has its clients in front."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("state", "spool", "bin"):
            (folder / name).mkdir()
        self.conf = folder / "slurm.conf"
        sockets = [socket.socket() for _ in range(2)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        text = CONF.format(
            host=socket.gethostname(),
            ports=[one.getsockname()[1] for one in sockets],
            user=subprocess.check_output(["id", "-un"], text=True).strip(),
            folder=folder,
            cpus=os.cpu_count(),
            memory=(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20) - 500,
        )
        for one in sockets:
            one.close()
        self.conf.write_text(text)
        # Slurm's own variables do not reach the steps of a job, so the clients are told by name.
        for name in CLIENTS:
            text = f'SLURM_CONF={self.conf} exec {shutil.which(name)} "$@"'
            write_executable(folder / "bin" / name, text)
        self.daemons: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def environment(self) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith("SLURM")}
        return {**kept, "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}

    def ask(self, *command: str) -> str:
        return captured(command, env=self.environment).stdout.strip()

    def start(self, *names: str) -> None:
        for name in names or DAEMONS:
            self.daemons[name] = subprocess.Popen(
                [str(shutil.which(name)), "-D", "-f", str(self.conf)],
                env={**self.environment, "SLURM_CONF": str(self.conf)},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        states = ("idle", "mixed", "allocated")
        wait_for(lambda: self.ask("sinfo", "-h", "-o", "%T") in states, name="a node")

    def resume(self) -> None:
        """Put a drained node back to work, as whoever looks after a cluster does.

        A controller that is killed as it starts a job does not know of it later and starts it
        again: Slurm drains the node ("Duplicate jobid on nodes").
        """
        if "drain" in self.ask("sinfo", "-h", "-o", "%T"):
            node = f"NodeName={socket.gethostname()}"
            conf = {**self.environment, "SLURM_CONF": str(self.conf)}
            subprocess.run(["scontrol", "update", node, "State=RESUME"], env=conf, check=False)

    def kill(self, *names: str) -> None:
        for name in names:
            self.daemons[name].kill()
            self.daemons[name].wait()

    def kill_all(self) -> None:
        """Both daemons and every process of every job, as when the machine loses its power."""
        self.kill(*(name for name in DAEMONS if name in self.daemons))
        for _ in range(20):
            if not (mine := self.processes()):
                return
            for pid in mine:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            time.sleep(0.1)

    def processes(self) -> list[int]:
        """What the daemons have started: it has the name of our configuration, or our clients."""
        mark = str(self.folder).encode()
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            try:
                if mark in path.read_bytes() and int(path.parent.name) != os.getpid():
                    found.append(int(path.parent.name))
            except OSError:
                continue
        return found


class Campaign:
    """A copy of the repository whose results are the test's own, and calls in it."""

    def __init__(self, folder: Path, slurm: Slurm) -> None:
        self.folder, self.slurm = folder, slurm
        packages = ("analysis", "emulate", "emulation", "qdisclab")
        ignored = shutil.ignore_patterns("__pycache__")
        for part in (*packages, "notebooks", "qdisc", "studies", "workflow"):
            shutil.copytree(ROOT / part, folder / part, ignore=ignored, symlinks=True)
        for name in ("Snakefile", "pyproject.toml"):
            shutil.copy(ROOT / name, folder / name)
        file = folder / "workflow/config.yaml"
        config = yaml.safe_load(file.read_text())
        config["scales"]["tiny"] = {
            "eras": "fixed",
            "ccs": ["cubic"],
            "links": ["10/10"],
            "seeds": 2,
            "length": "3 s",
        }
        file.write_text(yaml.safe_dump(config))
        self.process: subprocess.Popen[bytes] | None = None

    def call(self) -> subprocess.Popen[bytes]:
        """What `reproduce-all --profile slurm` does when all is set up, with more patience for it
        than for the rest of the machine: jobs of 2 batches, 2 runs each."""
        subprocess.run(
            [sys.executable, "-m", "workflow.cluster", "cancel"],
            cwd=self.folder,
            env=self.slurm.environment,
            check=True,
        )
        command = [sys.executable, "-m", "snakemake", "--profile", "workflow/profiles/slurm"]
        command += ["--slurm-jobname-prefix", cluster.prefix(self.folder), "--nolock"]
        command += ["--slurm-init-seconds-before-status-checks", "2", "--latency-wait", "10"]
        command += ["--jobs", "4", "--seconds-between-status-checks", "2"]
        command += ["--group-components", "batches=2"]
        command += ["--config", "emulate=True", "scale=tiny", "batch=2", "papers=[]"]
        command += ["figures=[gbw2015/fig2b]"]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=self.slurm.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return self.process

    def kill(self) -> None:
        """Snakemake and all that it has started here; what it has sent to Slurm goes on."""
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def done(self) -> dict[Path, bytes]:
        """The provenance of the runs that are there: it has the wall time, so a run that is done
        again has another."""
        return {path: path.read_bytes() for path in self.folder.glob("results/data/**/seed-*.json")}

    def wait_until(self, what: str, done: Callable[[], bool]) -> None:
        """Wait until something is done, or Snakemake has ended."""

        def over() -> bool:
            self.slurm.resume()
            return done() or self.process is None or self.process.poll() is not None

        try:
            wait_for(over, seconds=900, name=what)
        except AssertionError as error:
            error.add_note(self.slurm.ask("squeue", "-o", "%i %j %T %r"))
            error.add_note(self.slurm.ask("sinfo", "-o", "%n %T %E"))
            error.add_note((self.folder / "log").read_text()[-3000:])
            raise

    def wait(self, runs: int) -> None:
        assert self.process is not None
        self.wait_until(f"{runs} runs", lambda: len(self.done()) >= runs)
        assert self.process.poll() is None, (self.folder / "log").read_text()[-3000:]
        assert len(self.done()) < RUNS, "it was done before it could be killed"


@pytest.fixture
def slurm() -> Iterator[Slurm]:
    # A job's socket has the number of the job in its name, and room for 107 characters of a path:
    # from a folder of pytest's own, job 10 of a user with a long name did not start.
    with tempfile.TemporaryDirectory(prefix="slurm-", dir="/tmp") as folder:
        slurm = Slurm(Path(folder))
        slurm.start()
        yield slurm
        slurm.kill_all()


@pytest.fixture
def campaign(tmp_path: Path, slurm: Slurm) -> Iterator[Campaign]:
    kernel.build()
    rootfs.build()
    campaign = Campaign(tmp_path / "checkout", slurm)
    yield campaign
    campaign.kill()


@pytest.mark.kernel
@pytest.mark.skipif(bool(LACKING), reason=f"not installed: {', '.join(LACKING)}")
def test_a_campaign_survives_all_kinds_of_death(campaign: Campaign, slurm: Slurm) -> None:
    """A job is cancelled, Slurm's controller killed, Snakemake killed, everything killed: in the
    end all runs and the figure are there, and no run that was there before has been done again."""
    campaign.call()
    campaign.wait(4)
    kept = campaign.done()
    running = slurm.ask("squeue", "-h", "-t", "R", "-o", "%i").split()
    assert len(running) > 1, "one job at a time"
    slurm.ask("scancel", running[0])

    campaign.wait(9)
    kept |= campaign.done()
    slurm.kill("slurmctld")
    time.sleep(3)
    slurm.start("slurmctld")

    campaign.wait(13)
    kept |= campaign.done()
    campaign.kill()
    assert cluster_jobs(slurm), "its jobs should go on"
    campaign.call()

    campaign.wait(18)
    kept |= campaign.done()
    slurm.kill_all()
    campaign.kill()
    slurm.start()
    process = campaign.call()

    campaign.wait_until("the campaign", lambda: False)
    assert process.returncode == 0, (campaign.folder / "log").read_text()[-3000:]
    final = campaign.done()
    assert len(final) == RUNS
    assert {path: final.get(path) for path in kept} == kept
    assert (campaign.folder / "results/emulated-tiny/gbw2015/fig2b/figure.svg").stat().st_size
    again = campaign.call()
    assert again.wait(300) == 0
    assert campaign.done() == final
    assert "Nothing to be done" in (campaign.folder / "log").read_text()


def cluster_jobs(slurm: Slurm) -> list[str]:
    return [
        line for line in slurm.ask("squeue", "-h", "-o", "%j").splitlines() if "qdisc-lab" in line
    ]


def test_batches_hold_seeds_of_one_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    plan = make_plan(config(emulate=True, scale="paper", batch=10))
    batches = plan.batches()
    runs = [run.id for batch in batches.values() for run in batch]
    assert sorted(runs) == sorted(plan.all_runs())
    cells = ({run.id.rpartition("/")[0] for run in batch} for batch in batches.values())
    assert {len(cell) for cell in cells} == {1}
    stamps = [str(path) for path in plan.data_files(plan.figures["gbw2015/fig2b"])]
    (stamp,) = [one for one in stamps if one.endswith("rrul@2014c/10-10/codel/cubic/seeds-011-020")]
    batch = batches[stamp.removeprefix("results/batches/")]
    assert [run.seed for run in batch] == list(range(11, 21))


def test_every_rule_has_a_time() -> None:
    text = "".join(path.read_text() for path in (ROOT / "workflow/rules").glob("*.smk"))
    assert set(re.findall(r"^rule (\w+):", text, re.MULTILINE)) == set(STEP_S)


def test_jobs_are_long_but_leave_none_idle() -> None:
    assert cluster.batches_a_job(batches=700, batch_s=80, jobs=10) == 22  # half an hour
    assert cluster.batches_a_job(batches=60, batch_s=80, jobs=100) == 1
    assert cluster.batches_a_job(batches=60, batch_s=80, jobs=20) == 3
    assert cluster.batches_a_job(batches=10, batch_s=7200, jobs=1) == 1


def test_a_batch_of_which_a_run_is_gone_is_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    changes = {"figures": ["gbw2015/fig2b"], "results": str(tmp_path), "batch": 10}
    plan = make_plan(config(emulate=True, scale="smoke", **changes))
    batches = plan.batches()
    for name, runs in batches.items():
        for path in [tmp_path / "batches" / name, *(tmp_path / f"data/{r.id}.json" for r in runs)]:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
    gone, *rest = batches
    (tmp_path / f"data/{batches[gone][0].id}.json").unlink()
    reproduce.on_slurm(plan, batch_s=10, jobs=2)
    assert not (tmp_path / "batches" / gone).exists()
    assert all((tmp_path / "batches" / name).exists() for name in rest)


def test_what_works_in_a_job_ends_with_the_jobs_script(tmp_path: Path) -> None:
    rule = 'rule figure:\n    output: "a"\n    shell: "echo $PPID >pid; exec sleep 30"\n'
    job = ROOT / "workflow/rules/job.smk"
    (tmp_path / "Snakefile").write_text(f'include: "{job}"\n{rule}')
    inner = f"{sys.executable} -m snakemake --cores 1 --mode remote --executor local --nolock"
    with subprocess.Popen(["sh", "-c", f"{inner}; :"], cwd=tmp_path) as script:
        pid = tmp_path / "pid"
        wait_for(lambda: pid.is_file() and pid.read_text().endswith("\n"), seconds=60)
        script.terminate()
    ended = Path("/proc", pid.read_text().strip())
    wait_for(lambda: not ended.exists(), seconds=20)


def test_only_jobs_of_this_checkout_are_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = cluster.prefix(tmp_path)
    assert name != cluster.prefix(tmp_path / "other")
    write_executable(tmp_path / "squeue", f"cat {tmp_path}/jobs")
    left = f"grep -v {name} {tmp_path}/jobs >{tmp_path}/left; mv {tmp_path}/left {tmp_path}/jobs"
    write_executable(tmp_path / "scancel", f'echo "$@" >{tmp_path}/ended; {left}')
    (tmp_path / "jobs").write_text(f"7 {name}_abc\n8 qdisc-lab-0_abc\n9_1 {name}_def\n10 other\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert cluster.cancel(name) == 2
    assert (tmp_path / "ended").read_text().split() == ["7", "9_1"]
    assert cluster.cancel(name) == 0


@pytest.mark.skipif(find_spec("snakemake_executor_plugin_slurm") is None, reason="no executor")
def test_a_controller_that_does_not_answer_once_leaves_no_job_behind(tmp_path: Path) -> None:
    """The controller refuses to tell its settings, and there is no accounting."""
    job = ROOT / "workflow/rules/job.smk"
    rule = 'rule figure:\n    output: "a"\n    shell: "touch {output}"\n'
    (tmp_path / "Snakefile").write_text(f'include: "{job}"\n{rule}')
    (tmp_path / "bin").mkdir()
    write_executable(tmp_path / "bin/sbatch", f"touch {tmp_path}/a; echo 7")
    write_executable(tmp_path / "bin/squeue", "echo '7|COMPLETED'")
    for refused in ("sacct", "scontrol", "sacctmgr"):
        write_executable(tmp_path / "bin" / refused, "exit 1")
    options = ["--executor", "slurm", "--jobs", "1", "--slurm-status-command", "squeue"]
    options += ["--slurm-status-attempts", "1000", "--seconds-between-status-checks", "1"]
    options += ["--slurm-init-seconds-before-status-checks", "1"]
    options += ["--default-resources", "slurm_partition=main"]
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "snakemake", *options]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, timeout=120)


def test_a_machine_without_slurm_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingTool, match="there is no sbatch"):
        cluster.check()
    write_executable(tmp_path / "sbatch", "exit 0")
    silent = "echo 'Unable to contact slurm controller' >&2; exit 1"
    write_executable(tmp_path / "sinfo", silent)
    with pytest.raises(MissingTool, match=r"Unable to contact.*scontrol ping"):
        cluster.check()


@pytest.mark.skipif(bool(LACKING), reason=f"not installed: {', '.join(LACKING)}")
def test_a_notebook_is_a_job_of_papermill_alone(slurm: Slurm, tmp_path: Path) -> None:
    """Called as anybody would call it, with the folder of a study as its parameter."""
    study, written = ROOT / "studies/gbw2015", tmp_path / "out.ipynb"
    done = captured(
        [
            *("srun", sys.executable, "-m", "papermill", "notebooks/rrul.ipynb", written),
            *("-p", "study", study),
        ],
        cwd=ROOT,
        env=slurm.environment,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert '"image/png"' in written.read_text() or '"image/svg+xml"' in written.read_text()
