"""From a tree of runs to tidy tables, checked against schemas.

A run is `<root>/<paper>/<variant>/<link>/<qdisc>/<cc>/seed-NNN.flent.gz`, or where it measured a
table `seed-NNN.rows.jsonl.gz`, with its provenance, `seed-NNN.json`, beside it. The variant is the
experiment and what is not its default: `rrul`, `rrul@2014`, `rrul@2014@20s`. A run exists when its
`.json` does: a data file alone is one that is being written, and is passed over.
"""

import difflib
import operator
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import product, repeat
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
import pandera.pandas as pa
from pandas.api.types import is_string_dtype

from analysis.errors import (
    DataError,
    OnlyMeasures,
    require_several,
    require_text,
    require_texts,
)
from analysis.runs import files as readers
from analysis.runs.flentfile import KINDS, PING_KINDS, RERUN, TCP_KINDS, FlentFile, read_flent
from emulation import datafile
from emulation.host.pool import workers
from emulation.model.era import ERAS
from emulation.model.run import DEFAULT_ERA, NONE

KERNEL: Final = "linux-"  # before the series or the digest of a kernel
FEW_RUNS: Final = 8  # below this, starting processes costs more than it saves


@dataclass(frozen=True, order=True)
class RunFile:
    """Where one run lies, and what its path says about it."""

    paper: str
    variant: str  # "rrul", "rrul@2014"
    link: str  # download/upload in Mbit/s, "10/1"
    qdisc: str
    cc: str  # TCP congestion control
    seed: int
    data: Path
    provenance: Path
    root: Path | None = None  # the folder of runs that it is compared with; None: where it lies

    @classmethod
    def at(cls, root: Path, provenance: Path) -> "RunFile":
        """The run below `root` with that provenance; DataError where it is not named as one."""
        paper, variant, link, qdisc, cc = provenance.relative_to(root).parts[:5]
        seed = provenance.stem.removeprefix("seed-")
        if seed == provenance.stem or not seed.isdigit():
            raise DataError.of(
                provenance, "not named seed-NNN.json, as a run is", "Move it out of this folder"
            )
        return cls(
            paper=paper,
            variant=variant,
            link=link if link == NONE else link.replace("-", "/"),
            qdisc=qdisc,
            cc=cc,
            seed=int(seed),
            data=datafile.beside(provenance),
            provenance=provenance,
        )

    @property
    def is_reduced(self) -> bool:
        """Whether there are only its provenance and its measures (`analysis.measures.reduced`)."""
        with readers.told():
            return datafile.is_reduced(self.provenance)

    @property
    def experiment(self) -> str:
        """`rrul`."""
        return self.variant.partition("@")[0]

    @property
    def era(self) -> str:
        """`2014`, `modern+single_drop`; with another kernel than the default `2014@linux-7.3`."""
        rest = self.variant.split("@")[1:]
        era = next((part for part in rest if re.split("[+-]", part)[0] in ERAS), DEFAULT_ERA)
        return "@".join([era, *(part for part in rest if part.startswith(KERNEL))])

    @property
    def run(self) -> str:
        """The run's id: `mine/first/10-1/codel/cubic/seed-001`."""
        link = self.link.replace("/", "-")
        cell = f"{self.paper}/{self.variant}/{link}/{self.qdisc}/{self.cc}"
        return f"{cell}/seed-{self.seed:03d}"


class Dataset(NamedTuple):
    """The tables of a set of runs; SAMPLES, FLOWS and RUNS are their schemas."""

    samples: pd.DataFrame
    flows: pd.DataFrame
    runs: pd.DataFrame


_IDENTITY: Final = {
    "run": pa.Column("category"),
    "paper": pa.Column("category"),
    "experiment": pa.Column("category"),
    "era": pa.Column("category"),
    "link": pa.Column("category", pa.Check.str_matches(r"^(-|[0-9.]+/[0-9.]+)$")),
    "qdisc": pa.Column("category"),
    "cc": pa.Column("category"),
    "seed": pa.Column("int32", pa.Check.ge(0)),
}
IDENTITY: Final = tuple(_IDENTITY)

_VALUES: Final = {
    "goodput_mbit_s": pa.Check.ge(0),
    "rtt_ms": pa.Check.gt(0),
    "delay_ms": pa.Check.gt(0),
    "page_ms": pa.Check.gt(0),
}
_COLUMN: Final = {  # of a kind of series
    **dict.fromkeys(TCP_KINDS, "goodput_mbit_s"),
    **dict.fromkeys(PING_KINDS, "rtt_ms"),
    "voip": "delay_ms",
    "page": "page_ms",
}


