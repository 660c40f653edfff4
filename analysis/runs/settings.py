"""Settings: the Linux and the TCP of a panel. The paper's setting comes first, others follow.

Eras may differ by one switch of `emulation.model.era`; in a figure, these are the eras `switches`.
A switch is added to today's Linux, `modern+<switch>`, and taken away from that of 2014,
`2014-<switch>`; one that is not part of that era is added to it, `2014+<switch>`.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import pandas as pd

from qdisclab.analysis.words import NONE
from qdisclab.emulation.model.era import ERAS, SWITCHES, TESTBED, Switch
from qdisclab.emulation.model.run import DEFAULT_ERA, era_and_kernel

MANY: Final = 4
"""Changes of an era that a title only counts."""

CLOCKS: Final = {switch.name: switch.tick for switch in TESTBED if switch.tick}
"""Each switch that gives a path a clock, and its tick."""

BY_CODE: Final = {"c": "by its code", "d": "by all of its code"}
"""What the last letter of an era's name says of how its switches were chosen."""

TCP: Final = {"cubic": "CUBIC", "reno": "New Reno", "bbr": "BBR", "dctcp": "DCTCP"}

PAST: Final = "2014"
KINDS: Final = {"fq_nocodel": "fq_codel", "ared": "red"}  # of tc, by the name of a qdisc


class Setting(NamedTuple):
    """An era and a congestion control."""

    era: str
    cc: str

    @property
    def title(self) -> str:
        """ "Linux of 2014, CUBIC"; "today's Linux, 7.3, CUBIC"."""
        return f"{linux_of(self.era)}, {TCP.get(self.cc, self.cc)}"


def linux_of(era: str) -> str:
    """ "Linux of 2014"; "Linux of 2014+fack"; "today's Linux, 7.3".

    Of more changes than a title has room for: "Linux of 2014, 4 changes".
    """
    era, kernel = era_and_kernel(era)
    base, *changes = re.split(r"(?=[+-])", era)
    short = era if len(changes) < MANY else f"{base}, {len(changes)} changes"
    linux = "today's Linux" if era == DEFAULT_ERA else f"Linux of {short}"
    return ", ".join(filter(None, (linux, kernel)))


def in_words(eras: str) -> str:
    """Return "Linux of 2014, without no gso" for "2014-no_gso", and "by its code" where it is so;
    of several, joined by "or", each; a dash for none."""
    return " or ".join(_words(era) for era in eras.split(" or ")) if len(eras) > 1 else NONE


def in_headers(text: str) -> str:
    """Return a text of `Setting.title` with its era as `in_words` has it."""
    return re.sub(r"Linux of ([\w+-]+)", lambda match: _words(match[1]), text)


def _words(name: str) -> str:
    era, kernel = era_and_kernel(name)
    base, *changes = re.split(r"(?=[+-])", era)
    code = BY_CODE.get(base[-1:], "")
    linux = "today's Linux" if base == DEFAULT_ERA else f"Linux of {base.rstrip(''.join(BY_CODE))}"
    parts = [linux, *filter(None, (code, f"kernel {kernel}" if kernel else ""))]
    words = {"+": "with", "-": "without"}
    if any(change[1:] in CLOCKS for change in changes):  # which is in the place of noise
        changes = [change for change in changes if change != "-host_noise"]
    called = {clock: f"a clock of {tick}" for clock, tick in CLOCKS.items()}
    for change in changes:
        name = change[1:]
        parts.append(f"{words[change[0]]} {called.get(name, name.replace('_', ' '))}")
    return ", ".join(parts)


def settings_of(table: pd.DataFrame, eras: Sequence[str], ccs: Sequence[str]) -> list[Setting]:
    """Return the settings, of `eras` and `ccs`, that `table` (with columns era and cc) has rows of.

    The first era with the first congestion control comes first, then its other eras.
    """
    there = set(table[["era", "cc"]].astype(str).itertuples(index=False, name=None))
    return [Setting(era, cc) for cc in ccs for era in eras if (era, cc) in there]


def of_setting(table: pd.DataFrame, setting: Setting) -> pd.DataFrame:
    """Return the rows of one setting."""
    return table[(table["era"] == setting.era) & (table["cc"] == setting.cc)]


def titled(table: pd.DataFrame, settings: Sequence[Setting]) -> pd.DataFrame:
    """`table` in the order of `settings`, their title in place of era and cc; without a link that
    is the same everywhere."""
    parts = [of_setting(table, setting).assign(setting=setting.title) for setting in settings]
    joined = pd.concat(parts, ignore_index=True)
    dropped = {"era", "cc", "setting", *(["link"] if joined["link"].nunique() == 1 else [])}
    return joined[["setting", *(name for name in joined.columns if name not in dropped)]]


def beside(
    table: pd.DataFrame,
    cells: pd.DataFrame,
    settings: Sequence[Setting],
    keys: Sequence[str],
    value: str = "median",
) -> pd.DataFrame:
    """`table` with a column for each of `settings`: the `value` of `cells` at equal `keys`."""
    texts = dict.fromkeys(keys, str)  # categories of two tables differ, and would not merge
    for setting in settings:
        other = of_setting(cells, setting)[[*keys, value]].rename(columns={value: setting.title})
        both = table.astype(texts), other.astype(texts)
        table = pd.merge(*both, on=list(keys), how="left", validate="many_to_one")
    return table


def matters(switch: Switch, qdisc: str) -> bool:
    """Return whether `switch` can change runs of `qdisc`: it is about that qdisc, or about none."""
    kind = KINDS.get(qdisc, qdisc)
    own = {qdisc_kind for qdisc_kind, _, _ in switch.options}
    own |= {
        path.split(".")[0].removeprefix("sch_")
        for path, _ in switch.parameters
        if path.startswith("sch_")
    }
    return not own or kind in own


def eras_of(qdisc: str) -> list[str]:
    """Return today's Linux and that of 2014, then each with one switch added or taken away."""
    names = [switch.name for switch in SWITCHES if matters(switch, qdisc)]
    added = [f"{DEFAULT_ERA}+{name}" for name in names]
    return [DEFAULT_ERA, PAST, *added, *(other_era(name) for name in names)]


def other_era(switch: str) -> str:
    """Return the era that differs from that of 2014 by `switch`."""
    return f"{PAST}{'-' if switch in ERAS[PAST] else '+'}{switch}"
