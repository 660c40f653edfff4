"""CAKE: a shaper, queues for each flow and host, and CoDel in each, for a home's router.

A flag of a group of choices takes the place of the others. Words such as `metro` stand for a
round-trip time, words such as `docsis` for what a link adds to a packet (iproute2, tc/q_cake.c).
"""

from collections.abc import Iterator
from typing import Any

from qdisclab.emulation.kinds.netlink import attributes
from qdisclab.emulation.kinds.qdiscs.base import Expected, Look, QdiscKind, TcOption
from qdisclab.emulation.model.units import Duration, Rate, Size

#: Round-trip times in us.
RTTS = {
    "datacentre": 100,
    "lan": 1_000,
    "metro": 10_000,
    "regional": 30_000,
    "internet": 100_000,
    "oceanic": 300_000,
    "satellite": 1_000_000,
    "interplanetary": 1_000_000_000,
}
LINKS: dict[str, Expected] = {
    **{
        word: {"overhead": overhead, "atm": True}
        for word, overhead in (
            *(("conservative", 48), ("pppoa-vcmux", 10), ("pppoa-llc", 14), ("pppoe-vcmux", 32)),
            *(("pppoe-llcsnap", 40), ("bridged-vcmux", 24), ("bridged-llcsnap", 32)),
            *(("ipoa-vcmux", 8), ("ipoa-llcsnap", 16)),
        )
    },
    "pppoe-ptm": {"overhead": 30, "ptm": True},
    "bridged-ptm": {"overhead": 22, "ptm": True},
    "ethernet": {"overhead": 38, "mpu": 84, "noatm": True},
    "docsis": {"overhead": 18, "mpu": 64, "noatm": True},
}

#: The shaper, how flows are isolated, the tins, …
CHOICES = (
    ("bandwidth", "unlimited"),
    (
        *("flowblind", "srchost", "dsthost", "hosts", "flows"),
        *("dual-srchost", "dual-dsthost", "triple-isolate"),
    ),
    ("besteffort", "diffserv3", "diffserv4", "diffserv8", "precedence"),
    ("nat", "nonat"),
    ("wash", "nowash"),
    ("split-gso", "no-split-gso"),
    ("ack-filter", "ack-filter-aggressive", "no-ack-filter"),
    ("atm", "noatm", "ptm", *LINKS),
    ("overhead", *LINKS),
    ("mpu", *LINKS),
    ("rtt", *RTTS),
    ("ingress", "egress"),
)

#: Statistics (linux/pkt_sched.h): number of the attribute -> column; those of each tin.
_WHOLE = {2: "capacity_estimate_bytes_per_s", 3: "memory_limit_bytes", 4: "memory_used_bytes"}
_TINS = 10
_TIN = {
    2: "sent_packets", 3: "sent_bytes", 4: "dropped_packets", 6: "acks_dropped_packets",
    8: "ecn_marked_packets", 11: "backlog_bytes", 12: "threshold_rate_bytes_per_s",
    13: "target_us", 14: "interval_us", 15: "way_indirect_hits", 16: "way_misses",
    17: "way_collisions", 18: "peak_delay_us", 19: "average_delay_us", 20: "base_delay_us",
    21: "sparse_flows", 22: "bulk_flows", 23: "unresponsive_flows", 24: "max_packet_bytes",
    25: "flow_quantum_bytes",
}  # fmt: skip


def read_back(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, float]]:
    """Return the numbers, and each flag that is set; tc leaves out some that are not.

    tc tells the kernel whole bytes per second.
    """
    shown = {"atm": "noatm", "mpu": 0, "memlimit": 0, **options}
    rate, ack_filter = shown["bandwidth"], shown["ack-filter"]
    flags = [shown["flowmode"], shown["diffserv"], shown["atm"]]
    flags += ["nat" if shown["nat"] else "nonat", "wash" if shown["wash"] else "nowash"]
    flags += ["split-gso" if shown["split_gso"] else "no-split-gso"]
    flags += ["ingress" if shown["ingress"] else "egress"]
    of_acks = {"enabled": "ack-filter", "aggressive": "ack-filter-aggressive"}
    flags += [of_acks.get(ack_filter, "no-ack-filter")]
    flags += ["unlimited"] if rate == "unlimited" else []
    values = {
        "bandwidth_bit_s": None if rate == "unlimited" else rate * 8,
        "rtt_us": shown["rtt"],
        **{name: shown[name] for name in ("memlimit", "overhead", "mpu")},
        "fwmark": int(shown["fwmark"], 16),  # tc: "0xff"
        **dict.fromkeys(flags, True),
    }
    return values, {"bandwidth_bit_s": 8}


def decode(statistics: bytes) -> Iterator[tuple[str, int]]:
    """Yield the columns of its statistics, which are attributes of netlink."""
    for number, content in attributes(statistics):
        if number in _WHOLE:
            yield _WHOLE[number], int.from_bytes(content, "little")
        elif number == _TINS:
            for tin, within in attributes(content):
                for statistic, value in attributes(within):
                    if statistic in _TIN:
                        column = f"tin{tin - 1}_{_TIN[statistic]}"
                        yield column, int.from_bytes(value, "little")


KIND = QdiscKind(
    "cake",
    {
        **{flag: bool for choice in CHOICES for flag in choice},
        **{word: TcOption(bool, stands_for={"rtt_us": us}) for word, us in RTTS.items()},
        **{word: TcOption(bool, stands_for=values) for word, values in LINKS.items()},
        "bandwidth": Rate,
        "rtt": Duration,
        "memlimit": Size,
        "overhead": TcOption(int, least=0, most=256),
        "mpu": TcOption(int, least=0, most=256),
        "fwmark": int,
    },
    CHOICES,
    has_named_flags=True,
    shaper="bandwidth",
    marks_by_default=True,
    decode=decode,
    look=Look("#332288", "#9884ef", "8", ()),
    read_back=read_back,
)