def _one_value(samples: pd.DataFrame) -> pd.Series:
    known = np.add.reduce([samples[name].notna() for name in _VALUES], dtype=int)
    return pd.Series(known == 1, index=samples.index)


SAMPLES: Final = pa.DataFrameSchema(
    {
        **{name: _IDENTITY[name] for name in IDENTITY if name != "link"},
        "link": pa.Column("category"),
        "series": pa.Column("category"),
        "kind": pa.Column("category", pa.Check.isin(list(KINDS))),
        "time_s": pa.Column("float64", pa.Check.ge(0)),
        **{name: pa.Column("float64", check, nullable=True) for name, check in _VALUES.items()},
    },
    checks=pa.Check(_one_value, error=f"exactly one of {', '.join(_VALUES)} holds a value"),
    strict=True,
)
"""One row per sample. tcp_* rows carry goodput_mbit_s, ping_* rows rtt_ms, voip rows delay_ms (one
way, upstream), page rows page_ms (how long the page took; time_s is when it began)."""

FLOWS: Final = pa.DataFrameSchema(
    {
        "run": pa.Column("category"),
        "series": pa.Column("category"),
        "kind": pa.Column("category", pa.Check.isin(list(TCP_KINDS))),
        "base_rtt_ms": pa.Column("float64", pa.Check.gt(0)),
        "goodput_mbit_s": pa.Column("float64", pa.Check.gt(0)),
    },
    unique=["run", "series"],
    strict=True,
)
"""One row a TCP flow: the empty path's round trip, the bytes it moved divided by its duration."""

RUNS: Final = pa.DataFrameSchema(
    {
        **_IDENTITY,
        "kernel_release": pa.Column(str),
        "kernel_digest": pa.Column(str),
        "flent_version": pa.Column(str),
        "length_s": pa.Column(float, pa.Check.gt(0)),
        "delay_s": pa.Column(float, pa.Check.ge(0)),
        "base_rtt_ms": pa.Column(float, pa.Check.gt(0)),
        "virtual_s": pa.Column(float, pa.Check.ge(0)),
        "wall_s": pa.Column(float, pa.Check.ge(0)),
        "voip_packets": pa.Column("Int64", pa.Check.gt(0), nullable=True),
        "voip_lost": pa.Column("Int64", pa.Check.ge(0), nullable=True),
        "pages_failed": pa.Column("Int64", pa.Check.ge(0), nullable=True),
        "page_ms": pa.Column(float, pa.Check.gt(0), nullable=True),
    },
    unique=["run"],
    strict=True,
)
"""One row per run: what it was, and with which kernel and tools it was made; of a VoIP flow the
packets sent and how many of them got lost; of a web test the pages that lacked an object and the
mean of flent's steps of how long one takes."""


def era_and_kernel(era: str) -> tuple[str, str | None]:
    """`2014` and `7.3` of the era `2014@linux-7.3` of a run; None for the default kernel."""
    name, _, kernel = era.partition(f"@{KERNEL}")
    return name, kernel or None


def variant_name(experiment: str, era: str = DEFAULT_ERA, length: str = "") -> str:
    """The folder of runs: `rrul@2014@20s`; an empty `length` is the experiment's own.

    `era` is as in `RunFile`, with the kernel where it is not the default.
    """
    parts = [one for one in era.split("@") if one != DEFAULT_ERA]
    return "@".join([experiment, *parts, *([length] if length else [])])


#: Where the relative paths in notebooks begin; papermill may be called from elsewhere.
NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"


def find_runs(
    root: Path,
    paper: str,
    variant: str,
    *,
    link: str | Collection[str] | None = None,
    qdiscs: Collection[str] | None = None,
    cc: str | None = None,
    reduced: bool = False,
) -> list[RunFile]:
    """Runs below `root` in the order of their ids; with `reduced` also those without their data.

    `link` is "10/1" (not the path's "10-1"), or several. A `root` that is not there is looked for
    from the notebooks' folder. Raises DataError when there is none, and for a file whose name is
    not that of a run; OnlyMeasures where a cell has none with its data, unless `reduced`.
    """
    require_text("paper", paper)
    for name, values in (("link", [link] if isinstance(link, str) else link), ("qdiscs", qdiscs)):
        if values is not None:
            require_texts(name, values)
    if not root.exists():
        root = NOTEBOOKS / root
    base = root / paper / variant
    links = [link] if isinstance(link, str) else link
    found: list[RunFile] = []
    without_data: list[RunFile] = []
    for provenance in sorted(base.glob("*/*/*/*.json")):
        one = RunFile.at(root, provenance)
        wanted = (
            (links is None or one.link in links)
            and (qdiscs is None or one.qdisc in qdiscs)
            and cc in (None, one.cc)
        )
        if wanted:
            (found if reduced or not one.is_reduced else without_data).append(one)
    cells = {one.provenance.parent for one in found}
    for one in without_data:
        if one.provenance.parent not in cells:
            raise OnlyMeasures.of(
                one.provenance.parent, "its runs are here as their measures, without their data",
                "Bring the data back by `emulate run --again`, or leave the cell out",
            )  # fmt: skip
    if not found:
        which = " ".join([*sorted(links or ()), *sorted(qdiscs or ()), *([cc] if cc else [])])
        wrong = f"no run of {which or 'any cell'}{_instead(base)}"
        raise DataError.of(base, wrong, "Emulate the cells that the figure needs")
    return found


