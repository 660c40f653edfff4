"""What docs/wifi.md says of gbw2015's Figs. 9 to 11 and Table 3, against the data."""

import math

import pandas as pd
import pytest

from analysis.measures import wifi_validation
from analysis.runs import dataset
from tests import ROOT
from tests.studies.measured import measured

QDISCS = ("pfifo_fast", "ared", "pie", "codel", "sfq", "fq_nocodel", "fq_codel")
RRUL = {
    "induced_latency_ms": ".0f", "goodput_download_mbit_s": ".1f", "goodput_upload_mbit_s": ".2f"
}  # fmt: skip


def over_wifi(experiment: str, era: str) -> pd.DataFrame:
    """A row a run."""
    return measured("gbw2015", experiment, (era,), ("cubic",))


def mean(experiment: str, era: str, measure: str, qdisc: str, form: str) -> str:
    table = over_wifi(experiment, era)
    return format(table[table["qdisc"] == qdisc][measure].mean(), form)


def on_both(experiment: str, measure: str, qdisc: str, form: str) -> list[str]:
    """Over `nanostation` and over `fitted`."""
    names = (experiment, f"{experiment}_fitted")
    return [mean(name, "2014c", measure, qdisc, form) for name in names]


@pytest.fixture(scope="module")
def page() -> list[list[str]]:
    """The cells of each row of a table."""
    lines = (ROOT / "docs/wifi.md").read_text().splitlines()
    return [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]


def row(page: list[list[str]], head: str, qdisc: str) -> list[str]:
    """The cells of `qdisc` in the table that has `head` in its first line."""
    begin = next(place for place, cells in enumerate(page) if head in cells)
    return next(cells[1:] for cells in page[begin:] if cells[0] == qdisc)


@pytest.mark.parametrize("qdisc", QDISCS)
def test_rrul(qdisc: str, page: list[list[str]]) -> None:
    ours = [
        ", ".join(mean(name, era, measure, qdisc, form) for measure, form in RRUL.items())
        for name, era in (
            ("wifi_rrul", "2014"),
            ("wifi_rrul", "2014c"),
            ("wifi_rrul_fitted", "2014c"),
        )
    ]
    assert row(page, "`nanostation`, `2014`", qdisc)[1:] == ours


@pytest.mark.parametrize("qdisc", QDISCS)
def test_rrul_with_minstrel(qdisc: str, page: list[list[str]]) -> None:
    table = over_wifi("wifi_rrul_fitted", "2014c")
    of = table[table["qdisc"] == qdisc]
    assert len(of) == 3
    spans = [f"{of[name].min():{form}} to {of[name].max():{form}}" for name, form in RRUL.items()]
    assert row(page, "Minstrel, seeds 1 to 3", qdisc)[0] == ", ".join(spans)


@pytest.mark.parametrize("qdisc", QDISCS)
def test_losses_of_calls(qdisc: str, page: list[list[str]]) -> None:
    cells = row(page, "beside one flow: printed", qdisc)
    for name, found in (("wifi_voip_1up", cells[1:3]), ("wifi_voip_rrul", cells[4:6])):
        ours = on_both(name, "voip_loss_percent", qdisc, ".2f")
        assert [one.split(" (")[0] for one in found] == ours


@pytest.mark.parametrize("qdisc", QDISCS)
def test_calls_and_pages_beside_rrul(qdisc: str, page: list[list[str]]) -> None:
    ours = on_both("wifi_voip_rrul", "voip_delay_median_ms", qdisc, ".0f")
    for name in ("wifi_web_small_rrul", "wifi_web_large_rrul"):
        ours += on_both(name, "fetch_time_normalised", qdisc, ".1f")
    assert row(page, "beside RRUL", qdisc) == ours


def of_link(link: str, qdisc: str) -> list[float]:
    """Latency (ms), download and upload (Mbit/s) of RRUL over a link that differs in one thing."""
    table = over_wifi(f"wifi_rrul{link}", "2014c")
    mean_of = table[table["qdisc"] == qdisc][list(RRUL)].mean()
    return [float(mean_of[name]) for name in RRUL]


def test_links_that_differ_in_one_thing() -> None:
    (fq, own), (bounded, whole), (fair, fifo), (once, at_once) = (
        [of_link(link, qdisc) for qdisc in ("fq_codel", "pfifo_fast")]
        for link in ("", "_airtime", "_aggregating", "_at_once")
    )
    said = [
        f"fq_codel has {bounded[0]:.1f} ms and {bounded[1]:.0f} Mbit/s in place of {fq[0]:.0f} ms "
        f"and {fq[1]:.0f}; pfifo_fast, which has its own queue, {whole[0]:.0f} ms",
        f"pfifo_fast has {fifo[1]:.0f} Mbit/s down and {fifo[2]:.0f} up in place of {own[1]:.0f} "
        f"and {own[2]:.1f}, fq_codel {fair[1]:.0f} and {fair[2]:.0f}",
        f"pfifo_fast has {at_once[0]:.0f} ms and {at_once[1]:.0f} Mbit/s down, fq_codel "
        f"{once[0]:.0f} ms and {once[1]:.0f}",
    ]
    rows = pd.read_csv(ROOT / "studies/gbw2015/published/fig9.csv")
    printed = rows[rows["metric"] == "induced_latency"].set_index("qdisc")["value"]
    ups = [of_link("_at_once", qdisc)[2] for qdisc in QDISCS]
    near, as_is = (
        sum(abs(of_link(link, qdisc)[0] / printed[qdisc] - 1) <= 0.25 for qdisc in QDISCS)
        for link in ("_at_once", "")
    )
    said += [
        f"{near} of the {len(QDISCS)} are within a quarter of what is printed and not {as_is}",
        f"but {min(ups):.0f} to {max(ups):.0f} Mbit/s go up",
    ]
    text = " ".join((ROOT / "docs/wifi.md").read_text().split())
    assert [one for one in said if one not in text] == []


