"""A process that has rehearsed what figures and runs need; they and kernels of notebooks fork it.

To import pandas, SciPy, matplotlib, papermill and IPython takes longer than many a figure, and what
`emulate run` reads first a quarter of a short run. While `running` lasts, the environment has the
address of a server, which rehearses at the first figure, and less at the first run, and then
answers each request with a fork. `python -m workflow.forks WORK OPTION...` does one of
`WORK` in such a fork, and where there is none by itself: on another machine of a cluster, under
plain Snakemake, or where there was nothing to rehearse for.

A request is the descriptors of output and errors, and a line of JSON: `work`, `arguments`, `folder`
and `environment`. The answer is a line with the fork's process id, and one with its exit status,
negative where a signal ended it. A fork whose connection is closed by the other end, or whose
server has ended, gets SIGTERM: the guest of a run goes with it.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

#: The variable of the environment that has the address.
ADDRESS = "QDISC_LAB_FORKS"

#: What the server's own command says in place of some work.
SERVE = "serve"

#: The longest path of a socket in bytes, and what a kernel's adds to its folder's.
LONGEST, ADDED = 107, len("/forks-12345678/") + 32 + len("-ipc-5")

#: Seconds that forks have to end what they started and to clear away.
GRACE_S = 20.0

Work = Callable[[list[str]], int]


def _place() -> str:
    """Where the sockets' folder goes: with temporary files, or in /tmp where that is too long."""
    place = tempfile.gettempdir()
    return place if len(os.fsencode(place)) + ADDED <= LONGEST else "/tmp"  # noqa: S108


@contextmanager
def running() -> Iterator[None]:
    """A server for all that is started meanwhile."""
    with (
        tempfile.TemporaryDirectory(prefix="forks-", dir=_place()) as folder,
        socket.socket(socket.AF_UNIX) as listener,
    ):
        address = str(Path(folder) / "socket")
        listener.bind(address)
        listener.listen()
        number = listener.fileno()
        command = [sys.executable, "-m", "workflow.forks", SERVE, str(number)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=[number]) as server:
            listener.close()  # so that nobody waits for a server that has ended
            os.environ[ADDRESS] = address
            try:
                yield
            finally:
                del os.environ[ADDRESS]
                assert server.stdin is not None
                server.stdin.close()  # which ends it


