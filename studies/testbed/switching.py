"""Four hosts at a switch of Open vSwitch; prints what arrived, leaves the switch's own tables."""

import json
import subprocess
from pathlib import Path

from mininet.net import Mininet
from mininet.node import OVSBridge


def handlers():
    """Threads of ovs-vswitchd that take new flows; without one all packets are lost."""
    pid = Path("/var/run/openvswitch/ovs-vswitchd.pid").read_text().strip()
    names = [path.read_text() for path in Path("/proc", pid, "task").glob("*/comm")]
    return sum(name.startswith("handler") for name in names)


net = Mininet(controller=None, switch=OVSBridge, autoSetMacs=True)
bridge = net.addSwitch("s1")
for number in range(1, 5):
    net.addLink(net.addHost(f"h{number}"), bridge)
net.start()
with Path("ping.txt").open("w") as out:
    for _ in range(3):
        out.write(net.hosts[0].cmd("ping -c 5 -i 0.01", net.hosts[-1].IP()))
print(json.dumps({"handlers": handlers(), "loss_percent": net.pingAll()}))
for name, command in (
    ("flows", ["ovs-appctl", "dpctl/dump-flows"]),
    ("ports", ["ovs-vsctl", "list", "Interface"]),
):
    with Path(f"{name}.txt").open("w") as out:
        subprocess.run(command, stdout=out, check=True)
net.stop()
