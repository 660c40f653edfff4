"""The traffic: servers, the flent test, and the proof that the idle path is as asked for."""

import glob
import importlib
import os
import re
import shutil
import subprocess
import time

import flentdata
from rig import Failure

#: How often the status gets a line with the virtual time.
BEAT_S = 1.0

#: What flent may take beside its load: its pauses, and what a slow link still has to bring.
AROUND_S = 120.0

#: How long a server may take until it listens.
PATIENCE_S = 10.0


#: Sleeps less than a second, then becomes netperf; at once where it is asked for no TCP flow. The
#: first word of a random UUID has 32 random bits, and to read it takes no process.
JITTER = """#!/bin/sh
case " $* " in *" -t TCP_"*)
    read -r uuid < /proc/sys/kernel/random/uuid
    late=$(( 0x${{uuid%%-*}} % {jitter_us} + 1000000 ))
    sleep "0.${{late#1}}"
esac
exec /usr/bin/netperf "$@"
"""


#: How much longer than asked for the idle path may be, unless the job's traffic says otherwise. A
#: ping of 98 bytes takes 0.8 ms to pass a link of 1 Mbit/s, and as long to come back over one.
RTT_SLACK_MS = 2.0


def run(rig, traffic, status):
    """Send what `traffic` (the job's) asks for; the data go to /job/out.

    Its tool is flent, or a module of that name: only jobs that need it have it.
    """
    if traffic["tool"] == "flent":
        run_flent(rig, traffic, status)
    else:
        importlib.import_module(traffic["tool"]).run(rig, traffic, status)


def run_flent(rig, traffic, status):
    """Start the servers of `traffic`, run its flent test, and keep what came of it."""
    slack_ms = traffic.get("rtt_slack_ms", RTT_SLACK_MS)
    found = [check_base_rtt(rig, traffic["client"], host, slack_ms) for host in traffic["hosts"]]
    status("reached", base_rtt_ms=found[0], base_rtts_ms=found)
    servers = [server for name in traffic["servers"] for server in start(name, rig, traffic)]
    status("serving", servers=len(servers))
    flent(rig, traffic, status)
    if "web" in traffic["servers"]:
        status("fetched", failures=importlib.import_module("web").failures())
    for server in servers:
        if server.poll() is not None:
            raise Failure("traffic", f"{server.args[-1]} died with status {server.returncode}")
        server.kill()


def check_base_rtt(rig, client, host, slack_ms):
    """Return the smallest RTT of the idle path to `host` in ms, by ping; `Failure` if other."""
    address, asked = host["address"], host["base_rtt_ms"]
    out = rig.run(client, "ping", "-c", "3", "-i", "0.2", "-W", "5", address)
    found = re.search(r"= ([0-9.]+)/", out)
    if found is None:
        raise Failure("rig", f"no answer from {address}: {out.strip()}")
    measured = float(found.group(1))
    if not asked <= measured <= asked + slack_ms:
        raise Failure("rig", f"the idle path to {address} takes {measured} ms, not {asked:g}")
    return measured


def start(server, rig, traffic):
    """Start a server of flent's, which listens on return: one of those here, or a module."""
    if server in SERVERS:
        return SERVERS[server](rig, traffic)
    return importlib.import_module(server).start(rig, traffic)


def start_netserver(rig, traffic):
    """Start netperf's server on the server's node."""
    return [serve(rig, traffic["server"], ["netserver", "-4", "-D"], "tcp", 12865)]


def start_irtt(rig, traffic):
    """Start irtt's server on the server's node."""
    address = traffic["hosts"][0]["address"]
    command = ["irtt", "server", "-b", f"{address}:2112", "-i", "1ms"]
    return [serve(rig, traffic["server"], command, "udp", 2112)]


def serve(rig, node, command, protocol, port):
    """Start `command` in `node`, with its output in /job/out; on return it listens on `port`."""
    with open(f"/job/out/{os.path.basename(command[0])}.log", "w") as log:
        server = subprocess.Popen(
            rig.inside(node, *command), stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    wait_listening(rig, node, protocol, port)
    return server


def wait_listening(rig, node, protocol, port):
    deadline = time.monotonic() + PATIENCE_S
    wanted = f"{port:04X}"
    while time.monotonic() < deadline:
        with rig.namespace(node):
            table = sockets(protocol)
        if any(line.split()[1].endswith(f":{wanted}") for line in table):
            return
        time.sleep(0.01)
    raise Failure("traffic", f"{node}: nobody listens on {protocol} port {port}")


def sockets(protocol):
    """Return the lines about sockets of `protocol`, tcp or udp, in the present namespace."""
    lines = []
    for path in glob.glob(f"/proc/net/{protocol}*"):
        with open(path) as file:
            lines += file.readlines()[1:]
    return lines


def jittered_tools(jitter_us):
    """Make a folder with a netperf that starts each TCP flow up to `jitter_us` late.

    How late comes from the kernel's random numbers, hence from the seed.
    """
    folder = "/tmp/tools"
    os.makedirs(folder)
    with open(f"{folder}/netperf", "w") as script:
        script.write(JITTER.format(jitter_us=jitter_us))
    os.chmod(f"{folder}/netperf", 0o755)
    return folder


def flent(rig, traffic, status):
    """Run a flent test on the client; its data file becomes /job/out/data.flent.gz."""
    path = os.environ["PATH"]
    if traffic["start_jitter_us"]:
        path = f"{jittered_tools(traffic['start_jitter_us'])}:{path}"
    hosts = [word for host in traffic["hosts"] for word in ("--host", host["address"])]
    options = [
        word
        for name, value in traffic["options"].items()
        for each in ([value] if isinstance(value, str) else value)  # an option given several times
        for word in (f"--{name}", each)
    ]
    command = [
        "flent", traffic["test"], *hosts, *options,
        "--length", f"{traffic['length_s']:g}", "--step-size", f"{traffic['step_s']:g}",
        "--data-dir", "/tmp", "--title-extra", traffic["title"],
        "--format", "summary", "--output", "/job/out/summary.txt",
        "--log-file", "/job/out/flent.log",
    ]  # fmt: skip
    with open("/job/out/flent.err", "w") as err:
        process = subprocess.Popen(
            rig.inside(traffic["client"], *command),
            stdin=subprocess.DEVNULL, stdout=err, stderr=err, cwd="/tmp",
            env={**os.environ, "PATH": path},
        )  # fmt: skip
        deadline = time.monotonic() + traffic["length_s"] + AROUND_S
        while True:
            try:
                process.wait(timeout=BEAT_S)
                break
            except subprocess.TimeoutExpired:
                status("traffic")
            if time.monotonic() > deadline:
                process.kill()
                raise Failure("traffic", f"flent has not ended {AROUND_S:g} s after its load")
    if process.returncode:
        with open("/job/out/flent.err") as err:
            raise Failure("traffic", f"flent ended with {process.returncode}: {err.read()[-600:]}")
    files = glob.glob("/tmp/*.flent.gz")
    if len(files) != 1:
        raise Failure("traffic", f"flent left {len(files)} data files, expected one")
    flentdata.reduce(files[0], "/job/out/data.flent.gz")
    if traffic.get("raw"):
        shutil.copyfile(files[0], "/job/out/raw.flent.gz")
    os.unlink(files[0])


#: Servers of flent's that come with Debian.
SERVERS = {"netserver": start_netserver, "irtt": start_irtt}
