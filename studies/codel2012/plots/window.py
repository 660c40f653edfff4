"""The figures of the notebook `window`: a connection's packets in the pipe, and its queue.

The picture of Figs 1 and 2 of codel2012 and of V. Jacobson, "Congestion Avoidance and Control"
(1988): along the pipe is time, across it is bandwidth, so that a packet has the same area wherever
it is, short and high on the fast links, long and flat in the bottleneck.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Polygon, Rectangle

from qdisclab.analysis.plots.panels import panels
from qdisclab.analysis.plots.style import Palette

from ..measures.window import Connection, least

SLOT: Final = 1.35  # from one waiting packet to the next, by how long it takes on a fast link
MARGIN_MS: Final = 1.5  # in the drawing: between a packet that waits and the wall of the sender
LINK_MS: Final = 5.0  # in the drawing: the sender's link, which takes `edge_ms` of a packet
RECEIVER_MS: Final = 7.0  # in the drawing: how wide the receiver is
LIGHT: Final = 0.85  # grey that the last packets of a window lean to
ROUNDS: Final = ("codel", "ared", "fq_codel", "sfq")  # whose colours the windows take, in turn
DATA_Y, ACK_Y = 0.0, -9.6  # the pipe's middle, there and back
ACK_HIGH: Final = 2.2
WALL: Final = 0.8  # of the pipe, from what is in it
SHOWN_ROUNDS: Final = 7  # round trips of a queue that are drawn: what comes then is the same
KINDS: Final = {"goes": "codel", "stays": "pie"}  # whose colours the two kinds of queue take
LEGEND: Final = {
    "goes": "goes within a round trip",
    "stays": "stays: the least of the last round trip",
}


def pipe(connection: Connection, at_ms: float, palette: Palette) -> Figure:
    """Draw where every packet is at one moment, and below the queue over time."""
    figure, ((above,), (below,)) = panels(11.4, 5.6, 2, height_ratios=(1.45, 1))
    draw_pipe(above, connection, at_ms, palette)
    draw_queue(below, connection, palette, connection.length_ms)
    below.axvline(at_ms, color=palette.ink, linewidth=1.4)
    return figure


def pipes(connection: Connection, moments_ms: Sequence[float], palette: Palette) -> Figure:
    """Draw several moments below each other."""
    figure, axes_of = panels(11.4, 2.9 * len(moments_ms), len(moments_ms))
    for axes, at_ms in zip(axes_of[:, 0], moments_ms, strict=True):
        draw_pipe(axes, connection, at_ms, palette)
    return figure


def queues(connections: dict[str, Connection], palette: Palette) -> Figure:
    """Draw the queue of each connection, by its title, over `SHOWN_ROUNDS` round trips."""
    count = len(connections)
    figure, axes_of = panels(9.4, 0.9 + 2.6 * count, count, sharex=True, sharey=True)
    until = max(
        connection.began_ms + SHOWN_ROUNDS * connection.base_rtt_ms
        for connection in connections.values()
    )
    top = 0.0
    until = min(until, *(connection.length_ms for connection in connections.values()))
    for axes, (title, connection) in zip(axes_of[:, 0], connections.items(), strict=True):
        draw_queue(axes, connection, palette, until)
        axes.set_title(title, fontsize=11.5, color=palette.ink)
        share = 100 * _steady_share(connection)
        text = f"the bottleneck sends {share:.0f} % of the time"
        axes.set_title(text, loc="right", fontsize=10.5)
        axes.label_outer()
        top = max(top, axes.get_ylim()[1])
    axes.set_ylim(0, top)
    figure.legend(
        *axes.get_legend_handles_labels(), loc="outside upper left", ncols=2,
        title="Packets waiting at the bottleneck", alignment="left", title_fontsize=10.5,
    )  # fmt: skip
    return figure


def _steady_share(connection: Connection) -> float:
    """Return the share of the time that the bottleneck sends, once the start has passed."""
    start = 2 * connection.base_rtt_ms + connection.window * connection.packet_ms
    return connection.busy(connection.began_ms + start, connection.length_ms)


def draw_queue(axes: Axes, connection: Connection, palette: Palette, until_ms: float) -> None:
    """Draw packets that wait over time, and those of them that have stood for a round trip.

    What stands is the least of the last round trip (codel2012, Understanding Queues: the minimum
    over a window of time tells a queue that goes from one that stays).
    """
    moments, waiting = connection.changes()
    moments = np.concatenate([[0.0], moments, [connection.length_ms]])
    waiting = np.concatenate([[0.0], waiting, waiting[-1:]])
    standing = least(moments, waiting, connection.base_rtt_ms)
    for name, low, high in (("goes", standing, waiting), ("stays", 0 * standing, standing)):
        color = palette.color(KINDS[name])
        axes.fill_between(
            moments, low, high, step="post", color=color, alpha=0.3 if name == "goes" else 0.6,
            linewidth=0, label=LEGEND[name],
        )  # fmt: skip
    axes.step(moments, waiting, where="post", color=palette.color(KINDS["goes"]), linewidth=1.0)
    excess = connection.window - connection.pipe
    if standing.max() > 0 and 2 * len(connection.acks) > len(connection.packets):
        axes.annotate(
            f"{connection.window} in flight − {connection.pipe:.0f} that fill the pipe"
            f" = {excess:.0f}",
            (0.62 * until_ms, excess), (0, 12), textcoords="offset points", ha="center",
            fontsize=10.5, color=palette.color(KINDS["stays"]),
        )  # fmt: skip
    axes.set_xlim(0, until_ms)
    axes.set_ylim(0, 1.12 * waiting.max())
    axes.grid(visible=False, axis="x")
    axes.set_xlabel("Time since the connection began (ms)")
    axes.set_ylabel("Packets waiting")


def draw_pipe(axes: Axes, connection: Connection, at_ms: float, palette: Palette) -> None:
    """Draw sender, queue, bottleneck, path and receiver at `at_ms`, and all packets between."""
    thin, fat = connection.packet_ms, connection.edge_ms
    high = thin / fat  # of a packet on the fast links, where it is 1 on the bottleneck
    slot = SLOT * fat
    there = float(np.median(connection.packets["received"] - connection.packets["left"]))
    room = slot * (connection.window + 1)
    sender_at = -room - LINK_MS  # the sender's right wall
    boxes: list[Rectangle] = []
    colors: list[tuple[float, ...]] = []

    def box(x: float, wide: float, tall: float, number: int, middle: float = DATA_Y) -> None:
        boxes.append(Rectangle((x, middle - tall / 2), wide, tall))
        color = palette.color(ROUNDS[number // connection.window % len(ROUNDS)])
        # Within a window from dark to light, so that a packet can be followed.
        place = number % connection.window / connection.window
        shade = np.asarray(to_rgb(color)) * (1 - 0.45 * place) + 0.45 * place * LIGHT
        colors.append(tuple(shade))

    unsent = waits = 0
    times = connection.packets[["sent", "queued", "left", "received"]].to_numpy()
    for number, ((sent, queued, left, received), let) in enumerate(
        zip(times.tolist(), connection.allowed().tolist(), strict=True)
    ):
        since = at_ms - left
        if received <= at_ms or let > at_ms:
            continue
        if sent > at_ms:
            unsent += 1
            box(sender_at - MARGIN_MS - slot * unsent, fat, high, number)
        elif queued > at_ms:  # on the sender's link, to the end of the queue
            done = (at_ms - sent) / max(queued - sent, 1e-9)
            end = -slot * (waits + 1)
            box(sender_at + done * (end - sender_at - fat), fat, high, number)
        elif since < 0:
            waits += 1
            box(-slot * waits, fat, high, number)
        elif since < thin:  # it enters the bottleneck
            box(0, since, 1, number)
            box(-fat * (1 - since / thin), fat * (1 - since / thin), high, number)
        elif since < 2 * thin:  # and leaves it
            box(since - thin, 2 * thin - since, 1, number)
            box(thin, fat * (since / thin - 1), high, number)
        else:
            box(thin + (since - 2 * thin) * (there - thin) / (there - 2 * thin), fat, high, number)
    acks = connection.acks[
        (connection.acks["sent"] <= at_ms) & (connection.acks["received"] > at_ms)
    ]
    for sent, received, count in acks[["sent", "received", "packets"]].to_numpy().tolist():
        passed = (at_ms - sent) / (received - sent)
        x = there - passed * (there - sender_at)
        box(x, fat, ACK_HIGH, int(count) - 1, middle=ACK_Y)
    _walls(axes, (sender_at, sender_at - room - 2 * MARGIN_MS), there, thin, high, palette)
    axes.add_collection(PatchCollection(boxes, facecolor=colors, edgecolor="none", zorder=3))
    _names(axes, connection, sender_at, there, room, palette)
    axes.set_xlim(sender_at - room - 2 * MARGIN_MS - 1, there + RECEIVER_MS + 2)
    axes.set_ylim(ACK_Y - ACK_HIGH / 2 - 3.6, high / 2 + 3.4)
    axes.set_axis_off()
    axes.set_title(
        f"{at_ms:.0f} ms: {waits} {'packet waits' if waits == 1 else 'packets wait'}", loc="left",
        fontsize=12.5, color=palette.ink,
    )  # fmt: skip


def _walls(
    axes: Axes,
    sender: tuple[float, float],
    there: float,
    thin: float,
    high: float,
    palette: Palette,
) -> None:
    """Draw sender, receiver, the links between as wide as they are fast, and the way back.

    `sender` has its right and its left wall.
    """
    right, left = sender
    wide, narrow = high / 2 + WALL, 0.5 + WALL / 2
    above = [(right, wide), (0, wide), (0, narrow), (thin, narrow), (thin, wide), (there, wide)]
    below = [(x, -y) for x, y in above]
    axes.add_patch(Polygon([*above, *below[::-1]], facecolor=palette.grid, linewidth=0, alpha=0.6))
    back = ACK_HIGH / 2 + WALL
    axes.add_patch(
        Rectangle((right, ACK_Y - back), there - right, 2 * back, facecolor=palette.grid,
                  linewidth=0, alpha=0.6)
    )  # fmt: skip
    for side in (above, below, *([(right, ACK_Y + y), (there, ACK_Y + y)] for y in (back, -back))):
        axes.plot(*zip(*side, strict=True), color=palette.soft, linewidth=1.1)
    bottom = ACK_Y - back
    for x, width in ((left, right - left), (there, RECEIVER_MS)):
        axes.add_patch(
            FancyBboxPatch(
                (x, bottom), width, wide - bottom, boxstyle="round,pad=0,rounding_size=1.2",
                edgecolor=palette.soft, facecolor=palette.paper, linewidth=1.2, zorder=2,
            )
        )  # fmt: skip


def _names(
    axes: Axes,
    connection: Connection,
    sender_at: float,
    there: float,
    room: float,
    palette: Palette,
) -> None:
    """Write what is what, and how fast."""
    high = connection.packet_ms / connection.edge_ms
    bits = 8 * float(connection.packets["bytes"].iloc[0])
    top = high / 2 + WALL + 0.7
    fast, slow = (
        f"{bits / ms / 1000:.3g} Mbit/s" for ms in (connection.edge_ms, connection.packet_ms)
    )
    for x, name, align in (
        (sender_at + 1, f"fast link, {fast}", "left"),
        (connection.packet_ms / 2, f"bottleneck, {slow}", "center"),
        (there - 1, "along: time, across: bandwidth", "right"),
    ):
        axes.text(x, top, name, ha=align, va="bottom", fontsize=10, color=palette.soft)
    axes.text(-0.8, -high / 2 - WALL - 0.5, "queue", ha="right", va="top", fontsize=10,
              color=palette.soft)  # fmt: skip
    axes.text(
        (sender_at + there) / 2, ACK_Y - ACK_HIGH / 2 - WALL - 0.7, "← acknowledgments",
        ha="center", va="top", fontsize=10, color=palette.soft,
    )  # fmt: skip
    axes.text(sender_at - room / 2 - MARGIN_MS, ACK_Y, "Sender", ha="center", va="center",
              fontsize=12, color=palette.ink, zorder=4)  # fmt: skip
    axes.text(there + RECEIVER_MS / 2, (ACK_Y + DATA_Y) / 2, "Receiver", ha="center", va="center",
              rotation=90, fontsize=12, color=palette.ink, zorder=4)  # fmt: skip


def waiting(connections: dict[str, Connection]) -> pd.DataFrame:
    """Return the most packets that wait of each connection, and the least and most of its second
    half."""
    rows = []
    for title, connection in connections.items():
        moments, counts = connection.changes()
        later = counts[moments > connection.length_ms / 2]
        rows.append((title, counts.max(), later.min(), later.max()))
    return pd.DataFrame(rows, columns=["connection", "most", "later_least", "later_most"])
