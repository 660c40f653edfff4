"""What `emulate exec` runs in a guest: scripts, binaries, packages, a rig."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from qdisclab.emulate import cli
from qdisclab.emulation.runs.execution import difference
from tests import captured

pytestmark = pytest.mark.kernel

EXAMPLES = "/usr/share/doc/mininet/examples"  # of the guest, with the package `mininet`
PACKAGES = ["--package", "mininet", "--package", "openvswitch-testcontroller"]

THREADS = r"""
#include <pthread.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *work(void *number)
{
    unsigned us;
    getrandom(&us, sizeof(us), 0);
    usleep(us % 1000000);
    pthread_mutex_lock(&lock);
    printf("thread %ld after %u us\n", (long)number, us % 1000000);
    pthread_mutex_unlock(&lock);
    return NULL;
}
int main(void)
{
    pthread_t threads[8];
    for (long i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
"""

RDRAND = r"""
#include <immintrin.h>
#include <stdio.h>
int main(void)
{
    unsigned long long number = 0;
    while (!_rdrand64_step(&number))
        ;
    printf("%016llx\n", number);
    return 0;
}
"""

UDP = r"""
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
int main(int count, char **words)
{
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = htons(7000)};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    socklen_t size = sizeof(place);
    char text[64] = "";
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (count > 1) {            /* asks ten times, a quarter of a second apart */
        for (int i = 0; i < 10; i++) {
            snprintf(text, sizeof(text), "question %d", i);
            sendto(fd, text, strlen(text), 0, (void *)&place, sizeof(place));
            memset(text, 0, sizeof(text));
            recv(fd, text, sizeof(text) - 1, 0);
            puts(text);
            usleep(250000);
        }
        return 0;
    }
    bind(fd, (void *)&place, sizeof(place));
    for (int i = 0; i < 10; i++) {
        ssize_t length = recvfrom(fd, text, sizeof(text), 0, (void *)&place, &size);
        memcpy(text, "answer  ", 8);
        sendto(fd, text, length, 0, (void *)&place, size);
    }
    return 0;
}
"""

GO = """
package main

import (
	"fmt"
	"math/rand"
	"sync"
	"time"
)

func main() {
	var wait sync.WaitGroup
	var lock sync.Mutex
	var order []int
	start := time.Now()
	for i := 0; i < 8; i++ {
		wait.Add(1)
		go func(i int) {
			defer wait.Done()
			time.Sleep(time.Duration(rand.Intn(1000)) * time.Millisecond)
			lock.Lock()
			order = append(order, i)
			lock.Unlock()
		}(i)
	}
	wait.Wait()
	fmt.Println(order, time.Since(start))
}
"""

RUST = """
use std::thread;
use std::time::{Duration, Instant};

fn main() {
    let start = Instant::now();
    let threads: Vec<_> = (0..8u64)
        .map(|i| {
            thread::spawn(move || {
                thread::sleep(Duration::from_millis(100 * (8 - i)));
                println!("thread {i}");
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    println!("{:?}", start.elapsed());
}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with nothing in it."""
    place = tmp_path / "here"
    place.mkdir()
    monkeypatch.chdir(place)
    return place


def compiled(name: str, source: str, *options: str) -> str:
    """The C program `source`, as the current folder's file `name`; how to call it."""
    Path(f"{name}.c").write_text(source)
    subprocess.run(["gcc", "-O1", *options, "-o", name, f"{name}.c"], check=True)
    return f"./{name}"


def execute(output: str, *words: str) -> Path:
    """The folder that a successful execution leaves."""
    assert cli.main(["exec", "--output", f"../{output}", *words]) == 0
    return Path(f"../{output}").resolve()


def same_twice(*words: str, seed: int = 1) -> str:
    """What a command prints, twice the same with the same seed."""
    one = execute("one", "--seed", str(seed), *words)
    other = execute("other", "--seed", str(seed), *words)
    assert difference(one, other) is None
    return (one / "stdout").read_text() + (one / "stderr").read_text()


def test_status_streams_and_files_come_out(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    Path("given.txt").write_text("given\n")
    Path("changed.txt").write_text("before\n")
    script = (
        "cat given.txt; echo no >&2; echo after > changed.txt; mkdir -p a/b; echo x > a/b/c; exit 3"
    )
    Path("script.sh").write_text(script)
    words = ["--file", "given.txt", "--file", "changed.txt", "--", "sh", "script.sh"]
    assert cli.main(["exec", "--output", "../out", *words]) == 3
    assert capfdbinary.readouterr() == (b"given\n", b"no\n")
    out = Path("../out").resolve()
    left = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    assert left == {
        *("stdout", "stderr", "kernel.log", "exec.json", "files/changed.txt", "files/a/b/c")
    }
    assert (out / "files/changed.txt").read_text() == "after\n"
    record = json.loads((out / "exec.json").read_text())
    assert (record["status"], record["signal"]) == (3, None)
    assert set(record["identity"]["files"]) == {"script.sh", "given.txt", "changed.txt"}
    assert set(record["outputs"]) == left - {"exec.json"}


@pytest.mark.parametrize(
    ("feed", "said"),
    [("echo hi |", 1), ("< lines", 1), ("< empty", 0), ("< /dev/null", 0), ("<&-", 0)],
)
def test_what_is_piped_in_is_said_to_stay_outside(folder: Path, feed: str, said: int) -> None:
    (folder / "lines").write_text("hi\n")
    (folder / "empty").touch()
    emulate = f"{sys.executable} -m qdisclab.emulate.cli exec -- cat"
    text = f"{feed} {emulate}" if "|" in feed else f"{emulate} {feed}"
    done = captured(["sh", "-c", text], check=True)
    assert done.stdout == ""
    assert done.stderr.count("warning: standard input is not passed to the command; ") == said


def test_time_is_virtual_and_chance_is_the_seeds() -> None:
    code = "import os, time; print(time.time(), os.urandom(4).hex()); time.sleep(1800)"
    code += "; print(time.time())"
    words = ["--", "python3", "-c", code]
    one, other = same_twice(*words), same_twice(*words, seed=2)
    assert one.startswith("1420070401.") and "\n1420072201." in one
    assert one.split()[1] != other.split()[1]


def test_a_command_that_does_not_end(capfd: pytest.CaptureFixture[str]) -> None:
    words = ["--", "sh", "-c", "echo begun; echo waits >&2; sleep 1000"]
    assert cli.main(["exec", "--timeout", "20 s", *words]) == 7
    out, err = capfd.readouterr()
    assert out == "begun\n"
    assert "command: has not ended by 20 s: waits" in err


def test_a_command_that_only_computes(capfd: pytest.CaptureFixture[str]) -> None:
    words = ["--patience", "2", "--", "python3", "-c", "print('so far', flush=True)\nwhile 1: pass"]
    assert cli.main(["exec", *words]) == 8
    assert "--patience waits longer" in capfd.readouterr().err


def test_a_command_that_hangs_short_of_memory_is_told_of_that(
    capfd: pytest.CaptureFixture[str],
) -> None:
    reads = "find /usr -type f -exec cat {} + > /dev/null; while :; do :; done"
    words = ["--memory", "128 MiB", "--patience", "2", "--", "sh", "-c", reads]
    assert cli.main(["exec", *words]) == 8
    assert "short of memory: give it more `memory`" in capfd.readouterr().err


def test_a_signal_is_told_as_a_shell_does() -> None:
    assert cli.main(["exec", "--", "sh", "-c", "kill -KILL $$"]) == 137


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("linuxrouter", "192.168.1.0     0.0.0.0         255.255.255.0   U "),
        ("multipoll", "h3: 64 bytes from 10.0.0.1: icmp_seq=2"),
        ("multitest", "*** Results: 0% dropped (12/12 received)"),
        ("popen", "<h5>: rtt min/avg/max/mdev"),
        ("popenpoll", "10 packets transmitted, 10 received"),
    ],
)
def test_examples_of_mininet_unchanged(script: str, expected: str) -> None:
    assert expected in same_twice(*PACKAGES, "--", "python3", f"{EXAMPLES}/{script}.py")


def test_ping_waits_between_packets() -> None:
    said = same_twice("--", "ping", "-c", "3", "127.0.0.1")
    (took_ms,) = re.findall(r"3 received, 0% packet loss, time (\d+)ms", said)
    assert 2000 <= int(took_ms) < 2200


def test_pingall_on_open_vswitch() -> None:
    said = same_twice("--", "mn", "--switch", "ovsbr", "--topo", "single,3", "--test", "pingall")
    assert "*** Results: 0% dropped (6/6 received)" in said


def test_a_script_of_the_current_folder() -> None:
    Path("pair.py").write_text(
        "from mininet.net import Mininet\n"
        "from mininet.link import TCLink\n"
        "from mininet.topo import LinearTopo\n"
        "from mininet.node import OVSBridge\n"
        "net = Mininet(LinearTopo(2), switch=OVSBridge, controller=None, link=TCLink)\n"
        "net.start()\n"
        "print(net['h1'].cmd('ping -c 1', net['h2'].IP(), '| grep -c ttl=64'))\n"
        "net.stop()\n"
    )
    assert same_twice("--", "python3", "pair.py").strip() == "1"


def test_threads_in_c(capfd: pytest.CaptureFixture[str]) -> None:
    command = compiled("threads", THREADS, "-pthread")
    assert cli.main(["exec", "--check", "--", command]) == 0
    out, err = capfd.readouterr()
    assert sorted(line.split()[1] for line in out.splitlines()) == list("01234567")
    assert "reproduced: 3 files are the same bytes" in err


def test_two_processes_that_talk_over_udp() -> None:
    command = compiled("udp", UDP)
    said = same_twice("--file", "udp", "--", "sh", "-c", f"{command} & {command} ask; date +%s.%N")
    assert said.splitlines()[:10] == [f"answer   {number}" for number in range(10)]
    assert said.splitlines()[10].startswith("1420070403.5")


@pytest.mark.skipif(shutil.which("go") is None, reason="there is no Go compiler")
def test_a_static_go_binary(folder: Path) -> None:
    Path("main.go").write_text(GO)
    environment = {"CGO_ENABLED": "0", "GOCACHE": str(folder / "cache"), "HOME": str(folder)}
    go = shutil.which("go")
    assert go is not None
    subprocess.run([go, "build", "-o", "sleepers", "main.go"], check=True, env=environment)
    one, other = same_twice("--", "./sleepers"), same_twice("--", "./sleepers", seed=2)
    assert one.splitlines()[0] != other.splitlines()[0]


@pytest.mark.skipif(shutil.which("rustc") is None, reason="there is no Rust compiler")
def test_threads_in_rust() -> None:
    Path("main.rs").write_text(RUST)
    subprocess.run(["rustc", "-o", "threads", "main.rs"], check=True)
    said = same_twice("--", "./threads").splitlines()
    assert said[:8] == [f"thread {number}" for number in reversed(range(8))]
    assert said[8].startswith("800.")


def test_what_the_processor_draws_is_found(capfd: pytest.CaptureFixture[str]) -> None:
    if "rdrand" not in Path("/proc/cpuinfo").read_text():
        pytest.skip("this processor has no RDRAND")
    command = compiled("chance", RDRAND, "-mrdrnd")
    assert cli.main(["exec", "--check", "--output", "../out", "--", command]) == 9
    texts = {Path(name, "stdout").read_text() for name in ("../out", "../out-again")}
    assert len(texts) == 2
    err = capfd.readouterr().err
    assert "warning: chance has RDRAND (1x, first at 0x" in err
    assert "gave other bytes: stdout: byte" in err


def test_a_command_in_a_rig() -> None:
    words = ["--rig", "gbw2015/rrul --link 10/1 --qdisc codel --cc cubic"]
    said = same_twice(*words, "--", "on", "client", "ping", "-c", "2", "10.0.4.2")
    assert "2 packets transmitted, 2 received" in said
    out = execute("node", *words, "--node", "server", "--", "ip", "-4", "-br", "address")
    assert "10.0.4.2/24" in (out / "stdout").read_text()
    assert "codel" in (out / "qdiscs.json").read_text()


def test_a_package_has_what_it_needs() -> None:
    assert same_twice("--package", "python3-numpy", "--", "python3", "-c", NUMPY) == "0\n"


NUMPY = "import numpy; print(int(abs(numpy.linalg.inv(numpy.eye(3)) - numpy.eye(3)).sum()))"


def test_links_stay_in_the_guest_and_a_crash_is_a_status(folder: Path) -> None:
    text = "ln -s / all; ln -s /etc/passwd link; echo yes > real; kill -SEGV $$"
    crash = compiled("crash", "int main(void) { *(volatile int *)0 = 1; }")
    assert cli.main(["exec", "--output", "linked", "--", "sh", "-c", text]) == 139
    assert [path.name for path in (folder / "linked/files").iterdir()] == ["real"]
    assert cli.main(["exec", "--output", "crashed", "--", crash]) == 139
    assert json.loads((folder / "crashed/exec.json").read_text())["signal"] == "SIGSEGV"


def test_a_terminated_execution_leaves_nothing(folder: Path, tmp_path: Path) -> None:
    command = [
        "timeout",
        "4",
        sys.executable,
        "-m",
        "qdisclab.emulate.cli",
        "exec",
        "--output",
        "out",
    ]
    where = {**os.environ, "TMPDIR": str(tmp_path / "scratch")}
    (tmp_path / "scratch").mkdir()
    done = captured([*command, "--", "sh", "-c", "while :; do :; done"], cwd=folder, env=where)
    assert done.stderr == "emulate: error: terminated\n"
    assert list(folder.iterdir()) == []
    assert list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.parametrize("patience", ["0", "-3 s", "nan", "1 h 5"])
def test_patience_is_a_time(patience: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["exec", "--patience", patience, "--", "true"])
    assert "--patience" in capsys.readouterr().err
