"""Write lte.trace: 20 s of a link like LTE's as opportunities of 1500 bytes, one line of ms each.

The rate's logarithm is a random walk that is drawn back to 12 Mbit/s, with a deep fade of 1.2 s; a
model of ours, not a measurement. The format is mahimahi's (R. Netravali et al., "Mahimahi: Accurate
Record-and-Replay for HTTP", USENIX ATC 2015; its mm-link).
"""

import math
import random
from pathlib import Path

SECONDS, SEED = 20, 1
MIDDLE_MBIT_S, MOST_MBIT_S = 12.0, 45.0
PULL, STEP = 0.004, 0.045  # per millisecond
FADE_MS = range(12_000, 13_200)


def main() -> None:
    """Write the file beside this one."""
    chance = random.Random(SEED)
    level, credit, moments = 0.0, 0.0, []
    for ms in range(1, 1000 * SECONDS + 1):
        level += chance.gauss(0, STEP) - PULL * level
        mbit_s = min(MIDDLE_MBIT_S * math.exp(level), MOST_MBIT_S)
        credit += (0.3 if ms in FADE_MS else mbit_s) * 1e3 / (8 * 1500)
        moments += [ms] * int(credit)
        credit %= 1
    text = "".join(f"{ms}\n" for ms in [*moments, 1000 * SECONDS])
    Path(__file__).with_name("lte.trace").write_text(text)


if __name__ == "__main__":
    main()
