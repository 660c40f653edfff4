"""The figures of notebooks/window.ipynb: a connection's packets in the pipe, and its queue.

The picture of Figs 1 and 2 of codel2012 and of V. Jacobson, "Congestion Avoidance and Control"
(1988): along the pipe is time, across it is bandwidth, so that a packet has the same area wherever
it is, short and high on the fast links, long and flat in the bottleneck.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from analysis.style import Palette
from analysis.window import Connection

SLOT: Final = 1.5  # from one waiting packet to the next, by how long it takes on a fast link
SENDER_MS: Final = 4.0  # in the drawing, between the sender and the queue
LIGHT: Final = 0.85  # grey that the last packets of a window lean to
ROUNDS: Final = ("codel", "ared", "fq_codel", "sfq")  # whose colours the windows take, in turn
DATA_Y, ACK_Y = 0.0, -10.5  # the pipe's middle, there and back
ACK_HIGH: Final = 2.2


def pipe(connection: Connection, at_ms: float, palette: Palette) -> Figure:
    """Where every packet is at one moment, and below the queue over time."""
    figure = Figure(figsize=(11.4, 5.2), layout="constrained")
    above, below = figure.subplots(2, 1, height_ratios=(1.5, 1))
    draw_pipe(above, connection, at_ms, palette)
    draw_queue(below, connection, palette)
    below.axvline(at_ms, color=palette.color("pie"), linewidth=1.4)
    return figure


def pipes(connection: Connection, moments_ms: Sequence[float], palette: Palette) -> Figure:
    """Several moments below each other."""
    height = 2.7 * len(moments_ms)
    figure = Figure(figsize=(11.4, height), layout="constrained")
    panels = figure.subplots(len(moments_ms), 1, squeeze=False)
    for axes, at_ms in zip(panels[:, 0], moments_ms, strict=True):
        draw_pipe(axes, connection, at_ms, palette)
    return figure


def queues(connections: dict[str, Connection], palette: Palette) -> Figure:
    """The queue over time of each connection, by its title."""
    figure = Figure(figsize=(9.4, 0.6 + 2.5 * len(connections)), layout="constrained")
    panels = figure.subplots(len(connections), 1, squeeze=False, sharex=True)[:, 0]
    for axes, (title, one) in zip(panels, connections.items(), strict=True):
        draw_queue(axes, one, palette)
        axes.set_title(title, loc="left", fontsize=11, color=palette.soft)
        axes.set_xlabel("" if axes is not panels[-1] else axes.get_xlabel())
    top = max(axes.get_ylim()[1] for axes in panels)
    for axes in panels:
        axes.set_ylim(0, top)
    return figure


def draw_queue(axes: Axes, connection: Connection, palette: Palette) -> None:
    """Packets that wait over time, and, dotted, the window less what fills the pipe.

    That is what stands where each packet is acknowledged.
    """
    moments, waiting = connection.changes()
    moments = np.concatenate([[0.0], moments, [connection.length_ms]])
    waiting = np.concatenate([[0.0], waiting, waiting[-1:]])
    color = palette.color("codel")
    axes.fill_between(moments, waiting, step="post", color=color, alpha=0.18, linewidth=0)
    axes.step(moments, waiting, where="post", color=color, linewidth=1.1)
    excess = connection.window - connection.pipe
    if excess > 0.5 and 2 * len(connection.acks) > len(connection.packets):
        axes.axhline(excess, color=palette.soft, linewidth=1, linestyle=(0, (1, 2)))
    axes.set_xlim(0, connection.length_ms)
    axes.set_ylim(0, 1.15 * waiting.max())
    axes.set_xlabel("Time since the connection began (ms)")
    axes.set_ylabel("Packets waiting")


def draw_pipe(axes: Axes, connection: Connection, at_ms: float, palette: Palette) -> None:
    """Sender, queue, bottleneck, path and receiver at `at_ms`, with all packets between them."""
    thin, fat = connection.packet_ms, connection.edge_ms
    high = thin / fat  # of a packet on the fast links, where it is 1 on the bottleneck
    slot = SLOT * fat
    there = float(np.median(connection.packets["received"] - connection.packets["left"]))
    room = slot * (connection.window + 1)
    sender_at = -room - SENDER_MS  # where what waits to be sent ends
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
    times = connection.packets[["sent", "left", "received"]].to_numpy()
    for number, ((sent, left, received), let) in enumerate(
        zip(times.tolist(), connection.allowed().tolist(), strict=True)
    ):
        since = at_ms - left
        if received <= at_ms or let > at_ms:
            continue
        if sent > at_ms:
            unsent += 1
            box(sender_at - slot * unsent, fat, high, number)
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
        share = (at_ms - sent) / (received - sent)
        box(there - share * (there - sender_at), fat, ACK_HIGH, int(count) - 1, ACK_Y)
    axes.add_collection(PatchCollection(boxes, facecolor=colors, edgecolor="none"))
    _walls(axes, sender_at, there, thin, high, palette)
    for x, name in (
        (sender_at - room / 2, "waiting to be sent"),
        (-room / 2, "queue"),
        (thin / 2, "bottleneck"),
        ((thin + there) / 2, "path"),
    ):
        axes.text(x, high / 2 + 2.2, name, ha="center", fontsize=10, color=palette.soft)
    axes.text(
        (sender_at + there) / 2, ACK_Y - 4.6, "acknowledgments", ha="center", fontsize=10,
        color=palette.soft,
    )  # fmt: skip
    axes.set_xlim(sender_at - room, there + 2)
    axes.set_ylim(ACK_Y - 5, high / 2 + 4)
    axes.set_axis_off()
    axes.set_title(
        f"{at_ms:.0f} ms: {waits} {'packet waits' if waits == 1 else 'packets wait'}", loc="left",
        fontsize=12, color=palette.ink,
    )  # fmt: skip


def _walls(
    axes: Axes, sender_at: float, there: float, thin: float, high: float, palette: Palette
) -> None:
    """The outline: a fast link, the bottleneck, the fast path to the receiver, and the way back."""
    for sign in (1, -1):
        fast, slow = sign * (high / 2 + 0.9), sign * 0.95
        axes.plot(
            [sender_at, 0, 0, thin, thin, there + 1.5], [fast, fast, slow, slow, fast, fast],
            color=palette.soft, linewidth=1.1,
        )  # fmt: skip
        back = ACK_Y + sign * (ACK_HIGH / 2 + 0.7)
        axes.plot([sender_at, there + 1.5], [back, back], color=palette.soft, linewidth=0.8)
    axes.annotate(
        "", (sender_at - 6, ACK_Y), (sender_at, ACK_Y),
        arrowprops={"arrowstyle": "->", "color": palette.soft, "linewidth": 1},
    )  # fmt: skip


def describe_pipes(connection: Connection, moments_ms: Sequence[float]) -> str:
    """The text that stands for pipes."""
    waiting = connection.waiting(list(moments_ms))
    parts = [
        f"at {at:.0f} ms {count:.0f} packets wait"
        for at, count in zip(moments_ms, waiting, strict=True)
    ]
    return (
        "Packets of one TCP connection along the pipe, time by bandwidth, from the sender through "
        f"the queue and the bottleneck to the receiver: {'; '.join(parts)}."
    )


def describe_queues(connections: dict[str, Connection]) -> str:
    """The text that stands for queues."""
    parts = []
    for title, one in connections.items():
        moments, waiting = one.changes()
        later = waiting[moments > one.length_ms / 2]
        parts.append(f"{title}: up to {waiting.max():.0f} packets, in the second half "
                     f"{later.min():.0f} to {later.max():.0f}")  # fmt: skip
    return f"Packets that wait at the bottleneck over time. {'; '.join(parts)}."
