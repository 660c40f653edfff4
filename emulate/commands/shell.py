"""`emulate shell EXPERIMENT`: a prompt inside the rig.

Boot a guest, build and check the rig of the first run that the options select, and open a prompt in
it instead of starting traffic; 'on NODE COMMAND' runs a command on a node. At the prompt the
guest's clock is the host's, because virtual time would not wait for somebody who types; with
--command it is virtual, as in a run and in 'emulate exec', which does more. Without a terminal, the
commands are read from standard input.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from qdisclab.emulate.arguments import add_unconfined
from qdisclab.emulate.kernels import named
from qdisclab.emulate.selection import add_selection, with_rig
from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.host.cache import cache_dir
from qdisclab.emulation.host.terminal import warn
from qdisclab.emulation.machine import layer, rootfs
from qdisclab.emulation.runs import shell
from qdisclab.emulation.runs.execution import Execution, execute, show


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `emulate shell`."""
    add_selection(parser)
    parser.add_argument(
        "--command", dest="text", metavar="TEXT", help="run this with bash, then shut down"
    )
    add_unconfined(parser)


def run(args: argparse.Namespace) -> int:
    """Give the prompt, or run the command; return its exit status."""
    text = args.text
    terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if text is None and not terminal:
        text = sys.stdin.buffer.read().decode(errors="surrogateescape")
        if "\0" in text:
            raise ConfigError("has a null byte", "standard input", "write commands for bash")
    selected = with_rig(args)
    built, root = named(selected.kernel), rootfs.build()
    layers = layer.of_commands(root, (), warn)
    if text is None:
        return shell.interact(selected, built, root, layers)
    command = ("/bin/bash", "-c", text)
    wanted = Execution(command, seed=selected.random, rig=selected, layers=layers)
    with tempfile.TemporaryDirectory() as scratch:
        keep = cache_dir("failed") / f"shell-{os.getpid()}"
        outcome = execute(wanted, built, root, Path(scratch) / "outcome", keep=keep)
        show(outcome.folder)
        return outcome.status
