"""Read the rig back, and compare it with what was asked for.

A qdisc that did not install, or installed with other values, makes every number that follows
wrong without any error. So nothing is sent before what `tc` and the kernel report has been compared
with the job.
"""

import itertools
import json
import re

import namespace

#: Times that `tc -j` reports in microseconds.
_TIMES = ("target", "interval", "tupdate", "ce_threshold")

#: CoDel keeps times in units of 1024 ns (kernel, include/net/codel.h, CODEL_SHIFT), rounded down.
_CODEL_UNIT_US = 1.024

#: The kernel keeps the sizes of a token bucket as times, in units of 64 ns (PSCHED_SHIFT), and tc
#: makes whole microseconds of them and then whole bytes, each rounded down (iproute2, tc/q_tbf.c).
_TBF_UNIT_S, _TBF_UNIT_B = 1.1e-6, 1

#: The kernel keeps gains in a unit of its own, rounded down (net/sched/sch_dualpi2.c).
_DUALPI2_GAIN_HZ = 1.01 / 256

#: tc tells the kernel whole bytes per second.
_RATE_UNIT_BIT_S = 8

#: What the flags of CAKE set: the key and the value that tc shows.
_CAKE_FLAGS = {
    "unlimited": ("bandwidth", "unlimited"),
    **{
        flag: ("flowmode", flag)
        for flag in (
            *("flowblind", "srchost", "dsthost", "hosts", "flows"),
            *("dual-srchost", "dual-dsthost", "triple-isolate"),
        )
    },
    **{
        flag: ("diffserv", flag)
        for flag in ("besteffort", "diffserv3", "diffserv4", "diffserv8", "precedence")
    },
    **{flag: ("atm", flag) for flag in ("atm", "noatm", "ptm")},
    **{flag: ("nat", flag == "nat") for flag in ("nat", "nonat")},
    **{flag: ("wash", flag == "wash") for flag in ("wash", "nowash")},
    **{flag: ("split_gso", flag == "split-gso") for flag in ("split-gso", "no-split-gso")},
    **{flag: ("ingress", flag == "ingress") for flag in ("ingress", "egress")},
    "ack-filter": ("ack-filter", "enabled"),
    "ack-filter-aggressive": ("ack-filter", "aggressive"),
    "no-ack-filter": ("ack-filter", "disabled"),
}


def read(rig, statistics=False):
    """What is installed: {"node interface": {"qdiscs": [...], "offloads_on": [...], ...}}.

    With `statistics` the counters of qdiscs and of WiFi devices are in it, too.
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
    """All qdiscs of `node` as `tc -j` shows them, with its counters or with more options."""
    shown = parsed(rig.run(node, "tc", "-j", *(["-s"] if statistics else []), "qdisc", "show"))
    if not statistics:
        # With -d tc shows more options, but some values of the others as text for people.
        details = parsed(rig.run(node, "tc", "-j", "-d", "qdisc", "show"))
        for qdisc, more in zip(shown, details, strict=True):
            qdisc["options"] = {**more.get("options", {}), **qdisc.get("options", {})}
    return shown


def parsed(text):
    """What `tc -j` prints; the default class of hfsc is no JSON (iproute2 6.1, tc/q_hfsc.c)."""
    if "{default " in text:
        text = re.sub(r"\{default (\w+) \}", r'{"default":"\1"}', text)
    return json.loads(text)


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
        problems += compare_offloads(where, seen, port.get("offloads", False))
        if seen["txqueuelen"] != port["txqueuelen"]:
            problems.append(
                f"{where}: txqueuelen is {seen['txqueuelen']}, not {port['txqueuelen']}"
            )
        classes = {one["classid"]: one for one in seen.get("classes", ())}
        for asked in port.get("classes", ()):
            problems += compare_class(where, asked, classes.get(asked["classid"]))
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
    """Each offload of the device, which joins packets or splits them, that is not as `asked`."""
    is_on, wanted = ("off", "on") if asked else ("on", "off")
    wrong = [name for name in namespace.OFFLOADS if (name in seen["offloads_on"]) is not asked]
    return [f"{where}: offload {name} is {is_on}, not {wanted}" for name in wrong]


def compare_qdiscs(where, asked, seen):
    """Each difference between all qdiscs that a device shall have and those that it has."""
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
    elif seen["kind"] in ("htb", "hfsc") and "default" in options:
        values["default"] = int(str(options["default"]), 16)  # tc: "0x1"
    elif seen["kind"] == "netem":
        delay = options.get("delay", {})
        values["delay_us"], values["jitter_us"] = (
            round(delay.get(name, 0) * 1e6, 3) for name in ("delay", "jitter")
        )
        values["rate_bit_s"] = options.get("rate", {}).get("rate", 0) * 8
        slack = {"delay_us": 1, "jitter_us": 1}
    elif seen["kind"] == "cake":
        values |= of_cake(options)
        slack = {"bandwidth_bit_s": _RATE_UNIT_BIT_S}
    elif seen["kind"] == "fq":
        values |= of_fq(options)
        slack = {f"{name}_bit_s": _RATE_UNIT_BIT_S for name in ("maxrate", "low_rate_threshold")}
    elif seen["kind"] == "sfb":
        values |= {f"{name}_us": options[name] for name in ("rehash", "db")}
        # The kernel has them as parts of 65535, and tc rounds up (iproute2, tc/q_sfb.c).
        slack = dict.fromkeys(("increment", "decrement"), 1.01 / 65535)
    elif seen["kind"] == "dualpi2":
        slack = dict.fromkeys(("alpha", "beta"), _DUALPI2_GAIN_HZ)
    elif seen["kind"] == "choke":
        slack = {"probability": 5e-6 * options["probability"]}  # tc shows six digits
    else:
        if seen["kind"] in ("pie", "fq_pie"):  # tc shows the flags that are set
            values = {"bytemode": False, "dq_rate_estimator": False, **values}
        for name in _TIMES:
            if name in options:
                values[f"{name}_us"] = options[name]
                slack[f"{name}_us"] = _CODEL_UNIT_US
    return values, slack


def of_cake(options):
    """What tc shows of CAKE, under the names of the job's `expect`: each flag is a boolean."""
    shown = {"atm": "noatm", "mpu": 0, "memlimit": 0, **options}  # left out where not set
    rate = shown["bandwidth"]
    return {
        "bandwidth_bit_s": None if rate == "unlimited" else rate * 8,
        "rtt_us": shown["rtt"],
        "memlimit": shown["memlimit"],
        "overhead": shown["overhead"],
        "mpu": shown["mpu"],
        "fwmark": int(shown["fwmark"], 16),  # tc: "0xff"
        **{flag: shown[key] == value for flag, (key, value) in _CAKE_FLAGS.items()},
    }


def of_fq(options):
    """What tc shows of fq, under the names of the job's `expect`."""
    values = {"pacing": options.get("pacing", True), "timer_slack_us": options["timer_slack"] / 1e3}
    for name in ("refill_delay", "horizon", "ce_threshold"):
        values[f"{name}_us"] = options.get(name)
    for name in ("maxrate", "low_rate_threshold"):
        values[f"{name}_bit_s"] = options[name] * 8 if name in options else None
    for flag in ("horizon_cap", "horizon_drop"):
        values[flag] = flag in options  # tc: null
    return values


def same(asked, got, slack=0):
    """Whether `got` is `asked`: equal, or as numbers no further apart than `slack`."""
    if isinstance(asked, (bool, str)) or isinstance(got, (bool, str, type(None))):
        return type(asked) is type(got) and asked == got
    return abs(got - asked) <= max(slack, 1e-6 * abs(asked))
