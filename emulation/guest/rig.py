"""The rig: network namespaces, wires and qdiscs, built by Mininet as the job asks."""

import subprocess

from mininet.link import Link
from mininet.net import Mininet
from mininet.node import Node
from readback import OFFLOADS



class Failure(Exception):
    """A step that did not succeed. `cause` is a word for the status: rig, traffic."""

    def __init__(self, cause, message):
        super().__init__(message)
        self.cause = cause


class Router(Node):
    """A node that forwards what the job says it forwards, and speaks no IPv6."""


class Rig:
    """The built network.

    `nodes`: Mininet node by name. `ports`: the job's port by (node, interface).
    """

    def __init__(self, job):
        self.net = Mininet(controller=None, autoSetMacs=True, build=False)
        self.nodes = {}
        for node in job["nodes"]:
            self.nodes[node["name"]] = self.net.addHost(node["name"], cls=Router, ip=None)
        self.ports = {}
        for number, wire in enumerate(job["wires"]):
            self._connect(number, *wire)
        self._sysctls(job)
        for route in job["routes"]:
            self.ip(route["node"], "route", "add", route["to"], "via", route["via"])
        for port in self.ports.values():
            self._shape(port)

    def run(self, node, *command):
        """Run `command` in `node`; return its output, or raise `Failure` with what it said."""
        done = subprocess.run(
            self.inside(node, *command), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        if done.returncode:
            said = (done.stderr or done.stdout).strip()
            raise Failure("rig", f"{node}: {' '.join(command)}: {said}")
        return done.stdout

    def inside(self, node, *command):
        """The arguments that run `command` in the network namespace of `node`."""
        return ["mnexec", "-a", str(self.nodes[node].pid), *command]

    def ip(self, node, *arguments):
        self.run(node, "ip", *arguments)

    def _connect(self, number, left, right):
        Link(
            self.nodes[left["node"]],
            self.nodes[right["node"]],
            intfName1=left["interface"],
            intfName2=right["interface"],
            addr1=f"02:00:00:00:{number:02x}:01",
            addr2=f"02:00:00:00:{number:02x}:02",
        )
        for port in (left, right):
            node, interface = port["node"], port["interface"]
            self.ports[node, interface] = port
            # Checksums stay offloaded: computing them would take no virtual time.
            off = [word for name in OFFLOADS for word in (name, "off")]
            self.run(node, "ethtool", "-K", interface, *off)
            length = str(port["txqueuelen"])
            self.ip(node, "link", "set", interface, "txqueuelen", length)
            self.ip(node, "address", "add", port["address"], "dev", interface)
            self.ip(node, "link", "set", interface, "up")

    def _sysctls(self, job):
        for node in job["nodes"]:
            settings = {
                "net.ipv6.conf.all.disable_ipv6": "1",
                "net.ipv4.ip_forward": "1" if node["forwards"] else "0",
                **job["sysctls"].get(node["name"], {}),
            }
            pairs = [f"{key}={value}" for key, value in settings.items()]
            self.run(node["name"], "sysctl", "-q", "-w", *pairs)

    def _shape(self, port):
        for qdisc in port["qdiscs"]:
            parent = qdisc["parent"]
            where = ["root"] if parent == "root" else ["parent", parent]
            self.run(
                port["node"], "tc", "qdisc", "add", "dev", port["interface"], *where,
                "handle", qdisc["handle"], qdisc["kind"], *qdisc["arguments"],
            )  # fmt: skip