def _instead(base: Path) -> str:
    """What there is runs of in the folder of an experiment, or experiments with a name like it."""
    cells = [path.parts[-3:] for path in sorted(base.glob("*/*/*"))]
    if cells:
        links, qdiscs, ccs = (", ".join(dict.fromkeys(part)) for part in zip(*cells, strict=True))
        return f"; there are {links.replace('-', '/')} with {qdiscs} and {ccs}"
    names = [path.name for path in base.parent.iterdir()] if base.parent.is_dir() else []
    near = difflib.get_close_matches(base.name, sorted(names), n=3)
    return f"; there is {' or '.join(near)}" if near else ""


def find_settings(
    root: Path,
    paper: str,
    experiment: str,
    *,
    eras: Sequence[str],
    ccs: Sequence[str],
    length: str = "",
    link: str | Collection[str] | None = None,
    qdiscs: Collection[str] | None = None,
    reduced: bool = False,
) -> list[RunFile]:
    """Runs of an experiment in those of `eras` and with those of `ccs` that there are runs of.

    Raises DataError, that of the first era and congestion control, where there is none at all, and
    OnlyMeasures as `find_runs`.
    """
    require_text("experiment", experiment)
    require_text("length", length)
    for name, values in (("eras", eras), ("ccs", ccs)):
        require_texts(name, values)
    return gathered(
        partial(
            find_runs, root, paper, variant_name(experiment, era, length),
            link=link, qdiscs=qdiscs, cc=cc, reduced=reduced,
        )
        for cc, era in product(ccs, eras)
    )  # fmt: skip


def find_several(
    root: Path,
    paper: str,
    experiments: Iterable[str],
    *,
    eras: Sequence[str],
    ccs: Sequence[str],
    qdiscs: Collection[str] | Mapping[str, Collection[str]] | None = None,
    links: Collection[str] = (),
    length: str | Mapping[str, str] = "",
    reduced: bool = False,
) -> list[RunFile]:
    """Runs of several experiments, of all `links` where none is named.

    `qdiscs` and `length` are mappings where they differ between experiments. Experiments without
    any run are left out; raises DataError, that of the first, where there is none at all.
    """
    names = [*experiments] if not isinstance(experiments, str) else experiments
    require_texts("experiments", names)
    if isinstance(qdiscs, Mapping):
        require_several("experiments", names, qdiscs)
    return gathered(
        partial(
            find_settings, root, paper, experiment, eras=eras, ccs=ccs,
            length=length.get(experiment, "") if isinstance(length, Mapping) else length,
            qdiscs=qdiscs[experiment] if isinstance(qdiscs, Mapping) else qdiscs,
            link=links or None, reduced=reduced,
        )
        for experiment in names
    )  # fmt: skip


def gathered(searches: Iterable[Callable[[], list[RunFile]]]) -> list[RunFile]:
    """What all `searches` find; a search without any run (DataError) is passed over, unless all
    are: then the error of the first is raised. OnlyMeasures is raised at once."""
    found: list[RunFile] = []
    lacking: list[DataError] = []
    for search in searches:
        try:
            found += search()
        except OnlyMeasures:
            raise
        except DataError as error:
            lacking.append(error)
    if not found:
        raise lacking[0] if lacking else DataError("no link, qdisc or experiment is asked for.")
    return found


