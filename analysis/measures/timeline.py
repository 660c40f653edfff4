"""Runs over time: connections, pings, packets of a queue, and a link that changes meanwhile.

Connections are those of the probe `sockets` beside a run, packets those of the probe `packets`,
pings those of its programs `ping`, and what becomes of the link is what a program `link` prints:
`time_s`, `rate_mbit_s`, `delay_ms`. Time is counted from the first ping; without one, from the
first sample or packet.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.measures import measured, packets, probed
from qdisclab.analysis.measures.metrics import in_window, means
from qdisclab.analysis.measures.registry import metrics
from qdisclab.analysis.runs import dataset, reports
from qdisclab.analysis.runs.dataset import RunFile
from qdisclab.analysis.runs.study import StudyFolder
from qdisclab.emulation import datafile
from qdisclab.emulation.datafile import OUTPUT, ROWS
from qdisclab.emulation.kinds.probes.probe import Probe, recorded

QUANTITIES: Final = {
    "rtt_mean_ms": "Mean RTT of pings (ms)",
    "rtt_p99_ms": "99th percentile of it (ms)",
    "flow_rtt_ms": "RTT of the flows (ms)",
    "goodput_mbit_s": "Goodput (Mbit/s)",
    "drops": "Dropped, packets",
    "drops_overmemory": "Of them by the memory limit",
}
"""Numbers of `per_run` and how an axis calls them. `flow_rtt_ms` is the mean of the senders'
smoothed RTT, `goodput_mbit_s` what all connections had acknowledged, or without the probe `sockets`
what programs or flent reported; drops are of all queues under test, from the probe `qdisc`.
Those of `packets.by_class` are there, too."""

DESCRIBED: Final = {
    "rtt_mean_ms": " ms",
    "flow_rtt_ms": " ms",
    "goodput_mbit_s": " Mbit/s",
    "sojourn_mean_ms": " ms",
}
"""Of them, those that the description of a picture has, with their units."""

ABOUT: Final = ("experiment", "qdisc", "cc")
MEANS: Final = ["rig", "qdisc", "quantity", "mean", "ci_low", "ci_high"]  # columns of `cells`

SETTLED_S: Final = 2.0  # numbers are of the time after the flows have started
BIN_S: Final = 0.5  # of a mean over time
LEAST_BYTES: Final = 100_000  # of a connection that is load, and not a tool's own


def pings(run: RunFile) -> pd.DataFrame:
    """Return one row per reply: program, time_s when the ping was sent, rtt_ms; in their order.

    Raises DataError where no program printed any.
    """
    table = replies(run)
    if table.empty:
        path = run.provenance.with_suffix(OUTPUT)
        raise DataError.of(path, "has no replies to pings", "Add a program of kind ping")
    return table


def replies(run: RunFile) -> pd.DataFrame:
    """Return `pings`; no row where none was printed, or the traffic is no `programs`."""
    there = run.provenance.with_suffix(OUTPUT).exists()
    rows = [
        (program, float(at) - float(rtt) / 1e3, float(rtt))
        for program, text in (reports.printed(run.provenance) if there else ())
        for at, rtt in reports.REPLY.findall(text)
        if at
    ]
    table = pd.DataFrame(rows, columns=["program", "at_s", "rtt_ms"])
    table.insert(1, "time_s", table["at_s"] - table["at_s"].min())
    return table


def queue(run: RunFile, quantity: str) -> dict[str, pd.Series]:
    """Return, for each class of packets, the mean `sojourn_ms` of those that entered, or the
    `sent_mbit_s` of those that left, in bins of BIN_S over time_s.

    Of several queues the classes have the port's name with them.
    """
    lines: dict[str, pd.Series] = {}
    paths = packets.tables(run)
    for path in paths:
        table = packets.read(path)
        begin_s = table["in_ns"].iloc[0] / 1e9 - _zero_s(run, table["in_ns"])
        place = f"{table.attrs['node']} " if paths[1:] else ""
        entered_s = table["left_s"] - table["sojourn_ms"] / 1e3
        moment_s = begin_s + (entered_s if quantity == "sojourn_ms" else table["left_s"])
        bins = (moment_s // BIN_S) * BIN_S + BIN_S / 2
        for name, part in table.groupby("class", observed=True):
            if quantity == "sojourn_ms":
                values = part[quantity].groupby(bins).mean()
            else:
                values = 8e-6 / BIN_S * part["length"].astype(float).groupby(bins).sum()
            lines[f"{place}{name}"] = values
    return lines


def connections(run: RunFile) -> pd.DataFrame:
    """Return one row per connection under load and sample: time_s, node, local_port, cc,
    goodput_mbit_s since the sample before, cwnd_packets, inflight_packets, srtt_ms."""
    table = _probe(run, "sockets")
    key = ["node", "local_port"]
    is_load = table.groupby(key)["bytes_acked"].transform("max") > LEAST_BYTES
    load = table[is_load].sort_values([*key, "time_s"])
    steps = load.groupby(key)[["bytes_acked", "time_s"]].diff()
    left = load[["sacked_packets", "lost_packets"]].sum(axis=1) - load["retrans_packets"]
    return pd.DataFrame(
        {
            "time_s": load["time_s"],
            "node": load["node"].astype(str),
            "local_port": load["local_port"],
            "cc": load["congestion_control"].astype(str),
            "goodput_mbit_s": 8e-6 * steps["bytes_acked"] / steps["time_s"],
            "bytes_acked": load["bytes_acked"],
            "cwnd_packets": load["cwnd_packets"],
            "inflight_packets": load["unacked_packets"] - left,
            "srtt_ms": load["srtt_us"] / 1e3,
        }
    ).reset_index(drop=True)


def reported(run: RunFile, quantity: str) -> dict[str, pd.Series]:
    """Return a quantity over time by what a testbed has of it: packets by class, pings and flows by
    program, or a series of flent's; nothing where it has none."""
    if quantity in ("sojourn_ms", "sent_mbit_s"):
        return queue(run, quantity) if "packets" in recorded(run.provenance) else {}
    if run.data.exists():
        table = dataset.read_runs([run]).samples
        tools = table["kind"].astype(str).str.partition("_")[0]
        table = table.assign(program=table["kind"].astype(str), tool=tools)
    else:
        table = reports.read(run.provenance)
        table = table[~table["whole"].astype(bool)]
    column = "rtt_ms" if quantity == "srtt_ms" else quantity
    if column == "rtt_ms":
        table = table[(table["tool"] == "ping") == (quantity == "rtt_ms")]
    if column not in table:
        return {}
    values = table.astype({column: float}).dropna(subset=column).groupby(["program", "time_s"])
    by_time = values[column].agg("sum" if quantity == "goodput_mbit_s" else "mean")
    return {str(name): of.droplevel(0) for name, of in by_time.groupby(level=0)}


