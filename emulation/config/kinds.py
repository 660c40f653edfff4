"""The kinds of qdiscs, rigs and traffic that a study brings: the modules of its folder `kinds`."""

import os
from pathlib import Path
from typing import Any

from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.host.cache import state
from qdisclab.emulation.kinds import probes, qdiscs, rigs, traffic
from qdisclab.emulation.kinds.registry import Registry
from qdisclab.emulation.study import code

FOLDER = "kinds"

REGISTRIES: tuple[Registry[Any], ...] = (qdiscs.KINDS, rigs.KINDS, traffic.KINDS, probes.KINDS)


def add(folder: Path) -> None:
    """Add the kinds of the study in `folder`, in place of those that it had before.

    Raises `ConfigError` where one of its modules fails or defines no kind, where a name is taken,
    and where the user has not agreed to its code. The name of a module that only helps the others
    begins with `_`.
    """
    for registry in REGISTRIES:
        registry.forget(Path(os.path.realpath(folder)) / FOLDER)
    for module in code.modules(folder, FOLDER):
        count = sum([registry.add(module) for registry in REGISTRIES])
        if not count and not module.__name__.rpartition(".")[2].startswith("_"):
            nouns = " or ".join(registry.noun for registry in REGISTRIES)
            what = f"defines no kind of {nouns}"
            todo = "define one, or begin the name of a module that helps the others with _"
            raise ConfigError(what, str(module.__file__), todo)


def states(folder: Path) -> tuple[str, ...]:
    """Return the state of each module with kinds of the study in `folder`."""
    return tuple(map(state, sorted((folder / FOLDER).glob("*.py"))))
