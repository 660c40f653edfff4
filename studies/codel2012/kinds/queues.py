"""The probe `queues`: what the queues between the gateways did while the load lasted."""

from qdisclab.emulation.kinds.probes import base, queue

_FORM, _WRITE = "queues[:NODE INTERFACE]", base.later("..captures.queues", __package__)
KIND = base.ProbeKind("queues", _FORM, base.QUEUE, queue.first_place, words=2, write=_WRITE)
