"""The rig: network namespaces, wires and qdiscs, built by Mininet as the job asks."""

import os
import subprocess

import namespace
from mininet.link import Link
from mininet.net import Mininet
from mininet.node import Node


class Failure(Exception):
    """A step that did not succeed. `cause` is a word for the status: rig, traffic."""

    def __init__(self, cause, *problems):
        super().__init__("; ".join(problems))
        self.cause = cause
        self.problems = list(problems)


def set_parameters(parameters):
    """Write the kernel's module `parameters` and read them back; `Failure` where one differs."""
    for path, value in parameters.items():
        try:
            with open(path, "r+") as file:  # which creates none
                file.write(value)
            with open(path) as file:
                got = file.read().strip()
        except OSError as error:
            said = f"{path} cannot be set to {value}: {error.strerror}"
            raise Failure("rig", f"{said}; this kernel lacks what the era needs") from None
        if got != value:
            raise Failure("rig", f"{path} is {got}, not {value}")


class Rig:
    """The built network.

    `nodes`: Mininet node by name. `ports`: the job's port by (node, interface).
    """

    def __init__(self, job):
        for name in job.get("drivers", ()):
            import modules

            modules.load(name)
        Mininet.inited = True  # its init() raises limits for thousands of hosts, a process each
        self.net = Mininet(controller=None, build=False)
        self.switches = [node["name"] for node in job["nodes"] if node.get("switches")]
        self.nodes = self._switches() | {
            node["name"]: self.net.addHost(node["name"], cls=Node, ip=None)
            for node in job["nodes"]
            if node["name"] not in self.switches
        }
        self.ports = {}
        for number, wire in enumerate(job["wires"]):
            self._connect(number, *wire)
        for name in self.switches:
            self.nodes[name].start([])
        for node in job["nodes"]:
            self._set_up(node, job)

    def _switches(self):
        """Open vSwitch's switches by name; it is started where there are any."""
        if not self.switches:
            return {}
        import switch

        switch.start()
        return {name: self.net.addSwitch(name, cls=switch.OVSBridge) for name in self.switches}

    def interfaces(self, node):
        """The names of the interfaces of `node` that belong to the rig."""
        return [interface for owner, interface in self.ports if owner == node]

    def inside(self, node, *command):
        """The arguments that run `command` in the network namespace of `node`."""
        return ["mnexec", "-a", str(self.nodes[node].pid), *command]

    def namespace(self, node):
        """A context: this process is in the network namespace of `node`."""
        return namespace.inside(self.namespace_path(node))

    def namespace_path(self, node):
        """What names the network namespace of `node` to the kernel."""
        return f"/proc/{self.nodes[node].pid or os.getpid()}/ns/net"

    def run(self, node, *command, text=None):
        """Run `command` in `node`, `text` its input; return its output.

        Raises `Failure` with what it said where its status is not 0.
        """
        with self.namespace(node):
            done = subprocess.run(
                command,
                input=text,
                stdin=subprocess.DEVNULL if text is None else None,
                capture_output=True,
                text=True,
            )
        if done.returncode:
            said = (done.stderr or done.stdout).strip()
            raise Failure("rig", f"{node}: {' '.join(command)}: {said}")
        return done.stdout

    def batch(self, node, tool, lines):
        """Have `ip` or `tc` do `lines` in `node`; a line that fails is named in the `Failure`."""
        if not lines:
            return
        try:
            self.run(node, tool, "-batch", "-", text="".join(f"{line}\n" for line in lines))
        except Failure as failure:
            said = str(failure)
            number = said.rpartition("-:")[2].split()[0] if "-:" in said else ""
            line = lines[int(number) - 1] if number.isdigit() else "; ".join(lines)
            raise Failure("rig", f"{node}: {tool} {line}: {said}") from None

    def _connect(self, number, *ports):
        """Create one wire or radio channel between `ports`."""
        if "wifi" in ports[0]:
            import wifi_rig

            wifi_rig.connect(self, number, ports)
        else:
            self._wire(number, *ports)
        for port in ports:
            self.ports[port["node"], port["interface"]] = port

    def _wire(self, number, left, right):
        """Create one wire, with addresses that depend on its place in the job alone."""
        Link(
            self.nodes[left["node"]],
            self.nodes[right["node"]],
            intfName1=left["interface"],
            intfName2=right["interface"],
            addr1=f"02:00:00:00:{number:02x}:01",
            addr2=f"02:00:00:00:{number:02x}:02",
        )

    def _set_up(self, node, job):
        """Settings, interfaces, addresses, routes and qdiscs of one node."""
        name = node["name"]
        settings = {
            "net.ipv6.conf.all.disable_ipv6": "1",
            "net.ipv4.ip_forward": "1" if node["forwards"] else "0",
            **job["sysctls"].get(name, {}),
        }
        ports = [self.ports[name, interface] for interface in self.interfaces(name)]
        with self.namespace(name):
            for key, value in settings.items():
                set_sysctl(name, key, value)
            # Checksums stay offloaded: computing them would take no virtual time.
            for port in ports:
                namespace.set_offloads(port["interface"], on=bool(port.get("offloads")))
        lines = []
        for port in ports:
            device = port["interface"]
            lines.append(f"link set {device} txqueuelen {port['txqueuelen']}")
            lines += [f"address add {address} dev {device}" for address in port["addresses"]]
            lines.append(f"link set {device} up")
        routes = (route for route in job["routes"] if route["node"] == name)
        lines += [f"route add {route['to']} via {route['via']}" for route in routes]
        self.batch(name, "ip", lines)
        self.batch(name, "tc", [line for port in ports if "tree" not in port for line in tc(port)])
        for port in ports:
            if "tree" in port:
                import trees

                trees.build(self, port)


def set_sysctl(node, key, value):
    """Set a sysctl of the present namespace, that of `node`; `Failure` where it cannot be set."""
    try:
        namespace.set_sysctl(key, value)
    except OSError as error:
        raise Failure("rig", f"{node}: sysctl {key}={value}: {error.strerror}") from None


def tc(port):
    """The lines of `tc -batch` for the qdiscs, classes and filters of `port`."""
    lines = [add_qdisc(port, asked) for asked in port["qdiscs"]]
    # A class stands between the qdisc that has it and the one inside it.
    lines[1:1] = [add_class(port, asked) for asked in port.get("classes", ())]
    return [*lines, *(f"filter add dev {port['interface']} {words}" for words in port["filters"])]


def add_class(port, asked):
    """The line of `tc -batch` that adds a class of the job."""
    burst = f"burst {asked['burst']}b cburst {asked['burst']}b"
    place = f"dev {port['interface']} parent {asked['parent']} classid {asked['classid']}"
    return f"class add {place} {asked['kind']} rate {asked['rate_bit_s']}bit {burst}"


def add_qdisc(port, asked):
    """The line of `tc -batch` that installs a qdisc of the job."""
    parent = "root" if asked["parent"] == "root" else f"parent {asked['parent']}"
    words = ["qdisc add dev", port["interface"], parent, "handle", asked["handle"], asked["kind"]]
    return " ".join([*words, *asked["arguments"]])