def read_runs(
    files: Sequence[RunFile],
    *,
    kinds: Collection[str] = tuple(KINDS),
    jobs: int | None = None,
) -> Dataset:
    """Read runs into the tables of SAMPLES, FLOWS and RUNS, in parallel where there are many.

    `kinds` are those of the series to read; `jobs` is the number of processes, by default one a
    core. Raises DataError when any of the runs cannot be used, ValueError for none.
    """
    if not files:
        raise ValueError("no runs to read")
    if len(files) < FEW_RUNS or jobs == 1:
        loaded = [_load(file, kinds) for file in files]
    else:
        with workers(jobs) as pool:
            loaded = list(pool.map(_load, files, repeat(kinds), chunksize=4))
    runs = _runs_table(row for row, _ in loaded)
    flents = [flent for _, flent in loaded]
    if not any(flent.series for flent in flents):
        remedy = "rows() of analysis.lab has what its programs printed"
        raise DataError.of(files[0].data, "has no series of flent's", remedy)
    samples = _samples_table(runs, flents)
    flows = _flows_table(runs, flents, [row["base_rtts_ms"] for row, _ in loaded])
    if not (_fits(SAMPLES, samples) and _one_value(samples).all()):
        SAMPLES.validate(samples)
    for schema, table in ((FLOWS, flows), (RUNS, runs)):
        if not _fits(schema, table):
            schema.validate(table)
    return Dataset(samples, flows, runs)


def _fits(schema: pa.DataFrameSchema, table: pd.DataFrame) -> bool:
    """Whether the columns of `table` fit `schema`; False, too, where only pandera can say it.

    pandera, which says what is wrong, takes 20 ms for the tables of a run, however few their rows:
    a third of what it takes to measure one, and there are thousands.
    """
    if {*table} != {*schema.columns}:
        return False
    if schema.unique and table.duplicated(schema.unique).any():
        return False
    for name, column in schema.columns.items():
        values = table[name]
        wanted = str(column.dtype)  # "string[pyarrow]" for str
        typed = is_string_dtype(values) if wanted.startswith("str") else values.dtype == wanted
        if not typed or (values.hasnans and not column.nullable):
            return False
        labels = list(values.cat.categories) if values.dtype == "category" else []
        for check in column.checks:
            about = check.statistics
            if "allowed_values" in about:
                passes = {*labels} <= {*about["allowed_values"]}
            elif "pattern" in about:
                passes = all(re.match(about["pattern"], label) for label in labels)
            else:
                lowest = values.min()  # NaN where there is none
                above = operator.gt if check.name == "greater_than" else operator.ge
                passes = pd.isna(lowest) or above(lowest, about["min_value"])
            if not passes:
                return False
    return True


def _load(file: RunFile, kinds: Collection[str]) -> tuple[dict[str, Any], FlentFile]:
    record = read_record(file)
    flent = read_flent(file.data, kinds)
    with usable(file):
        failed = record.get("page_failures")
        row = {
            **facts(file, record),
            "flent_version": flent.flent_version,
            "delay_s": flent.delay_s,
            "voip_packets": flent.loss.packets if flent.loss else None,
            "voip_lost": flent.loss.lost if flent.loss else None,
            # A line that is not indented is a page, those below it are the reasons.
            "pages_failed": None if failed is None else sum(one[:1] == "[" for one in failed),
            "page_ms": flent.page_ms,
            "base_rtts_ms": [float(one) for one in record.get("base_rtts_ms", [])],
        }
        era_told = str(record["era"])
    if era_told != file.era.partition("@")[0]:
        wrong = f"of the era {era_told!r}"
        raise DataError.of(file.provenance, wrong, f"Move it out of a folder of {file.era!r}")
    if row["length_s"] != flent.length_s:
        wrong = f"{row['length_s']:g} s of load here, {flent.length_s:g} s in {file.data.name}"
        raise DataError.of(file.provenance, wrong, RERUN)
    return row, flent


def read_record(file: RunFile) -> dict[str, Any]:
    """The provenance of a run; raises DataError where it is none, or that of another run."""
    try:
        record = readers.read_json(file.provenance)
        named = record["run"]
    except (DataError, KeyError) as error:
        raise DataError.of(file.provenance, "not the provenance of a run", RERUN) from error
    if named != file.run:
        raise DataError.of(
            file.provenance, f"describes the run {named!r}", f"Move it to its place, not {file.run}"
        )
    return record


def read_rows(file: RunFile) -> list[dict[str, Any]]:
    """The rows of a run whose data are a table; raises DataError for another."""
    return readers.read_rows(file.data)


