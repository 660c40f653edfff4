"""Programs of the user's, each a command: started when it is due, watched, and its files kept.

All of them run in one writable folder, `/root/work`, which has a copy of the job's files. What a
program prints goes to `/job/out/programs/<name>/stdout` and `stderr`, what it leaves in the folder
and is asked to keep to `files/` beside them. `/job/out/programs.json` has for each program its
start and end in virtual seconds since the load began, and its exit status or signal. All moments
of the job (`start_s`, `deadline_s`, `length_s`) count from there, too. A program's `statuses` are
those that are right (negative: the number of a signal), None any. Its `until` is `end`: it ends by
itself; `load`: it is stopped when `length_s` is over; `clients`: when all that end by themselves
have ended.
"""

import contextlib
import filecmp
import fnmatch
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import time

import commands

FILES, WORK, OUT = "/job/files", "/root/work", "/job/out/programs"

#: How long a rig stands idle before the load: probes begin in this sleep.
IDLE_S = 2.0

#: How often the status is told how far virtual time has come.
BEAT_S = 1.0

#: How often it is looked whether a socket listens that a program waits for.
LOOK_S = 0.01

#: What a program may take to end between SIGTERM and SIGKILL.
GRACE_S = 5.0

#: How much of what a failed program said is told.
SAID = 600

#: As in a login of Debian; those of the first process are fewer, for Mininet's sake.
OPEN_FILES, OPEN_FILES_MOST = 1024, 1048576

#: The state of such a socket in /proc/net.
_LISTENING = {"tcp": "0A", "udp": "07"}


class Failed(Exception):
    """A program that did not do what the job asks for."""

    cause = "traffic"


class Program:
    """A program of the job."""

    def __init__(self, wanted, rig):
        self.wanted, self.name, self._rig = wanted, wanted["name"], rig
        self.start_s = self.asked_s = self.end_s = self._process = self.pidfd = None
        self.folder = f"{OUT}/{self.name}"
        os.makedirs(self.folder)

    @property
    def running(self):
        return self.start_s is not None and self.end_s is None

    @property
    def must_end(self):
        """Whether the load goes on until this program has ended."""
        return self.wanted["until"] == "end"

    def start(self, now_s, path):
        command = self.wanted["command"]
        if self.wanted["node"] is not None:
            command = self._rig.inside(self.wanted["node"], *command)
        environment = {**os.environ, "PATH": path, **self.wanted["environment"]}
        with open(f"{self.folder}/stdout", "wb") as out, open(f"{self.folder}/stderr", "wb") as err:
            try:
                self._process = subprocess.Popen(
                    command, cwd=WORK, env=environment, start_new_session=True,
                    stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                )  # fmt: skip
            except OSError as error:
                raise Failed(f"{self.name}: {command[0]} cannot start: {error.strerror}") from None
        self.pidfd = os.pidfd_open(self._process.pid)
        self.start_s = now_s

    def look(self, now_s):
        """Note the end of the program, if it has ended; raises `Failed` where it should not so."""
        if not self.running or self._process.poll() is None:
            return
        self.end_s = now_s
        os.close(self.pidfd)
        statuses = self.wanted["statuses"]
        if self.must_end and statuses is not None and self._process.returncode not in statuses:
            raise Failed(f"{self.name}: ended with {self.ending()}{self.said()}")

    def ending(self):
        """`status 3`, or `SIGKILL`."""
        code = self._process.returncode
        return f"status {code}" if code >= 0 else signal.Signals(-code).name

    def said(self):
        """The end of what the program said, for a message."""
        with open(f"{self.folder}/stderr", "rb") as file:
            text = file.read()[-4 * SAID :].decode(errors="replace")[-SAID:].strip()
        return f": {text}" if text else ", without a word on its standard error"

    def ask_to_end(self, now_s):
        """SIGTERM at first, SIGKILL some time later, to the program and what it has started."""
        if self.asked_s is None:
            self.asked_s = now_s
            self._signal(signal.SIGTERM)
        elif now_s >= self.asked_s + GRACE_S:
            self.kill()

    def kill(self):
        """SIGKILL, if it runs."""
        if self.running:
            self._signal(signal.SIGKILL)
            self._process.wait()

    def _signal(self, number):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def record(self):
        """Its part of `programs.json`."""
        code = None if self._process is None else self._process.returncode
        return {
            "start_s": _rounded(self.start_s),
            "end_s": _rounded(self.end_s),
            "status": code if code is None or code >= 0 else None,
            "signal": signal.Signals(-code).name if code is not None and code < 0 else None,
        }

    def keep(self):
        """Copy what matches `keeps`, but for links and for files of the job that are as they were.

        Links are not followed either: one to `/` has no end.
        """
        patterns = [os.path.normpath(one).split("/") for one in self.wanted["keeps"]]
        found = {
            os.path.relpath(os.path.join(place, name), WORK)
            for place, _, names in os.walk(WORK)
            for name in names
        }
        for path in sorted(found):
            mine, given = f"{WORK}/{path}", f"{FILES}/{path}"
            if os.path.islink(mine) or not os.path.isfile(mine):
                continue
            if not any(_fits(path.split("/"), pattern) for pattern in patterns):
                continue
            if os.path.isfile(given) and filecmp.cmp(mine, given, shallow=False):
                continue
            target = f"{self.folder}/files/{path}"
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copyfile(mine, target)
            os.chmod(target, 0o755 if os.stat(mine).st_mode & 0o100 else 0o644)