OF_FIG9 = dict(
    zip(
        (("induced_latency", "round_trip"), ("goodput", "download"), ("goodput", "upload")),
        RRUL,
        strict=True,
    )
)


@pytest.mark.parametrize(
    ("name", "experiment", "era"),
    [("nanostation", "wifi_rrul", "2014"), ("fitted", "wifi_rrul_fitted", "2014c")],
)
def test_distance_from_fig_9(name: str, experiment: str, era: str, page: list[list[str]]) -> None:
    """By the rule of the fit: odd rows of the readings are seen, the others held out."""
    means = over_wifi(experiment, era).groupby("qdisc").mean(numeric_only=True)
    distances, near = [], 0
    for one in pd.read_csv(ROOT / "studies/gbw2015/published/fig9.csv").itertuples():
        ours = means.loc[one.qdisc, OF_FIG9[one.metric, one.direction]]
        error = one.reading_error
        distances.append(abs(math.log((ours + error) / (one.value + error))))
        near += abs(ours / one.value - 1) <= 0.15
    cells = [f"{sum(of) / len(of):.3f}" for of in (distances[::2], distances[1::2])]
    assert row(page, "within 15 % (21)", f"`{name}`, `{era}`") == [*cells, str(near)]


@pytest.fixture(scope="module")
def validated() -> pd.DataFrame:
    """The WiFi link beside theory."""
    sets = ("single", "saturation", "anomaly", "goodput", "three")
    names = [f"wifi_{name}" for name in sets]
    runs = dataset.find_several(
        ROOT / "data", "testbed", names, eras=["modern"], ccs=["-"], links=["-"]
    )
    return wifi_validation.compare(wifi_validation.read_wifi(runs))


def test_the_link_beside_theory(validated: pd.DataFrame, page: list[list[str]]) -> None:
    total = validated[validated["sender"] == wifi_validation.ALL_SENDERS]
    of = total[total["set"] == "saturation"]
    goodput = of[of["quantity"] == "goodput_mbit_s"]
    collided = of[(of["quantity"] == "collision_probability") & (of["stations"] > 1)]
    wide, narrow = (collided[collided["cw_min"] == window] for window in (31, 15))
    two = narrow[narrow["stations"] == 2].set_index("backoff")["error"]
    single = validated[validated["set"].isin(["single", "goodput"])]
    single = single[(single["quantity"] == "goodput_mbit_s") & single["theory"].notna()]
    slow = validated[(validated["set"] == "anomaly") & validated["theory"].notna()]

    def largest(errors: "pd.Series[float]", form: str = ".1f") -> str:
        return f"{100 * errors.abs().max():{form}} %"

    later, many = (some[some["stations"] >= least] for some, least in ((wide, 4), (narrow, 5)))
    ours = [
        (len(single), largest(single["error"], ".2f")),
        (len(goodput), largest(goodput["error"])),
        (
            len(wide),
            f"{largest(wide['error'])} (three stations; from four on {largest(later['error'])})",
        ),
        (len(many), largest(many["error"])),
        (
            len(two),
            f"{largest(two[['edca']])} (EDCA), {largest(two[['dcf']])} (DCF): the models take "
            "stations for independent",
        ),
        (len(collided), largest(wifi_validation.countdown_error(collided))),
        (len(slow), largest(slow["error"])),
    ]
    begin = next(place for place, cells in enumerate(page) if cells[0] == "compared") + 2
    assert [tuple(cells[1:]) for cells in page[begin : begin + len(ours)]] == [
        (str(cases), error) for cases, error in ours
    ]


def test_two_fast_stations_and_a_slow_one(validated: pd.DataFrame) -> None:
    found = wifi_validation.three(validated).set_index("below")
    text = (ROOT / "docs/wifi.md").read_text()
    for below in ("robin", "stations"):
        ours = [f"{found.loc[below, one]:.1f}" for one in wifi_validation.THREE.values()]
        assert f"| {ours[0]}, {ours[1]} and {ours[2]} Mbit/s |" in text
    robin, stations, one_queue = (found.loc[at, "all"] for at in ("robin", "stations", "2014"))
    assert f"from {robin:.1f} to {stations:.1f} here" in text
    assert f"as in 2014, it is {one_queue:.1f}" in text
