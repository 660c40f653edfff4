"""DualPI2: a queue of low latency for L4S beside a classic one, both controlled by one PI2.

Options that later releases of `tc` write otherwise: `step_packets 5` is their `step_thresh 5p`.
"""

from typing import Any

from qdisclab.emulation.kinds.qdiscs.base import Look, QdiscKind, TcOption
from qdisclab.emulation.model.units import Duration, Packets, Size

#: What happens on overload, where it drops, what goes into the queue of low latency, superpackets.
CHOICES = (
    ("drop_on_overload", "overflow"),
    ("drop_enqueue", "drop_dequeue"),
    ("l4s_ect", "any_ect"),
    ("split_gso", "no_split_gso"),
)


def read_back(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, float]]:
    """Return the options as they are: the kernel has gains in 1/256 Hz, rounded down."""
    return options, dict.fromkeys(("alpha", "beta"), 1.01 / 256)


KIND = QdiscKind(
    "dualpi2",
    {
        **{flag: bool for choice in CHOICES for flag in choice},
        "limit": Packets,
        "memlimit": Size,
        "target": Duration,
        "tupdate": Duration,
        "alpha": TcOption(float, parts=256),  # Hz
        "beta": TcOption(float, parts=256),  # Hz
        "step_thresh": Duration,
        "step_packets": Packets,
        "min_qlen_step": Packets,
        "coupling_factor": TcOption(int, least=1, most=255),
        "classic_protection": TcOption(int, least=0, most=100),  # percent
    },
    (*CHOICES, ("step_thresh", "step_packets")),
    has_named_flags=True,
    marks_by_default=True,
    counters="base_probability delay_c_us delay_l_us packets_in_c packets_in_l max_queue_packets "
    "ecn_mark step_mark credit:i4 memory_bytes max_memory_bytes memory_limit_bytes",
    parts={"base_probability": 2.0**32 - 1},
    look=Look("#661100", "#d78a70", "p", (6, 1.5, 1, 1.5)),
    needs_plugin=True,
    read_back=read_back,
)
