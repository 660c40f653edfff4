"""The loads between the gateways, and what the programs that send them share.

Forward is from senders to receivers, the direction of downloads.
"""

import subprocess
import time

KINDS = ("bulk", "web", "cbr", "back", "uploads")
EDGE = "bulk_1_web_2_cbr_1"  # Consumer Edge
NAMES = {"edge": f"{EDGE}_back_1_uploads_1", "edge_down": EDGE}

ETHERNET_MTU = 1500

#: From the start of the programs until the load begins. A neighbour that was asked believes the
#: asker for 5 s and then asks back, which is the last question of a run.
MEET_S = 6.0


def counts(load: str) -> dict[str, int]:
    """Return how many there are of each of KINDS in a load such as `bulk_4_web_5`.

    `bulk`: TCP flows without end, forward; `web`: connections per second, on average, that fetch
    forward; `cbr` and `back`: flows of constant bit rate, forward and backward; `uploads`: senders
    of a file, again after each pause, backward.
    """
    words = NAMES.get(load, load).split("_")
    return dict.fromkeys(KINDS, 0) | dict(zip(words[::2], map(int, words[1::2]), strict=True))


def begin(*addresses: str) -> float:
    """Meet the neighbours on the way to `addresses`; return when the load begins (monotonic)."""
    began = time.monotonic() + MEET_S
    for address in addresses:
        subprocess.run(["ping", "-c", "2", address], check=True)
    return began


def set_mtu(interface: str, mtu: int) -> None:
    """Give an interface its MTU, unless that is Ethernet's."""
    if mtu != ETHERNET_MTU:
        subprocess.run(["ip", "link", "set", interface, "mtu", str(mtu)], check=True)


def wait_until(moment_s: float) -> None:
    """Sleep until the monotonic clock is at `moment_s`."""
    time.sleep(max(0.0, moment_s - time.monotonic()))