def link(run: RunFile) -> pd.DataFrame:
    """Return what the program `link` made of it: time_s, rate_mbit_s and, where it changes,
    delay_ms; no row for a link that stays as it is."""
    path = run.provenance.with_suffix(ROWS)
    rows = datafile.read_rows(path) if path.is_file() else []
    rows = [row for row in rows if row.get("program") == "link"]
    return pd.DataFrame(rows, columns=["time_s", "rate_mbit_s", "delay_ms"])


def per_run(runs: Sequence[RunFile]) -> pd.DataFrame:
    """Return one row per run: ABOUT, seed, `twin`, and those of QUANTITIES that it has; before
    them the era (and kernel), where there are several.

    `twin` is an earlier seed of the same cell with the same counters of all queues, or NaN.
    """
    twins = dataset.twins(runs)
    table = pd.DataFrame([_row(run) for run in runs])
    table.insert(len(ABOUT) + 1, "twin", [twins.get(run.run, np.nan) for run in runs])
    if len({run.era for run in runs}) > 1:
        table.insert(0, "era", [run.era for run in runs])
    return table


def called(row: str, experiment: str, qdisc: str, cc: str, era: str = "") -> str:
    """Return what the template `row` calls a run: it has `{experiment}`, `{qdisc}`, `{cc}` and
    `{era}`, or some.

    Raises DataError where it has another name in braces, or these are not closed."""
    try:
        return row.format(experiment=experiment, qdisc=qdisc, cc=cc, era=era)
    except (AttributeError, LookupError, ValueError) as error:
        wrong = f"is {row!r}, of which no name can be made ({error})"
        raise DataError.of("row", wrong, "Use {experiment}, {qdisc}, {cc} and {era}") from error


