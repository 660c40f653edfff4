"""Commands that a shell and programs find beside those of the packages.

`on NODE COMMAND` runs a command in the network namespace of a node. Those of Open vSwitch start it
when one of them is first used: the guest has no service manager, and a script that works where
Open vSwitch runs works unchanged. Mininet asks for `telnet`, a name that Debian's maintainer script
would have given to the one that is there.
"""

import os

FOLDER = "/run/commands"

#: The table has a line `NODE PID` a node.
ON = """#!/bin/sh
pid=$(sed -n "s/^$1 //p" {folder}/nodes)
if [ -z "$pid" ]; then
    echo "on: no node '$1'; there are:" $(sed 's/ .*//' {folder}/nodes) >&2
    exit 2
fi
shift
exec mnexec -a "$pid" "$@"
"""

#: The lock is for two that come first at once; the database's socket is there once it is started.
OPENVSWITCH = """#!/bin/sh
path=$PATH
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
exec 9> {folder}/lock
flock 9
if [ ! -e /var/run/openvswitch/ovs-vswitchd.pid ]; then
    echo 'import sys; sys.path.insert(0, "/job/guest"); import switch; switch.start()' |
        python3 -I -B - 9>&- || exit 1
fi
exec 9>&-
export PATH="$path"
exec /usr/bin/{name} "$@"
"""

#: Name -> the program that Debian's alternatives would put behind it.
ALTERNATIVES = {"telnet": "/usr/bin/inetutils-telnet"}

_OPENVSWITCH_NAMES = ("ovs-vsctl", "ovs-ofctl", "ovs-appctl", "ovs-dpctl")


def put(rig=None):
    """Write the commands, `on` for the nodes of `rig`; the PATH that finds them first."""
    nodes = {} if rig is None else rig.nodes
    files = {
        "on": ON.format(folder=FOLDER),
        **{name: OPENVSWITCH.format(folder=FOLDER, name=name) for name in _OPENVSWITCH_NAMES},
    }
    os.makedirs(FOLDER)
    with open(f"{FOLDER}/nodes", "w") as file:
        file.write("".join(f"{name} {node.pid}\n" for name, node in nodes.items()))
    for name, text in files.items():
        with open(f"{FOLDER}/{name}", "w") as file:
            file.write(text)
        os.chmod(f"{FOLDER}/{name}", 0o755)
    for name, program in ALTERNATIVES.items():
        if not os.path.exists(f"/usr/bin/{name}"):
            os.symlink(program, f"{FOLDER}/{name}")
    return f"{FOLDER}:{os.environ['PATH']}"
