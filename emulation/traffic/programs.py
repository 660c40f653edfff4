"""Programs of any kind: what runs on which node, when, and what it leaves.

```yaml
traffic:
  kind: programs
  length: 10 s                     # of the load
  packages: [jq]                   # of Debian, beside what the guest has
  files: [sender.py]               # of the study's folder; every program finds them where it runs
  programs:
    - {kind: iperf3, from: client, to: server, options: [-P, "4"]}
    - {kind: ping, from: client, to: server, interval: 100 ms}
    - kind: command
      name: receiver
      node: server
      command: [python3, receiver.py, "{server}", "9000"]
      until: load                  # it is ended when the load is over; or `end`: ends by itself
    - kind: command
      node: client
      command: [python3, sender.py, "{server}", "9000", "{seed}"]
      after: {udp: 9000, on: server}
      keeps: ["*.csv"]
```

With `rig: {kind: none}` a command has no `node`: it runs outside of all nodes, as a script of
Mininet's does that makes nodes of its own.

In a word of a command `{server}` is the address of the node `server`, `{seed}` the run's seed and
`{length_s}` the length of the load in seconds. Output and files come out as `.output.tar.gz` beside
the data; lines of JSON become rows of `.rows.jsonl.gz`, and their numbers series of the data where
they have a `time_s`.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainValidator,
    field_validator,
    model_validator,
)

from emulation.host.apt import NAME as PACKAGE
from emulation.model.topology import Topology
from emulation.model.units import Duration
from emulation.programs.taken import mode
from emulation.rigs.base import RigSection
from emulation.study.schema import (
    Flaws,
    Name,
    Section,
    Settings,
    Span,
    StudySection,
    TestName,
    unknown,
)
from emulation.traffic.base import TrafficSection

if TYPE_CHECKING:
    from emulation.model.run import Run

#: How much longer than the load a program may take that ends by itself.
GRACE_S = 60.0

#: Of a program's moment of start: the servers of its kind listen by then.
IPERF_PORT, IPERF3_PORT, NETPERF_PORT, IRTT_PORT = 5001, 5201, 12865, 2112

WORDS = ("seed", "length_s")  # in braces in a command, beside the names of nodes
NO_JITTER = Duration(1)  # programs start when they are told

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")  # of the environment


def _inside(text: str) -> str:
    path = PurePosixPath(text)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise Flaws(((), f"'{text}' is not below the study's folder", "write a relative path"))
    return text


def _package(text: str) -> str:
    if not PACKAGE.fullmatch(text):
        raise Flaws(((), f"'{text}' is not the name of a Debian package", "write e.g. iperf3"))
    return text


def _words(value: Any) -> Any:
    """Words of a command: numbers are text here, too."""
    if isinstance(value, str):
        raise Flaws(((), "is not a list", f"write e.g. [{', '.join(value.split())}]"))
    if not isinstance(value, list):
        return value  # pydantic refuses it
    numbers = (int, float)
    return [
        str(word) if isinstance(word, numbers) and not isinstance(word, bool) else word
        for word in value
    ]


def _variables(pairs: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    for name, _ in pairs:
        if not _VARIABLE.fullmatch(name):
            what = f"'{name}' is not the name of a variable"
            raise Flaws(((name,), what, "write letters, digits and _"))
    return pairs


def _start(value: Any) -> Duration:
    if isinstance(value, Duration):
        return value
    try:
        return Duration.parse(str(value))
    except ValueError as error:
        what, _, todo = str(error).rpartition("; ")
        raise Flaws(((), what, todo)) from None


Start = Annotated[Duration, PlainValidator(_start)]
Words = Annotated[list[str], BeforeValidator(_words)]
Variables = Annotated[Settings, AfterValidator(_variables)]
Inside = Annotated[str, AfterValidator(_inside)]
Package = Annotated[str, AfterValidator(_package)]


class AfterSection(Section):
    """What has to be there before a program starts; exactly one of the first three."""

    tcp: int | None = Field(default=None, ge=1, le=65535, strict=True)  # somebody listens there
    udp: int | None = Field(default=None, ge=1, le=65535, strict=True)
    program: str | None = None  # has ended
    on: str | None = None  # the node of the port; that of the program where nothing is said

    @model_validator(mode="after")
    def _one(self) -> Self:
        if sum(one is not None for one in (self.tcp, self.udp, self.program)) != 1:
            raise Flaws(((), "waits for nothing, or for several", "write tcp, udp or program"))
        return self


class CommandSection(Section):
    """Any command on a node."""

    kind: Literal["command"] = "command"
    name: Name | None = None  # of its output; the program's own where nothing is said
    node: str | None = None  # None: outside of all nodes, where the rig has none
    command: Words = Field(min_length=1)
    environment: Variables = ()
    start: Start = Duration(0)
    after: AfterSection | None = None
    until: Literal["end", "load"] = "end"
    status: int = Field(default=0, ge=0, le=255, strict=True)  # that it has to end with
    keeps: list[Inside] = Field(default_factory=list)

    def commands(self, length_s: float) -> Iterator[CommandSection]:
        """Itself."""
        yield self


class ClientSection(Section):
    """A client on one node and its server on another."""

    name: Name | None = None
    from_: str = Field(alias="from")
    to: str
    start: Start = Duration(0)
    options: Words = Field(default_factory=list)  # further ones of the client

    def _pair(
        self,
        server: list[str] | None,
        client: list[str],
        port: dict[str, int] | None = None,
        after: AfterSection | None = None,
    ) -> Iterator[CommandSection]:
        """The server until the load is over, and the client when it listens."""
        name = self.name or client[0]
        if server is not None:
            yield CommandSection(name=f"{name}_server", node=self.to, command=server, until="load")
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

    kind: Literal["iperf"]

    def commands(self, length_s: float) -> Iterator[CommandSection]:
        """A server and a client that sends as long as the load lasts."""
        client = ["iperf", "-c", f"{{{self.to}}}", "-t", f"{length_s:g}", "-y", "C"]
        yield from self._pair(["iperf", "-s"], client, {"tcp": IPERF_PORT})


class Iperf3Section(ClientSection):
    """iperf 3."""

    kind: Literal["iperf3"]

    def commands(self, length_s: float) -> Iterator[CommandSection]:
        """A server and a client, whose report is JSON."""
        client = ["iperf3", "-c", f"{{{self.to}}}", "-t", f"{length_s:g}", "-J"]
        yield from self._pair(["iperf3", "-s"], client, {"tcp": IPERF3_PORT})


class NetperfSection(ClientSection):
    """netperf alone."""

    kind: Literal["netperf"]
    test: str = "TCP_STREAM"

    def commands(self, length_s: float) -> Iterator[CommandSection]:
        """netserver and a client."""
        client = ["netperf", "-H", f"{{{self.to}}}", "-t", self.test, "-l", f"{length_s:g}"]
        yield from self._pair(["netserver", "-4", "-D"], client, {"tcp": NETPERF_PORT})


class IrttSection(ClientSection):
    """irtt."""

    kind: Literal["irtt"]
    interval: Span = Duration(10**7)

    def commands(self, length_s: float) -> Iterator[CommandSection]:
        """A server and a client, whose report is JSON."""
        client = ["irtt", "client", "-o", "-", "-i", f"{self.interval.us:g}us"]
        client += ["-d", f"{length_s:g}s", f"{{{self.to}}}"]
        server = ["irtt", "server", "-b", f"{{{self.to}}}:{IRTT_PORT}", "-i", "1ms"]
        yield from self._pair(server, client, {"udp": IRTT_PORT})


class PingSection(ClientSection):
    """ping."""

    kind: Literal["ping"]
    interval: Span = Duration(10**8)

    def commands(self, length_s: float) -> Iterator[CommandSection]:
        """Pings as long as the load lasts."""
        count = max(1, round(length_s / self.interval.seconds))
        client = ["ping", "-n", "-D", "-i", f"{self.interval.seconds:g}", "-c", f"{count}"]
        yield from self._pair(None, [*client, f"{{{self.to}}}"])


class FlentSection(ClientSection):
    """A test of flent beside other programs; its data file is kept."""

    kind: Literal["flent"]
    test: TestName
    step: Span = Duration(2 * 10**8)

    def commands(self, length_s: float) -> Iterator[CommandSection]:
        """netserver and flent."""
        client = ["flent", self.test, "-H", f"{{{self.to}}}", "-l", f"{length_s:g}"]
        client += ["-s", f"{self.step.seconds:g}", "-D", "."]
        server, command = self._pair(["netserver", "-4", "-D"], client, {"tcp": NETPERF_PORT})
        yield server
        yield command.model_copy(update={"keeps": ["*.flent.gz"]})


Program = Annotated[
    CommandSection
    | IperfSection
    | Iperf3Section
    | NetperfSection
    | IrttSection
    | PingSection
    | FlentSection,
    Field(discriminator="kind"),
]


class Programs(TrafficSection, StudySection):
    """A list of programs."""

    kind: Literal["programs"]
    test: TestName = "programs"
    step: Span = Duration(2 * 10**8)
    start_jitter: Span = NO_JITTER
    packages: list[Package] = Field(default_factory=list)
    files: list[Inside] = Field(default_factory=list)
    programs: list[Program] = Field(min_length=1)

    @field_validator("start_jitter")
    @classmethod
    def _says_nothing(cls, jitter: Duration) -> Duration:
        if jitter != NO_JITTER:
            what = "is for flows that start by themselves"
            raise Flaws(((), what, "remove it, and give programs a 'start'"))
        return jitter

    @model_validator(mode="after")
    def _files_are_there(self) -> Self:
        for number, name in enumerate(self.files if self.folder else ()):
            path = (self.folder or Path()) / name
            if name in self.files[:number]:
                raise Flaws(
                    (("files", number), f"'{name}' is there twice", "remove one of the two")
                )
            if not os.path.isfile(path):  # noqa: PTH113 - a name may be too long for `Path.is_file`
                raise Flaws((("files", number), "there is no such file", f"put it at {path}"))
            if not path.resolve().is_relative_to((self.folder or Path()).resolve()):
                what = f"'{name}' leads out of the study's folder"
                raise Flaws((("files", number), what, "copy it into the folder"))
        return self

    def check_length(self, length: Duration) -> None:
        """Every program starts within the load."""
        for number, section in enumerate(self.programs):
            for one in section.commands(length.seconds):
                if one.start >= length:
                    what = f"'{one.start}' is not within the load, '{length}'"
                    raise Flaws((("programs", number, "start"), what, "start it earlier"))

    def check(self, rig: RigSection, topology: Topology) -> None:
        """Every program has a host, a name of its own and something to wait for."""
        self.check_length(self.length)
        nodes = [node.name for node in topology.nodes if not node.switches]
        shadowed = sorted(set(nodes) & set(WORDS))
        if shadowed:
            what = f"a node is called '{shadowed[0]}', as a word of commands is"
            raise Flaws((("kind",), what, f"give the node another name than {', '.join(WORDS)}"))
        addressed = [name for name in nodes if _address(topology, name)]
        seen: set[str] = set()
        for number, section in enumerate(self.programs):
            if isinstance(section, ClientSection) and section.to not in addressed:
                raise Flaws((("programs", number, "to"), *unknown("node", section.to, addressed)))
            for one in section.commands(self.length.seconds):
                where = ("programs", number)
                if one.node is None and nodes:
                    valid = f"write one of: {', '.join(nodes)}"
                    raise Flaws(((*where, "node"), "is missing", valid))
                if one.node is not None and one.node not in nodes:
                    raise Flaws((where, *unknown("node", one.node, nodes)))
                name = _name(one)
                if name in seen:
                    what = f"a program is called '{name}' already"
                    raise Flaws((where, what, "write another 'name'"))
                after = one.after
                if after and after.on is not None and after.on not in nodes:
                    raise Flaws(((*where, "after", "on"), *unknown("node", after.on, nodes)))
                if after and after.program is not None and after.program not in seen:
                    known = unknown("program", after.program, sorted(seen))
                    raise Flaws(((*where, "after", "program"), *known))
                seen.add(name)

    def job(self, run: Run, topology: Topology) -> dict[str, Any]:
        """What runs where and when, ready for the guest's module `programs`."""
        length_s = run.length.seconds
        words = {node.name: _address(topology, node.name) for node in topology.nodes}
        words |= dict(zip(WORDS, (str(run.seed), f"{length_s:g}"), strict=True))
        commands = [one for section in self.programs for one in section.commands(length_s)]
        packages = {"packages": list(self.debian)} if self.debian else {}
        told = {
            "tool": "programs",
            "length_s": length_s,
            **packages,
            "programs": [_program(one, words, length_s) for one in commands],
            "files": [
                {"path": name, "mode": mode(path), "sha256": _sha256(path)}
                for name, path in self.sources()
            ],
        }
        return told if topology.nodes else {"work": "programs", "traffic": told}

    def sources(self) -> list[tuple[str, Path]]:
        """The files of the study that the programs find: (name in the guest, where it is)."""
        return [(name, (self.folder or Path()) / name) for name in self.files]

    @property
    def debian(self) -> tuple[str, ...]:
        """The packages that it names, and those of its programs' kinds."""
        kinds = ("iperf3" for one in self.programs if one.kind == "iperf3")
        return tuple(sorted({*self.packages, *kinds}))

    @property
    def leaves(self) -> dict[str, str]:
        """What the programs printed and left, and rows made of lines of JSON."""
        return {"output.tar.gz": ".output.tar.gz", "rows.jsonl.gz": ".rows.jsonl.gz"}

    def reduce(self, run: Run, out: Path, raw: bool) -> None:
        """The archive of all output, the rows, and a file in flent's form of their numbers."""
        from emulation.traffic import outputs

        outputs.reduce(run, out)


