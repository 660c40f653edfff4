"""Read the rig back, and compare it with what was asked for.

A qdisc that did not install, or installed with other values, makes every number that follows
wrong without any error. So nothing is sent before what `tc`, `ip` and `ethtool` report has been
compared with the job.
"""

import itertools
import json
import re

#: Features of `ethtool -k` that must be off, by the short names of `ethtool -K`.
OFFLOADS = {
    "tso": "tcp-segmentation-offload",
    "gso": "generic-segmentation-offload",
    "gro": "generic-receive-offload",
}

#: Times that `tc -j` reports in microseconds.
_TIMES = ("target", "interval", "tupdate", "ce_threshold")

#: CoDel keeps times in units of 1024 ns (kernel, include/net/codel.h, CODEL_SHIFT), rounded down.
_CODEL_UNIT_US = 1.024

#: The kernel keeps the sizes of a token bucket as times, in units of 64 ns (PSCHED_SHIFT), and tc
#: makes whole microseconds of them and then whole bytes, each rounded down (iproute2, tc/q_tbf.c).
_TBF_UNIT_S, _TBF_UNIT_B = 1.1e-6, 1


def read(rig, statistics=False):
    """What is installed: {"node interface": {"qdiscs": [...], "offloads_on": [...], ...}}."""
    found = {}
    for node in rig.nodes:
        qdiscs = installed(rig, node, statistics)
        links = {link["ifname"]: link for link in json.loads(rig.run(node, "ip", "-j", "link"))}
        for interface in rig.interfaces(node):
            found[f"{node} {interface}"] = {
                "qdiscs": [qdisc for qdisc in qdiscs if qdisc["dev"] == interface],
                "offloads_on": offloads_on(rig.run(node, "ethtool", "-k", interface)),
                "txqueuelen": links[interface].get("txqlen"),
            }
            if rig.ports[node, interface].get("classes"):
                text = rig.run(node, "tc", "class", "show", "dev", interface)
                found[f"{node} {interface}"]["classes"] = classes(text)
    return found


def installed(rig, node, statistics):
    """All qdiscs of `node` as `tc -j` shows them, with its counters or with more options."""
    shown = json.loads(rig.run(node, "tc", "-j", *(["-s"] if statistics else []), "qdisc", "show"))
    if not statistics:
        # With -d tc shows more options, but some values of the others as text for people.
        details = json.loads(rig.run(node, "tc", "-j", "-d", "qdisc", "show"))
        for qdisc, more in zip(shown, details, strict=True):
            qdisc["options"] = {**more.get("options", {}), **qdisc.get("options", {})}
    return shown


def offloads_on(text):
    """The short names of the `OFFLOADS` that the output of `ethtool -k` shows as on."""
    state = dict(line.strip().split(": ", 1) for line in text.splitlines() if ": " in line)
    return [
        short for short, name in OFFLOADS.items() if not state.get(name, "on").startswith("off")
    ]


def classes(text):
    """The classes in the output of `tc class show`, which has no JSON: a dictionary each."""
    found = []
    for line in text.splitlines():
        _, kind, classid, *words = line.split()
        seen = {"kind": kind, "classid": classid}
        values = dict(itertools.pairwise(words))
        for name, unit in (("rate", "bit"), ("ceil", "bit"), ("burst", "b"), ("cburst", "b")):
            seen[name] = number(values.get(name, ""), unit)
        found.append(seen)
    return found


def number(text, unit):
    """The number that `tc` wrote with `unit` (10Mbit, 1600b, 15Kb); None where it is none."""
    matched = re.fullmatch(rf"([0-9.]+)([KMG]?){unit}", text)
    if matched is None:
        return None
    base = 1000 if unit == "bit" else 1024
    return float(matched[1]) * base ** " KMG".index(matched[2] or " ")


