"""Captures of the packet ring as pcap files."""

from __future__ import annotations

from pathlib import Path

from emulation.captures import pcap
from emulation.captures.frames import FRAME_BYTES, Frames


def to_pcap(frames: Frames, path: Path) -> None:
    """Write the bytes that were captured as a gzipped pcap file."""
    columns = zip(
        frames.time_ns.tolist(), frames.length.tolist(), frames.captured.tolist(), frames.content,
        strict=True,
    )  # fmt: skip
    packets = (
        pcap.Packet(time_ns, length, content[:captured].tobytes())
        for time_ns, length, captured, content in columns
    )
    pcap.write(packets, path, FRAME_BYTES)
