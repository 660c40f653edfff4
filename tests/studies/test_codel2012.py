"""What the README of codel2012 says of each statement, against the data."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from analysis.measures.dynamic import steps
from analysis.measures.table import measure_study
from analysis.runs.dataset import find_runs, read_record
from analysis.runs.study import study_at
from tests import ROOT

ERA = "2014c-host_noise"
STATIC = "static_rtt_"
RTTS = ("10ms", "30ms", "100ms", "200ms", "500ms")


@cache
def measured() -> pd.DataFrame:
    """A row a run, a column a metric."""
    table = measure_study(study_at("codel2012"), ROOT / "data", eras=[ERA], jobs=1)
    cells = ["experiment", "link", "qdisc", "seed"]
    wide = table.pivot_table(index=cells, columns="metric", values="value", observed=True)
    return wide.reset_index()


def mean(metric: str, experiment: str, qdisc: str, link: str = "100/100") -> float:
    runs = measured().query("experiment == @experiment and qdisc == @qdisc and link == @link")
    return float(runs[metric].mean())


def dynamic(metric: str, qdisc: str) -> float:
    return mean(metric, "dynamic", qdisc)


def by_rtt(metric: str, qdisc: str, links: str) -> list[float]:
    """Medians over all loads and those of the static rates that `links` asks for, by RTT."""
    runs = measured().query(f"qdisc == @qdisc and {links}")
    of = runs.groupby("experiment")[metric].median()
    return [float(of[STATIC + rtt]) for rtt in RTTS]


def low(metric: str, qdisc: str, link: str) -> list[float]:
    runs = measured().query("qdisc == @qdisc and link == @link")
    runs = runs[runs["experiment"].str.match("low_[0-9]")]
    return [float(one) for one in runs.groupby("experiment")[metric].median()]


def span(values: list[float], form: str = ".0f") -> str:
    least, most = f"{min(values):{form}}", f"{max(values):{form}}"
    return least if least == most else f"{least} to {most}"


def of_tail_drop() -> list[float]:
    """CoDel's utilisation by Tail Drop's, of each run of the same load; medians by RTT, %."""
    runs = measured()[measured()["experiment"].isin([STATIC + rtt for rtt in RTTS])]
    used = runs.pivot_table(
        index=["experiment", "link", "seed"], columns="qdisc", values="utilisation_percent"
    )
    of = (100 * used["codel"] / used["tail_drop"]).groupby("experiment").median()
    return [float(of[STATIC + rtt]) for rtt in RTTS]


SLOW, FAST, ALL = "link == '3/3'", "link != '3/3'", "link != ''"


def red_beside_codel() -> str:
    delays = [by_rtt("queue_median_ms", qdisc, SLOW) for qdisc in ("red", "codel")]
    used = [by_rtt("utilisation_percent", qdisc, SLOW) for qdisc in ("red", "codel")]
    return (
        f"{span(delays[0])} ms where CoDel has {span(delays[1])}, {span(used[0])} % of the link "
        f"against {span(used[1])} (medians by RTT)"
    )


def red_when_fast() -> str:
    red, codel = (by_rtt("queue_median_ms", qdisc, FAST) for qdisc in ("red", "codel"))
    less, more = (by_rtt("utilisation_percent", qdisc, FAST) for qdisc in ("red", "codel"))
    return (
        f"{red[0]:.1f} against {codel[0]:.1f} ms and {less[0]:.1f} against {more[0]:.1f} % at "
        f"10 ms, {red[3]:.1f} against {codel[3]:.1f} ms and {less[3]:.0f} against {more[3]:.0f} % "
        f"at 200 ms; at 500 ms {red[4]:.1f} against {codel[4]:.1f} ms and {less[4]:.0f} against "
        f"{more[4]:.0f} %"
    )


def codel_and_tail_drop() -> str:
    of = of_tail_drop()
    codel, tail = (by_rtt("queue_median_ms", qdisc, ALL) for qdisc in ("codel", "tail_drop"))
    return (
        f"{span(of[:3])} % of it up to 100 ms, {of[3]:.0f} % at 200 ms, {of[4]:.0f} % at 500 ms; "
        f"{span(codel)} ms of delay instead of {span(tail[:4])}, at 500 ms of {tail[4]:.0f} "
        "(medians over rates and loads)"
    )


def drop_shares() -> str:
    codel, red = (by_rtt("drop_share_jain", qdisc, ALL) for qdisc in ("codel", "red"))
    return (
        f"{span(codel[2:], '.2f')} against {span(red[2:], '.2f')}; below it both have "
        f"{span(codel[:2] + red[:2], '.2f')} (medians)"
    )


def red_at_low_rates() -> str:
    delays = {
        link: span(low("queue_median_ms", "red", f"{link}/{link}"))
        for link in ("0.128", "0.256", "0.512", "1.5")
    }
    return (
        f"{delays['0.128']} ms at 128, {delays['0.256']} at 256, {delays['0.512']} at 512, "
        f"{delays['1.5']} at 1500 kbit/s"
    )


def targets() -> str:
    used = {
        target: span(
            [mean("utilisation_percent", "constants", qdisc, link) for link in ("45/45", "100/100")]
        )
        for target, qdisc in (("1 ms", "codel_1ms"), ("5 ms", "codel"), ("20 ms", "codel_20ms"))
    }
    return f"1 ms: {used['1 ms']} % of the link; 5 ms: {used['5 ms']} %; 20 ms: {used['20 ms']} %"


def long_rtt() -> str:
    runs = measured()[measured()["experiment"] == "static_rtt_1000ms"]
    used = list(runs.groupby("link")["utilisation_percent"].mean())
    return f"{span(used)} % of the link is used"


def edge(metric: str, qdisc: str, link: str, experiment: str = "edge") -> float:
    return mean(metric, experiment, qdisc, f"{link}/{link}")


def edge_drops() -> str:
    dropped, median = (
        {
            (qdisc, link): f"{edge(metric, qdisc, link):{form}}"
            for qdisc in ("codel", "tail_drop_8bdp")
            for link in ("0.512", "1.5")
        }
        for metric, form in (("queue_dropped_percent", ".1f"), ("queue_median_ms", ".0f"))
    )
    c, t = "codel", "tail_drop_8bdp"
    return (
        f"{dropped[c, '0.512']} and {dropped[t, '0.512']} % at 512 kbit/s down, "
        f"{dropped[c, '1.5']} and {dropped[t, '1.5']} % at 1.5 Mbit/s; medians "
        f"{median[c, '0.512']} and {median[t, '0.512']} ms, {median[c, '1.5']} and "
        f"{median[t, '1.5']} ms"
    )


def edge_sent() -> str:
    of = {
        (qdisc, link): 100
        * edge("queue_megabytes", "codel", link)
        / edge("queue_megabytes", qdisc, link)
        for qdisc in ("tail_drop_8bdp", "tail_drop")
        for link in ("0.512", "1.5")
    }
    return (
        f"{of['tail_drop_8bdp', '0.512']:.0f} % of Tail Drop's with eight BDP at 512 kbit/s, "
        f"{of['tail_drop_8bdp', '1.5']:.0f} % at 1.5 Mbit/s; of that with one BDP, "
        f"{of['tail_drop', '0.512']:.0f} and {of['tail_drop', '1.5']:.0f} %"
    )


def sent() -> str:
    megabytes, after = (
        {qdisc: dynamic(metric, qdisc) for qdisc in ("codel_830", "tail_drop_830")}
        for metric in ("queue_megabytes", "after_rises_megabytes")
    )
    lacking, jumps = (one["tail_drop_830"] - one["codel_830"] for one in (megabytes, after))
    percent = 100 * megabytes["codel_830"] / megabytes["tail_drop_830"]
    return (
        f"{percent:.0f} %; of the {lacking:.0f} MB that lack, {jumps:.0f} in the 10 s after the "
        "jumps"
    )


def sent_with_10() -> str:
    codel = dynamic("queue_megabytes", "codel_830")
    few = ("codel_10", "red_10", "tail_drop_10")
    return f"{span([100 * dynamic('queue_megabytes', one) / codel for one in few])} %"


def of_codel() -> str:
    median, p75 = (dynamic(f"queue_{one}_ms", "codel_830") for one in ("median", "p75"))
    return f"{median:.1f} and {p75:.1f} ms"


def low_packets() -> str:
    small = low("queue_median_ms", "codel_mtu500", "0.128/0.128")
    large = low("queue_median_ms", "codel", "0.128/0.128")
    return f"{span(small)} and {span(large)} ms (medians by RTT)"


SAID: dict[str, Callable[[], str]] = {
    "Fig. 7, Tail Drop: longest delay": lambda: (
        f"{dynamic('queue_longest_ms', 'tail_drop_830') / 1000:.2f} s"
    ),
    "Fig. 7, Tail Drop with 10 packets: longest delay": lambda: (
        f"{dynamic('queue_longest_ms', 'tail_drop_10'):.0f} ms"
    ),
    "Fig. 7, 10 packets: sent, of CoDel's with 830": sent_with_10,
    "Fig. 7, CoDel: median and 75th percentile of the delay": of_codel,
    "Fig. 7, CoDel: below 90 ms": lambda: (
        f"{dynamic('below_90ms_percent', 'codel_830'):.0f} % of the time"
    ),
    "Fig. 7, CoDel: sent, of Tail Drop's": sent,
    "Fig. 5, RED at 3 Mbit/s": red_beside_codel,
    "Fig. 5, RED from 10 Mbit/s on": red_when_fast,
    "Fig. 8, CoDel and Tail Drop": codel_and_tail_drop,
    "Fig. 9, Jain's index of drop shares": drop_shares,
    "Fig. 6, packets of 500 and 1500 bytes, 128 kbit/s": low_packets,
    "RED at 128 to 1500 kbit/s": red_at_low_rates,
    "CoDel's target at 45 and 100 Mbit/s, one transfer": targets,
    "RTT of 1 s": long_rtt,
    "Consumer edge, same buffer": edge_drops,
    "Consumer edge, sent downstream": edge_sent,
}


@cache
def page() -> str:
    return (Path(ROOT) / "studies/codel2012/README.md").read_text()


@pytest.mark.parametrize("statement", SAID)
def test_what_came_of_it(statement: str) -> None:
    (row,) = (line for line in page().splitlines() if line.startswith(f"| {statement} |"))
    here = row.strip("| ").split(" | ")[2]
    assert SAID[statement]() in here


def test_reverse_traffic_at_the_edge() -> None:
    """What it costs CoDel, against runs without it."""
    both, down = (
        {link: edge("queue_megabytes", "codel", link, one) for link in ("0.512", "1.5")}
        for one in ("edge", "edge_down")
    )
    cost = [100 * (1 - both[link] / down[link]) for link in ("0.512", "1.5")]
    added = [
        edge("queue_mean_ms", "codel", link) - edge("queue_mean_ms", "codel", link, "edge_down")
        for link in ("0.512", "1.5")
    ]
    said = (
        f"costs CoDel at the edge {span(cost)} % of what it sends and adds {added[0]:.0f} ms to "
        f"the mean delay at 512 kbit/s, {added[1]:.0f} ms at 1.5 Mbit/s"
    )
    assert said in " ".join(page().split())
    of = 100 * down["1.5"] / edge("queue_megabytes", "tail_drop_8bdp", "1.5", "edge_down")
    assert f"without it CoDel has {of:.0f} % of that (one seed)" in " ".join(page().split())


def test_where_codel_is_above_90_ms() -> None:
    """At which rate of Fig. 7's link, and by the median of each step."""
    taken = []
    for run in find_runs(ROOT / "data", "codel2012", f"dynamic@{ERA}", qdiscs=["codel_830"]):
        changes = [one for one in read_record(run)["changes"] if one["port"].startswith("left ")]
        at = [0.0, *(float(one["at_s"]) for one in changes), float("inf")]
        mbit_s = dict(enumerate([100, *(one["rate_bit_s"] / 1e6 for one in changes)]))
        table = steps(run)
        place = pd.cut(table["time_s"], at, labels=False)
        taken.append(table.assign(mbit_s_link=place.map(mbit_s)))
    table = pd.concat(taken)
    above = table[table["longest_ms"] >= 90]
    slow = 100 * (above["mbit_s_link"] == 1).mean()
    assert set(above["mbit_s_link"].value_counts().index[:2]) == {1, 10}
    below = 100 * (table["median_ms"].fillna(0) < 90).mean()
    said = " ".join(page().split())
    assert f"{100 * len(above) / len(table):.0f} % of the time, is for {slow:.0f} % at" in said
    assert f"by the median of each step it is {below:.0f} %" in said
