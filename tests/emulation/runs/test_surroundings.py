"""What a command of the user's finds around it: a Debian system, on which Mininet works."""

from pathlib import Path

import pytest

from qdisclab.emulate import cli
from tests.emulation.runs.test_exec import folder, same_twice

__all__ = ["folder"]
pytestmark = pytest.mark.kernel

SYSTEM = """\
echo $SHELL $USER $LOGNAME $HOME $LANG $PWD ${mem-none}
hostname
cat <(echo substituted)
touch /var/run/here && ls /run/here
touch /dev/shm/here /var/lock/here
getent hosts guest
sudo -E -u root A=5 sh -c 'echo $A'
sudo -u nobody id -un
python -c 'print(6)'
sleep 1000 & killall sleep; wait
echo one > one; echo two > two; cmp one two; diff one two
gzip one && gzip -dc one.gz; echo '7 * 6' | bc
"""

EXPECTED = """\
/bin/bash root root /root C.UTF-8 /root/work none
guest
substituted
/run/here
127.0.0.1       localhost guest
5
nobody
6
one two differ: char 1, line 1
1c1
< one
---
> two
one
42
"""

POPEN = """\
from mininet.net import Mininet
from mininet.node import CPULimitedHost
net = Mininet(host=CPULimitedHost, controller=None)
host = net.addHost("h1", ip="10.0.0.1/8", cpu=0.5)
net.build()
print(host.popen("echo it works", shell=True).communicate()[0].decode(), end="")
print(host.cgroupGet("cfs_quota_us"), host.cgroupGet("cfs_period_us"))
print(host.cmd("cat /proc/self/cgroup | grep -c cpu,cpuacct:/h1$"), end="")
net.stop()
"""

IPERF = """\
from mininet.link import TCLink
from mininet.net import Mininet
from mininet.node import OVSBridge
from mininet.topo import SingleSwitchTopo
from functools import partial
link = partial(TCLink, bw=10, delay="5ms", max_queue_size=100)
net = Mininet(SingleSwitchTopo(2), link=link, switch=OVSBridge, controller=None)
net.start()
for kind in ("TCP", "UDP"):
    rates = net.iperf(l4Type=kind, udpBw="5M", seconds=4)
    print(kind, *[word.split()[0] for word in rates[-2:]])
net.stop()
"""


def test_scripts_find_a_debian_system() -> None:
    Path("system.sh").write_text(SYSTEM)
    assert same_twice("--", "bash", "system.sh") == EXPECTED


def test_version_2_of_cgroups_is_where_programs_of_today_look() -> None:
    script = "cat /sys/fs/cgroup/cgroup.controllers; mkdir /sys/fs/cgroup/a; echo $?"
    assert same_twice("--", "sh", "-c", script) == "cpu pids\n0\n"


def test_popen_and_hosts_with_a_share_of_the_processor() -> None:
    Path("popen.py").write_text(POPEN)
    assert "it works\n50000 100000\n1\n" in same_twice("--", "python3", "popen.py")


def test_iperf_of_mininet_ends() -> None:
    Path("iperf.py").write_text(IPERF)
    printed = same_twice("--timeout", "2 min", "--", "python3", "iperf.py")
    tcp, udp = (
        [float(word) for word in line.split()[1:]]
        for line in printed.splitlines()
        if line[:4] in ("TCP ", "UDP ")
    )
    assert all(9 < rate < 10 for rate in tcp)  # of 10 Mbit/s, without headers
    assert udp == [5.25, 5.25]  # iperf's 5M are of 1024^2


@pytest.mark.parametrize(
    ("word", "todo"),
    [
        ("{here}/x.py", "write x.py"),
        ("{here}/sub", "write sub and name the folder with --file"),
        ("{above}/y.py", "copy it to the current folder, and name it without '/' at the front"),
    ],
)
def test_a_path_of_the_host_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str], word: str, todo: str
) -> None:
    (folder / "sub").mkdir()
    for path in (folder / "x.py", folder.parent / "y.py"):
        path.write_text("print(1)\n")
    path = word.format(here=folder, above=folder.parent)
    assert cli.main(["exec", "--", "python3", path]) == 2
    warning = f"warning: {path} is on this machine and not in the guest; {todo}\n"
    assert warning in capsys.readouterr().err


def test_a_path_of_both_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["exec", "--", "ls", "-d", "/etc", "/etc/hosts", "/no/where"]) == 2
    assert "warning" not in capsys.readouterr().err
