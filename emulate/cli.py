"""The command `emulate`: finds the subcommand, runs it and turns errors into exit statuses.

Only the module of the subcommand that is asked for is imported.
"""

import argparse
import atexit
import gc
import importlib
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import NoReturn

from qdisclab.emulate.dataerrors import missing_package
from qdisclab.emulation import errors
from qdisclab.emulation.errors import ConfigError, EmulationError, Terminated, printable
from qdisclab.emulation.host import confine, storage

#: Subcommand -> what `emulate --help` says about it; a module of `emulate.commands` each.
COMMANDS = {
    "new": "make a study of your own",
    "list": "list experiments, their points and the time that they take",
    "check": "validate a study without running it",
    "run": "run an experiment, or the part of it that the options select",
    "verify": "run shipped runs again and compare the bytes",
    "diff": "compare two runs",
    "packets": "follow packets through a queue, by captures before and behind it",
    "lint": "check whether flent files are from the rig that their names say",
    "kernel": "build and list kernels",
    "bisect": "find the commit of Linux that changed a measured number",
    "lock": "show the pinned kernels and packages, and what differs from them",
    "exec": "run a command or script in a guest, in virtual time",
    "suite": "run packetdrill's tests and the kernel's own, in virtual time",
    "shell": "open a prompt inside the rig",
    "bench": "measure speed and memory",
    "score": "score a queue discipline or congestion control by the numbers that RFCs ask for",
    "claims": "show what the papers state and whether the runs agree",
}


#: At its end nothing is looked through for garbage either.
atexit.register(gc.freeze)


def command_module(name: str) -> ModuleType:
    """Return the module behind the subcommand `name`."""
    return importlib.import_module(f"qdisclab.emulate.commands.{name}")


def build_parser(command: str | None) -> argparse.ArgumentParser:
    """Return the parser, with the options of `command` and the names of the others."""
    parser = argparse.ArgumentParser(
        prog="emulate",
        description="Queue disciplines under bufferbloat, emulated with real code in virtual time.",
        epilog="'emulate COMMAND --help' shows the options of a command.",
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, summary in COMMANDS.items():
        if name == command:
            module = command_module(name)
            _, about, *_ = f"{module.__doc__}\n\n".split("\n\n")
            module.add_options(subparsers.add_parser(name, description=about))
        else:
            subparsers.add_parser(name, help=summary)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run `emulate` with `argv` (by default the process's); return the exit status."""
    _open_streams()
    with _terminable():
        return _main(list(sys.argv[1:] if argv is None else argv))


def _open_streams() -> None:
    """Open the null device for each standard stream that is closed, as after `>&-`.

    The next file would get its number, and what is printed with it.
    """
    names = ("stdin", "stdout", "stderr")
    while (number := os.open(os.devnull, os.O_RDWR)) < len(names):
        os.set_inheritable(number, True)
        setattr(sys, names[number], os.fdopen(number, "w" if number else "r"))
    os.close(number)


@contextmanager
def _terminable() -> Iterator[None]:
    """Raise `Terminated` at SIGTERM; only a process's main thread can."""

    def end(number: int, _: object) -> NoReturn:
        # timeout(1) sends it to the process and then to its group, and who is interrupted may be
        # told by who started it, too: SIGTERM must not end it once more.
        signal.signal(signal.SIGTERM, lambda *_: None)
        raise KeyboardInterrupt if number == signal.SIGINT else Terminated

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [signal.SIGTERM]
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored
        numbers.append(signal.SIGINT)
    before = {number: signal.signal(number, end) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _main(arguments: list[str]) -> int:
    gc.set_threshold(100_000)  # what a command reads at its start stays anyway
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")  # else it reads all packages for them
    first = next((word for word in arguments if not word.startswith("-")), None)
    try:
        parser = build_parser(first)
        args, others = parser.parse_known_args(arguments)
        if others:
            help_of = f"emulate {args.command}" if args.command else "emulate"
            parser.error(f"unrecognized arguments: {' '.join(others)}; see '{help_of} --help'")
        if args.version:
            from importlib.metadata import version

            print(f"emulate {version('qdisc-lab')}")
            return 0
        if args.command is None:
            parser.print_help()
            return ConfigError.exit_status
        if getattr(args, "unconfined", False):
            confine.unconfined()
        status: int = command_module(args.command).run(args)
        sys.stdout.flush()
        return status
    except EmulationError as error:
        return _print_error(error)
    except ModuleNotFoundError as error:
        return _print_error(missing_package(error))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141  # 128 + SIGPIPE, as shells report it
    except OSError as error:
        return _print_error(storage.of(error))
    except Terminated:
        print("emulate: error: terminated", file=sys.stderr)
        return errors.TERMINATED
    except KeyboardInterrupt:
        print("emulate: error: interrupted", file=sys.stderr)
        return errors.INTERRUPTED


def _print_error(error: EmulationError) -> int:
    for line in printable(str(error)).splitlines():
        print(f"emulate: error: {line}", file=sys.stderr)
    return error.exit_status


if __name__ == "__main__":
    sys.exit(main())
