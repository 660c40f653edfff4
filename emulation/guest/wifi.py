"""Links of type wifi: access points, stations, their options and counters.

The kernel's side is `qdisc/src/wifi`, what each option means is in `docs/wifi.md`. Called as a
program, it shows or changes a link of the network namespace that it runs in:

    python3 wifi.py show wlan0
    python3 wifi.py set wlan0 '{"ring": 51}'
"""

import json
import re
import socket
import struct
import subprocess
import sys

import wifi_netlink as netlink
from namespace import inside

_BEFORE_MOVE = "before-move"
KIND = "wifi"

#: Numbers are those of wifi_netlink.h. Options of the medium, which an access point has.
MEDIUM = {
    "band_ghz": 1,
    "slot_us": 2,
    "backoff": 3,
    "eifs": 4,
    "short_preamble": 5,
    "apart_us": 26,
    "batch": 27,
}

#: Options of each device.
DEVICE = {
    "aifsn": 6,
    "cw_min": 7,
    "cw_max": 8,
    "retries": 9,
    "protection": 10,
    "protection_rate_100kbit_s": 11,
    "subframes": 12,
    "ampdu_bytes": 13,
    "ampdu_us": 14,
    "ahead": 15,
    "ring": 16,
    "wake": 17,
    "buffer": 18,
    "limit_bytes": 19,
    "limit_airtime_us": 20,
    "scheduler": 21,
    "overflow": 22,
    "overhead_bytes": 23,
    "forward_us": 28,
}

#: A station's channels: to the access point, and from it.
DIRECTIONS = {"up": 24, "down": 25}
CHANNEL = {
    "rate_100kbit_s": 1,
    "mcs": 2,
    "width_mhz": 3,
    "short_gi": 4,
    "control": 5,
    "loss_ppm": 6,
    "bad_loss_ppm": 7,
    "good_us": 8,
    "bad_us": 9,
    "snr_decidb": 10,
    "residual_ppm": 12,
}
ALL = {**MEDIUM, **DEVICE, **DIRECTIONS}
TRACE = 11  # list of [us, 0.1 dB]; it cannot be read back

#: Values that have names.
WORDS = {
    "backoff": ("dcf", "edca"),
    "protection": ("none", "cts-to-self", "rts-cts"),
    "scheduler": ("fifo", "robin", "airtime"),
    "overflow": ("stop", "drop"),
    "control": ("fixed", "minstrel", "iwl"),
}
SWITCHES = ("eifs", "short_preamble", "short_gi")


class BadOption(Exception):
    """An option that is unknown or has a value that it cannot have."""


def build(medium, namespaces):
    """Make an access point and its stations, each in the namespace of its node, and read them back.

    `medium`: {"access_point": port, "stations": [port, ...]}; a port has `node`, `interface`,
    `address` (MAC) and `options`. `namespaces`: path by node. Returns each difference between what
    was asked for and what the kernel has, as a sentence; raises `BadOption`.
    """
    access_point = medium["access_point"]
    # The kernel refuses a new link with a name that there is here, wherever it shall go.
    create_access_point(_BEFORE_MOVE, access_point["options"], access_point["address"])
    for port in medium["stations"]:
        with open(namespaces[port["node"]]) as space:
            where = {"address": port["address"], "space": space.fileno()}
            create_station(port["interface"], _BEFORE_MOVE, port["options"], **where)
    with open(namespaces[access_point["node"]]) as space:
        move(_BEFORE_MOVE, space.fileno(), access_point["interface"])
    problems = []
    for port in (access_point, *medium["stations"]):
        with inside(namespaces[port["node"]]):
            shown = show(port["interface"])
        where = f"{port['node']} {port['interface']}"
        problems += [f"{where}: {one}" for one in differences(port["options"], shown)]
    return problems


def differences(asked, shown):
    """Each option that is not as asked for, as a sentence. A trace is not read back."""
    found = []
    for name, value in asked.items():
        if isinstance(value, dict):
            inner = differences(value, shown.get(name, {}))
            found += [f"{name}.{one}" for one in inner]
        elif name != "trace" and shown.get(name) != value:
            found.append(f"{name} is {shown.get(name)}, not {value}")
    return found


def create_access_point(name, options=None, address=None):
    """Create an access point, and with it a medium, in this network namespace."""
    _set(options or {}, name=name, address=address)


