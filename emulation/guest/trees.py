"""Trees of qdiscs and classes on a port, and for what arrives at it: they are built and read back.

`tc` shows rates in four digits, and no JSON of classes. So their parameters are asked of the kernel
itself.
"""

import socket
import struct

import namespace

#: Of rtnetlink (linux/rtnetlink.h, linux/pkt_sched.h).
_GET_CLASSES, _CLASS, _DONE, _ERROR, _REQUEST_DUMP = 42, 40, 3, 2, 0x301
_KIND, _OPTIONS = 1, 2
_CURVES = {1: "rt", 2: "ls", 3: "ul"}
_HTB_PARAMETERS, _HTB_RATE64, _HTB_CEIL64 = 1, 6, 7

_TICK_S = 64e-9  # in which the kernel tells the size of a bucket (PSCHED_SHIFT)
_BYTE_BITS = 8  # tc tells the kernel whole bytes per second
_UNIT_S, _UNIT_B = 1.1e-6, 1  # tc makes whole microseconds of a bucket, the kernel ticks of those


def build(rig, port):
    """Install the qdiscs, classes and filters of `port`, and the device for what arrives."""
    node = port["node"]
    rig.batch(node, "tc", lines(port))
    arriving = port["tree"].get("ingress")
    if arriving is None:
        return
    device = arriving["interface"]
    rig.run(node, "ip", "link", "add", device, "type", "ifb")
    with rig.namespace(node):
        namespace.set_offloads(device, on=False)
    length = str(port["txqueuelen"])
    rig.run(node, "ip", "link", "set", device, "txqueuelen", length, "up")
    rig.batch(node, "tc", [*lines(arriving), f"filter add dev {port['interface']} {_to(device)}"])


def _to(device):
    return f"parent ffff: matchall action mirred egress redirect dev {device}"


def lines(port):
    """The lines of `tc -batch`: each qdisc, its classes, what is in those; then the filters."""
    from rig import add_qdisc

    found = []
    for asked in port["qdiscs"]:
        if asked["kind"] == "ingress":  # which has no parent for tc
            found.append(f"qdisc add dev {port['interface']} handle {asked['handle']} ingress")
            continue
        found.append(add_qdisc(port, asked))
        found += [
            f"class add dev {port['interface']} parent {one['parent']} classid {one['classid']}"
            f" {one['kind']} {' '.join(one['arguments'])}"
            for one in port["tree"]["classes"]
            if f"{one['classid'].partition(':')[0]}:" == asked["handle"]
        ]
    return [*found, *(f"filter add dev {port['interface']} {words}" for words in port["filters"])]


def read(rig, port, qdiscs):
    """The classes of `port`, and what is on the device for what arrives; `qdiscs` of the node."""
    node = port["node"]
    found = {"classes": _classes(rig, node, port)}
    arriving = port["tree"].get("ingress")
    if arriving is not None:
        device = arriving["interface"]
        shown = rig.run(node, "tc", "filter", "show", "dev", port["interface"], "parent", "ffff:")
        with rig.namespace(node):
            on = namespace.offloads_on(device)
        found["ingress"] = {
            "qdiscs": [one for one in qdiscs if one["dev"] == device],
            "classes": _classes(rig, node, arriving),
            "offloads_on": on,
            "redirected": f"(Egress Redirect to device {device})" in shown,
        }
    return found


def _classes(rig, node, port):
    """The classes that somebody made, by their names."""
    kinds = {one["kind"] for one in port["tree"]["classes"]}
    if not kinds:
        return {}
    with rig.namespace(node):
        found = [one for one in _dumped(port["interface"]) if one["kind"] in kinds]
    return {one["classid"]: one for one in found if not one["classid"].endswith(":")}  # hfsc's own


def compare(where, port, found):
    """Each difference between the tree of the job's `port` and what `read` found."""
    from readback import compare_offloads, compare_qdiscs

    problems = compare_classes(where, port["tree"]["classes"], found["classes"])
    arriving = port["tree"].get("ingress")
    if arriving is None:
        return problems
    where, seen = f"{where} ingress", found["ingress"]
    problems += compare_offloads(where, seen)
    if not seen["redirected"]:
        problems.append(f"{where}: what arrives does not go to {arriving['interface']}")
    problems += compare_qdiscs(where, arriving["qdiscs"], seen["qdiscs"])
    return problems + compare_classes(where, arriving["tree"]["classes"], seen["classes"])


