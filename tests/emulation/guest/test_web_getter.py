"""Tests of emulation.guest.web_getter against a web server on this machine."""

import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests import ROOT, captured
from tests.waiting import wait_for

GETTER = ROOT / "emulation" / "guest" / "web_getter.py"

#: What flent 2.1.1 looks for in each line (runners.py, HttpGetterRunner).
SAMPLE = re.compile(r"^\[(?P<t>[0-9]+\.[0-9]+)\].*in (?P<val>[0-9]+(?:\.[0-9]+)?) seconds.$", re.M)
TOTAL = re.compile(r"^.*min/avg/max(?:/mdev)? = ([0-9.]+)/([0-9.]+)/([0-9.]+).*$", re.M)

SIZE = 10_000


class Server(ThreadingHTTPServer):
    """A site of 8 objects; `asked`: how often each path was; `connections`: how many came."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.paths = [f"/{number}" for number in range(8)]
        self.asked: Counter[str] = Counter()
        self.connections = self.busy = self.most_busy = 0
        self.lock = threading.Lock()
        self.latency_s = 0.02

    def process_request(self, request: object, client_address: object) -> None:
        self.connections += 1
        super().process_request(request, client_address)  # type: ignore[arg-type]

    def handle_error(self, request: object, client_address: object) -> None:
        """A getter that goes away in the midst of an answer is what some tests are about."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        server = self.server
        with server.lock:
            server.asked[self.path] += 1
            server.busy += 1
            server.most_busy = max(server.most_busy, server.busy)
        time.sleep(server.latency_s)
        body = b"x" * SIZE
        if self.path == "/list":
            body = "".join(f"{server.url}{path}\n" for path in server.paths).encode()
        self.send_response(200 if self.path != "/gone" else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with server.lock:
            server.busy -= 1
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    """The site, being served."""
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def run(*arguments: object, text: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(GETTER), *map(str, arguments)]
    return captured(command, input=text, timeout=60)


def test_a_page_is_its_list_and_all_objects(server: Server) -> None:
    done = run("-c", 1, f"{server.url}/list")
    assert (done.returncode, done.stderr) == (0, "")
    assert server.asked == Counter(["/list", *server.paths])
    said = re.search(r"\] 9 request\(s\) received ([0-9]+) bytes in", done.stdout)
    assert said is not None
    assert int(said[1]) > 8 * SIZE  # and the list, and headers


def test_flent_finds_time_and_duration_of_each_page(server: Server) -> None:
    before = time.time()
    done = run("-c", 3, "-i", 1, f"{server.url}/list")
    samples = [(float(m["t"]), float(m["val"])) for m in SAMPLE.finditer(done.stdout)]
    assert len(samples) == 3
    assert all(before < end < time.time() for end, _ in samples)
    # The list, then 8 objects by 4 workers: three times the latency at least.
    assert all(3 * server.latency_s <= lasted < 10 for _, lasted in samples)
    total = TOTAL.search(done.stdout)
    assert total is not None
    values = [lasted for _, lasted in samples]
    expected = [min(values), sum(values) / 3, max(values)]
    assert [float(value) for value in total.groups()] == pytest.approx(expected, abs=2e-6)


def test_each_page_has_new_connections_one_a_worker(server: Server) -> None:
    run("-c", 1, "-n", 3, f"{server.url}/list")
    assert (server.connections, server.most_busy) == (3, 3)
    run("-c", 2, "-n", 1, f"{server.url}/list")
    assert server.connections == 3 + 2


def test_the_interval_counts_from_start_to_start(server: Server) -> None:
    done = run("-c", 3, "-i", 400, f"{server.url}/list")
    samples = [(float(m["t"]), float(m["val"])) for m in SAMPLE.finditer(done.stdout)]
    starts = [end - lasted for end, lasted in samples]
    assert starts[1] - starts[0] == pytest.approx(0.4, abs=0.1)
    assert starts[2] - starts[1] == pytest.approx(0.4, abs=0.1)


def test_it_goes_on_for_the_run_length(server: Server) -> None:
    start = time.monotonic()
    done = run("-l", 1, "-i", 10, f"{server.url}/list")
    assert 1 <= time.monotonic() - start < 10
    assert len(SAMPLE.findall(done.stdout)) > 2


def test_the_first_object_comes_over_the_connection_of_the_list(server: Server) -> None:
    """Only the others wait for a name and a connection."""
    del server.paths[2:]
    run("-c", 1, "-n", 4, f"{server.url}/list")
    assert server.connections == 2


def test_a_list_of_its_own_is_fetched_without_asking_for_one(server: Server) -> None:
    done = run("-c", 1, text=f"# objects\n{server.url}/0\n\n{server.url}/1\n")
    assert "2 request(s)" in done.stdout
    assert server.asked == Counter(["/0", "/1"])


def test_a_page_without_an_object_is_told_and_has_no_time(server: Server) -> None:
    server.paths[3] = "/gone"
    done = run("-c", 2, "-i", 1, f"{server.url}/list")
    assert done.returncode == 1
    assert SAMPLE.search(done.stdout + done.stderr) is None
    assert "Total 0 successful of 2 cycles" in done.stdout
    assert len(re.findall(r"^\[[0-9.]+\] 8 request\(s\) .* page failed:$", done.stderr, re.M)) == 2
    assert done.stderr.count("/gone: The requested URL returned error: 404 (curl 22)") == 2


def test_it_goes_on_after_a_page_that_failed(server: Server) -> None:
    server.paths[3] = "/gone"

    def mend() -> None:
        while not server.asked["/gone"]:
            time.sleep(0.01)
        server.paths[3] = "/3"

    mending = threading.Thread(target=mend, daemon=True)
    mending.start()
    done = run("-l", 2, "-i", 100, f"{server.url}/list")
    mending.join(10)
    assert done.returncode == 1
    assert "page failed" in done.stderr
    assert SAMPLE.search(done.stdout) is not None


def test_an_answer_that_comes_too_late_is_an_error(server: Server) -> None:
    server.latency_s = 0.5
    done = run("-c", 1, "-t", 100, f"{server.url}/list")
    assert done.returncode == 1
    assert "(curl 28)" in done.stderr
    assert SAMPLE.search(done.stdout) is None


def test_nobody_there_is_an_error() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        done = run("-c", 1, f"http://127.0.0.1:{free.getsockname()[1]}/list")
    assert done.returncode == 1
    assert "(curl 7)" in done.stderr


def test_a_list_without_urls_is_an_error(server: Server) -> None:
    server.paths.clear()
    done = run("-c", 1, f"{server.url}/list")
    assert done.returncode == 1
    assert "the list has no URLs" in done.stderr


def test_a_signal_in_the_midst_of_a_page_is_told(server: Server) -> None:
    server.latency_s = 5
    command = [sys.executable, str(GETTER), f"{server.url}/list"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        wait_for(lambda: server.asked, seconds=30)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=10)
    assert process.returncode == 1
    assert "stopped by signal 15, page failed" in err
    assert "Total 0 successful of 1 cycles" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-n", "0"], "'0' is not a whole number above 0"),
        (["-i", "0.2"], "'0.2' is not a whole number above 0"),
        (["-4", "-6"], "not allowed with argument"),
        (["-z"], "unrecognized arguments: -z"),
        (["/nowhere/list"], "/nowhere/list"),
        (["/dev/null"], "the list has no URLs"),
    ],
)
def test_wrong_options_are_refused(arguments: list[str], said: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert said in done.stderr
