"""One program of a list: a command on a node, or a client on one node and its server on another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, model_validator

from qdisclab.emulation.host.apt import NAME as PACKAGE
from qdisclab.emulation.model.units import Duration
from qdisclab.emulation.study import schema
from qdisclab.emulation.study.schema import Flaws, Name, Section, Settings, Span, TestName

#: Ports that servers listen on before their clients start.
NETPERF_PORT, IRTT_PORT = 12865, 2112

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")  # of the environment


def _inside(text: str) -> str:
    path = PurePosixPath(text)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise Flaws(((), f"'{text}' is not below the study's folder", "write a relative path"))
    return text


def _words(value: Any) -> Any:
    """Return the words of a command, with numbers as text."""
    if isinstance(value, str):
        raise Flaws(((), "is not a list", f"write e.g. [{', '.join(value.split())}]"))
    if not isinstance(value, list):
        return value  # pydantic refuses it
    numbers = (int, float)
    return [
        str(word) if isinstance(word, numbers) and not isinstance(word, bool) else word
        for word in value
    ]


Start = Annotated[Duration, PlainValidator(schema.parser(Duration))]
Words = Annotated[list[str], BeforeValidator(_words)]
_NAMES = schema.naming(VARIABLE.pattern, "the name of a variable", "letters, digits and _")
Variables = Annotated[Settings, _NAMES]
Inside = Annotated[str, AfterValidator(_inside)]
_PACKAGE = schema.matching(PACKAGE.pattern, "the name of a Debian package", "e.g. iperf3")
Package = Annotated[str, _PACKAGE]


class AfterSection(Section):
    """What a program waits for before it starts: exactly one of the first three."""

    tcp: int | None = Field(default=None, ge=1, le=65535, strict=True)  # a port that is listened on
    udp: int | None = Field(default=None, ge=1, le=65535, strict=True)
    program: str | None = None  # whose end it waits for
    on: str | None = None  # the node of the port; by default that of the program

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if sum(event is not None for event in (self.tcp, self.udp, self.program)) != 1:
            todo = "write one of tcp, udp and program"
            raise Flaws(((), "waits for nothing, or for several things", todo))
        return self


class CommandSection(Section):
    """Any command on a node."""

    kind: Literal["command"] = "command"
    name: Name | None = None  # of its output; by default that of the program
    node: str | list[str] | None = None  # None: outside of all nodes, where the rig has none
    command: Words = Field(min_length=1)
    environment: Variables = ()
    start: Start = Duration(0)
    after: AfterSection | None = None
    until: Literal["end", "load", "clients"] = "end"
    status: int = Field(default=0, ge=0, le=255, strict=True)  # with which it must exit
    keeps: list[Inside] = Field(default_factory=list)

    def commands(self, length_s: float) -> Iterator[CommandSection]:
        """Yield the command itself, or that of each of its nodes."""
        if not isinstance(self.node, list):
            yield self
            return
        for node in self.node:
            yield self.model_copy(update={"name": f"{name_of(self)}_{node}".lower(), "node": node})


class ClientSection(Section):
    """A client on one node and its server on another."""

    several: ClassVar[bool] = True  # whether its server has several clients at a time
    name: Name | None = None
    from_: str = Field(alias="from")
    to: str
    start: Start = Duration(0)
    options: Words = Field(default_factory=list)  # additional ones for the client

    def _pair(
        self, server: list[str] | None, client: list[str], port: dict[str, int] | None = None
    ) -> Iterator[CommandSection]:
        """Yield the server and the client, which awaits it.

        The server outlives the load: clients ask it for its part of their results at their end.
        """
        name, after = self.name or client[0], None
        if server is not None:
            yield CommandSection(
                name=f"{name}_server", node=self.to, command=server, until="clients"
            )
            after = AfterSection.model_validate({**(port or {}), "on": self.to})
        yield CommandSection(
            name=name,
            node=self.from_,
            command=[*client, *self.options],
            start=self.start,
            after=after,
        )


class IperfSection(ClientSection):
    """iperf 2."""

    #: Options of its report and of its congestion control, and the port of its server.
    own: ClassVar[tuple[list[str], str, int]] = (["-y", "C"], "-Z", 5001)
    kind: Literal["iperf"]
    cc: Name | None = None  # its congestion control; by default that of the host

    def commands(self, length_s: float) -> Iterator[CommandSection]:
        """Yield a server and a client that sends as long as the load lasts."""
        report, control, port = self.own
        client = [self.kind, "-c", f"{{{self.to}}}", "-t", f"{length_s:g}", *report]
        client += [control, self.cc] if self.cc else []
        yield from self._pair([self.kind, "-s"], client, {"tcp": port})


class Iperf3Section(IperfSection):
    """iperf 3."""

    several: ClassVar[bool] = False
    own: ClassVar[tuple[list[str], str, int]] = (["-J"], "-C", 5201)
    kind: Literal["iperf3"]  # type: ignore[assignment]


class NetperfSection(ClientSection):
    """netperf alone."""

    kind: Literal["netperf"]
    test: str = "TCP_STREAM"
    cc: Name | None = None  # of both ends

    def commands(self, length_s: float) -> Iterator[CommandSection]:
        """Yield netserver and a client."""
        client = ["netperf", "-H", f"{{{self.to}}}", "-t", self.test, "-l", f"{length_s:g}"]
        server, command = self._pair(["netserver", "-4", "-D"], client, {"tcp": NETPERF_PORT})
        yield server
        if self.cc:  # an option of the test, which come after `--`
            mark = [] if "--" in self.options else ["--"]
            words = [*command.command, *mark, "-K", f"{self.cc},{self.cc}"]
            command = command.model_copy(update={"command": words})
        yield command


class IrttSection(ClientSection):
    """irtt."""

    kind: Literal["irtt"]
    interval: Span = Duration(10**7)

    def commands(self, length_s: float) -> Iterator[CommandSection]:
        """Yield a server and a client, whose report is JSON."""
        client = ["irtt", "client", "-o", "-", "-i", f"{self.interval.us:g}us"]
        client += ["-d", f"{length_s:g}s", f"{{{self.to}}}"]
        server = ["irtt", "server", "-b", f"{{{self.to}}}:{IRTT_PORT}", "-i", "1ms"]
        yield from self._pair(server, client, {"udp": IRTT_PORT})


class PingSection(ClientSection):
    """ping."""

    kind: Literal["ping"]
    interval: Span = Duration(10**8)

    def commands(self, length_s: float) -> Iterator[CommandSection]:
        """Yield a ping that lasts as long as the load."""
        count = max(1, round(length_s / self.interval.seconds))
        client = ["ping", "-n", "-D", "-i", f"{self.interval.seconds:g}", "-c", f"{count}"]
        yield from self._pair(None, [*client, f"{{{self.to}}}"])


class FlentSection(ClientSection):
    """A test of flent among other programs; its data file is kept."""

    kind: Literal["flent"]
    test: TestName
    step: Span = Duration(2 * 10**8)

    def commands(self, length_s: float) -> Iterator[CommandSection]:
        """Yield netserver and flent."""
        client = ["flent", self.test, "-H", f"{{{self.to}}}", "-l", f"{length_s:g}"]
        client += ["-s", f"{self.step.seconds:g}", "-D", "."]
        server, command = self._pair(["netserver", "-4", "-D"], client, {"tcp": NETPERF_PORT})
        yield server
        yield command.model_copy(update={"keeps": ["*.flent.gz"]})


Client = IperfSection | Iperf3Section | NetperfSection | IrttSection | PingSection | FlentSection
Program = Annotated[CommandSection | Client, Field(discriminator="kind")]


def name_of(command: CommandSection) -> str:
    """Return the name of the output of a command, by default that of its program."""
    return command.name or re.sub(r"\W", "_", PurePosixPath(command.command[0]).name).lower()
