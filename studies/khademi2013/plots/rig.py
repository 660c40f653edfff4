"""A rig as it is built: nodes, wires, and what each port does to what it sends."""

from matplotlib.figure import Figure

from qdisclab.analysis.plots.style import Palette
from qdisclab.emulation.model.egress import Delay, Hierarchy
from qdisclab.emulation.model.topology import Topology


def columns(topology: Topology) -> list[list[str]]:
    """Return the nodes by how many wires they are from those that send, in the order of the rig."""
    wires = [(wire.a.node, wire.b.node) for wire in topology.wires]
    placed = [[sender for sender, _ in topology.pairs]]
    seen = set(placed[0])
    while True:
        joined = {b for pair in wires for a, b in (pair, pair[::-1]) if a in placed[-1]} - seen
        if not joined:
            return placed
        placed.append([node.name for node in topology.nodes if node.name in joined])
        seen |= joined


def rig(topology: Topology, palette: Palette) -> Figure:
    """Draw the nodes from the senders to the receivers, and what holds the queue under test."""
    nodes = columns(topology)
    rows = max(len(column) for column in nodes)
    figure = Figure(figsize=(2.0 * len(nodes), 0.9 * rows + 0.9))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(-0.6, len(nodes) - 0.4)
    axes.set_ylim(rows - 0.4, -0.6)
    at = {
        name: (float(x), (rows - len(column)) / 2 + y)
        for x, column in enumerate(nodes)
        for y, name in enumerate(column)
    }
    for wire in topology.wires:
        (x0, y0), (x1, y1) = at[wire.a.node], at[wire.b.node]
        tested = any(port in topology.queues() for port in (wire.a, wire.b))
        color, width = (palette.color("codel"), 2.4) if tested else (palette.soft, 1.2)
        axes.plot([x0, x1], [y0, y1], color=color, linewidth=width, zorder=1)
    for node in topology.nodes:
        axes.text(
            *at[node.name], node.name, ha="center", va="center", fontsize=10, zorder=2,
            bbox={"boxstyle": "round,pad=0.35", "facecolor": palette.paper,
                  "edgecolor": palette.ink if node.forwards else palette.soft},
        )  # fmt: skip
    for x, text in notes(topology, at).items():
        above = (rows - 1) / 2 - 0.55
        axes.text(x, above, text, ha="center", va="center", fontsize=9, color=palette.soft)
    return figure


def notes(topology: Topology, at: dict[str, tuple[float, float]]) -> dict[float, str]:
    """Return the texts above wires and nodes, by place: the bottleneck, and the delays."""
    texts: dict[float, str] = {}
    for wire in topology.wires:
        for port in (wire.a, wire.b):
            if isinstance(port.egress, Hierarchy):
                middle = (at[wire.a.node][0] + at[wire.b.node][0]) / 2
                texts[middle] = f"HTB, {port.egress.rate}:\nqueue under test"
            elif isinstance(port.egress, Delay):
                texts[at[port.node][0]] = f"{port.egress.delay}\neach way"
    return texts
