"""What is recorded during a run, in addition to what its programs print.

A kind of probe is a module that defines `KIND`, here or in a study's folder `kinds`.
"""

from qdisclab.emulation.kinds.probes.base import ProbeKind
from qdisclab.emulation.kinds.registry import Registry

KINDS: Registry[ProbeKind] = Registry(
    "probe", __name__, lambda value: value.name if isinstance(value, ProbeKind) else None
)
