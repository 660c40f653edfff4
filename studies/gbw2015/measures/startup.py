"""How CoDel and PIE raise their drops as a load starts: the tables of the probe `startup`.

gbw2015 (Sec. 6.2.1) says that they raise their drop rates too slowly for four flows that start, and
that CoDel's rises linearly, the more slowly the faster the link: after n drops CoDel waits
interval / sqrt(n) for the next one, whatever the link's rate, so that the drops of one dropping
state grow with the square of its time. RRUL's flows empty the queue before that shows on a fast
link; a flow of UDP that is a little faster than the link does not.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import Final

import numpy as np
import pandas as pd
import pandera.pandas as pa

from qdisclab.analysis.measures import rrul
from qdisclab.analysis.measures.bench import samples
from qdisclab.analysis.measures.metrics import means
from qdisclab.analysis.measures.registry import Metric, Recorded
from qdisclab.analysis.runs import recorded
from qdisclab.analysis.runs.dataset import RunFile
from qdisclab.analysis.runs.flentfile import Floats

CELL: Final = ("experiment", "link", "qdisc")
_WAITS: Final = ("wait_ms", "shortest_ms")
PROBE: Final = "startup"
STEPS: Final = recorded.schema(
    {
        "target_ms": pa.Column(float, pa.Check.gt(0)),
        "from_s": pa.Column(float, pa.Check.ge(0)),
        "to_s": pa.Column(float, pa.Check.gt(0)),
        "packets": pa.Column(int, pa.Check.ge(0)),
        "dropped": pa.Column(int, pa.Check.ge(0)),
        **{name: pa.Column(float, pa.Check.ge(0), nullable=True) for name in _WAITS},
    },
    rows="from_s",
)
"""One row per run and step of 0.1 s, and one of the second half of the load; see
emulation/captures/startup.py for the columns."""

INTERVAL_S: Final = 0.1  # CoDel's, on all links (Table 1)
PIE_TARGET_S: Final = 0.02  # on all links (Table 1)
PIE_ALPHA: Final = 2 / 16  # a second; tc's 2 and 20
PIE_BETA: Final = 20 / 16
FEWEST: Final = 10  # drops of a dropping state that a power of time is fitted to
CODEL: Final = "codel"
RRUL: Final = "rrul"  # of the experiments; the others are floods of UDP

#: metric -> what a table calls it
QUANTITIES: Final = {
    "uncontrolled_s": "from the first drop to control (s)",
    "late_drops_times": "share dropped late by early",
    "drop_power": "power of time",
    "drop_growth_percent_s": "growth of the share (points/s)",
}


METRICS: Final = {
    "uncontrolled_s": Metric("time from the first drop until the wait is under control", "s"),
    "late_drops_times": Metric(
        "share dropped in the second half of the time until control, divided by that in the first",
        "",
    ),
    "drop_power": Metric("power of time in a dropping state of 10 drops and more", ""),
    "drop_growth_percent_s": Metric(
        "growth of the share dropped in a dropping state of 10 drops and more", "points/s"
    ),
}


def read_steps(runs: Iterable[RunFile]) -> pd.DataFrame:
    """Return the table of STEPS; raise DataError for a table of another form."""
    return recorded.read(runs, PROBE, STEPS)


def control(run: pd.DataFrame) -> dict[str, float]:
    """Return what it takes from the first drop until the wait is under control; `run` is one run of
    STEPS.

    Control is what `rrul.startup` takes for it, here of the packets' waits in the upload's queue,
    as means of the steps. The drops of the time until then are compared by its halves: an algorithm
    that still raises its drop rate drops a larger share in the second one. Seconds, and a factor,
    which there is not where the wait was under control before the first drop.
    """
    steps, steady = run.iloc[:-1], run.iloc[-1]
    waited = steps.dropna(subset="wait_ms")
    # what is not under control within the steps is so in the steady state, by definition
    time_s = np.append(waited["to_s"], (steady["from_s"] + steady["to_s"]) / 2)
    wait_ms = np.append(waited["wait_ms"], steady["wait_ms"])
    end_s = rrul.startup(time_s, wait_ms, float(steady["to_s"]))["control_s"]
    dropping = steps.loc[steps["dropped"] > 0, "from_s"]
    if dropping.empty:
        return {}
    first_s = float(dropping.iloc[0])
    if end_s <= first_s:
        return {"uncontrolled_s": 0.0}
    between = steps[(steps["from_s"] >= first_s) & (steps["to_s"] <= end_s)]
    middle_s = (first_s + float(between["to_s"].iloc[-1])) / 2
    shares = [
        part["dropped"].sum() / part["packets"].sum()
        for part in (between[between["to_s"] <= middle_s], between[between["to_s"] > middle_s])
        if part["packets"].sum()
    ]
    numbers = {"uncontrolled_s": end_s - first_s}
    if len(shares) == 2 and shares[0] > 0:
        numbers["late_drops_times"] = float(shares[1] / shares[0])
    return numbers


def dropping_state(run: pd.DataFrame) -> pd.DataFrame:
    """Return the steps of CoDel's first dropping state with FEWEST drops or more; empty without
    one.

    It begins with a drop and ends as a packet has waited less than the target.
    """
    steps = run.iloc[:-1]
    begin: int | None = None
    low = ~(steps["shortest_ms"] >= steps["target_ms"]).to_numpy()  # where no packet was, too
    dropped = steps["dropped"].to_numpy()
    for place in range(len(steps)):
        if begin is None:
            begin = place if dropped[place] else None
        elif low[place]:
            if dropped[begin:place].sum() >= FEWEST:
                return steps.iloc[begin:place]
            begin = place if dropped[place] else None
    last = steps.iloc[len(steps) if begin is None else begin :]
    return last if last["dropped"].sum() >= FEWEST else steps.iloc[:0]


def growth(state: pd.DataFrame) -> tuple[Floats, Floats]:
    """Return the ends of the steps of a dropping state, in s since an interval before its first
    drop, and the drops until then.

    The first drop comes an interval after the wait has passed the target (K. Nichols, V. Jacobson,
    "Controlling Queue Delay", ACM Queue 10(5), 2012).
    """
    first = state.iloc[0]
    since_s = (first["from_s"] + first["to_s"]) / 2 - INTERVAL_S
    return state["to_s"].to_numpy() - since_s, state["dropped"].cumsum().to_numpy(float)


def law(time_s: Floats) -> Floats:
    """Return the drops that CoDel's control law makes within such times since an interval before
    the first.

    The n-th comes after an interval and sum over k < n of interval / sqrt(k), that is
    interval x (2 sqrt(n) - 0.46) for all but the first (zeta(1/2) = -1.46).
    """
    return ((time_s / INTERVAL_S + 0.46) / 2) ** 2


def pie_updates(run: RunFile) -> pd.DataFrame:
    """Return PIE's state at the upload's queue, a row per update that changed it: `time_s` of
    flent, `probability`, and `delay_s`, from which PIE of 2014 made it; no rows without the probe
    `qdisc`."""
    columns = {"time_s": "time_s", "pie_probability": "probability", "pie_delay_us": "delay_s"}
    table = samples(run, "qdisc")
    if table is None or "pie_probability" not in table:
        return pd.DataFrame(columns=list(columns.values()))
    pie = table[table["pie_probability"].notna()]
    busiest = pie.groupby("interface", observed=True)["sent_packets"].max().idxmax()
    state = pie.loc[pie["interface"] == busiest, list(columns)].rename(columns=columns)
    state["delay_s"] /= 1e6
    return state[(state[["probability", "delay_s"]].diff() != 0).any(axis=1)]


def pie_law(delay_s: Floats) -> Floats:
    """Return the probabilities that PIE's control law of 2014 makes of the delays at its updates,
    from nothing at the first.

    Each adds alpha (delay - target) + beta (delay - delay before), an eighth of it below 1 % and
    half below 10 %, from there on 2 points at most, and 2 points above 250 ms. An empty queue
    leaves 98 % of it (R. Pan et al., "PIE", HPSR 2013; net/sched/sch_pie.c).
    """
    summed = [0.0]
    for before, now in pairwise(delay_s):
        old = summed[-1]
        step = PIE_ALPHA * (now - PIE_TARGET_S) + PIE_BETA * (now - before)
        step = step / 8 if old < 0.01 else step / 2 if old < 0.1 else min(step, 0.02)
        step += 0.02 if now > 0.25 else 0.0
        left = 0.98 if now == before == 0 else 1.0
        summed.append(min(max(old + step, 0.0), 1.0) * left)
    return np.array(summed)


def ramp(run: pd.DataFrame) -> dict[str, float]:
    """Return how CoDel's first drops add up: the power of time that fits them best, by least
    squares of logarithms, and by how many percentage points a second the share of dropped packets
    grows, if it grows evenly from nothing. Nothing of a run without such drops."""
    state = dropping_state(run)
    if len(state) < 2:
        return {}
    time_s, drops = growth(state)
    power = np.polyfit(np.log(time_s), np.log(drops), 1)[0]
    share = drops[-1] / float(state["packets"].sum())
    return {"drop_power": float(power), "drop_growth_percent_s": float(200 * share / time_s[-1])}


def overview(table: pd.DataFrame) -> pd.DataFrame:
    """Of each experiment, link, qdisc and quantity of `measure`: mean over seeds, its interval, and
    n_seeds."""
    cells = means(measure(table), [*CELL, "metric"], ["value"])
    cells = cells.assign(quantity=cells["metric"].map(QUANTITIES))
    return cells[[*CELL, "quantity", "mean", "ci_low", "ci_high", "n_seeds"]]


def measure(table: pd.DataFrame) -> pd.DataFrame:
    """Return what claims ask of each run of `table`: recorded.KEY, metric, value."""
    rows = []
    for key, run in table.groupby(list(recorded.KEY), sort=False):
        ordered = run.sort_values("from_s")
        values = control(ordered) | (ramp(ordered) if key[3] == CODEL else {})
        rows += [(*key, name, value) for name, value in values.items()]
    return pd.DataFrame(rows, columns=[*recorded.KEY, "metric", "value"])


def measured(runs: Iterable[RunFile]) -> pd.DataFrame:
    """`measure` of the tables beside `runs`; raise DataError for a table of another form."""
    return measure(read_steps(runs))


RECORDED: Final = Recorded(PROBE, measured, frozenset(METRICS))