def create_station(name, access_point, options=None, address=None, space=None):
    """Create a station of `access_point`, which is in this network namespace.

    `space`: file descriptor of the network namespace where the station shall be, as of an open
    `/proc/<pid>/ns/net`.
    """
    index = socket.if_nametoindex(access_point)
    _set(options or {}, name=name, link=index, address=address, space=space)


def move(name, space, new_name=None):
    """Move a link of this network namespace into the one with the file descriptor `space`."""
    index = socket.if_nametoindex(name)
    netlink.set_link(KIND, None, name=new_name or name, index=index, space=space)


def change(name, options):
    """Set options of a link of this network namespace; those not named stay."""
    _set(options, index=socket.if_nametoindex(name))


def show(name):
    """All options of a link of this network namespace, in the form that `change` takes."""
    return decode(netlink.link_data(socket.if_nametoindex(name), KIND))


def counters(name):
    """What `ethtool -S` counts of a link of this network namespace, by name."""
    text = subprocess.run(["ethtool", "-S", name], capture_output=True, text=True, check=True)
    return {key: int(value) for key, value in re.findall(r"(\w+): (\d+)", text.stdout)}


def _set(options, **link):
    """Have the kernel do it; raises `BadOption` with the name of what it refused."""
    data = encode(options)
    try:
        netlink.set_link(KIND, data, **link)
    except netlink.Refused as refused:
        name = _name_of(refused.culprit, data)
        raise BadOption(f"{name}: {refused}" if name else str(refused)) from None


def _name_of(culprit, data):
    """The option that begins where `culprit`, the end of a request, does; empty for no culprit."""
    behind = 0
    for one in reversed(data if culprit else []):
        behind += len(one)
        if len(culprit) > behind:
            continue
        number = int.from_bytes(one[2:4], sys.byteorder) & netlink.NLA_TYPE_MASK
        outer = next(name for name, value in ALL.items() if value == number)
        if len(culprit) == behind or outer not in DIRECTIONS:
            return outer
        number = int.from_bytes(culprit[2:4], sys.byteorder)
        inner = next((name for name, value in CHANNEL.items() if value == number), "trace")
        return f"{outer}.{inner}"
    return ""


def encode(options):
    """Options as attributes; raises `BadOption`. The kernel checks ranges."""
    found = []
    for name, value in options.items():
        if name in DIRECTIONS:
            nest = [
                netlink.attribute(TRACE, b"".join(struct.pack("=II", *step) for step in one))
                if option == "trace"
                else netlink.attribute(_number(option, CHANNEL), _value(option, one))
                for option, one in value.items()
            ]
            found.append(netlink.attribute(DIRECTIONS[name], nest))
        else:
            number = _number(name, {**MEDIUM, **DEVICE})
            found.append(netlink.attribute(number, _value(name, value)))
    return found


def decode(data):
    """Attributes of a link as options."""
    options = _decode(data, {**MEDIUM, **DEVICE})
    for direction, number in DIRECTIONS.items():
        if number in data:
            options[direction] = _decode(netlink.attributes(data[number]), CHANNEL)
    return options


def _decode(data, numbers):
    return {
        name: _word(name, int.from_bytes(data[number], sys.byteorder))
        for name, number in numbers.items()
        if number in data
    }


def _word(name, value):
    if name in WORDS:
        return WORDS[name][value]
    return bool(value) if name in SWITCHES else value


def _number(name, numbers):
    if name not in numbers:
        raise BadOption(f"{name}: unknown; known are {', '.join(sorted(numbers))}")
    return numbers[name]


def _value(name, value):
    if name in WORDS:
        if value not in WORDS[name]:
            raise BadOption(f"{name}: {value} is none of {', '.join(WORDS[name])}")
        return WORDS[name].index(value)
    if name in SWITCHES:
        if not isinstance(value, bool):
            raise BadOption(f"{name}: {value} is neither true nor false")
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 32:
        raise BadOption(f"{name}: {value} is no number from 0 to 2^32 - 1")
    return value


def main():
    action, name, *rest = sys.argv[1:]
    if action == "set":
        change(name, json.loads(rest[0]))
    print(json.dumps({"options": show(name), "counters": counters(name)}, indent=1))


if __name__ == "__main__":
    main()
