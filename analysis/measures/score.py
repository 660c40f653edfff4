"""The numbers of a scorecard: what RFC 7928, RFC 9743 and others ask about a queue or a control.

Each is one number of a run of the study `rfc7928`, or of `bbr`'s cases, which a control has alone.
docs/score.md says what each is for.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pandera.pandas as pa

from qdisclab.analysis.measures.metrics import Interval, confidence_interval
from qdisclab.analysis.measures.registry import UNLOADED_QDISC
from qdisclab.analysis.measures.table import measure_run
from qdisclab.analysis.runs.dataset import read_record, run_file
from qdisclab.analysis.runs.published import read_csv, read_table
from qdisclab.analysis.runs.study import study_at
from qdisclab.emulation.config.catalogue import experiment, select
from qdisclab.emulation.model.run import Run
from qdisclab.emulation.study import studies

STUDY: Final = "rfc7928"
CASES: Final = "bbr"


@dataclass(frozen=True)
class Number:
    """A row of the scorecard."""

    id: str
    title: str
    unit: str
    source: str  # who asks for it
    label: str  # of the runs: congestion_4
    value: str  # of names of metrics: "goodput_second_mbit_s / goodput_first_mbit_s"
    best: str  # "low", "high", or "1": a ratio that is equal there; or the bounds in words
    study: str = STUDY
    low: float = float("-inf")  # bounds of what is asked for
    high: float = float("inf")

    def take(self, measured: Mapping[str, float]) -> float:
        """Return the number of a run that measured these metrics."""
        result: Any = pd.DataFrame([measured]).eval(self.value)
        return float(result.iloc[0])


def _numbers() -> Iterator[Number]:
    """Yield those of STUDY, and of the draft's cases, with the bounds that its claims have."""
    table = read_csv(studies.SHIPPED / STUDY / "numbers.csv", dtype=str, keep_default_na=False)
    yield from (Number(*row) for row in table.itertuples(index=False))
    own = study_at(CASES)
    (name,) = own.experiments
    for id_, metric in own.module("measures").METRICS.items():
        case, _, title = metric.title.partition(": ")
        low, high = own.module("claims").BOUNDS[id_]
        asked = f"asked: {own.module('plots').asked(low, high)}"
        about = f"{case}, {title}", metric.unit, f"draft-ietf-ccwg-bbr, {case}"
        yield Number(id_, *about, name, id_, asked, CASES, low, high)


NUMBERS: Final = tuple(_numbers())
"""The rows, in their order. Fixed before any of the runs that ship.

`responsiveness` counts round trips that a probe beside the load makes in a minute, in the second
half of the load; the base RTT is 50 ms. Of draft-ietf-ippm-responsiveness this is the part of
probes on connections of their own; by ICMP, so that neither a server's time nor the queue of the
own connection is in it.
"""

#: Without load, by which the pages' times are divided; no row.
IDLE: Final = "page_idle"

LABELS: Final = tuple(dict.fromkeys(n.label for n in NUMBERS if n.study == STUDY))

SCORES: Final = pa.DataFrameSchema(
    {
        "qdisc": pa.Column(str),
        "cc": pa.Column(str),
        "number": pa.Column(str, pa.Check.isin([number.id for number in NUMBERS])),
        "seed": pa.Column(int, pa.Check.ge(0)),
        "value": pa.Column(float),
        # what the run was made of: `guest` its root file system, `code` what of ours runs there
        **{name: pa.Column(str) for name in ("kernel", "guest", "code", "job", "data_sha256")},
    },
    unique=["qdisc", "cc", "number", "seed"],
    strict=True,
)
"""One row per contestant, number and seed, in the number's unit."""


def measured(root: Path, provenances: Iterable[Path]) -> pd.DataFrame:
    """Return the table SCORES of the runs below `root` with these provenances.

    A control that does not tell its state lacks numbers of cases. Raises DataError for a run that
    cannot be measured.
    """
    rows = []
    for path in provenances:
        run = run_file(root, path)
        numbers = [n for n in NUMBERS if (n.study, n.label) == (run.paper, run.experiment)]
        if not numbers:
            continue
        numbers_of, record = measure_run(run), read_record(run)
        made_of = record["identity"]
        digests = [made_of["kernel"]["digest"], made_of["root"]["digest"], made_of["guest"]]
        digests += [made_of["job"], record["data_sha256"]]
        rows += [
            (run.qdisc, run.cc, of.id, run.seed, round(of.take(numbers_of), 6), *digests)
            for of in numbers
            if of.study == STUDY or of.id in numbers_of
        ]
    return SCORES.validate(pd.DataFrame(rows, columns=list(SCORES.columns)))


def known(folder: Path) -> pd.DataFrame:
    """Return the table SCORES of queues and controls that come along, from the folder of the
    study."""
    return read_table(folder / "known.csv", SCORES, "scores")


def intervals(scores: pd.DataFrame) -> dict[tuple[str, str, str], Interval]:
    """Return by qdisc, control and number: the mean over seeds with its 95 % interval."""
    groups = scores.groupby(["qdisc", "cc", "number"], sort=False)["value"]
    return {(str(q), str(cc), str(n)): confidence_interval(of) for (q, cc, n), of in groups}


def all_runs(contestants: list[tuple[str, str]], series: str | None) -> list[Run]:
    """Return the runs that score each (qdisc, congestion control), and those without load that the
    time of a page is divided by."""
    runs = [run for pair in contestants for run in runs_of(*pair, series, LABELS)]
    for cc in dict.fromkeys(cc for _, cc in contestants):
        runs += runs_of(UNLOADED_QDISC, cc, series, (IDLE,))
    return runs


def runs_of(qdisc: str, cc: str, series: str | None, labels: tuple[str, ...]) -> list[Run]:
    """Return all runs that score `qdisc` under flows of `cc`; `ConfigError` for an unknown one."""
    chosen = [experiment(f"{STUDY}/{label}") for label in labels]
    return [run for of in chosen for run in select(of, qdisc=qdisc, cc=cc, kernel=series)]


def case_runs(cc: str, series: str | None) -> list[Run]:
    """Return the runs of the draft's cases with this control."""
    cases = study_at(CASES).experiments.values()
    return [run for of in cases for run in select(of, cc=cc, kernel=series)]
