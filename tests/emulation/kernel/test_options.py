"""What today's kernel can do for any program: each option of programs.config, and what else only
Linux 7.2 has, is used in a guest."""

from collections.abc import Mapping

import pytest

from qdisclab.emulation.kernel import features
from tests.kernels import TODAY, needs_today, run_script

pytestmark = [pytest.mark.kernel, needs_today]

#: A use of each by name; what goes wrong is the answer.
SCRIPT = '''
import ctypes, socket, struct, subprocess

libc = ctypes.CDLL(None, use_errno=True)

def tc(*words):
    subprocess.run(['tc', 'qdisc', *words], check=True, capture_output=True, text=True)

def io_uring():
    ring = libc.syscall(425, 4, ctypes.create_string_buffer(120))  # io_uring_setup
    assert ring >= 0, ctypes.get_errno()

def opened(protocol):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol) as ear:
        ear.bind(('127.0.0.1', 0))
        ear.listen()
        with socket.create_connection(ear.getsockname()) if protocol == 6 else (
            socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)
        ) as mouth:
            if protocol != 6:
                mouth.connect(ear.getsockname())
            other, _ = ear.accept()
            mouth.sendall(b'word')
            assert other.recv(4) == b'word'
            if protocol == 6:
                mouth.setsockopt(socket.SOL_TCP, 31, b'tls')  # TCP_ULP

def message(kind, flags, body):
    return struct.pack('=IHHII', 16 + len(body), kind, flags, 1, 0) + body

def attribute(number, content):
    length = 4 + len(content)
    return struct.pack('=HH', length, number) + content + b'\\0' * (-length % 4)

def nat():
    """A table and a chain of type nat, as nft makes them (linux/netfilter/nf_tables.h)."""
    inet = struct.pack('>BBH', 2, 0, 0)  # struct nfgenmsg: IPv4
    named = attribute(1, b'here\\0')
    place = attribute(1, struct.pack('>I', 4)) + attribute(2, struct.pack('>I', 100))
    hook = attribute(0x8004, place)  # postrouting, priority of srcnat
    chain = inet + named + attribute(3, b'out\\0') + hook + attribute(7, b'nat\\0')
    batch = struct.pack('>BBH', 0, 0, 10)
    tables = 10 << 8
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12) as link:
        link.send(b''.join([
            message(16, 1, batch), message(tables, 0x401, inet + named),
            message(tables + 3, 0x405, chain), message(17, 1, batch),
        ]))
        answer = link.recv(1 << 16)  # of the chain, which asks for one
        kind, = struct.unpack_from('=H', answer, 4)
        code, = struct.unpack_from('=i', answer, 16)
        assert (kind, code) == (2, 0), code

def etf():
    tc('add', 'dev', 'one', 'root', 'etf', 'clockid', 'CLOCK_TAI', 'delta', '300000')

def taprio():
    tc('add', 'dev', 'two', 'root', 'handle', '100:', 'taprio', 'num_tc', '2', 'map', '0', '1',
       'queues', '1@0', '1@1', 'base-time', '0', 'sched-entry', 'S', '01', '300000',
       'sched-entry', 'S', '02', '300000', 'clockid', 'CLOCK_TAI')

def mqprio():
    tc('add', 'dev', 'three', 'root', 'mqprio', 'num_tc', '2', 'map', '0', '1',
       'queues', '1@0', '1@1', 'hw', '0')

def cbs():
    tc('add', 'dev', 'four', 'root', 'cbs', 'idleslope', '98688', 'sendslope', '-901312',
       'hicredit', '153', 'locredit', '-1389', 'offload', '0')

def skbprio():
    tc('add', 'dev', 'five', 'root', 'skbprio', 'limit', '10')

uses = {
    'io_uring': io_uring, 'tls': lambda: opened(6), 'mptcp': lambda: opened(262),
    'sctp': lambda: opened(132), 'nat': nat, 'etf': etf, 'taprio': taprio, 'mqprio': mqprio,
    'cbs': cbs, 'skbprio': skbprio,
}
subprocess.run(['ip', 'link', 'set', 'lo', 'up'], check=True)
for name in ('one', 'two', 'three', 'four', 'five'):
    subprocess.run(['ip', 'link', 'add', name, 'numtxqueues', '2', 'type', 'dummy'], check=True)
    subprocess.run(['ip', 'link', 'set', name, 'up'], check=True)
came = {}
for name, use in uses.items():
    try:
        use()
        came[name] = 'works'
    except Exception as error:
        came[name] = f'{error!r} {getattr(error, "stderr", "")}'
with open('/proc/sys/net/ipv4/tcp_available_congestion_control') as file:
    came['controls'] = file.read()
status('used', **came)
'''

USES = ("io_uring", "tls", "mptcp", "sctp", "nat", "etf", "taprio", "mqprio", "cbs", "skbprio")


@pytest.fixture(scope="module")
def came(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """What came of each use."""
    folder = tmp_path_factory.mktemp("options")
    return run_script(SCRIPT, folder, TODAY).step("used")


@pytest.mark.parametrize("name", USES)
def test_a_program_can_use_it(came: Mapping[str, str], name: str) -> None:
    assert came[name] == "works"


def test_the_kernel_has_the_congestion_controls_that_are_named(came: Mapping[str, str]) -> None:
    assert sorted(came["controls"].split()) == features.controls(TODAY)
