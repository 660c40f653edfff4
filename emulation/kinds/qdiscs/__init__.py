"""Queue disciplines: a kind is a module that defines `KIND`, here or in a study's folder `kinds`.

`emulation.kinds.qdiscs.base` has the parts of a kind. Its `read_back` runs in the guest, so it has
to be self-contained.
"""

from qdisclab.emulation.kinds.qdiscs.base import QdiscKind
from qdisclab.emulation.kinds.registry import Registry

KINDS: Registry[QdiscKind] = Registry(
    "qdisc", __name__, lambda value: value.name if isinstance(value, QdiscKind) else None
)


def tested() -> list[str]:
    """Return the names of the kinds that can be under test, sorted."""
    return sorted(name for name, kind in KINDS.items() if not kind.is_of_rig)
