"""A run in a thread of this process, which can be watched and stopped.

Watching costs the guest some microseconds now and then, so that a watched run is another sample of
its cell than an unwatched run of the same seed; watching it again gives the same sample.
"""

import stat
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from qdisclab.emulation import kernel
from qdisclab.emulation.errors import EmulationError, Interrupted
from qdisclab.emulation.host.scratch import read_text
from qdisclab.emulation.machine import rootfs
from qdisclab.emulation.model.run import Run
from qdisclab.emulation.runs.run import Result, execute
from qdisclab.emulation.runs.speed import AROUND_LOAD_S


@dataclass
class Live:
    """A watched run. All fields can be read at any time; once `finished`, they do not change."""

    run: Run
    data: Path  # where the flent file and its provenance go
    doing: str = "waiting"  # the current step, in words
    virtual_s: float = 0.0  # the guest's clock
    outputs: dict[str, str] = field(default_factory=dict)  # what tools have printed, by process
    result: Result | None = None  # of a run that is done
    error: Exception | None = None  # of a run that failed or was stopped
    _stopped: bool = False
    _began: float = 0.0
    _ended: float = 0.0
    _folder: Path | None = None  # where the guest's kernel runs
    _thread: threading.Thread = field(default_factory=threading.Thread)

    def __post_init__(self) -> None:
        self.run = replace(self.run, watched=True)

    @property
    def total_s(self) -> float:
        """Return the virtual seconds that the run takes, approximately."""
        return self.run.length.seconds + AROUND_LOAD_S

    @property
    def wall_s(self) -> float:
        """Return the wall seconds since the start."""
        return (self._ended or time.monotonic()) - self._began if self._began else 0.0

    @property
    def finished(self) -> bool:
        """Return whether there is a result or an error."""
        return self.result is not None or self.error is not None

    def start(self) -> Self:
        """Start the run and return at once."""
        self._began = time.monotonic()
        self._thread = threading.Thread(target=self._work, daemon=True, name=self.run.id)
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop the run at the guest's next sign of life; `error` will be `Interrupted`."""
        self._stopped = True

    def wait(self) -> Self:
        """Wait until the run is finished."""
        self._thread.join()
        return self

    def _work(self) -> None:
        result: Result | None = None
        error: Exception | None = None
        try:
            built = kernel.named(self.run.kernel, progress=self._building)
            self.doing = "root file system"
            root = rootfs.build()
            self._check()
            self.doing = "boot"
            result = execute(
                self.run, built, root, self.data, self._step, again=True, on_poll=self._poll
            )
            self.doing = "done"
        except EmulationError as failure:
            error, self.doing = failure, "stopped" if isinstance(failure, Interrupted) else "failed"
        except Exception as failure:
            error, self.doing = failure, "failed"
        self._ended = time.monotonic()
        self.result, self.error = result, error

    def _building(self, step: str, share: float) -> None:
        self.doing = f"kernel: {step}" + (f", {share:.0%}" if share else "")
        self._check()

    def _poll(self, pid: int) -> None:
        self._check()
        if self._folder is None:
            with suppress(OSError):  # it has ended already
                self._folder = Path(f"/proc/{pid}/cwd").readlink()

    def _step(self, step: dict[str, Any]) -> None:
        """Take over a step of the guest's status, and read what its tools have printed."""
        self.virtual_s = float(step["virtual_s"])
        self.doing = str(step["step"])
        place = self._folder / "job" / "out" / "live" if self._folder else None
        for path in place.iterdir() if place and place.is_dir() and not place.is_symlink() else ():
            if stat.S_ISREG(path.lstat().st_mode):
                self.outputs[path.name] = read_text(path)

    def _check(self) -> None:
        if self._stopped:
            raise Interrupted("stopped", self.run.id)
