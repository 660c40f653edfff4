"""Colours, markers and files of every figure.

The seven colours are those of M. Okabe and K. Ito, "Color Universal Design" (2008), without the
yellow, which is too pale on paper; each qdisc has a marker and a dash pattern as well, so that no
figure depends on colour alone.
"""

import colorsys
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any, Final, Literal
from zlib import crc32

import matplotlib as mpl
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from PIL import Image

from qdisclab.emulation.config.ownfile import drawn
from qdisclab.emulation.kinds.qdiscs import KINDS
from qdisclab.emulation.kinds.qdiscs.base import Look

Theme = Literal["light", "dark"]


NAMED: Final[dict[str, Look]] = {
    "ared": Look("#E69F00", "#f0b030", "s", (6, 1.5)),
    "fq_nocodel": Look("#56B4E9", "#8ccdf3", "P", (2, 1.2)),
}
"""Names that papers have for kinds with certain options. Kinds have their look in their modules:
those that came after the papers in Paul Tol's muted colours, darker or lighter where one of the
seven is near."""

CALLED: Final = {"tail_drop": "pfifo_fast"}  # other names of what is drawn as one

LEAST_CONTRAST: Final = 3.0
"""Of what is drawn with what it is drawn on (WCAG 2.2, 1.4.11)."""

OWN_DASHES: Final = (8, 1.5, 2, 1.5)
OTHERS: Final = (
    Look("#666666", "#aaaaaa", "h", (1, 1)),
    Look("#8c6d31", "#c9a45c", "<", (5, 1.5)),
    Look("#8a5cd1", "#b79be8", "d", (2, 1)),
    Look("#c2255c", "#f06595", "^", (6, 1.5, 2, 1.5)),
)
"""Of names that only a study has: each name has its place, or the next that no other took."""

_SIZE: Final = re.compile(r'width="([\d.]+)pt" height="[\d.]+pt"')
WIDE_PT: Final = 675.0
"""900 pixels: the width that JupyterLab has for a figure on a laptop, next to its list of files."""

_INK: Final[dict[Theme, dict[str, str]]] = {
    "light": {"ink": "#1c1c1c", "soft": "#5c5c5c", "grid": "#e4e4e4", "paper": "#ffffff"},
    "dark": {"ink": "#e6e6e6", "soft": "#a8a8a8", "grid": "#34383e", "paper": "#1b1e22"},
}


_SETTINGS: Final[dict[Any, Any]] = {  # matplotlib types each key apart
    "figure.dpi": 110,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.labelsize": 12,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "grid.linewidth": 0.8,
    "xtick.labelsize": 11,
    "ytick.labelsize": 11,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "legend.frameon": False,
    "legend.fontsize": 10.5,
    "svg.hashsalt": "reproduce-all",
    "svg.fonttype": "path",
}


@dataclass(frozen=True)
class Palette:
    """The colours of the theme in which a figure is drawn."""

    theme: Theme
    ink: str
    soft: str
    grid: str
    paper: str

    def color(self, qdisc: str) -> str:
        """Return the colour of a qdisc in this theme."""
        style = look(qdisc)
        return style.color if self.theme == "light" else style.dark_color


def look(qdisc: str) -> Look:
    """Return how a qdisc is drawn: the user's own (`qdisc/own.yaml`), a kind, or another name."""
    qdisc = CALLED.get(qdisc, qdisc)
    if mine := drawn().get(qdisc):
        return Look(mine.color, mine.dark_color or on_dark(mine.color), mine.marker, OWN_DASHES)
    return looks().get(qdisc) or _other(qdisc)


def looks() -> dict[str, Look]:
    """Return the looks of kinds of qdiscs and of the names that papers have for them."""
    return {**{name: kind.look for name, kind in KINDS.items() if kind.look}, **NAMED}


_taken: dict[str, int] = {}  # by new names, of OTHERS


def forget_others() -> None:
    """Forget the looks of new names, so that those of a page do not depend on pages before it."""
    _taken.clear()


def _other(qdisc: str) -> Look:
    """Return the look of a name that is new, the same while this process lasts."""
    if qdisc not in _taken:
        first = crc32(qdisc.encode())
        places = [(first + step) % len(OTHERS) for step in range(len(OTHERS))]
        _taken[qdisc] = min(places, key=[*_taken.values()].count)
    return OTHERS[_taken[qdisc]]


def on_dark(color: str) -> str:
    """Return `color`, lighter where it would lack LEAST_CONTRAST on the dark page."""
    hue, lightness, saturation = colorsys.rgb_to_hls(*to_rgb(color))
    while contrast(color, _INK["dark"]["paper"]) < LEAST_CONTRAST:
        lightness = min(lightness + 0.02, 1)
        color = to_hex(colorsys.hls_to_rgb(hue, lightness, saturation))
    return color


def contrast(color: str, other: str) -> float:
    """Return the contrast of two colours, 1 to 21 (WCAG 2.2, "contrast ratio")."""

    def luminance(of: str) -> float:
        red, green, blue = (
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
            for part in to_rgb(of)
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    dark, light = sorted((luminance(color), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@contextmanager
def styled(theme: Theme = "light") -> Iterator[Palette]:
    """Set matplotlib up for figures that are drawn and saved inside the block."""
    palette = Palette(theme, **_INK[theme])
    colors: dict[Any, Any] = {
        **dict.fromkeys(("figure.facecolor", "savefig.facecolor", "axes.facecolor"), palette.paper),
        **dict.fromkeys(("axes.labelcolor", "text.color"), palette.ink),
        **dict.fromkeys(("axes.edgecolor", "axes.titlecolor"), palette.soft),
        **dict.fromkeys(("xtick.color", "ytick.color"), palette.soft),
        "grid.color": palette.grid,
    }
    with mpl.rc_context(_SETTINGS | colors):
        yield palette


def svg(draw: Callable[[Palette], Figure], theme: Theme = "light") -> str:
    """Return a figure as the text of an SVG document; the same figure gives the same text."""
    with styled(theme) as palette:
        return fitted(_svg(draw(palette)))


def fitted(text: str) -> str:
    """Return an SVG document scaled to the available width if JupyterLab would cut it off."""
    size = _SIZE.search(text)
    if size is None or float(size[1]) <= WIDE_PT:
        return text
    return text.replace(size[0], f'width="100%" style="max-width: {size[1]}pt"', 1)


def _svg(figure: Figure) -> str:
    text = StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()


def save(draw: Callable[[Palette], Figure], stem: Path) -> list[Path]:
    """Draw a figure once per theme and write `<stem>.svg`, `<stem>-dark.svg`, `<stem>.png` and
    `<stem>.pdf`.

    `draw` takes the palette and returns a new figure. The same input gives the same bytes. Return
    the files' paths in that order.
    """
    stem.parent.mkdir(parents=True, exist_ok=True)
    ends = (".svg", "-dark.svg", ".png", ".pdf")
    light, dark, png, pdf = (stem.with_name(f"{stem.name}{end}") for end in ends)
    with styled("light") as palette:
        figure = draw(palette)
        light.write_text(_svg(figure), encoding="utf-8")
        drawn = BytesIO()
        figure.savefig(drawn, dpi=160, metadata={"Software": None})
        few = Image.open(drawn).convert("RGB").quantize(256, dither=Image.Dither.NONE)
        few.save(png, optimize=True)  # less than half of what it would be in all colors
        figure.savefig(pdf, metadata=dict.fromkeys(("CreationDate", "Creator", "Producer")))
    with styled("dark") as palette:
        dark.write_text(_svg(draw(palette)), encoding="utf-8")
    return [light, dark, png, pdf]
