"""An assignment on bufferbloat as courses gave it in the days of Python 2, unchanged in a guest."""

import re
from pathlib import Path

import pytest

from tests import write_files
from tests.emulation.runs.test_exec import execute, folder

__all__ = ["folder"]
pytestmark = pytest.mark.kernel

PACKAGES = ("curl", "openvswitch-testcontroller", "python3-termcolor")

SCRIPT = """\
#!/usr/bin/python
from mininet.topo import Topo
from mininet.node import CPULimitedHost
from mininet.link import TCLink
from mininet.net import Mininet
from mininet.util import dumpNodeConnections
from monitor import monitor_qlen
from subprocess import Popen, PIPE
from time import sleep, time
import math, os, sys
import termcolor as T

MAXQ, SECONDS = int(sys.argv[1]), int(sys.argv[2])

class BBTopo(Topo):
    def build(self):
        switch = self.addSwitch('s0')
        for name, bw in [('h1', 1000), ('h2', 1.5)]:
            self.addLink(self.addHost(name), switch, bw=bw, delay='5ms', max_queue_size=MAXQ)

def fetch(h1, h2):
    p = h2.popen("curl -o /dev/null -s -w %%{time_total} %s/http/index.html" % h1.IP(),
                 shell=True, stdout=PIPE)
    return float(p.communicate()[0])

def bufferbloat():
    os.system("sysctl -w net.ipv4.tcp_congestion_control=reno")
    net = Mininet(topo=BBTopo(), host=CPULimitedHost, link=TCLink)
    net.start()
    dumpNodeConnections(net.hosts)
    net.pingAll()
    print T.colored("iperf of Mininet: %s" % net.iperf(seconds=3)[0], 'green')
    os.system("rmmod tcp_probe; modprobe tcp_probe full=1;")
    Popen("cat /proc/net/tcpprobe > cwnd.txt", shell=True)
    qmon = monitor_qlen('s0-eth2', 'q.txt')
    h1, h2 = net.get('h1', 'h2')
    h2.popen("iperf -s -w 16m")
    h1.popen("iperf -c %s -t %d" % (h2.IP(), SECONDS))
    h1.popen("ping -i 0.2 %s > ping.txt" % h2.IP(), shell=True)
    h1.popen("python http/webserver.py", shell=True)
    start_time, times = time(), []
    while time() - start_time < SECONDS:
        sleep(5)
        times += [fetch(h1, h2) for _ in xrange(3)]
    average = sum(times) / len(times)
    print "maxq %d: fetched %d times in %.2f s, +- %.2f" % (
        MAXQ, len(times), average, math.sqrt(sum((t - average) ** 2 for t in times) / len(times)))
    Popen("killall -9 cat", shell=True).wait()
    qmon.terminate()
    net.stop()

bufferbloat()
"""

MONITOR = """\
from multiprocessing import Process
from subprocess import Popen, PIPE
from time import sleep, time
import re

def qlen(iface, fname):
    out = open(fname, 'w')
    while 1:
        p = Popen("tc -s qdisc show dev %s" % iface, shell=True, stdout=PIPE)
        found = re.findall(r'backlog [^ ]+ (\\d+)p', p.stdout.read().decode())
        if len(found) > 1:
            print >>out, "%f,%s" % (time(), found[1])
            out.flush()
        sleep(0.5)

def monitor_qlen(iface, fname):
    monitor = Process(target=qlen, args=(iface, fname))
    monitor.start()
    return monitor
"""

SERVER = """\
from BaseHTTPServer import HTTPServer
from SimpleHTTPServer import SimpleHTTPRequestHandler
HTTPServer(('', 80), SimpleHTTPRequestHandler).serve_forever()
"""

PAGE_BYTES = 3_000


def test_a_longer_queue_makes_pages_slower() -> None:
    files = {"bufferbloat.py": SCRIPT, "monitor.py": MONITOR, "http/webserver.py": SERVER,
             "http/index.html": "x" * PAGE_BYTES}  # fmt: skip
    write_files(Path(), files)
    words = [word for name in PACKAGES for word in ("--package", name)]
    words += ["--file", "http", "--file", "monitor.py", "--timeout", "5 min"]
    fetched = {}
    for maxq in (20, 100):
        out = execute(f"q{maxq}", *words, "--", "python2", "bufferbloat.py", f"{maxq}", "20")
        text = (out / "stdout").read_text()
        assert re.search(r"iperf of Mininet: 1\.[34]\d* Mbits/sec", text)
        fetched[maxq] = float(re.findall(r"times in ([\d.]+) s", text)[0])
        lengths = (out / "files/q.txt").read_text().splitlines()
        longest = max(int(line.split(",")[1]) for line in lengths)
        assert maxq / 2 < longest <= maxq
    print(fetched)
    # A connection and an answer: twice through a queue that Reno keeps half full or more, and in
    # some cases a lost packet's second.
    for maxq, fetched_s in fetched.items():
        full_s = maxq * 1514 * 8 / 1.5e6
        assert full_s < fetched_s < 2 * full_s + 1
    assert fetched[100] > 2 * fetched[20]
