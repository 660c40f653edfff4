"""Open vSwitch in the guest: its database and its daemon, for Mininet's switches.

The packages are unpacked without their maintainer scripts and there is no service manager, so the
two daemons are started here.
"""

import subprocess
import time
from pathlib import Path

from mininet.node import OVSBridge as OVSBridge

#: ovs-vswitchd counts the CPUs when the clock that starts at boot has passed 10 s, and until then
#: it believes in none: started earlier, it has no handler thread, ever, and every packet is lost.
READY_S = 11.0

_SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
_DATABASE = "/etc/openvswitch/conf.db"
_LOGS = "/job/out"
_FOLDERS = ("/etc/openvswitch", "/var/run/openvswitch", "/var/log/openvswitch")


def start():
    """Start Open vSwitch; on return it answers. `CalledProcessError` where a part of it fails.

    Waits until the guest is old enough, which takes virtual time and next to no wall time.
    """
    time.sleep(max(0.0, READY_S - time.monotonic()))
    for folder in _FOLDERS:
        Path(folder).mkdir(parents=True, exist_ok=True)
    _run("ovsdb-tool", "create", _DATABASE, _SCHEMA)
    _daemon("ovsdb-server", "--remote=punix:/var/run/openvswitch/db.sock", _DATABASE)
    _run("ovs-vsctl", "--no-wait", "init")
    _daemon("ovs-vswitchd", "unix:/var/run/openvswitch/db.sock")
    _run("ovs-vsctl", "--timeout=10", "show")


def _daemon(program, *arguments):
    options = ("--detach", "--no-chdir", "--pidfile", f"--log-file={_LOGS}/{program}.log")
    _run(program, *options, *arguments)


def _run(*command):
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
