"""The rig of a job that has radio channels: they are built, read back and counted, too.

In the job a radio channel is a wire with more than two ends, or two, whose ports have options of a
WiFi device (`wifi`); the first of them is the access point.
"""

import os

import readback
import rig
import wifi
from mininet.link import Intf


class Rig(rig.Rig):
    """The built network, radio channels among its wires."""

    def __init__(self, job):
        for name in job["drivers"]:
            wifi.load(f"/job/modules/{name}.ko")
        super().__init__(job)

    def space(self, node):
        """What names the network namespace of `node` to the kernel."""
        return f"/proc/{self.nodes[node].pid or os.getpid()}/ns/net"

    def _connect(self, number, *ports):
        if "wifi" not in ports[0]:
            super()._connect(number, *ports)
            return
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
        spaces = {port["node"]: self.space(port["node"]) for port in ports}
        try:
            wifi.build({"access_point": access_point, "stations": stations}, spaces)
        except wifi.BadOption as error:
            nodes = ", ".join(spaces)
            raise rig.Failure("rig", f"the WiFi link of {nodes}: {error}") from None
        for port in ports:
            self.ports[port["node"], port["interface"]] = port
            if port["node"] in self.switches:
                Intf(port["interface"], node=self.nodes[port["node"]])  # which it starts with


def read(built, statistics=False):
    """What `readback.read` finds; of a WiFi device its options and, on request, its counters."""
    found = wired_read(built, statistics)
    for (node, interface), port in built.ports.items():
        if "wifi" in port:
            with wifi.inside(built.space(node)):
                about = {"options": wifi.show(interface)}
                if statistics:
                    about["counters"] = wifi.counters(interface)
            found[f"{node} {interface}"]["wifi"] = about
    return found


def compare(ports, found):
    """Each difference between the job and what `read` found, as a sentence."""
    problems = wired_compare(ports, found)
    for (node, interface), port in ports.items():
        where = f"{node} {interface}"
        if "wifi" in port:
            shown = found[where]["wifi"]["options"]
            problems += [f"{where}: {one}" for one in wifi.differences(port["wifi"], shown)]
    return problems


wired_read, wired_compare = readback.read, readback.compare
