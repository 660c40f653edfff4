"""What the draft asks of each case, as bounds on what was measured.

A comment says which bounds are ours; the others are the draft's.
"""

from typing import Final

from qdisclab.analysis.claims.check import Condition, every, within
from qdisclab.analysis.claims.quantity import cells

INF: Final = float("inf")

BOUNDS: Final[dict[str, tuple[float, float]]] = {
    "a1_error": (0, 2),
    "a1_rounds": (2, 4),  # 3; ours: one more or less, as rounds are counted from outside
    "a1_drain": (100, 100),
    "a2_rounds": (0, 3),  # ours: that of the loss, that of its detection, and one
    "a2_drain": (100, 100),
    "a3_gain": (0.49, 0.51),  # 0.5
    "a3_over": (-INF, 4),  # 0; ours: packets that leave between two samples
    "a3_next": (100, 100),
    "a4_rounds": (0, 4),  # 3; ours: and that in which the third ends
    "a5_rounds": (3, 5),  # 3; ours: two before, in which the bandwidth may grow
    "a5_down": (100, 100),
    "a6_rounds": (0, 3),  # ours, as of A.2
    "a6_down": (100, 100),
    "a7_startup": (100, 100),
    "a7_up": (100, 100),
    "a8_gain": (0.89, 0.91),  # 0.9
    "a8_over": (-INF, 4),  # 0; ours, as of A.3
    "a8_cruise": (100, 100),
    "a9_wait": (2, 3.1),  # 2 to 3; ours: and two round trips
    "a9_refill": (0, 2),  # 1; ours: one more, as of A.1
    "a10_after": (4, 5.5),  # 5 since the last shortest round trip, 1 s before at most; ours: 0.5
    "a10_window": (0.45, 0.55),  # 0.5; ours: a tenth, as windows are whole packets
    "a10_lasts": (200, 350),  # 200 at least; ours: three round trips more at most
    "a10_back": (100, 100),
    "a11_probe_rtt": (0, 0),
    "a12_use": (90, INF),  # ours
    "a12_window": (2, INF),
    "a12_estimate": (90, 110),  # ours
    "a13_use": (95, INF),  # ours
    "a13_more": (16, INF),  # ours: half of what comes in 20 ms
    "a14_use": (90, INF),  # ours
    "a14_window": (4, INF),
    "a14_estimate": (90, 110),  # ours
    "a15_rounds": (0, 17),  # ours: twice log2 of the BDP, 333 packets
    "a16_use": (90, INF),  # ours
    "a16_after": (0, 6),  # two cycles; ours: of 3 s each
    "a17_use": (90, INF),  # ours
    "a17_lost": (0, 2),  # ours: the loss that the draft tolerates in a round
    "a18_undone": (1, INF),
    "a18_use": (90, INF),  # ours
    "a18_estimate": (95, 105),  # ours
    "a18_same": (100, 100),
    "a19_undone": (1, INF),
    "a19_use": (90, INF),  # ours
    "a19_estimate": (95, 105),  # ours
    "a19_same": (100, 100),
    "a20_back": (100, 100),
    "a20_use": (90, INF),  # ours
    "a21_rounds": (0, 3),  # ours, as of A.2
    "a21_down": (100, 100),
    "a22_estimate": (98, 102),  # ours
    "a22_down": (100, 100),
}
ANY: Final = (12, 13, 14, 15, 16, 17, 18, 19)  # cases of which any control has numbers
STATELESS: Final = ("use", "rounds", "lost", "undone")  # numbers of those that need no state


def case(number: int, *controls: str, names: tuple[str, ...] | None = None) -> Condition:
    """All numbers of a case, or those of these names, lie within their bounds."""
    return every(
        *(
            within(cells(name, "cases", "-", "-", controls), *bounds)
            for name, bounds in BOUNDS.items()
            if name.startswith(f"a{number}_") and (names is None or name.partition("_")[2] in names)
        )
    )


RULES: Final = {f"bbr{number:03d}": case(number, "bbr") for number in range(1, 23)} | {
    f"bbr{22 + place:03d}": case(number, "cubic", "reno", names=STATELESS)
    for place, number in enumerate(ANY, 1)
}