def _name(one: CommandSection) -> str:
    return one.name or re.sub(r"\W", "_", PurePosixPath(one.command[0]).name).lower()


def _address(topology: Topology, node: str) -> str:
    """The first address of a node; empty for a switch."""
    ports = (port for port in topology.ports() if port.node == node and port.address)
    return next((port.ip for port in ports), "")


def _filled(word: str, words: dict[str, str]) -> str:
    """`word` with the names in braces that are known replaced; other braces stay."""
    return re.sub(r"\{(\w+)\}", lambda found: words.get(found[1]) or found[0], word)


def _program(one: CommandSection, words: dict[str, str], length_s: float) -> dict[str, Any]:
    after: dict[str, Any] | None = None
    if one.after is not None:
        after = {
            key: value
            for key in ("tcp", "udp", "program")
            if (value := getattr(one.after, key)) is not None
        }
    return {
        "name": _name(one),
        "node": one.node,
        "command": [_filled(word, words) for word in one.command],
        "environment": {name: _filled(value, words) for name, value in one.environment},
        "start_s": one.start.seconds,
        "after": after,
        "after_node": (one.after.on or one.node) if one.after else one.node,
        "until": one.until,
        "statuses": [one.status],
        "deadline_s": length_s + GRACE_S,
        "keeps": list(one.keeps),
    }


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
