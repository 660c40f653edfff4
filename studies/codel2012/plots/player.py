"""The packets of a connection, moving: a slider over time and a button that plays it."""

from io import BytesIO
from typing import Final

import ipywidgets as widgets

from qdisclab.analysis.plots.style import styled

from ..measures.window import Connection
from .window import pipe

STEP_MS: Final = 2
FRAME_MS: Final = 150  # between two pictures while it plays: one takes about as long to draw


def picture(connection: Connection, at_ms: float) -> bytes:
    """Return the connection at one moment, as a PNG."""
    written = BytesIO()
    with styled("light") as palette:
        pipe(connection, at_ms, palette).savefig(written, format="png", dpi=100)
    return written.getvalue()


def player(connection: Connection, at_ms: float | None = None) -> widgets.VBox:
    """Return a picture with a slider over the connection's time, and a button that lets it run.

    It begins at `at_ms`, or a little after the first packet.
    """
    start = int(connection.began_ms + 20 if at_ms is None else at_ms)
    about = {"min": 0, "max": int(connection.length_ms), "step": STEP_MS, "value": start}
    slider = widgets.IntSlider(
        **about, description="ms", layout=widgets.Layout(width="70%"), readout=True
    )
    play = widgets.Play(**about, interval=FRAME_MS)
    widgets.jslink((play, "value"), (slider, "value"))
    image = widgets.Image(value=picture(connection, start), format="png")

    def draw(change: dict[str, int]) -> None:
        image.value = picture(connection, change["new"])

    slider.observe(draw, names="value")
    return widgets.VBox([widgets.HBox([play, slider]), image])
