"""The checkable statements of a paper, `claims.csv` of its study."""

import math
from dataclasses import dataclass
from typing import Final

import pandera.pandas as pa

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.runs.published import read_table
from qdisclab.analysis.runs.study import StudyFolder

KINDS: Final = ("axis", "number", "ordering", "range", "ratio", "statement")

FINITE: Final = pa.Check(lambda values: values.abs() < math.inf, error="a finite number")

CLAIMS: Final = pa.DataFrameSchema(
    {
        "id": pa.Column(str, pa.Check.str_matches(r"^[a-z]+[0-9]{3}$")),
        "paper": pa.Column(str),
        "section": pa.Column(str, nullable=True),
        "figure": pa.Column(str, nullable=True),
        "kind": pa.Column(str, pa.Check.isin(KINDS)),
        "statement": pa.Column(str, pa.Check.str_length(10, 400)),
        "value_low": pa.Column(float, FINITE, nullable=True),
        "value_high": pa.Column(float, FINITE, nullable=True),
        "unit": pa.Column(str, nullable=True),
        "note": pa.Column(str, nullable=True),
    },
    checks=pa.Check(
        lambda table: ~(table["value_low"] > table["value_high"]),
        error="value_low is larger than value_high",
    ),
    unique=["id"],
    strict=True,
    ordered=True,
)
"""One row per statement, in our words. Values are those that the paper prints, or the bounds that a
word such as "several" was taken for; `note` says what of it is scored where the paper is not at one
with itself."""


@dataclass(frozen=True)
class Claim:
    """One statement of a paper."""

    id: str  # "g038"
    paper: str
    section: str  # "5.1.1", or empty
    figure: str  # "Fig. 2a", "Table 2", or empty
    kind: str  # one of KINDS
    statement: str
    value_low: float  # NaN where nothing is printed
    value_high: float
    unit: str
    note: str

    @property
    def place(self) -> str:
        """Where it stands: "Sec. 5.1.1, Fig. 2a"."""
        section = f"{'Sec. ' * self.section[:1].isdigit()}{self.section}"
        return ", ".join(filter(None, (section, self.figure)))

    @property
    def value(self) -> float:
        """The printed number; ValueError where there is none or a range."""
        if math.isnan(self.value_low) or self.value_low != self.value_high:
            raise ValueError(f"{self.id} prints {self.value_low:g} to {self.value_high:g}")
        return self.value_low


def read_claims(study: StudyFolder) -> list[Claim]:
    """Return the claims of a study, in the order of the paper; none where there is no such file.

    Raises DataError when it does not fit the schema CLAIMS, or has claims of another paper.
    """
    path = study.statements
    if not path.is_file():
        return []
    table = read_table(path, CLAIMS, "claims")
    others = sorted({*table["paper"]} - {study.name})
    if others:
        raise DataError.of(path, f"has claims of {', '.join(others)}", f"Write {study.name}")
    texts = [name for name in CLAIMS.columns if not name.startswith("value_")]
    table[texts] = table[texts].fillna("")
    return [Claim(*row) for row in table.itertuples(index=False)]
