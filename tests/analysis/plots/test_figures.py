"""Figures: what is drawn where, that names do not cover each other, and that bytes repeat."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse

from qdisclab.analysis.plots import distance, rows as rows_of, rrul, style
from qdisclab.analysis.runs.order import QDISC_ORDER, in_order
from qdisclab.analysis.runs.published import read_published
from qdisclab.analysis.runs.settings import Setting
from qdisclab.emulation.kinds.qdiscs import KINDS
from studies.gbw2015.plots import bars, transient
from tests import ROOT, OwnFile

PAPER = [Setting("2014", "cubic")]
FIGURE_2 = ROOT / "studies/gbw2015/published/fig2.csv"


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
                    "era": "2014", "cc": "cubic", "qdisc": qdisc, "seed": seed,
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
    for place, qdisc in enumerate(QDISC_ORDER):
        rtt = 50 + np.where(time_s >= 5, 2.0 * place, 0)
        low, high = rtt - half, rtt + half
        tables.append(
            pd.DataFrame({"era": "2014", "cc": "cubic", "qdisc": qdisc, "time_s": time_s,
                          "rtt_ms": rtt, "ci_low_ms": low, "ci_high_ms": high,
                          "n_seeds": seeds})
        )  # fmt: skip
    return pd.concat(tables)


def named(figure: Figure) -> list[str]:
    """The qdiscs that the legend has."""
    return [text.get_text() for text in figure.legends[0].get_texts()]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_value_of_a_bar_beyond_the_axis_is_on_paper(theme: style.Theme) -> None:
    with style.styled(theme) as palette:
        axes = Figure().add_subplot()
        bars._value(axes, 0, 20, 1, 10, palette)
        bars._value(axes, 1, 5, 1, 10, palette)
        beyond, within = (text.get_bbox_patch() for text in axes.texts)
    assert within is None
    assert beyond.get_facecolor()[:3] == to_rgb(palette.paper)


def test_better_is_up_and_to_the_right() -> None:
    with style.styled() as palette:
        drawn = rrul.latency_goodput(
            per_run("2b", 3), read_published(FIGURE_2, "2b"), PAPER, palette
        )
    axes = drawn.axes[0]
    left, right = axes.get_xlim()
    assert left > 107
    assert right < 0
    assert axes.get_ylim()[0] < axes.get_ylim()[1]


def test_ours_is_the_median_and_published_is_hollow() -> None:
    runs = per_run("2b", 3)
    with style.styled() as palette:
        drawn = rrul.latency_goodput(runs, read_published(FIGURE_2, "2b"), PAPER, palette)
    markers = [line for line in drawn.axes[0].lines if line.get_marker() == "D"]  # codel
    hollow = [line for line in markers if line.get_markerfacecolor() == palette.paper]
    filled = [line for line in markers if line.get_markerfacecolor() != palette.paper]
    assert [(line.get_xdata()[0], line.get_ydata()[0]) for line in hollow] == [(35.0, 9.04)]
    codel = runs[runs["qdisc"] == "codel"]
    assert filled[0].get_xdata()[0] == pytest.approx(codel["induced_latency_ms"].median())


@pytest.mark.parametrize(("seeds", "ellipses"), [(2, 0), (3, 7)])
def test_ellipses_need_three_runs(seeds: int, ellipses: int) -> None:
    with style.styled() as palette:
        drawn = rrul.latency_goodput(
            per_run("2a", seeds), read_published(FIGURE_2, "2a"), PAPER, palette
        )
    assert sum(isinstance(patch, Ellipse) for patch in drawn.axes[0].patches) == ellipses


def test_missing_data_leaves_the_published_marker() -> None:
    runs = per_run("2b", 1)
    with style.styled() as palette:
        drawn = rrul.latency_goodput(
            runs[runs["qdisc"] == "sfq"], read_published(FIGURE_2, "2b"), PAPER, palette
        )
    assert named(drawn) == list(QDISC_ORDER)


@pytest.mark.parametrize("seeds", [1, 3])
def test_time_series(seeds: int) -> None:
    with style.styled() as palette:
        drawn = transient.latency_time(curves(seeds), PAPER, palette)
    axes = drawn.axes[0]
    assert named(drawn) == list(QDISC_ORDER)
    assert axes.get_xlim() == (0, 25)
    assert axes.get_ylim()[0] == 0
    bands = [path.vertices[:, 1].min() for band in axes.collections for path in band.get_paths()]
    assert bands == [50] * len(QDISC_ORDER) * (seeds > 1)  # 50 ms is the empty path


def test_directions_are_named_beside_their_points() -> None:
    both = ("download", "upload")
    with style.styled() as palette:
        drawn = rrul.latency_goodput(
            per_run("2c", 1), read_published(FIGURE_2, "2c"), PAPER, palette, directions=both
        )
    axes = drawn.axes[0]
    assert [text.get_text() for text in axes.texts] == [*both]
    assert axes.texts[0].xy[1] > axes.texts[1].xy[1]
    assert axes.get_title("left") == "one run"


def test_looks_are_distinct() -> None:
    looks = ALL_LOOKS.values()
    for of_look in ("color", "dark_color", "marker"):
        assert len({getattr(look, of_look) for look in looks}) == len(looks) == 13


#: What those see who lack a kind of cones; of linear RGB (Machado, Oliveira and Fernandes, "A
#: Physiologically-based Model for Simulation of Color Vision Deficiency", 2009, severity 1.0).
EYES = {
    "all cones": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                   [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                     [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
                   [0.004733, 0.691367, 0.303900]],
}  # fmt: skip


def lab(color: str, eye: Any) -> Any:
    """CIE L*a*b* (D65) of a colour, as `eye` sees it."""
    srgb = np.array(to_rgb(color))
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
                       [0.0193339, 0.1191920, 0.9503041]])  # fmt: skip
    xyz = to_xyz @ np.clip(np.asarray(eye) @ linear, 0, 1) / [0.95047, 1, 1.08883]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


ALL_LOOKS = style.looks()


@pytest.mark.parametrize("eye", EYES.values(), ids=EYES)
@pytest.mark.parametrize("theme", ["color", "dark_color"])
def test_colours_are_told_apart_by_all_eyes(theme: str, eye: Any) -> None:
    seen = {name: lab(getattr(look, theme), eye) for name, look in ALL_LOOKS.items()}
    for one, other in itertools.combinations(seen, 2):  # a difference of 2.3 is just seen
        assert np.linalg.norm(seen[one] - seen[other]) > 10, (one, other)


def test_new_qdiscs_come_last_and_have_a_look() -> None:
    assert in_order(["mine", "fq_codel", "ared", "fq_codel"]) == ["ared", "fq_codel", "mine"]
    looks = [style.look(name) for name in ("mine", "yours", "fifo")]
    assert len({look.color for look in looks}) == len({look.marker for look in looks}) == 3
    assert looks == [style.look(name) for name in ("mine", "yours", "fifo")]
    assert style.look("cake") == KINDS["cake"].look


@pytest.mark.parametrize("color", ["#000000", "#110022", "#882255", "#0000ff", "#ffffff"])
def test_a_colour_of_ones_own_is_seen_on_the_dark_page_too(color: str, own_file: OwnFile) -> None:
    text = f'papers: [gbw2015]\nqdiscs:\n  mine: {{kind: codel, color: "{color}"}}\n'
    own_file(text)
    look = style.look("mine")
    assert look.color == color
    with style.styled("dark") as palette:
        seen = style.contrast(look.dark_color, palette.paper)
        assert look.dark_color == color or 3 <= seen < 3.5
        assert style.contrast(color, palette.paper) >= 3 or look.dark_color != color
    own_file(text.replace("}", ', dark_color: "#123456"}'))
    assert style.look("mine").dark_color == "#123456"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_looks_are_seen_on_their_page(theme: style.Theme) -> None:
    with style.styled(theme) as palette:
        for name in ALL_LOOKS:
            assert style.contrast(palette.color(name), palette.paper) > 2, name


def test_saved_files_repeat_byte_for_byte(tmp_path: Path) -> None:
    def draw(palette: style.Palette) -> Figure:
        return transient.latency_time(curves(3), PAPER, palette)

    first, second = style.save(draw, tmp_path / "a" / "x"), style.save(draw, tmp_path / "b" / "x")
    assert [path.name for path in first] == ["x.svg", "x-dark.svg", "x.png", "x.pdf"]
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
    light, dark, png, pdf = (path.read_bytes() for path in first)
    assert light != dark
    assert light.startswith(b"<?xml")
    assert png.startswith(b"\x89PNG")
    assert pdf.startswith(b"%PDF")


def test_published_values_are_not_drawn_beside_new_reno() -> None:
    runs = per_run("2b", 1)
    both = [runs.assign(era="2014", cc=cc) for cc in ("cubic", "reno")]
    shown = [Setting("2014", "cubic"), Setting("2014", "reno")]
    with style.styled() as palette:
        drawn = rrul.latency_goodput(
            pd.concat(both), read_published(FIGURE_2, "2b"), shown, palette
        )
    hollow = [
        sum(line.get_markerfacecolor() == palette.paper for line in axes.lines)
        for axes in drawn.axes
    ]
    assert hollow == [7, 0]


def test_marks_at_the_ends_of_an_axis_are_whole() -> None:
    cell = {"row": "one", "quantity": "drops", "mean": 0.0, "ci_low": np.nan, "ci_high": np.nan}
    table = pd.DataFrame([cell | {"qdisc": "codel"}, cell | {"qdisc": "pie", "mean": 9.0}])
    with style.styled() as palette:
        (dots,) = rows_of.dots(table, ["one"], ["drops"], palette, {"drops": "Drops"}).axes
    assert not any(line.get_clip_on() for line in dots.lines)


def test_there_is_a_panel_for_each_quantity_and_no_other() -> None:
    labels = {name: name for name in "abcde"}
    cell = {"row": "first", "qdisc": "codel", "mean": 1.0, "ci_low": np.nan, "ci_high": np.nan}
    table = pd.DataFrame([cell | {"quantity": name} for name in labels])
    with style.styled() as palette:
        drawn = rows_of.dots(table, ["first"], list(labels), palette, labels)
    shown = [axes.get_xlabel() for axes in drawn.axes if axes.get_visible()]
    assert shown == [*labels]


def test_an_index_has_plain_numbers_on_its_axes() -> None:
    shares = [("codel", 0.55, 0.6), ("pie", 0.98, 0.9)]
    columns = ["qdisc", "published", "ours"]
    table = pd.DataFrame(shares, columns=columns).assign(
        source="Fig. 6", quantity="Jain's index", unit="index", error=0.1, reading_error=0.01,
        ci_low=np.nan, ci_high=np.nan,
    )  # fmt: skip
    with style.styled() as palette:
        figure = distance.scatter(table, palette)
    figure.draw_without_rendering()
    names = [one.get_text() for one in figure.axes[0].get_xticklabels(which="both")]
    assert {float(one) for one in names if one} >= {0.6, 1}  # no powers of ten


def test_dots_of_other_settings_are_hollow_and_wide_intervals_end_at_the_axis() -> None:
    cell = {"row": "one", "qdisc": "codel", "quantity": "ms", "mean": 10.0, "ci_low": 9.0}
    table = pd.DataFrame(
        [cell | {"ci_high": 11.0, "filled": True}, cell | {"ci_high": 99.0, "filled": False}]
    )
    with style.styled() as palette:
        drawn = rows_of.dots(table, ["one"], ["ms"], palette, {"ms": "Wait"}, about=("a", "b"))
        (axes,) = drawn.axes
        faces = [line.get_markerfacecolor() for line in axes.lines if line.get_marker() == "D"]
        assert [face == palette.paper for face in faces] == [False, True]
    assert axes.get_xlim() == (0, pytest.approx(1.08 * 11))
    assert max(max(line.get_xdata()) for line in axes.lines) == pytest.approx(1.08 * 11)


def test_dots_below_the_end_of_a_logarithmic_axis_are_at_its_end() -> None:
    cell = {"row": "one", "quantity": "%", "ci_low": np.nan, "ci_high": np.nan}
    table = pd.DataFrame(
        [cell | {"qdisc": "codel", "mean": 0.0}, cell | {"qdisc": "pie", "mean": 5}]
    )
    with style.styled() as palette:
        drawn = rows_of.dots(table, ["one"], ["%"], palette, {"%": "Loss"}, least={"%": 0.01})
    drawn.draw_without_rendering()
    (axes,) = drawn.axes
    assert {text.get_text() for text in axes.get_xticklabels()} >= {"≤ 0.01", "0.1"}
    assert 0.01 in [float(line.get_xdata()[0]) for line in axes.lines]
