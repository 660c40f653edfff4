"""Where captures are taken, and how the names of their files end."""

PCAP = ".pcap.gz"
TABLE = ".packets.parquet"  # of a run whose every packet is followed

Place = tuple[str, str]  # node, interface
