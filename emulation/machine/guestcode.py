"""Which code a job needs: its guest gets no other.

The files of a rig are listed here, by what needs them, those of a kind of traffic in its module;
how a kind of qdisc is read back comes from its module, too. So the digest of a run's code changes
only if code changes that the run has, and a work, tool or feature that nobody has is refused.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.host.cache import until_changed
from qdisclab.emulation.kinds import qdiscs, traffic
from qdisclab.emulation.kinds.traffic.flent import SERVER_FILES

#: Where the files are.
FOLDER = Path(__file__).parents[1] / "guest"

#: The files that start every guest and do its work.
START = ("init.sh", "main.py")

#: A rig, and the parts that all traffic has.
RIG = ("capture.py", "flentdata.py", "namespace.py", "readback.py", "rig.py", "traffic.py")

#: The kinds of work, by the job's key `work`; without that key it is a `run`. Others are tools of
#: traffic that needs no rig.
WORKS: Mapping[str, tuple[str, ...]] = {
    "run": RIG,
    "shell": (*RIG, "shell.py", "commands.py", "surroundings.py", "switch.py", "python2.py"),
    "boot": (),
    "script": (),
}

#: Features that a rig may have beyond wires, and that a script may ask for (the job's key `uses`).
FEATURES: Mapping[str, tuple[str, ...]] = {
    "switches": ("switch.py",),
    "wifi": (*RIG, "modules.py", "wifi.py", "wifi_netlink.py", "wifi_rig.py"),
    "modules": ("modules.py",),
    "trees": ("namespace.py", "trees.py"),
    "filters": (*RIG, "filters.py"),
    "layers": ("layers.py",),
    "own qdiscs": (*RIG, "own_qdiscs.py"),
    "crowd": (*RIG, "crowd.py"),
    "rig": RIG,
    "web": (*RIG, *SERVER_FILES["web"]),
}

#: The hosts that a rig may have before it is built as a crowd: runs that ship have as many.
MOST_HOSTS = 32

#: The file to which the functions are added that read back the qdiscs of a job.
READBACK = "readback.py"

#: What else is added to files, by the files that a job has: functions around those of the first.
AROUND: Mapping[str, Mapping[str, bytes]] = {
    "filters.py": {
        READBACK: b"import filters\n\nread = filters.reading(read)\n"
        b"compare = filters.comparing(compare)\n"
    },
    "own_qdiscs.py": {READBACK: b"import own_qdiscs\n\nparsed = own_qdiscs.tolerant(parsed)\n"},
    "crowd.py": {
        READBACK: b"import crowd\n\ninstalled = crowd.installed(installed)\n",
        "rig.py": b"import crowd\n\nNode, Rig = crowd.Host, crowd.Crowd\n",
    },
}


def files(job: dict[str, Any]) -> dict[str, bytes]:
    """Return the content of each file that `job` needs, sorted by name.

    Raises `ConfigError` if the job names unknown parts.
    """
    paths: dict[str, Path] = {}
    for name in (*START, *_names(job)):
        path = FOLDER / name
        if paths.setdefault(path.name, path) != path:
            what = f"a guest has another file of this name, {paths[path.name]}"
            raise ConfigError(what, str(path), "rename it")
    code = {name: read(paths[name]) for name in sorted(paths)}
    if READBACK in code:
        code[READBACK] += read_back(_qdiscs(job))
    for name in AROUND:
        if name in code:
            for changed, more in AROUND[name].items():
                code[changed] += b"\n\n" + more
    return code


read = until_changed(Path.read_bytes)


def _qdiscs(job: dict[str, Any]) -> list[str]:
    """Return the kinds of qdiscs in `job`, sorted."""
    ports = [port for wire in job.get("wires", ()) for port in wire]
    arriving = (port["tree"].get("ingress") for port in ports if "tree" in port)
    places = [*ports, *(place for place in arriving if place is not None)]
    return sorted({qdisc["kind"] for place in places for qdisc in place["qdiscs"]})


def read_back(kinds: Iterable[str]) -> bytes:
    """Return the code that reads back these kinds of qdiscs; some need none of their own."""
    own = (qdiscs.KINDS[kind] for kind in kinds if kind in qdiscs.KINDS)
    form = '\n\n{0.guest_code}\n\nREAD_BACK["{0.name}"] = read_back\n'
    return "".join(form.format(kind) for kind in own if kind.read_back is not None).encode()


def _names(job: dict[str, Any]) -> Iterator[str | Path]:
    work = job.get("work", "run")
    for feature in (*features(job), *job.get("uses", ())):
        if feature in FEATURES:
            yield from FEATURES[feature]
        else:
            yield from _of_traffic("feature", feature, {}, FEATURES)
    yield from WORKS.get(work, ())
    if work == "run":
        yield from _of_traffic("tool", job["traffic"]["tool"], job["traffic"], {})
    elif work not in WORKS:
        yield from _of_traffic("work", work, job.get("traffic", {}), WORKS)


def features(job: dict[str, Any]) -> Iterator[str]:
    """Yield the features that the rig of `job` has beyond wires."""
    nodes = job.get("nodes", ())
    if any(node.get("switches") for node in nodes):
        yield "switches"
    hosts = sum(not (node.get("switches") or node["forwards"]) for node in nodes)
    if hosts > MOST_HOSTS and "drivers" not in job:
        yield "crowd"
    if "wifi" in job.get("drivers", ()):
        yield "wifi"
    if "modules" in job:
        yield "modules"
    if any("tree" in port for wire in job.get("wires", ()) for port in wire):
        yield "trees"
    if any(_has_filters(port) for wire in job.get("wires", ()) for port in wire):
        yield "filters"
    if "layers" in job:
        yield "layers"
    if "own_qdiscs" in job:
        yield "own qdiscs"


def _has_filters(port: Mapping[str, Any]) -> bool:
    """Return whether a tree of the port, or that for what arrives, has filters."""
    parts = (port, port["tree"].get("ingress")) if "tree" in port else ()
    return any(part is not None and part["filters"] for part in parts)


def _of_traffic(
    noun: str, tool: str, load: Mapping[str, Any], others: Mapping[str, Any]
) -> Iterator[str | Path]:
    try:
        yield from traffic.guest_files(tool, load)
    except KeyError:
        valid = ", ".join([*others, *traffic.tools()])
        what = f"unknown {noun} '{tool}'"
        raise ConfigError(what, "the job of a guest", f"valid: {valid}") from None
