"""Eras that differ by one switch of `emulation.model.era`; in a figure, the eras `switches`.

A switch is added to today's Linux, `modern+<switch>`, and taken away from that of 2014,
`2014-<switch>`; one that is not part of that era is added to it, `2014+<switch>`.
"""

from typing import Final

from qdisclab.emulation.model.era import ERAS, SWITCHES, Switch
from qdisclab.emulation.model.run import DEFAULT_ERA

PAST: Final = "2014"
KINDS: Final = {"fq_nocodel": "fq_codel", "ared": "red"}  # of tc, by the name of a qdisc


def matters(switch: Switch, qdisc: str) -> bool:
    """Return whether `switch` can change runs of `qdisc`: it is about that qdisc, or about none."""
    kind = KINDS.get(qdisc, qdisc)
    own = {qdisc_kind for qdisc_kind, _, _ in switch.options}
    own |= {path.split(".")[0].removeprefix("sch_") for path, _ in switch.parameters
            if path.startswith("sch_")}  # fmt: skip
    return not own or kind in own


def eras_of(qdisc: str) -> list[str]:
    """Today's Linux and that of 2014, then each with one switch added or taken away."""
    names = [switch.name for switch in SWITCHES if matters(switch, qdisc)]
    added = [f"{DEFAULT_ERA}+{name}" for name in names]
    return [DEFAULT_ERA, PAST, *added, *(other_era(name) for name in names)]


def other_era(switch: str) -> str:
    """Return the era that differs from that of 2014 by `switch`."""
    return f"{PAST}{'-' if switch in ERAS[PAST] else '+'}{switch}"
