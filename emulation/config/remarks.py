"""Notes for the user on a run that can be made: settings that do not do what they seem to."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from qdisclab.emulation.errors import printable
from qdisclab.emulation.model import sysctls
from qdisclab.emulation.model.control import SENDS_ECT
from qdisclab.emulation.model.qdisc import Qdisc
from qdisclab.emulation.model.run import Point, Run


def of_point(point: Point) -> Iterator[str]:
    """Yield notes on the settings of a point's hosts, and on its rates."""
    yield from sysctls.notes(point.rig.sysctls, *point.rig.node_sysctls.values())
    edge = getattr(point.rig, "edge_rate", None)
    if edge is not None and point.queues and edge < max(point.link.up, point.link.down):
        yield (
            f"edge_rate, {edge}, is less than what the link {point.link.name} carries: the queue "
            "under test is not at the bottleneck"
        )
    for rate, taken in point.borrowed:
        yield (
            f"the study has no values of {point.qdisc} for {rate}: those for {taken} are used; "
            "--set qdisc.OPTION=VALUE sets others"
        )


def of_run(run: Run) -> Iterator[str]:
    """Yield the notes on a run's point and on its ECN.

    BBR needs no note: since Linux 4.13 TCP paces by itself where no fq does so for it.
    """
    yield from of_point(run.point)
    yield from of_ecn(run)


def of_ecn(run: Run) -> Iterator[str]:
    """Yield notes on what hosts ask for and the queues under test do."""
    of_hosts = (dict(run.rig.sysctls), *run.rig.node_sysctls.values())
    values = {settings.get(sysctls.ECN, "") for settings in of_hosts} & {*sysctls.ASKS_FOR_ECN}
    asking = sorted(run.controls & SENDS_ECT) or [f"{sysctls.ECN} = {of}" for of in sorted(values)]
    queues = dict.fromkeys(qdisc for _, qdisc in run.point.queues)
    yield from dict.fromkeys(note for qdisc in queues for note in _of_queue(qdisc, asking))


def of_counters(ports: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield notes on classes to which the filters of a tree have sent no packet.

    `ports` are those of a provenance, `qdiscs`, with the counters of the end.
    """
    for port, counted in ports.items():
        for device, classes in counted.get("idle_classes", {}).items():
            where = port if port.endswith(f" {device}") else f"{port}, for what arrives"
            for name in classes:
                yield (
                    f"no packet went into class {name} of {where}: do its filters match what is "
                    "sent?"
                )


def of_rows(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield notes on rows of programs that have a text as `error`, as of a case that the kernel
    lacks something for."""
    for row in rows:
        if isinstance(row.get("error"), str):
            about = [str(of) for key, of in row.items() if key not in ("program", "error")]
            yield printable(f"{', '.join(about) or row['program']}: {row['error']}"[:400])


def _of_queue(qdisc: Qdisc, asking: list[str]) -> Iterator[str]:
    """Yield notes on a queue, and on what asks for ECN."""
    if asking and qdisc.marks is False:
        yield (
            f"{asking[0]} sends ECN-capable packets, but {qdisc.name} marks none: it drops them; "
            "set its ECN option, or choose another qdisc"
        )
    if qdisc.kind == "dualpi2":
        options = dict(qdisc.options)
        if not asking:
            yield (
                "dualpi2 without ECN is PI2: its low-latency queue stays empty; write e.g. "
                "sysctls: {net.ipv4.tcp_ecn: 1} in the rig"
            )
        elif not options.get("any_ect"):
            yield (
                "dualpi2 takes only ECT(1) into its low-latency queue, and no congestion control "
                "of Linux sends it: write any_ect: true for DCTCP, or bring your own"
            )
