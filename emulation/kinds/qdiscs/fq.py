"""Fair queue with pacing: a FIFO for each socket, which sends no faster than its pacing rate."""

from typing import Any

from qdisclab.emulation.kinds.qdiscs.base import NANOSECONDS, Look, QdiscKind, TcOption
from qdisclab.emulation.model.units import Duration, Packets, Rate, Size


def read_back(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, float]]:
    """Return rates in bit/s, of which tc tells the kernel whole bytes, and times in us."""
    rates = {f"{name}_bit_s": name for name in ("maxrate", "low_rate_threshold")}
    values = {**options, "pacing": options.get("pacing", True)}
    values["timer_slack_us"] = options["timer_slack"] / 1e3
    for name in ("refill_delay", "horizon", "ce_threshold"):
        values[f"{name}_us"] = options.get(name)
    for key, name in rates.items():
        values[key] = options[name] * 8 if name in options else None
    for flag in ("horizon_cap", "horizon_drop"):
        values[flag] = flag in options  # tc: null
    return values, dict.fromkeys(rates, 8)


KIND = QdiscKind(
    "fq",
    {
        "limit": Packets,
        "flow_limit": Packets,
        "quantum": TcOption(Size, is_bare=True),
        "initial_quantum": TcOption(Size, is_bare=True),
        "maxrate": Rate,
        "buckets": TcOption(int, is_power_of_two=True),
        "pacing": bool,
        "nopacing": bool,
        "refill_delay": Duration,
        "low_rate_threshold": Rate,
        "orphan_mask": int,
        "timer_slack": TcOption(Duration, step=NANOSECONDS),
        "horizon": Duration,
        "horizon_cap": bool,
        "horizon_drop": bool,
        "ce_threshold": Duration,
    },
    (("pacing", "nopacing"), ("horizon_cap", "horizon_drop")),
    mark_counter="ce_mark",
    counters="gc_flows:u8 :u8 :u8 throttled:u8 flows_limit:u8 too_long:u8 allocation_errors:u8 "
    "next_delayed_flow_ns:i8 flows inactive_flows throttled_flows unthrottle_latency_ns "
    "ce_mark:u8 horizon_drops:u8 horizon_caps:u8 fastpath_packets:u8 band0_drops:u8 "
    "band1_drops:u8 band2_drops:u8 band0_packets band1_packets band2_packets",
    look=Look("#708dc0", "#a9d2e3", ">", (2, 1.2)),
    read_back=read_back,
)
