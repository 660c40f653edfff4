"""What a program finds around it on a Debian system, and the guest of a measurement does not need.

Variables of a login, a host name, names of the rig's nodes, `/dev/fd`, a writable `/var/run`,
`sudo`; and three places of Mininet that Debian 12 breaks: hosts with a share of the processor ask
for cgroups of version 1 and for sets of CPUs, which a kernel for one CPU does not have, and
`net.iperf()` waits for a report of the connection that looks whether the server listens, which
iperf 2.1 never prints.
"""

import contextlib
import importlib.util
import os
import socket
import subprocess

HOST = "guest"

VARIABLES = {
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "LOGNAME": "root",
    "MAIL": "/var/mail/root",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "PWD": "/root/work",
    "SHELL": "/bin/bash",
    "USER": "root",
}

#: Words of the kernel's command line that the first process has as variables.
_OF_BOOT = ("OLDPWD", "hostfs", "mem", "uml_dir")

_LINKS = {"fd": "", "stdin": "/0", "stdout": "/1", "stderr": "/2"}

#: Where the administrator of a system puts commands.
FOLDER = "/usr/local/bin"

#: Where `python` is the program of Python 2 (`python2.py`).
PYTHON2 = "/usr/local/lib/python2"

#: Command -> its text.
COMMANDS = {
    "sudo": """#!/bin/sh
# sudo for root: options are read, variables set, and the command is executed.
user=root
while :; do
    case "$1" in
        -u|--user) user=$2; shift 2 ;;
        -u?*) user=${1#-u}; shift ;;
        --user=*) user=${1#*=}; shift ;;
        -[gpChTDR]) shift 2 ;;
        -s|-i|--shell|--login) shell=yes; shift ;;
        -v|-k|-K|-l|--validate|--reset-timestamp) exit 0 ;;
        --) shift; break ;;
        -*|*=*) case "$1" in -*) ;; *) export "$1" ;; esac; shift ;;
        *) break ;;
    esac
done
if [ "$shell" ]; then set -- "${SHELL:-/bin/sh}" ${1:+-c "$*"}; fi
[ "$#" -gt 0 ] || exit 0
export SUDO_USER=root SUDO_UID=0 SUDO_GID=0
[ "$user" = root ] || exec runuser -u "$user" -- "$@"
exec "$@"
""",
    "python2": """#!/bin/sh
exec python3 /job/guest/python2.py "$@"
""",
    "cgroups-of-mininet": """#!/bin/sh
# Where Mininet looks for cgroups of version 1; those of version 2 are below `unified`.
grep -q '^cgroup /sys/fs/cgroup ' /proc/mounts && exit
umount /sys/fs/cgroup
mount -t tmpfs cgroup /sys/fs/cgroup
mkdir -p /sys/fs/cgroup/cpu,cpuacct /sys/fs/cgroup/unified
ln -s cpu,cpuacct /sys/fs/cgroup/cpu
ln -s cpu,cpuacct /sys/fs/cgroup/cpuacct
mount -t cgroup -o cpu,cpuacct cgroup /sys/fs/cgroup/cpu,cpuacct
mount -t cgroup2 cgroup2 /sys/fs/cgroup/unified
""",
}

_MININET = "/usr/lib/python3/dist-packages/mininet"

#: Module of Mininet -> what stands there, and what shall stand there.
PATCHES = {
    "net": (("count = 2 if l4Type == 'TCP' else 1", "count = 1"),),
    "node": (("'cpu,cpuacct,cpuset:/'", "'cpu,cpuacct:/'"),),
    "util": (
        (
            "    mounts = quietRun( 'grep cgroup /proc/mounts' )",
            "    quietRun( 'cgroups-of-mininet' )\n"
            "    mounts = quietRun( 'grep cgroup /proc/mounts' )",
        ),
    ),
}


def make(rig):
    """Make them, with the names of the nodes of `rig`, None where there is none."""
    for name in _OF_BOOT:
        os.environ.pop(name, None)
    os.environ.update(VARIABLES)
    socket.sethostname(HOST)
    for name, target in _LINKS.items():
        os.symlink(f"/proc/self/fd{target}", f"/dev/{name}")
    _share("/var/run", "/run")
    _share("/var/lock", "/run/lock")
    os.chmod("/var/tmp", 0o1777)
    with open("/etc/hosts", "a") as file:
        file.writelines(hosts(rig))
    os.makedirs(FOLDER, exist_ok=True)
    for name, text in COMMANDS.items():
        with open(f"{FOLDER}/{name}", "w") as file:
            file.write(text)
        os.chmod(f"{FOLDER}/{name}", 0o755)
    os.makedirs(PYTHON2, exist_ok=True)
    os.symlink(f"{FOLDER}/python2", f"{PYTHON2}/python")
    for module, changes in PATCHES.items():
        patch(f"{_MININET}/{module}.py", changes)


def hosts(rig):
    """The lines of /etc/hosts: the guest's own, and the first address of each node of the rig."""
    lines = ["::1 ip6-localhost ip6-loopback\n"]
    for name in () if rig is None else rig.nodes:
        ports = (port for (node, _), port in rig.ports.items() if node == name)
        addresses = [address for port in ports for address in port["addresses"]]
        if addresses:
            lines.append(f"{addresses[0].partition('/')[0]} {name}\n")
    return lines


def _share(place, folder):
    """Have `place` show `folder`, and what daemons of the rig have left at `place` before."""
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(place):
        os.makedirs(f"{folder}/{name}", exist_ok=True)
        _bind(f"{place}/{name}", f"{folder}/{name}")
    _bind(folder, place)


def _bind(source, target):
    subprocess.run(["mount", "--rbind", source, target], check=True)


def patch(path, changes):
    """Replace text of a module that is there once; a layer may have another version of it."""
    if not os.path.exists(path):
        return
    with open(path) as file:
        text = file.read()
    if any(text.count(old) != 1 for old, _ in changes):
        return
    for old, new in changes:
        text = text.replace(old, new)
    with contextlib.suppress(FileNotFoundError):  # it is not checked against its source
        os.remove(importlib.util.cache_from_source(path))
    with open(path, "w") as file:
        file.write(text)
