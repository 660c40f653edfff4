"""Filters of trees, read back; and the classes that no packet went into, at the end.

`readback` is given these functions by the host, in jobs whose trees have filters. Of each filter
parent, kind, protocol, preference and class are compared, of u32 the matches of addresses, ports,
protocol and TOS, of flower all keys that `tc` shows under the name under which it takes them.
"""

import itertools
import re

_WORDS = {"protocol": "protocol", "prio": "pref", "preference": "pref", "priority": "pref"}
_OF_FILTER = {*_WORDS, "pref", "parent", "handle", "chain"}

#: Word of `match ip` -> its offset in the header, bits to the left, and whether it is an address.
_IP = {
    "src": (12, 0), "dst": (16, 0), "protocol": (8, 16), "tos": (0, 16), "dsfield": (0, 16),
    "sport": (20, 16), "dport": (20, 0),
}  # fmt: skip


def reading(read):
    """Return the function `read` of `readback` with filters, or at the end with idle classes."""

    def read_more(rig, statistics=False):
        found = read(rig, statistics)
        for (node, interface), port in rig.ports.items():
            if not _asked(port):
                continue
            place = found[f"{node} {interface}"]
            for part in _parts(port):
                device = part["interface"]
                if statistics:
                    text = rig.run(node, "tc", "-s", "class", "show", "dev", device)
                    place.setdefault("idle_classes", {})[device] = idle(part, packets(text))
                else:
                    place.setdefault("filters", []).extend(_installed(rig, node, part))
        return found

    return read_more


def comparing(compare):
    """Return the function `compare` of `readback`, which compares filters as well."""

    def compare_more(ports, found):
        problems = compare(ports, found)
        for (node, interface), port in ports.items():
            if not _asked(port):
                continue
            where = f"{node} {interface}"
            seen = list(found[where]["filters"])
            for words in _asked(port):
                asked = wanted(words)
                same = next((each for each in seen if fits(asked, each)), None)
                if same is None:
                    problems.append(f"{where}: the filter '{words}' is not installed as asked for")
                else:
                    seen.remove(same)
            problems += [f"{where}: a filter nobody asked for: {each['shown']}" for each in seen]
        return problems

    return compare_more


def _parts(port):
    """The tree of `port`, and that for what arrives, as far as they have filters."""
    parts = (port, port.get("tree", {}).get("ingress"))
    return [part for part in parts if part is not None and part["filters"]]


def _asked(port):
    return [words for part in _parts(port) for words in part["filters"]]


def _installed(rig, node, part):
    """What `tc` shows of the parents that `part` has filters of."""
    parents = sorted({words.split()[1] for words in part["filters"]})
    for parent in parents:
        text = rig.run(node, "tc", "filter", "show", "dev", part["interface"], "parent", parent)
        yield from shown(parent, text)


def shown(parent, text):
    """The filters in the output of `tc filter show`."""
    found = []
    for line in text.splitlines():
        if line.startswith("filter "):
            words = line.replace("*flowid", "flowid").split()
            values = dict(itertools.pairwise(words))
            at = next(n for n in range(1, len(words), 2) if words[n] not in _OF_FILTER)
            found.append({
                "parent": parent, "kind": words[at], "class": _class(values), "shown": line,
                "protocol": values.get("protocol"), "pref": values.get("pref"), "keys": {},
            })  # fmt: skip
        elif line.startswith("  match "):
            match, _, offset = line.split()[1:]
            found[-1]["keys"][int(offset)] = tuple(int(part, 16) for part in match.split("/"))
        elif line.strip():
            key, *value = line.split()
            found[-1]["keys"][key] = " ".join(value)
    return [each for each in found if each["class"] is not None]


def wanted(words):
    """What a filter of the job, as the words behind `tc filter add dev X`, shall be."""
    words = words.split()
    found = {"parent": None, "protocol": "all", "pref": None, "keys": {}, "kind": None}
    while words and words[0] in _OF_FILTER:
        name, value, *words = words
        found[_WORDS.get(name, name)] = value
    found["kind"], *words = words
    found["class"] = _class(dict(itertools.pairwise(words)))
    if found["kind"] == "u32":
        found["keys"] = _matches(words)
    elif found["kind"] == "flower":
        pairs = zip(words[::2], words[1::2], strict=False)
        found["keys"] = {name: value.removesuffix("/32") for name, value in pairs}
    return found


def _matches(words):
    """Offset -> value and mask of what u32 shall match; empty where one is not known here."""
    keys = {}
    for at, word in enumerate(words):
        if word != "match":
            continue
        layer, field, value, *rest = words[at + 1 :]
        if layer != "ip" or field not in _IP:
            return {}
        offset, left = _IP[field]
        if field in ("src", "dst"):
            address, _, length = value.partition("/")
            mask = (0xFFFFFFFF << 32 - int(length or 32)) & 0xFFFFFFFF
            number = int.from_bytes(bytes(map(int, address.split("."))), "big") & mask
        else:
            mask = int(rest[0], 0) << left
            number = int(value, 0) << left & mask
        had = keys.get(offset, (0, 0))
        keys[offset] = (had[0] | number, had[1] | mask)
    return keys


def fits(asked, seen):
    """Whether the filter `seen` is the one that was `asked` for, as far as both tell."""
    if asked["pref"] not in (None, seen["pref"]):
        return False
    if any(asked[name] != seen[name] for name in ("parent", "kind", "protocol", "class")):
        return False
    if asked["kind"] == "u32":
        return not asked["keys"] or asked["keys"] == seen["keys"]
    both = asked["keys"].keys() & seen["keys"].keys()
    return all(asked["keys"][key] == seen["keys"][key] for key in both)


def _class(values):
    """The class of a filter, as two numbers; None for no class."""
    name = values.get("flowid") or values.get("classid")
    return name and tuple(int(part or "0", 16) for part in name.split(":"))


def idle(part, sent):
    """The classes that nothing is below, or that filters name, and no packet went into."""
    outer = {each["parent"] for each in part["tree"]["classes"]}
    names = {each["classid"] for each in part["tree"]["classes"]}
    names |= {each["parent"] for each in part["qdiscs"]}
    named = (wanted(words)["class"] for words in part["filters"])
    names |= {":".join(f"{number:x}" for number in to) for to in named if to}
    return sorted(name for name in names - outer if sent.get(name) == 0)


def packets(text):
    """Class -> packets that it has sent, from the output of `tc -s class show`."""
    found = {}
    for line in text.splitlines():
        if line.startswith("class "):
            name = line.split()[2]
        elif sent := re.match(r" Sent \d+ bytes (\d+) pkt", line):
            found[name] = int(sent[1])
    return found