class Fork:
    """A fork of the server at work. OSError where there is no server."""

    def __init__(
        self,
        work: str,
        arguments: Sequence[str],
        folder: str | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._connection = socket.socket(socket.AF_UNIX)
        try:
            self._connection.connect(os.environ[ADDRESS])
            socket.send_fds(self._connection, [b"\0"], [1, 2])
            request = {
                "work": work,
                "arguments": list(arguments),
                "folder": folder or str(Path.cwd()),
                "environment": dict(environment or os.environ),
            }
            self._connection.sendall(json.dumps(request).encode() + b"\n")
            self._answers: BinaryIO = self._connection.makefile("rb")
            with ExitStack() as opened:
                opened.callback(self._answers.close)
                self.pid = int(self._answers.readline())  # nothing where there is no fork
                opened.pop_all()
        except (KeyError, OSError, ValueError) as error:
            self._connection.close()
            raise OSError("no server of forks") from error
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit status, or None while it is at work."""
        if self.returncode is not None:
            return self.returncode
        with selectors.DefaultSelector() as selector:
            selector.register(self._connection, selectors.EVENT_READ)
            return self.wait() if selector.select(0) else None

    def wait(self) -> int:
        """The exit status, when it has ended; -9 where the server was killed."""
        if self.returncode is None:
            self.returncode = int(self._answers.readline() or -signal.SIGKILL)
            self._connection.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it is at work."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


def _figure(arguments: list[str]) -> int:
    from workflow import figure

    kernels = "workflow.kernels.Manager" if ADDRESS in os.environ else None
    return figure.draw(figure.parse(arguments), kernels)


def _kernel(arguments: list[str]) -> int:
    from ipykernel.kernelapp import IPKernelApp

    os.setsid()  # ^C is for who executes the notebook, which ends its kernel
    quiet = "--Application.log_level=CRITICAL"  # its errors are in the notebook
    IPKernelApp.launch_instance([*arguments, quiet])
    return 0


def _main_of(module: str, arguments: list[str]) -> int:
    return int(importlib.import_module(module).main(arguments))


def _run(arguments: list[str]) -> int:
    from emulate import cli

    return cli.main(["run", *arguments])


WORK: Mapping[str, Work] = {
    "figure": _figure,
    "kernel": _kernel,
    "run": _run,
    "measures": partial(_main_of, "analysis.measures.__main__"),
    "claims": partial(_main_of, "analysis.site.claims"),
    "report": partial(_main_of, "analysis.site.report"),
}

#: Work that is worth rehearsing for -> what `workflow.rehearsal` does; the rest is done in a fork
#: where any of it has been.
REHEARSED_FOR = {"figure": "rehearse", "kernel": "rehearse", "run": "rehearse_runs"}


@cache
def _prepare(rehearse: str) -> None:
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"  # as ipykernel does
    from workflow import rehearsal

    getattr(rehearsal, rehearse)()
    gc.freeze()  # pages that all forks share


def serve(listener: socket.socket) -> None:
    """Answer requests until standard input is closed, and then end what is at work."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who is interrupted closes its connection
    forks: dict[int, socket.socket] = {}
    wakeup, ended = socket.socketpair()
    for one in (wakeup, ended):
        one.setblocking(False)
    signal.set_wakeup_fd(ended.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    with selectors.DefaultSelector() as selector:
        for source in (listener, sys.stdin, wakeup):
            selector.register(source, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is sys.stdin:
                    _end(forks)
                    return
                if key.fileobj is listener:
                    connection, _ = listener.accept()
                    if (fork := _answer(connection, listener)) is None:
                        connection.close()
                        continue
                    forks[fork] = connection
                    selector.register(connection, selectors.EVENT_READ)
                elif key.fileobj is wakeup:
                    wakeup.recv(64)
                else:  # closed by who asked
                    selector.unregister(key.fileobj)
                    for pid, connection in forks.items():
                        if connection is key.fileobj:
                            os.kill(pid, signal.SIGTERM)
            for pid, status in _ended(forks):
                connection = forks.pop(pid)
                with suppress(KeyError):
                    selector.unregister(connection)
                with closing(connection), suppress(OSError):
                    connection.sendall(f"{status}\n".encode())


def _end(forks: dict[int, socket.socket]) -> None:
    """End all forks, in `GRACE_S` at the latest."""
    until_s = time.monotonic() + GRACE_S
    for pid in forks:
        os.kill(pid, signal.SIGTERM)
    while forks and time.monotonic() < until_s:
        for pid, _ in _ended(forks):
            del forks[pid]
        time.sleep(0.02)
    for pid in forks:
        os.kill(pid, signal.SIGKILL)


def _ended(forks: Mapping[int, socket.socket]) -> Iterator[tuple[int, int]]:
    """The forks that have ended, with their exit statuses."""
    for pid in list(forks):
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            yield pid, os.waitstatus_to_exitcode(status)


def _answer(connection: socket.socket, listener: socket.socket) -> int | None:
    """Fork for the request of `connection`; the fork's process id. None where to rehearse for it
    would take longer than what it asks for, and where who asked has gone."""
    with ExitStack() as opened:
        try:
            _, descriptors, _, _ = socket.recv_fds(connection, 1, 2)
            for one in descriptors:
                opened.callback(os.close, one)
            request = json.loads(connection.makefile("rb").readline())
        except (OSError, ValueError):
            return None
        if request["work"] in REHEARSED_FOR:
            _prepare(REHEARSED_FOR[request["work"]])
        elif not _prepare.cache_info().currsize:
            return None
        server, pid = os.getpid(), os.fork()
        if not pid:
            listener.close()
            connection.close()
            _do(request, descriptors, server)
        try:
            connection.sendall(f"{pid}\n".encode())
        except OSError:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return None
        return pid


def _do(request: Mapping[str, Any], descriptors: Sequence[int], server: int) -> NoReturn:
    """Do what is asked for and end this process, which is a fork of `server`."""
    from emulation.host.pool import follow

    status = 1
    try:
        follow(server, signal.SIGTERM)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number, one in enumerate(descriptors, start=1):
            os.dup2(one, number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.environ.clear()
        os.environ.update(request["environment"])
        tempfile.tempdir = None  # which may be another in that environment
        sys.pycache_prefix = os.environ.get("PYTHONPYCACHEPREFIX")
        os.chdir(request["folder"])
        status = WORK[request["work"]](request["arguments"])
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def main(arguments: list[str]) -> int:
    """The command line; returns the exit status."""
    work, *options = arguments
    if work == SERVE:
        serve(socket.socket(fileno=int(*options)))
        return 0
    try:
        fork = Fork(work, options)
    except OSError:
        return WORK[work](options)
    return fork.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
