"""emulation.model.control: what a congestion control needs in a guest."""

from pathlib import Path

from qdisclab.emulation.model.control import Control, allowed
from qdisclab.emulation.model.qdisc import ModuleSource

ALLOWED = "/proc/sys/net/ipv4/tcp_allowed_congestion_control"


def test_what_every_namespace_may_have_needs_nothing() -> None:
    assert allowed(["cubic", "reno", "bbr"]) == {}


def test_the_kernel_lists_its_own_in_the_order_of_its_makefile_and_then_modules() -> None:
    assert allowed(["vegas", "dctcp"], ["mine", "aimd"]) == {
        ALLOWED: "reno bbr cubic dctcp vegas mine aimd"
    }


def test_parameters_are_files_of_the_module() -> None:
    control = Control("aimd", ModuleSource("tcp_aimd", Path("x"), "0"), (("increase", "200"),))
    assert control.files() == {"/sys/module/tcp_aimd/parameters/increase": "200"}