def compare_class(where, asked, seen):
    """Each difference between a class of the job and the installed one (None: there is none)."""
    if seen is None:
        return [f"{where}: class {asked['classid']} is not installed"]
    wanted = {
        "kind": asked["kind"],
        "rate": asked["rate_bit_s"],
        "ceil": asked["rate_bit_s"],
        "burst": asked["burst"],
        "cburst": asked["burst"],
    }
    return [
        f"{where}: class {asked['classid']} has {name} {seen[name]}, not {value}"
        for name, value in wanted.items()
        if not same(value, seen[name])
    ]


def compare(ports, found):
    """Each difference between the job's ports and what was read back, as a sentence."""
    problems = []
    for (node, interface), port in ports.items():
        where = f"{node} {interface}"
        seen = found[where]
        problems += [f"{where}: offload {name} is on, not off" for name in seen["offloads_on"]]
        if seen["txqueuelen"] != port["txqueuelen"]:
            problems.append(
                f"{where}: txqueuelen is {seen['txqueuelen']}, not {port['txqueuelen']}"
            )
        classes = {one["classid"]: one for one in seen.get("classes", ())}
        for asked in port.get("classes", ()):
            problems += compare_class(where, asked, classes.get(asked["classid"]))
        installed = {qdisc["handle"]: qdisc for qdisc in seen["qdiscs"]}
        for asked in port["qdiscs"]:
            one = installed.pop(asked["handle"], None)
            problems += compare_qdisc(f"{where} {asked['handle']}", asked, one)
        problems += [
            f"{where} {handle}: {qdisc['kind']} is installed, nobody asked for it"
            for handle, qdisc in installed.items()
        ]
    return problems


def compare_qdisc(where, asked, seen):
    """Each difference between a qdisc of the job and the installed one (None: there is none)."""
    if seen is None:
        return [f"{where}: {asked['kind']} is not installed"]
    if seen["kind"] != asked["kind"]:
        return [f"{where}: {seen['kind']} is installed, not {asked['kind']}"]
    problems = []
    parent = "root" if seen.get("root") else seen.get("parent")
    if parent != asked["parent"]:
        problems.append(f"{where}: parent is {parent}, not {asked['parent']}")
    values, slack = in_si(seen)
    for name, value in asked["expect"].items():
        got = values.get(name)
        if not same(value, got, slack.get(name, 0)):
            problems.append(f"{where}: {asked['kind']} has {name} {got}, not {value}")
    return problems


def in_si(seen):
    """The options of a qdisc as `read` found it, under the names of the job's `expect`.

    Returns (value by name, how far tc or the kernel may round it by name).
    """
    options = dict(seen.get("options", {}))
    values, slack = {"kind": seen["kind"], "ecn": False, **options}, {}
    if seen["kind"] == "tbf":
        rate = options["rate"]
        values["rate_bit_s"] = rate * 8
        values["limit"] = options["lat"] * 1e-6 * rate + options["burst"]
        slack = dict.fromkeys(("burst", "limit"), rate * _TBF_UNIT_S + _TBF_UNIT_B)
    elif seen["kind"] == "htb":
        values["default"] = int(str(options["default"]), 16)  # tc: "0x1"
    elif seen["kind"] == "netem":
        values["delay_us"] = options.get("delay", {}).get("delay", 0) * 1e6
        values["rate_bit_s"] = options.get("rate", {}).get("rate", 0) * 8
        slack = {"delay_us": 1}
    else:
        for name in _TIMES:
            if name in options:
                values[f"{name}_us"] = options[name]
                slack[f"{name}_us"] = _CODEL_UNIT_US
    return values, slack


def same(asked, got, slack=0):
    """Whether `got` is `asked`: equal, or as numbers no further apart than `slack`."""
    if isinstance(asked, (bool, str)) or isinstance(got, (bool, str, type(None))):
        return type(asked) is type(got) and asked == got
    return abs(got - asked) <= max(slack, 1e-6 * abs(asked))