def _fits(path, pattern):
    """Whether the parts of a path are those of a pattern, in which `**` is any number of them."""
    if not pattern or not path:
        return not path and all(one == "**" for one in pattern)
    if pattern[0] == "**":
        return _fits(path, pattern[1:]) or _fits(path[1:], pattern)
    return fnmatch.fnmatchcase(path[0], pattern[0]) and _fits(path[1:], pattern[1:])


class Load:
    """The programs of a job, from the start of the first one to the end of the last one."""

    def __init__(self, rig, traffic, status):
        self._rig, self._length_s, self._status = rig, traffic["length_s"], status
        self._path = commands.put(rig)
        self.programs = [Program(wanted, rig) for wanted in traffic["programs"]]
        self._by_name = {program.name: program for program in self.programs}
        self._began = time.monotonic()
        self._beat_s = BEAT_S

    def run(self):
        """Until all programs that must end have ended, or the time is over where none must."""
        while True:
            now_s = self._now()
            for program in self.programs:
                program.look(now_s)
            over = self._over(now_s)
            if not over:
                self._start(now_s)
                self._check_deadlines(now_s)
            for program in self.programs:
                if (
                    program.running
                    and not program.must_end
                    and (over or (now_s >= self._length_s and program.wanted["until"] == "load"))
                ):
                    program.ask_to_end(now_s)
            if over and not any(program.running for program in self.programs):
                break
            self._wait()
        for program in self.programs:
            if program.start_s is None:
                raise Failed(f"{program.name}: the load was over before {self._awaited(program)}")

    def _now(self):
        return time.monotonic() - self._began

    def _over(self, now_s):
        must = [program for program in self.programs if program.must_end]
        if must:
            return all(program.end_s is not None for program in must)
        return now_s >= self._length_s

    def _start(self, now_s):
        for program in self.programs:
            if program.start_s is None and self._due(program, now_s):
                program.start(self._now(), self._path)

    def _due(self, program, now_s):
        """Whether it is time for `program`, and what it waits for is there."""
        after = program.wanted["after"]
        if now_s < program.wanted["start_s"]:
            return False
        if after is None:
            return True
        if "program" in after:
            return self._by_name[after["program"]].end_s is not None
        ((protocol, port),) = after.items()
        node = program.wanted["after_node"]
        return listens("self" if node is None else self._rig.nodes[node].pid, protocol, port)

    def _awaited(self, program):
        """What `program` waits for, in words."""
        after = program.wanted["after"]
        if after is None:
            return f"its start at {program.wanted['start_s']:g} s"
        if "program" in after:
            return f"{after['program']} had ended"
        ((protocol, port),) = after.items()
        node = program.wanted["after_node"] or "the guest itself"
        return f"anybody listened on {protocol} port {port} of {node}"

    def _check_deadlines(self, now_s):
        for program in self.programs:
            deadline_s = program.wanted["deadline_s"]
            if program.end_s is not None or now_s < deadline_s:
                continue
            if program.start_s is None:
                awaited = self._awaited(program)
                raise Failed(f"{program.name}: {deadline_s:g} s were over before {awaited}")
            if program.must_end:
                raise Failed(f"{program.name}: has not ended by {deadline_s:g} s{program.said()}")

    def _wait(self):
        """Sleep until a program ends or something is due; a beat of the status each second."""
        now_s = self._now()
        moments = [self._beat_s, self._length_s]
        for program in self.programs:
            moments.append(program.wanted["deadline_s"])
            if program.start_s is None:
                moments.append(program.wanted["start_s"])
                after = program.wanted["after"] or {}
                if after.keys() & _LISTENING.keys() and now_s >= program.wanted["start_s"]:
                    moments.append(now_s + LOOK_S)
            elif program.running and program.asked_s is not None:
                moments.append(program.asked_s + GRACE_S)
        fds = [program.pidfd for program in self.programs if program.running]
        later = [moment - now_s for moment in moments if moment > now_s]
        select.select(fds, [], [], min(later))
        if self._now() >= self._beat_s:
            self._beat_s += BEAT_S
            self._status("traffic")


def listens(pid, protocol, port):
    """Whether a socket of the network namespace of process `pid` listens on `port`."""
    wanted, state = f":{port:04X}", _LISTENING[protocol]
    for family in ("", "6"):
        try:
            with open(f"/proc/{pid}/net/{protocol}{family}") as table:
                rows = [line.split() for line in table.readlines()[1:]]
        except FileNotFoundError:  # no IPv6
            continue
        if any(row[1].endswith(wanted) and row[3] == state for row in rows):
            return True
    return False


def run(rig, traffic, status):
    """Run the programs of `traffic` (the job's); raises `Failed` where one does not do as asked."""
    lay_out(traffic["files"])
    # Inherited: code of ours between fork and exec would copy the rings of packets, which the
    # kernel takes for a fault.
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES_MOST))
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)  # of the root namespace
    if rig is not None:
        time.sleep(IDLE_S)
    load = Load(rig, traffic, status)
    try:
        load.run()
    finally:
        for program in load.programs:
            program.kill()
            program.keep()
        with open("/job/out/programs.json", "w") as file:
            records = {program.name: program.record() for program in load.programs}
            json.dump(records, file, indent=1, sort_keys=True)
            file.write("\n")
        os.sync()  # what a process left behind has written is on its way to the host, too


def lay_out(files):
    """Copy the job's `files` to the folder of the programs."""
    os.makedirs(WORK)
    for file in files:
        target = f"{WORK}/{file['path']}"
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(f"{FILES}/{file['path']}", target)
        os.chmod(target, file["mode"])


def _rounded(moment_s):
    return None if moment_s is None else round(moment_s, 6)