@contextmanager
def usable(file: RunFile) -> Iterator[None]:
    """Inside, an entry that the provenance of `file` lacks, or that is of another kind, raises
    DataError."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        wrong = f"provenance without a usable entry ({type(error).__name__}: {error})"
        raise DataError.of(file.provenance, wrong, RERUN) from error


def facts(file: RunFile, record: Mapping[str, Any]) -> dict[str, Any]:
    """What RUNS has of every run; `record` is its provenance. For use within `usable`."""
    if "base_rtt_ms" not in record:
        wrong = "its rig states no base RTT, which induced latency is counted from"
        raise DataError.of(file.provenance, wrong, "rows() of analysis.lab has what programs left")
    kernel = record["identity"]["kernel"]
    return {
        **{name: getattr(file, name) for name in IDENTITY},
        "kernel_release": str(kernel["release"]),
        "kernel_digest": str(kernel["digest"]),
        "flent_version": "–",
        **{
            name: float(record[name]) for name in ("length_s", "base_rtt_ms", "virtual_s", "wall_s")
        },
    }


def read_facts(files: Iterable[RunFile]) -> Dataset:
    """Runs of which nothing but their provenance is read; raises DataError where that is none. The
    base RTT of a rig that states none is NaN."""
    rows = []
    for file in files:
        record = {"base_rtt_ms": "nan", **read_record(file)}
        with usable(file):
            rows.append(facts(file, record))
    return runs_alone(pd.DataFrame(rows))


def runs_alone(runs: pd.DataFrame) -> Dataset:
    """Runs whose samples and flows are not looked at, for outputs.publish."""
    return Dataset(pd.DataFrame(), pd.DataFrame(), runs)


def _runs_table(rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    table = pd.DataFrame(list(rows), columns=list(RUNS.columns))
    categories = {name: "category" for name in IDENTITY if name != "seed"}
    counts = dict.fromkeys(("voip_packets", "voip_lost", "pages_failed"), "Int64")
    return table.astype({**categories, **counts, "seed": "int32"})


def _samples_table(runs: pd.DataFrame, files: Sequence[FlentFile]) -> pd.DataFrame:
    """Columns are built from codes and not from strings: millions of rows in tenths of a second."""
    series = [one for file in files for one in file.series]
    rows_of_run = [sum(one.value.size for one in file.series) for file in files]
    rows_of_series = [one.value.size for one in series]
    time_s = np.concatenate([one.time_s for one in series])
    value = np.concatenate([one.value for one in series])
    kind = _categorical([one.kind for one in series], rows_of_series)
    column = np.asarray([_COLUMN[name] for name in kind.categories])[kind.codes]
    columns: dict[str, Any] = {}
    for name in IDENTITY:
        if name == "seed":
            columns[name] = np.repeat(runs[name].to_numpy(), rows_of_run)
        else:
            columns[name] = pd.Categorical.from_codes(
                np.repeat(runs[name].cat.codes.to_numpy(), rows_of_run),
                categories=runs[name].cat.categories,
            )
    columns["series"] = _categorical([one.name for one in series], rows_of_series)
    columns["kind"] = kind
    columns["time_s"] = time_s
    for name in _VALUES:
        columns[name] = np.where(column == name, value, np.nan)
    return pd.DataFrame(columns)


def _flows_table(
    runs: pd.DataFrame, files: Sequence[FlentFile], base_rtts_ms: Sequence[Sequence[float]]
) -> pd.DataFrame:
    rows = [
        (run, one.name, one.kind, _base_rtt_ms(one.name, base, several), one.transferred_mbit_s)
        for run, base, file, several in zip(
            runs["run"], runs["base_rtt_ms"], files, base_rtts_ms, strict=True
        )
        for one in file.series
        if one.kind in TCP_KINDS
    ]
    table = pd.DataFrame(rows, columns=list(FLOWS.columns))
    labels = {"run": runs["run"].dtype, "series": "category", "kind": "category"}
    return table.astype({**labels, "base_rtt_ms": float, "goodput_mbit_s": float})


def _base_rtt_ms(series: str, base_rtt_ms: float, several_ms: Sequence[float]) -> float:
    """Of the address that a flow goes to: "TCP upload BE2 10.0.4.3" to the second of several."""
    found = re.fullmatch(r".* BE(\d+) [0-9.]+", series)
    if found is None:
        return base_rtt_ms
    if not 1 <= (number := int(found[1])) <= len(several_ms):
        raise DataError.of(series, f"its rig has {len(several_ms)} addresses", RERUN)
    return several_ms[number - 1]


def _categorical(labels: Sequence[str], repeats: Sequence[int]) -> pd.Categorical:
    codes, categories = pd.factorize(np.asarray(labels, dtype=object), sort=True)
    return pd.Categorical.from_codes(np.repeat(codes, repeats), categories=pd.Index(categories))
