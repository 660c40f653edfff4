"""A shell inside the rig, for a person on the console."""

import os
import subprocess
import termios

import commands
import surroundings

FOLDER = "/run/shell"
CONSOLE = "/dev/tty0"

RC = r"""
PS1='rig# '
stty rows {rows} columns {columns} 2>/dev/null
cat {folder}/hints
"""


def run(rig, job, status):
    """Do `job["shell"]`; its exit status goes into the line of status `shell`."""
    wanted = job["shell"]
    prepare(rig, job)
    surroundings.make(rig)
    environment = {**os.environ, "PATH": commands.put(rig), "TERM": wanted["term"], "LC_ALL": "C"}
    bash = ["/bin/bash", "--noprofile", "--rcfile", f"{FOLDER}/rc", "-i"]
    done = subprocess.call(
        ["setsid", "--ctty", "--wait", *bash], env=environment, cwd="/root", **terminal()
    )
    status("shell", exit_status=done)


def terminal():
    """The console as standard input, output and error."""
    console = os.open(CONSOLE, os.O_RDWR | os.O_NOCTTY)
    mode = termios.tcgetattr(console)
    mode[0] |= termios.ICRNL
    mode[3] |= termios.ICANON | termios.ECHO | termios.ISIG
    termios.tcsetattr(console, termios.TCSANOW, mode)
    return {"stdin": console, "stdout": console, "stderr": console}


def prepare(rig, job):
    """Write what bash reads at its start, and the hints that it shows."""
    wanted = job["shell"]
    os.makedirs(FOLDER)
    files = {
        "hints": hints(rig, job),
        "rc": RC.format(rows=wanted["rows"], columns=wanted["columns"], folder=FOLDER),
    }
    for name, text in files.items():
        with open(f"{FOLDER}/{name}", "w") as file:
            file.write(text)


def hints(rig, job):
    """What a person needs to know at the prompt."""
    lines = ["", "The rig is built and checked. Nodes and their interfaces:"]
    for name in rig.nodes:
        ports = [port for (node, _), port in rig.ports.items() if node == name]
        shown = [f"{port['interface']} {port['addresses'][0].split('/')[0]}" for port in ports]
        lines.append(f"  {name:12} {', '.join(shown)}")
    server = job["traffic"]["hosts"][0]["address"]
    lines += [
        "'on NODE COMMAND' runs a command there, for example:",
        f"  on client ping -c 3 {server}",
        "  on router_up tc -s qdisc show dev r1-delay",
        "  on server netserver -4, then: on client netperf -H " + server,
        "The clock is the host's, not virtual. 'exit' switches the rig off.",
        "",
        "",
    ]
    return "\n".join(lines)
