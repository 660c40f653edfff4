"""The error of a command that takes more than the core's packages."""

import re

from qdisclab.emulation.errors import MissingTool


def missing_package(error: ModuleNotFoundError) -> MissingTool:
    """Return an error that names the extra with the missing package; raise `error` for others."""
    from importlib.metadata import requires

    name = (error.name or "").partition(".")[0]
    extra = re.compile(rf"{re.escape(name)}==.*; extra == '(\w+)'", re.IGNORECASE)
    for match in filter(None, map(extra.match, requires("qdisc-lab") or ())):
        todo = f"pip install 'qdisc-lab[{match[1]}]'"
        return MissingTool(f"this needs the package {name}", todo=todo)
    raise error
