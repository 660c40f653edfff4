"""Do steps of the graph, each in a process that has imported already what figures need.

To import pandas, SciPy, matplotlib, papermill and IPython takes longer than to draw many a figure.
While `serving` lasts, `python -m workflow.steps STEP OPTION...` has the step done by a process of
the standard library's fork server, which has imported `workflow.preload`; kernels of notebooks are
such processes, too. Where nobody serves, as on another machine of a cluster, the command does the
step itself. A step ends when the command that asked for it, or who serves it, has ended.
"""

import importlib
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing.connection import Client, Connection, Listener, wait
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from qdisclab.emulation.errors import EmulationError

#: The variable of the environment that has the address of who serves.
ADDRESS = "QDISC_LAB_STEPS"

#: The manager of kernels for papermill, while somebody serves.
KERNELS = "workflow.kernels.Manager"

#: Seconds between two states of the page that grows; to make one takes up to three.
GROWS_S = 10

#: Bytes of the longest folder whose sockets have names that are short enough.
LONGEST = 107 - len("/steps-12345678/") - 32 - len("-ipc-5")

CONTEXT = multiprocessing.get_context("forkserver")

#: Processes are started and joined by one thread at a time: multiprocessing takes it for granted.
ONE_AT_A_TIME = Lock()


@contextmanager
def serving() -> Iterator[None]:
    """Serve all that is started meanwhile; nobody where temporary files have too long names."""
    if len(os.fsencode(tempfile.gettempdir())) > LONGEST:
        yield
        return
    CONTEXT.set_forkserver_preload(["workflow.preload"])
    with tempfile.TemporaryDirectory(prefix="steps-") as folder:
        listener = Listener(f"{folder}/socket")
        os.environ[ADDRESS] = f"{folder}/socket"
        Thread(target=_accept, args=(listener,), daemon=True).start()
        try:
            yield
        finally:
            os.environ.pop(ADDRESS, None)
            listener.close()


def _accept(listener: Listener) -> None:
    with suppress(OSError):  # when it is closed
        while True:
            Thread(target=_serve, args=(listener.accept(),), daemon=True).start()


def _serve(connection: Connection) -> None:
    """Do what comes by `connection`: a step and its options, who asks for it and in which
    environment."""
    with connection, suppress(EOFError, OSError):  # of who has gone
        process = CONTEXT.Process(target=_do, args=connection.recv())
        with ONE_AT_A_TIME:
            process.start()
        if process.sentinel not in wait([process.sentinel, connection]):
            process.terminate()
        wait([process.sentinel])
        with ONE_AT_A_TIME:
            process.join()
        connection.send(process.exitcode)


def _do(step: str, options: list[str], client: int, environment: Mapping[str, str]) -> None:
    """Do a step with output and errors where those of the process `client` go."""
    end_with_parent()
    take_on(environment)
    for number in (1, 2):
        os.dup2(os.open(f"/proc/{client}/fd/{number}", os.O_WRONLY | os.O_APPEND), number)
    sys.exit(STEPS[step](options))


def take_on(environment: Mapping[str, str]) -> None:
    """Give this process another environment."""
    os.environ.clear()
    os.environ.update(environment)
    sys.pycache_prefix = environment.get("PYTHONPYCACHEPREFIX")
    tempfile.tempdir = None  # which may be another now


def end_with_parent() -> None:
    """Have this process get SIGTERM when the process that started it has ended."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)

    Thread(target=follow, daemon=True).start()


class NotebookKernel(ForkServerProcess):
    """A kernel of a notebook, with what Jupyter uses of `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def __init__(self, options: list[str], folder: str, environment: Mapping[str, str]) -> None:
        super().__init__(target=_kernel, args=(options, folder, dict(environment)))
        self.start()

    def poll(self) -> int | None:
        """Return the exit status, or None while it is at work."""
        return self.exitcode

    def wait(self) -> int | None:
        """Return the exit status, when it has ended."""
        self.join()
        return self.exitcode

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it is at work."""
        if self.pid is not None and self.exitcode is None:
            os.kill(self.pid, number)


def _kernel(options: list[str], folder: str, environment: dict[str, str]) -> None:
    from ipykernel.kernelapp import IPKernelApp

    end_with_parent()
    os.setsid()  # ^C is for who executes the notebook, which ends its kernel
    take_on(environment)
    os.chdir(folder)
    quiet = "--Application.log_level=CRITICAL"  # its errors are in the notebook
    IPKernelApp.launch_instance([*options, quiet])


def _figure(options: list[str]) -> int:
    """Draw a figure, and show it on the page that grows."""
    from qdisclab.analysis.site import execute, pages, report

    given = execute.parse(options)
    status = execute.draw(given, KERNELS if ADDRESS in os.environ else None)
    index = given.results / pages.INDEX
    if not status and not _was_written(index):
        with suppress(EmulationError, FileNotFoundError):  # of a figure that is being drawn
            report.grow(given.results)
    return status


def _was_written(page: Path) -> bool:
    """Return whether another figure has just shown itself on `page`."""
    with suppress(OSError):
        return time.time() - page.stat().st_mtime < GROWS_S
    return False


def _main_of(module: str, options: list[str]) -> int:
    return int(importlib.import_module(module).main(options))


STEPS: Mapping[str, Callable[[list[str]], int]] = {
    "figure": _figure,
    "run": lambda options: _main_of("qdisclab.emulate.cli", ["run", *options]),
    "claims": partial(_main_of, "qdisclab.analysis.site.claims"),
    "report": partial(_main_of, "qdisclab.analysis.site.report"),
}


def main(arguments: list[str]) -> int:
    """Do the step that the command line names; return the exit status."""
    step, *options = arguments
    try:
        connection: Any = Client(os.environ[ADDRESS])
    except (KeyError, OSError):
        return STEPS[step](options)
    with connection:
        connection.send((step, options, os.getpid(), dict(os.environ)))
        try:
            return int(connection.recv())
        except EOFError:
            print("error: the process that serves the steps has ended", file=sys.stderr)
            return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
