"""The probe `steps`: what a queue between the gateways did in each step of 50 ms."""

from qdisclab.emulation.kinds.probes import base, queue

_FORM, _WRITE = "steps[:NODE INTERFACE]", base.later("..captures.steps", __package__)
KIND = base.ProbeKind(
    "steps", _FORM, base.QUEUE, queue.first_place, words=2, write=_WRITE, table="parquet"
)