def named(
    runs: Iterable[RunFile], names: Mapping[str, str], row: str, means: bool = False
) -> dict[str, RunFile]:
    """Return `runs` by their names; DataError where the template `row` calls two the same.

    A row of `means` has a mark for each qdisc, so that these are told apart without a name."""
    by_name: dict[str, RunFile] = {}
    taken: dict[tuple[str, str], RunFile] = {}
    for run in runs:
        name = called(row, names[run.experiment], run.qdisc, run.cc, run.era)
        first = taken.setdefault((name, run.qdisc if means else ""), run)
        if first != run:
            wrong = f"is {row!r}, which calls {first.run} and {run.run} '{name}'"
            raise DataError.of("row", wrong, "Put {era} or another of its names into it")
        by_name.setdefault(name, run)
    return by_name


def cells(table: pd.DataFrame, names: Mapping[str, str], row: str) -> pd.DataFrame:
    """Return the means over seeds with their 95 % intervals: rig, qdisc, quantity, mean, ci_low,
    ci_high.

    `table` is from per_run. `names` has what experiments are called, and `row` is a template of a
    row's name, as `called` reads it. Seeds of which two came out the same have no interval: nothing
    was random.
    """
    present = [str(name) for name in table if name not in (*ABOUT, "era", "seed", "twin")]
    keys = [*ABOUT, *(["era"] if "era" in table else [])]
    over_seeds = means(table, keys, present)
    about = over_seeds[keys].astype(str).to_numpy()
    over_seeds["rig"] = [called(row, names.get(name, name), *more) for name, *more in about]
    return over_seeds[MEANS]


def measured_cells(
    study: StudyFolder, runs: Sequence[RunFile], names: Mapping[str, str], row: str
) -> pd.DataFrame:
    """Return `cells` of what a testbed measured of those of `runs`; without rows for nothing."""
    theirs, parts = measured.repetitions(study, runs), []
    if theirs:
        parts.append(cells(per_run(theirs), names, row))
    values = measured.stated(study, runs)
    values = values[values["metric"] != measured.BASE_RTT]
    if len(values):
        about = values[list(ABOUT)].to_numpy()
        values["rig"] = [called(row, names.get(name, name), *more) for name, *more in about]
        parts.append(values.rename(columns={"metric": "quantity", "value": "mean"}))
    both = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=MEANS)
    return both.reindex(columns=MEANS)


def with_measured(study: StudyFolder, runs: Mapping[str, RunFile]) -> dict[str, RunFile]:
    """Return `runs` by their names, behind each the first that a testbed measured of its cell."""
    theirs = {run.cell: run for run in reversed(measured.repetitions(study, [*runs.values()]))}
    named: dict[str, RunFile] = {}
    for name, run in runs.items():
        named[name] = run
        if run.cell in theirs:
            named[f"{name}, measured"] = theirs[run.cell]
    return named


