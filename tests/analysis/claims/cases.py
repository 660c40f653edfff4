"""Claims, rules and measured values for the tests of claims."""

import math

import pandas as pd

from qdisclab.analysis.claims import verdict
from qdisclab.analysis.claims.assess import assess
from qdisclab.analysis.claims.check import Quantity
from qdisclab.analysis.claims.explanation import Variation
from qdisclab.analysis.measures.table import MEASURED
from qdisclab.analysis.runs.statement import Claim

CODEL = Quantity("induced_latency_ms", "rrul", "10/10", "codel")
PIE = Quantity("induced_latency_ms", "rrul", "10/10", "pie")
LOW, HIGH, WIDE = [1.0, 1.1, 0.9, 1.0], [3.0, 3.1, 2.9, 3.0], [0.0, 4.0, 1.0, 5.0]
RRUL = {"rrul": "rrul"}
NO_RACK = Variation("2014", "2014-no_rack", RRUL, "a test")


def claim(number: str = "g038", low: float = math.nan, high: float = math.nan) -> Claim:
    return Claim(number, "gbw2015", "5.1.1", "", "ordering", "A statement.", low, high, "", "")


def measured(
    values: dict[Quantity, list[float]], era: str = "modern", cc: str = "cubic"
) -> pd.DataFrame:
    """A table of MEASURED; seeds count from 1."""
    rows = [
        (era, q.experiment, q.link, q.qdisc, q.cc or cc, seed, q.metric, value)
        for q, sample in values.items()
        for seed, value in enumerate(sample, start=1)
    ]
    return MEASURED.validate(pd.DataFrame(rows, columns=list(MEASURED.columns)))


def verdict_of(rule: verdict.Rule, table: pd.DataFrame) -> verdict.Judgement:
    (one,) = assess([claim()], {"g038": rule}, table)
    return one.headline