def compare_classes(where, classes, seen):
    """Each difference between the `classes` of the job and the installed ones by name."""
    problems = []
    left = dict(seen)
    for asked in classes:
        name = f"{where}: class {asked['classid']}"
        one = left.pop(asked["classid"], None)
        if one is None:
            problems.append(f"{name} is not installed")
            continue
        for key in ("kind", "parent"):
            if one[key] != asked[key]:
                problems.append(f"{name} has {key} {one[key]}, not {asked[key]}")
        problems += [
            f"{name} has {key} {one.get(key)}, not {value}"
            for key, value in asked["expect"].items()
            if not _same(key, value, one)
        ]
    return problems + [f"{where}: class {name} is there, nobody asked for it" for name in left]


def _same(key, asked, seen):
    """Whether the class `seen` has `asked`, as far as tc and the kernel round."""
    got = seen.get(key)
    if asked is None or got is None:
        return asked is got
    if isinstance(asked, list):  # m1, d, m2
        slack = (_BYTE_BITS, 1, _BYTE_BITS)
        return all(
            abs(a - b) <= max(c, 1e-6 * a) for a, b, c in zip(asked, got, slack, strict=True)
        )
    slack = 0
    if key in ("rate", "ceil"):
        slack = _BYTE_BITS
    elif key in ("burst", "cburst"):
        slack = seen["rate" if key == "burst" else "ceil"] / 8 * _UNIT_S + _UNIT_B
    return abs(asked - got) <= slack


def _dumped(interface):
    """The classes of `interface`: rates in bit/s, times in us, sizes in bytes."""
    index = socket.if_nametoindex(interface)
    message = struct.pack("=BxHiIII", 0, 0, index, 0, 0, 0)
    header = struct.pack("=IHHII", 16 + len(message), _GET_CLASSES, _REQUEST_DUMP, 1, 0)
    found = []
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as link:
        link.send(header + message)
        while True:
            data = link.recv(1 << 16)
            while data:
                length, kind = struct.unpack_from("=IH", data)
                if kind == _ERROR:
                    raise OSError(-struct.unpack_from("=i", data, 16)[0], "no classes are told")
                if kind == _DONE:
                    return found
                if kind == _CLASS:
                    found.append(of_message(data[16:length]))
                data = data[(length + 3) & ~3 :]


def of_message(data):
    """The class that a message of the kernel tells (linux/rtnetlink.h, struct tcmsg)."""
    handle, parent = struct.unpack_from("=II", data, 8)
    attributes = _attributes(data[20:])
    kind = attributes[_KIND].rstrip(b"\0").decode()
    root = parent == 0xFFFFFFFF
    return {
        "kind": kind,
        "classid": _name(handle),
        "parent": f"{handle >> 16:x}:" if root else _name(parent),
        **_parameters(kind, _attributes(attributes.get(_OPTIONS, b""))),
    }


def _name(handle):
    return f"{handle >> 16:x}:" + (f"{handle & 0xFFFF:x}" if handle & 0xFFFF else "")


def _attributes(data):
    """Attributes of netlink: bytes by type."""
    found = {}
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        found[kind & 0x3FFF] = data[4:length]
        data = data[(length + 3) & ~3 :]
    return found


def _parameters(kind, options):
    if kind == "htb" and _HTB_PARAMETERS in options:
        # Two of struct tc_ratespec, then the buckets, the quantum, the level and the priority.
        values = struct.unpack("=8xI8xIIIIII", options[_HTB_PARAMETERS])
        rate, ceil, burst, cburst, quantum, _, prio = values
        if _HTB_RATE64 in options:
            (rate,) = struct.unpack("=Q", options[_HTB_RATE64])
        if _HTB_CEIL64 in options:
            (ceil,) = struct.unpack("=Q", options[_HTB_CEIL64])
        return {
            "rate": rate * 8,
            "ceil": ceil * 8,
            "burst": burst * _TICK_S * rate,
            "cburst": cburst * _TICK_S * ceil,
            "quantum": quantum,
            "prio": prio,
        }
    if kind == "hfsc":
        curves = {name: options.get(number) for number, name in _CURVES.items()}
        return {name: _curve(data) for name, data in curves.items()}
    if kind == "drr":
        return {"quantum": struct.unpack("=I", options[1])[0]}
    return {}


def _curve(data):
    """m1 in bit/s, d in us, m2 in bit/s; None for no curve."""
    if data is None:
        return None
    m1, d, m2 = struct.unpack("=III", data)
    return [m1 * 8, d, m2 * 8]
