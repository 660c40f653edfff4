"""Radio channels of a rig: they are built, read back and counted, too.

In the job a radio channel is a wire with more than two ends, or two, whose ports have options of a
WiFi device (`wifi`); the first of them is the access point.
"""

import wifi
from mininet.link import Intf
from rig import Failure


def connect(rig, number, ports):
    """Build the radio channel between `ports`, the wire `number` of the job."""
    # Addresses depend on the place in the job alone.
    access_point, *stations = (
        {
            "node": port["node"],
            "interface": port["interface"],
            "address": f"02:00:00:00:{number:02x}:{place:02x}",
            "options": port["wifi"],
        }
        for place, port in enumerate(ports, start=1)
    )
    spaces = {port["node"]: rig.namespace_path(port["node"]) for port in ports}
    try:
        wifi.build({"access_point": access_point, "stations": stations}, spaces)
    except wifi.BadOption as error:
        nodes = ", ".join(spaces)
        raise Failure("rig", f"the WiFi link of {nodes}: {error}") from None
    for port in ports:
        if port["node"] in rig.switches:
            Intf(port["interface"], node=rig.nodes[port["node"]])  # which it starts with


def read(rig, port, statistics):
    """The options of the WiFi device `port` and, on request, its counters."""
    with rig.namespace(port["node"]):
        about = {"options": wifi.show(port["interface"])}
        if statistics:
            about["counters"] = wifi.counters(port["interface"])
    return about


def compare(port, found):
    """Each difference between the job's `port` and what `read` found, as a sentence."""
    return wifi.differences(port["wifi"], found["options"])
