"""Programs of any kind: what runs on which node, when, and what it leaves.

```yaml
traffic:
  kind: programs
  length: 10 s                     # of the load
  packages: [jq]                   # of Debian, in addition to the guest's
  files: [sender.py]               # of the study's folder; every program finds them where it runs
  start_jitter: 50 ms              # programs that end by themselves start up to this much later
  idle_pings: true                 # before the load, between the hosts of each client and server
  surroundings: true               # a login's variables, /etc/hosts, sudo, python, as `exec` has
  programs:
    - {kind: iperf3, from: client, to: server, options: [-P, "4"]}
    - {kind: netperf, from: client, to: server, cc: bbr}    # of this flow; so have iperf and iperf3
    - {kind: ping, from: client, to: server, interval: 100 ms}
    - kind: command
      name: receiver
      node: server
      command: [python3, receiver.py, "{server}", "9000"]
      until: load                  # it is stopped when the load is over; `clients`: when all
                                   # that end by themselves have; `end`: it ends by itself
    - kind: command
      node: client
      command: [python3, sender.py, "{server}", "9000", "{seed}"]
      after: {udp: 9000, on: server}
      keeps: ["*.csv"]
```

Several clients of one kind share the server on their node; iperf3's has one client at a time.

With `rig: {kind: none}` a command has no `node`: it runs outside of all nodes, like a Mininet
script that makes its own.

In a word of a command `{server}` is the address of the node `server`, `{server.eth1}` that of one
of its ports, `{node}` the name of the program's own node, `{seed}` the run's seed and `{length_s}`
the length of the load in seconds. The traffic can name `words` of its own, e.g.
`words: {size: 500, load: [light, heavy]}`: of a list the repetitions take one each, in turn. A
command with a list of nodes is a program on each of them, whose name ends in that of its node.

Output and files are stored as `.output.tar.gz` next to the data; lines of JSON become rows of
`.rows.jsonl.gz`, and their numbers become series of the data where they have a `time_s`.
"""

import hashlib
import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, PlainValidator, WithJsonSchema, model_validator

from qdisclab.emulation import datafile, errors
from qdisclab.emulation.host.digest import sha256
from qdisclab.emulation.kinds.rigs.base import RigSection
from qdisclab.emulation.kinds.traffic.base import TrafficSection
from qdisclab.emulation.kinds.traffic.program import (
    VARIABLE,
    ClientSection,
    CommandSection,
    Inside,
    Package,
    Program,
    name_of,
)
from qdisclab.emulation.model import addresses
from qdisclab.emulation.model.run import Run
from qdisclab.emulation.model.topology import Topology
from qdisclab.emulation.model.units import Duration
from qdisclab.emulation.programs.taken import mode
from qdisclab.emulation.study.schema import Flaws, Span, StudySection, TestName, refuse, unknown

#: How much longer than the load a program that ends by itself may take.
GRACE_S = 60.0

WORDS = ("seed", "length_s", "node")  # in braces in a command, like the names of nodes
NO_JITTER = Duration(1)  # programs start at the times written


