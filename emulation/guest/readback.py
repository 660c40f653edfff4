"""Read the rig back, and compare it with what was asked for.

A qdisc that did not install, or installed with other values, makes every number that follows
wrong without any error. So nothing is sent before the reports of `tc` and the kernel have been
compared with the job.
"""

import itertools
import json
import re

import namespace

#: Times that `tc -j` reports in microseconds.
_TIMES = ("target", "interval", "tupdate", "ce_threshold")

#: CoDel keeps times in units of 1024 ns (kernel, include/net/codel.h, CODEL_SHIFT), rounded down.
_CODEL_UNIT_US = 1.024

#: Kind of qdisc -> its function, of the kinds of the job that have one: the host adds them below
#: (`emulation.machine.guestcode`).
READ_BACK = {}


def read(rig, statistics=False):
    """Return what is installed: {"node interface": {"qdiscs": [...], "offloads_on": [...], ...}}.

    With `statistics` it includes the counters of qdiscs and of WiFi devices.
    """
    found = {}
    for node in rig.nodes:
        qdiscs = installed(rig, node, statistics)
        for interface in rig.interfaces(node):
            with rig.namespace(node):
                found[f"{node} {interface}"] = {
                    "qdiscs": [qdisc for qdisc in qdiscs if qdisc["dev"] == interface],
                    "offloads_on": namespace.offloads_on(interface),
                    "txqueuelen": namespace.txqueuelen(interface),
                }
            if rig.ports[node, interface].get("classes"):
                text = rig.run(node, "tc", "class", "show", "dev", interface)
                found[f"{node} {interface}"]["classes"] = classes(text)
            if "tree" in rig.ports[node, interface]:
                import trees

                tree = trees.read(rig, rig.ports[node, interface], qdiscs)
                found[f"{node} {interface}"]["tree"] = tree
    for (node, interface), port in rig.ports.items():
        if "wifi" in port:
            import wifi_rig

            found[f"{node} {interface}"]["wifi"] = wifi_rig.read(rig, port, statistics)
    return found


def installed(rig, node, statistics):
    """Return all qdiscs of `node` as `tc -j` shows them, with counters or with more options."""
    shown = parsed(rig.run(node, "tc", "-j", *(["-s"] if statistics else []), "qdisc", "show"))
    if not statistics:
        # With -d tc shows more options, but some values of the others as text for people.
        details = parsed(rig.run(node, "tc", "-j", "-d", "qdisc", "show"))
        for qdisc, more in zip(shown, details, strict=True):
            qdisc["options"] = {**more.get("options", {}), **qdisc.get("options", {})}
    return shown


def parsed(text):
    """Parse what `tc -j` prints; the default class of hfsc is no JSON (iproute2, tc/q_hfsc.c)."""
    if "{default " in text:
        text = re.sub(r"\{default (\w+) \}", r'{"default":"\1"}', text)
    return json.loads(text)


def classes(text):
    """Parse the output of `tc class show`, which has no JSON, into a dictionary per class."""
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
    """Return the number that `tc` wrote with `unit` (10Mbit, 1600b, 15Kb); None else."""
    matched = re.fullmatch(rf"([0-9.]+)([KMG]?){unit}", text)
    if matched is None:
        return None
    base = 1000 if unit == "bit" else 1024
    return float(matched[1]) * base ** " KMG".index(matched[2] or " ")


def compare_class(where, asked, seen):
    """Return the differences between a class of the job and the installed one, None if absent."""
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
    """Return each difference between the job's ports and what was read back, as a sentence."""
    problems = []
    for (node, interface), port in ports.items():
        where = f"{node} {interface}"
        seen = found[where]
        problems += compare_offloads(where, seen, port.get("offloads", False))
        if seen["txqueuelen"] != port["txqueuelen"]:
            problems.append(
                f"{where}: txqueuelen is {seen['txqueuelen']}, not {port['txqueuelen']}"
            )
        installed = {shown["classid"]: shown for shown in seen.get("classes", ())}
        for asked in port.get("classes", ()):
            problems += compare_class(where, asked, installed.get(asked["classid"]))
        problems += compare_qdiscs(where, port["qdiscs"], seen["qdiscs"])
        if "tree" in port:
            import trees

            problems += trees.compare(where, port, seen["tree"])
    for (node, interface), port in ports.items():
        if "wifi" in port:
            import wifi_rig

            where = f"{node} {interface}"
            problems += [
                f"{where}: {difference}"
                for difference in wifi_rig.compare(port, found[where]["wifi"])
            ]
    return problems


def compare_offloads(where, seen, asked=False):
    """Return the offloads of a device, which join packets or split them, that are not as asked."""
    is_on, wanted = ("off", "on") if asked else ("on", "off")
    wrong = [name for name in namespace.OFFLOADS if (name in seen["offloads_on"]) is not asked]
    return [f"{where}: offload {name} is {is_on}, not {wanted}" for name in wrong]


def compare_qdiscs(where, asked, seen):
    """Return each difference between the qdiscs that a device should have and those it has."""
    problems = []
    installed = {qdisc["handle"]: qdisc for qdisc in seen}
    for qdisc in asked:
        handle = qdisc["handle"]
        problems += compare_qdisc(f"{where} {handle}", qdisc, installed.pop(handle, None))
    return problems + [
        f"{where} {handle}: {qdisc['kind']} is installed, nobody asked for it"
        for handle, qdisc in installed.items()
    ]


def compare_qdisc(where, asked, seen):
    """Return the differences between a qdisc of the job and the installed one, None if absent."""
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
        got = values.get(name, False if value is False else None)  # tc shows flags that are set
        if not same(value, got, slack.get(name, 0)):
            problems.append(f"{where}: {asked['kind']} has {name} {got}, not {value}")
    return problems


def in_si(seen):
    """Return the options of a qdisc that was read, under the names of the job's `expect`.

    The second result is by how much tc or the kernel may round each.
    """
    values, slack = READ_BACK.get(seen["kind"], as_shown)(seen.get("options", {}))
    return {"kind": seen["kind"], **values}, slack


def as_shown(options):
    """Return the options as tc shows them, with times in microseconds."""
    times = {f"{name}_us": options[name] for name in _TIMES if name in options}
    return {**options, **times}, dict.fromkeys(times, _CODEL_UNIT_US)


def same(asked, got, slack=0):
    """Return whether `got` is `asked`: equal, or as numbers no further apart than `slack`."""
    if isinstance(asked, (bool, str)) or isinstance(got, (bool, str, type(None))):
        return type(asked) is type(got) and asked == got
    return abs(got - asked) <= max(slack, 1e-6 * abs(asked))