def beside(table: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """Return `labelled` of our cells with a column `measured`, if there is anything of theirs."""
    if len(theirs):
        keys = ["rig", "qdisc", "quantity"]
        means = theirs.drop_duplicates(keys).rename(columns={"mean": "measured"})
        table = table.merge(means[[*keys, "measured"]], on=keys, how="left")
    return labelled(table)


def labelled(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table of `cells` for people: quantities by their titles, and no interval of one
    run."""
    shown = table.assign(quantity=table["quantity"].map(label))
    return shown.rename(columns={"rig": "what"}).dropna(axis="columns", how="all")


def label(quantity: str) -> str:
    """Return what an axis calls a number of `per_run`."""
    if quantity in QUANTITIES:
        return QUANTITIES[quantity]
    metric = metrics()[quantity]
    title = f"{metric.title[:1].upper()}{metric.title[1:]}"
    return f"{title} ({metric.unit})" if metric.unit else title


def described(table: pd.DataFrame) -> str:
    """Return what the description of a picture of `per_run`'s table begins with."""
    if "sojourn_mean_ms" in table:
        return "Means of what the packets of a queue waited, and of what else was measured"
    return "Means of round trips of pings and of flows, and of goodput"


def pinged(run: RunFile) -> dict[str, float]:
    """Return rtt_mean_ms and rtt_p99_ms of pings from SETTLED_S on; none where no program is a
    ping."""
    pings = replies(run)
    inside = pings[pings["time_s"] >= SETTLED_S]["rtt_ms"]
    if inside.empty:
        return {}
    return {"rtt_mean_ms": float(inside.mean()), "rtt_p99_ms": float(inside.quantile(0.99))}


def _row(run: RunFile) -> dict[str, object]:
    sources = {"sockets": _flows, "qdisc": _drops, "packets": packets.by_class}
    there = recorded(run.provenance)
    numbers = [of(run) for probe, of in sources.items() if probe in there]
    of_pings = pinged(run)
    if "sockets" not in there:
        numbers.append(_reported(run))
    if not any((of_pings, *numbers)):
        what = f"none of the probes {', '.join(sources)} is beside it"
        raise DataError.of(run.provenance, what, "Repeat the run with --probe")
    row: dict[str, object] = {name: getattr(run, name) for name in (*ABOUT, "seed")}
    for part in (of_pings, *numbers):
        row |= part
    return row


def _reported(run: RunFile) -> dict[str, float]:
    """Return the goodput of all flows by what programs reported, or flent and its pings did."""
    if run.data.name.endswith(datafile.FLENT) and run.data.exists():
        samples, flows, runs = dataset.read_runs([run])
        rtts = in_window(samples, runs, "loaded")["rtt_ms"].dropna()
        numbers: dict[str, Any] = {"goodput_mbit_s": flows["goodput_mbit_s"].sum(min_count=1)}
        numbers |= {"rtt_mean_ms": rtts.mean(), "rtt_p99_ms": rtts.quantile(0.99)}
    else:
        goodputs = reports.whole(run.provenance)["goodput_mbit_s"].astype(float)
        numbers = {"goodput_mbit_s": goodputs.sum(min_count=1)}
    return {name: float(value) for name, value in numbers.items() if value == value}


def _flows(run: RunFile) -> dict[str, float]:
    flows = connections(run)
    late = flows[flows["time_s"] >= SETTLED_S]
    ends = late.groupby(["node", "local_port"])[["bytes_acked", "time_s"]].agg(["first", "last"])
    sent = (ends["bytes_acked", "last"] - ends["bytes_acked", "first"]).sum()
    span_s = late["time_s"].max() - late["time_s"].min()
    return {
        "flow_rtt_ms": float(late["srtt_ms"].mean()),
        "goodput_mbit_s": float(8e-6 * sent / span_s),
    }


def _drops(run: RunFile) -> dict[str, float]:
    """Return the drops by the counters of the queues under test, in the last sample."""
    table = _probe(run, "qdisc")
    last = table[table["parent"] != "root"].groupby(["node", "interface", "handle"]).last()
    counts = {"drops": float(last["drops"].sum())}
    if "fq_codel_drop_overmemory" in last:
        counts["drops_overmemory"] = float(last["fq_codel_drop_overmemory"].sum())
    return counts


def _probe(run: RunFile, probe: str) -> pd.DataFrame:
    """Return the table of a probe beside the run, with time_s."""
    table = probed.read(Probe(probe), run.provenance.with_suffix(f".{probe}.parquet"))
    return table.assign(time_s=table["time_ns"] / 1e9 - _zero_s(run, table["time_ns"]))


def _zero_s(run: RunFile, times_ns: pd.Series) -> float:
    """Return when time begins: with the first ping, else with the first of `times_ns`."""
    answers = replies(run)
    return float(answers["at_s"].min() if len(answers) else times_ns.min() / 1e9)