def _turns(value: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return words with their values, each of which the repetitions take in turn."""
    if isinstance(value, tuple):  # read already
        return value
    if not isinstance(value, dict):
        raise Flaws(((), "is not a mapping", "write names with values below it"))
    lists = {name: texts if isinstance(texts, list) else [texts] for name, texts in value.items()}
    wrong = ((str(name), _word_flaw(str(name), texts)) for name, texts in lists.items())
    refuse(((name,), *flaw) for name, flaw in wrong if flaw)
    return tuple((str(name), tuple(map(str, texts))) for name, texts in lists.items())


def _word_flaw(name: str, texts: list[Any]) -> tuple[str, str] | None:
    if not VARIABLE.fullmatch(name) or name in WORDS:
        return f"'{name}' is not a name for a word", f"write letters, digits and _, none of {WORDS}"
    if not texts or not all(isinstance(text, str | int | float) for text in texts):
        return "is neither a value nor a list of values", "write text or numbers"
    return None


Turns = Annotated[
    tuple[tuple[str, tuple[str, ...]], ...],
    PlainValidator(_turns),
    WithJsonSchema(
        {"type": "object", "additionalProperties": {"type": ["string", "number", "array"]}}
    ),
]


class Programs(TrafficSection, StudySection):
    """A list of programs."""

    tools = {
        "programs": ("programs.py", "commands.py", "switch.py"),
        "idle": ("programs.py", "commands.py", "switch.py", "idle.py"),
        "command": (
            *("programs.py", "commands.py", "switch.py", "command.py", "idle.py"),
            *("surroundings.py", "python2.py"),
        ),
    }

    kind: Literal["programs"]
    test: TestName = "programs"
    step: Span = Duration(2 * 10**8)
    start_jitter: Span = NO_JITTER
    idle_pings: bool = False  # runs of format 1 stay what they are
    surroundings: bool = False  # what `emulate exec` has around a command (guest/surroundings.py)
    packages: list[Package] = Field(default_factory=list)
    files: list[Inside] = Field(default_factory=list)
    words: Turns = ()  # for commands, in braces
    programs: list[Program] = Field(min_length=1)

    @model_validator(mode="after")
    def _files_are_there(self) -> Self:
        for number, (name, path) in enumerate(self.sources() if self.folder else ()):
            where = ("files", number)
            if name in self.files[:number]:
                raise Flaws((where, f"'{name}' appears twice", "remove one of the two"))
            if not os.path.isfile(path):  # noqa: PTH113 - a name may be too long for `Path.is_file`
                raise Flaws((where, "there is no such file", f"put it at {path}"))
            if not path.resolve().is_relative_to((self.folder or Path()).resolve()):
                what = f"'{name}' leads out of the study's folder"
                raise Flaws((where, what, "copy it into the folder"))
        return self

    def commands(self, length_s: float) -> Iterator[tuple[int, CommandSection]]:
        """Yield the commands of each program with its number; clients share a server of their kind.

        Raise `Flaws` for a second client of a server that has one at a time.
        """
        servers = set()
        for number, section in enumerate(self.programs):
            for command in section.commands(length_s):
                if isinstance(section, ClientSection) and command.until == "clients":
                    server = (command.node, tuple(command.command))
                    if server in servers and not section.several:
                        what = f"{section.kind}'s server on '{command.node}' has another client"
                        todo = "give that one the option -P, or use iperf or netperf"
                        raise Flaws((("programs", number), what, todo))
                    if server in servers:
                        continue
                    servers.add(server)
                yield number, command

    def check_length(self, length: Duration) -> None:
        """Raise `Flaws` where a program does not start within the load."""
        for number, command in self.commands(length.seconds):
            if command.start >= length:
                what = f"'{command.start}' is not within the load, '{length}'"
                raise Flaws((("programs", number, "start"), what, "start it earlier"))
            latest_ns = command.start.nanoseconds + self.start_jitter.nanoseconds
            if self._is_late(command) and latest_ns >= length.nanoseconds:
                what = f"'{self.start_jitter}' may move a start out of the load, '{length}'"
                raise Flaws((("start_jitter",), what, "write a shorter one"))

    def check(self, rig: RigSection, topology: Topology) -> None:
        """Raise `Flaws` where a program lacks a host, a name of its own or what it waits for."""
        self.check_length(self.length)
        nodes = [node.name for node in topology.nodes if not node.switches]
        taken = (*WORDS, *dict(self.words))
        if shadowed := sorted(set(nodes) & set(taken)):
            what = f"a node is called '{shadowed[0]}', which is reserved in commands"
            raise Flaws((("kind",), what, f"give the node another name than {', '.join(taken)}"))
        if self.idle_pings and not self.pairs:
            what = "no program has a client and a server, between which to ping"
            raise Flaws((("idle_pings",), what, "leave it out, or write e.g. 'kind: ping'"))
        by_name = topology.addresses()
        addressed = [name for name in nodes if name in by_name]
        seen: set[str] = set()
        for number, command in self.commands(self.length.seconds):
            section, where = self.programs[number], ("programs", number)
            if isinstance(section, ClientSection) and section.to not in addressed:
                raise Flaws(((*where, "to"), *unknown("node", section.to, addressed)))
            if command.node is None and nodes:
                raise Flaws(((*where, "node"), "is missing", f"write one of: {', '.join(nodes)}"))
            if command.node is not None and command.node not in nodes:
                raise Flaws((where, *unknown("node", str(command.node), nodes)))
            for text in (*command.command, *dict(command.environment).values()):
                for name in addresses.names(text):
                    if name not in by_name and name.partition(".")[0] in nodes and "." in name:
                        raise Flaws((where, *unknown("address", name, by_name)))
            if (name := name_of(command)) in seen:
                what = f"another program is called '{name}', too"
                raise Flaws((where, what, "write another 'name'"))
            after = command.after
            if after and after.on is not None and after.on not in nodes:
                raise Flaws(((*where, "after", "on"), *unknown("node", after.on, nodes)))
            if after and after.program is not None and after.program not in seen:
                missing = unknown("earlier program", after.program, sorted(seen))
                raise Flaws(((*where, "after", "program"), *missing))
            seen.add(name)

    def job(self, run: Run, topology: Topology) -> dict[str, Any]:
        """Return what runs where and when, ready for the guest's module `programs`."""
        length_s = run.length.seconds
        words = self.turn(run.seed) | {"seed": str(run.seed), "length_s": f"{length_s:g}"}
        words |= topology.addresses()
        commands = [self._late(command, run) for _, command in self.commands(length_s)]
        pairs = self.pairs if self.idle_pings and topology.nodes else []
        packages = {"packages": list(self.debian)} if self.debian else {}
        job = {
            "tool": "command" if self.surroundings else "idle" if pairs else "programs",
            **({"pairs": [_pair(topology, *pair) for pair in pairs]} if pairs else {}),
            "length_s": length_s,
            **packages,
            "programs": [_program(command, words, length_s) for command in commands],
            "files": [
                {"path": name, "mode": mode(path), "sha256": sha256(path)}
                for name, path in self.sources()
            ],
        }
        return job if topology.nodes else {"work": job["tool"], "traffic": job}

    def _is_late(self, command: CommandSection) -> bool:
        return self.start_jitter != NO_JITTER and command.until == "end"

    def _late(self, command: CommandSection, run: Run) -> CommandSection:
        """Return `command` with its part of the jitter in its start, as the seed says."""
        if not self._is_late(command):
            return command
        text = f"{run.random}/{name_of(command)}".encode()
        part = int.from_bytes(hashlib.sha256(text).digest()[:8], "big") / 2**64
        late_us = int(part * self.start_jitter.us)
        start = Duration(command.start.nanoseconds + 1000 * late_us)
        return command.model_copy(update={"start": start})

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Return the hosts of each client and its server, each pair once."""
        return list(dict.fromkeys(self.clients.values()))

    @property
    def clients(self) -> dict[str, tuple[str, str]]:
        """Return the host of each client and that of its server, by the client's name."""
        return {
            name_of(command): (section.from_, section.to)
            for section in self.programs
            if isinstance(section, ClientSection)
            for command in section.commands(self.length.seconds)
            if command.until == "end"
        }

    def record(
        self, run: Run, out: Path, steps: list[dict[str, Any]], qdiscs: dict[str, Any]
    ) -> dict[str, Any]:
        """Return when programs ran, and between which hosts the idle path was measured.

        Raises `TrafficFailure` for one that failed although it was to last for the load."""
        ran = json.loads((out / "programs.json").read_text())
        for _, command in self.commands(run.length.seconds):
            name, until = name_of(command), command.until
            status, end_s = ran[name]["status"], ran[name]["end_s"]
            ending = ran[name]["signal"] or f"status {status}"
            ours = (f"status {command.status}", "SIGTERM", "SIGKILL")  # signals of the load's end
            if until == "load" and ending not in ours and end_s < run.length.seconds:
                last = (out / "programs" / name / "stderr").read_text(errors="replace")[-200:]
                words = last.strip().rpartition("\n")[2] or "nothing on its standard error"
                what = f"{name}: ended with {ending} after {end_s:g} s of the load: {words}"
                raise errors.TrafficFailure(errors.printable(what))
        measured = any("base_rtts_ms" in step for step in steps)
        return {"programs": ran, **({"measured_pairs": self.pairs} if measured else {})}

    def turn(self, seed: int) -> dict[str, str]:
        """Return the values that words have in a repetition."""
        return {name: values[(seed - 1) % len(values)] for name, values in self.words}

    @property
    def loads_in_turn(self) -> int:
        """Return after how many repetitions words have the same values again."""
        return math.lcm(*(len(values) for _, values in self.words))

    @property
    def controls(self) -> frozenset[str]:
        """Return the congestion controls that programs ask for."""
        named = (getattr(program, "cc", None) for program in self.programs)
        return frozenset(name for name in named if name is not None)

    def sources(self) -> list[tuple[str, Path]]:
        """Return the files of the study for the programs: (name in the guest, path)."""
        return [(name, (self.folder or Path()) / name) for name in self.files]

    @property
    def debian(self) -> tuple[str, ...]:
        """Return the Debian packages that it names, and those that kinds of programs need."""
        kinds = ("iperf3" for program in self.programs if program.kind == "iperf3")
        return tuple(sorted({*self.packages, *kinds}))

    @property
    def leaves(self) -> dict[str, str]:
        """Return the archive of output and files, and the rows made from lines of JSON."""
        return {"output.tar.gz": datafile.OUTPUT, "rows.jsonl.gz": datafile.ROWS}

    def reduce(self, run: Run, out: Path) -> None:
        """Make the archive of all output, the rows, and a file in flent's form of their numbers."""
        from qdisclab.emulation.kinds.traffic import outputs

        outputs.reduce(run, out)


def _pair(topology: Topology, client: str, server: str) -> dict[str, Any]:
    """Return whom to ping on the idle path, and the RTTs that are possible where they are known."""
    pair: dict[str, Any] = {"client": client, "address": topology.addresses()[server]}
    if (span := topology.idle_ping_ms(client, server)) is not None:
        pair |= {"base_rtt_ms": span[0], "slack_ms": round(span[1] - span[0], 3)}
    return pair


def _program(command: CommandSection, words: dict[str, str], length_s: float) -> dict[str, Any]:
    if command.node is not None:
        words = {**words, "node": str(command.node)}
    after = command.after
    return {
        "name": name_of(command),
        "node": command.node,
        "command": [addresses.filled(word, words) for word in command.command],
        "environment": {
            name: addresses.filled(value, words) for name, value in command.environment
        },
        "start_s": command.start.seconds,
        "after": after.model_dump(exclude={"on"}, exclude_none=True) if after else None,
        "after_node": (after.on or command.node) if after else command.node,
        "until": command.until,
        "statuses": [command.status],
        "deadline_s": length_s + GRACE_S,
        "keeps": list(command.keeps),
    }
