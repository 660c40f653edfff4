"""Where captures are taken, and how the names of their files end."""

from __future__ import annotations

PCAP = ".pcap.gz"
TABLE = ".packets.parquet"  # of a run whose every packet is followed

Place = tuple[str, str]  # node, interface
