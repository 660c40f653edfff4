"""Figures: what is drawn where, that names do not cover each other, and that bytes repeat."""

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse
from matplotlib.text import Annotation, Text

from analysis import figures, style
from analysis.published import read_published

FIGURE_2 = Path(__file__).parents[1] / "data" / "published" / "gbw2015-fig2.csv"


def per_run(figure: str, seeds: int, offset: float = 1.05) -> pd.DataFrame:
    """Runs near the published values of a figure."""
    random = np.random.default_rng(3)
    table = read_published(FIGURE_2, figure)
    rows = []
    for qdisc, values in table.groupby("qdisc", sort=False):
        level = values.set_index("direction")["value"]
        down = level.get("one", level.get("download"))
        for seed in range(1, seeds + 1):
            noise = random.normal(1, 0.01, 3)
            rows.append(
                {
                    "qdisc": qdisc, "seed": seed,
                    "induced_latency_ms": level["round_trip"] * offset * noise[0],
                    "goodput_download_mbit_s": down * noise[1],
                    "goodput_upload_mbit_s": level.get("upload", down) * noise[2],
                }
            )  # fmt: skip
    return pd.DataFrame(rows)


def curves(seeds: int) -> pd.DataFrame:
    time_s = np.round(np.arange(0, 25.2, 0.2), 6)
    half = 2.0 if seeds > 1 else np.nan
    tables = []
    for place, qdisc in enumerate(style.QDISC_ORDER):
        rtt = 50 + np.where(time_s >= 5, 2.0 * place, 0)
        low, high = rtt - half, rtt + half
        tables.append(
            pd.DataFrame({"qdisc": qdisc, "time_s": time_s, "rtt_ms": rtt,
                          "ci_low_ms": low, "ci_high_ms": high})
        )  # fmt: skip
    return pd.concat(tables)


def names(axes: Axes) -> list[Annotation]:
    return [
        text for text in axes.texts
        if isinstance(text, Annotation) and text.get_text() in style.QDISC_ORDER
    ]  # fmt: skip


def assert_names_are_apart(figure: Figure) -> None:
    renderer = FigureCanvasAgg(figure).get_renderer()
    page = figure.bbox
    boxes = []
    for note in names(figure.axes[0]):
        note.update_positions(renderer)
        # the extent of the text alone, without the line that leads to its point
        boxes.append((note.get_text(), Text.get_window_extent(note, renderer)))
    for (first, a), (second, b) in itertools.combinations(boxes, 2):
        assert not a.overlaps(b), f"{first} covers {second}"
    for name, box in boxes:
        assert page.x0 <= box.x0 and box.x1 <= page.x1, f"{name} leaves the page"


@pytest.mark.parametrize("figure", ["2a", "2b", "2c"])
@pytest.mark.parametrize("seeds", [1, 5])
def test_names_are_apart_and_off_the_markers(figure: str, seeds: int) -> None:
    directions = ("download", "upload") if figure == "2c" else ("download",)
    with style.styled() as palette:
        drawn = figures.latency_goodput(
            per_run(figure, seeds), read_published(FIGURE_2, figure), palette, directions=directions
        )
        assert len(names(drawn.axes[0])) == 7 * len(directions)
        assert_names_are_apart(drawn)


def test_better_is_up_and_to_the_right() -> None:
    with style.styled() as palette:
        drawn = figures.latency_goodput(per_run("2b", 3), read_published(FIGURE_2, "2b"), palette)
    axes = drawn.axes[0]
    left, right = axes.get_xlim()
    assert left > 107
    assert right < 0
    assert axes.get_ylim()[0] < axes.get_ylim()[1]


def test_ours_is_the_median_and_published_is_hollow() -> None:
    runs = per_run("2b", 3)
    with style.styled() as palette:
        drawn = figures.latency_goodput(runs, read_published(FIGURE_2, "2b"), palette)
    markers = [line for line in drawn.axes[0].lines if line.get_marker() == "D"]  # codel
    hollow = [line for line in markers if line.get_markerfacecolor() == palette.paper]
    filled = [line for line in markers if line.get_markerfacecolor() != palette.paper]
    assert [(line.get_xdata()[0], line.get_ydata()[0]) for line in hollow] == [(35.0, 9.04)]
    codel = runs[runs["qdisc"] == "codel"]
    assert filled[0].get_xdata()[0] == pytest.approx(codel["induced_latency_ms"].median())


@pytest.mark.parametrize(("seeds", "ellipses"), [(2, 0), (3, 7)])
def test_ellipses_need_three_runs(seeds: int, ellipses: int) -> None:
    with style.styled() as palette:
        drawn = figures.latency_goodput(
            per_run("2a", seeds), read_published(FIGURE_2, "2a"), palette
        )
    assert sum(isinstance(patch, Ellipse) for patch in drawn.axes[0].patches) == ellipses


def test_missing_data_leaves_the_published_marker() -> None:
    runs = per_run("2b", 1)
    with style.styled() as palette:
        drawn = figures.latency_goodput(
            runs[runs["qdisc"] == "sfq"], read_published(FIGURE_2, "2b"), palette
        )
    assert len(names(drawn.axes[0])) == 7


@pytest.mark.parametrize("seeds", [1, 3])
def test_time_series(seeds: int) -> None:
    with style.styled() as palette:
        drawn = figures.latency_time(curves(seeds), palette)
        assert_names_are_apart(drawn)
    axes = drawn.axes[0]
    assert [t.get_text() for t in names(axes)] == list(style.QDISC_ORDER)
    assert axes.get_xlim() == (0, 25)
    assert axes.get_ylim()[0] == 0


def test_looks_are_distinct() -> None:
    assert len({look.color for look in style.LOOKS.values()}) == 7
    assert len({look.dark_color for look in style.LOOKS.values()}) == 7
    assert len({look.marker for look in style.LOOKS.values()}) == 7


def test_new_qdiscs_come_last_and_have_a_look() -> None:
    assert style.in_order(["mine", "fq_codel", "ared", "fq_codel"]) == ["ared", "fq_codel", "mine"]
    assert style.look("mine") == style.OTHER


def test_saved_files_repeat_byte_for_byte(tmp_path: Path) -> None:
    def draw(palette: style.Palette) -> Figure:
        return figures.latency_time(curves(3), palette)

    first, second = style.save(draw, tmp_path / "a" / "x"), style.save(draw, tmp_path / "b" / "x")
    assert [path.name for path in first] == ["x.svg", "x-dark.svg", "x.png"]
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
    light, dark, png = (path.read_bytes() for path in first)
    assert light != dark
    assert light.startswith(b"<?xml")
    assert png.startswith(b"\x89PNG")


def test_descriptions_name_values() -> None:
    text = figures.describe_latency_goodput(per_run("2b", 1), "10/10")
    assert "10/10 Mbit/s" in text
    assert all(qdisc in text for qdisc in style.QDISC_ORDER)
