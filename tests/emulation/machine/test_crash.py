"""emulation.machine.crash: where in a module the guest's kernel failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from qdisclab.emulation.errors import GuestFailure, GuestHung
from qdisclab.emulation.kernel import Kernel, module
from qdisclab.emulation.machine import crash, vm
from qdisclab.emulation.machine.rootfs import RootFs
from tests import write_files

REGISTERS = "[ 1.0] Modules linked in: timed(O)\n"
AT = "[ 1.0] RIP: 0033:fails+0x1c/0x30 [timed]\n"
PANIC = "[ 1.0] Kernel panic - not syncing: Segfault with no mm\n"
TRACE = """\
[ 1.0] Call Trace:
[ 1.0]  [<6010629a>] ? __schedule_bug+0x4f/0x5e
[ 1.0]  [<788087c3>] ? fails+0x13/0x40 [timed]
"""

#: A module that does something half a second after it was loaded.
TIMED = """\
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/timer.h>
static int *nothing;
static void fails(struct timer_list *timer) { %s }
static DEFINE_TIMER(timer, fails);
static int __init timed(void) { mod_timer(&timer, jiffies + HZ / 2); return 0; }
module_init(timed);
MODULE_DESCRIPTION("Fails");
MODULE_LICENSE("GPL");
"""


@pytest.mark.parametrize(
    ("console", "hidden"),
    [
        (REGISTERS + PANIC, True),
        (REGISTERS + AT + PANIC, False),
        (PANIC + REGISTERS, False),
        (REGISTERS, False),
        ("[ 1.0] Kernel panic - not syncing: Kernel mode signal 8\n", False),
    ],
)
def test_of_a_panic_the_console_may_leave_out_where(console: str, hidden: bool) -> None:
    assert crash.hides(console) is hidden


def test_a_place_is_that_of_the_registers_or_the_first_in_a_module() -> None:
    assert crash.place(REGISTERS + PANIC) == ""
    assert crash.place(TRACE + AT) == "fails+0x1c/0x30 [timed]"
    assert crash.place(TRACE) == "fails+0x13/0x40 [timed]"
    assert crash.place("[ 1.0] RIP: 0033:skb_put.part.0+0x1/0x2\n") == "skb_put.part.0+0x1/0x2"
    assert crash.place("[ 1.0] RIP: 0033:0x7fea4a780829\n") == ""


def test_a_binary_without_symbols_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "linux").write_bytes(b"none")
    crash.loud(tmp_path / "linux")(1)


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("program", "kind", "says"),
    [
        ("WRITE_ONCE(*nothing, 1);", GuestFailure, "Segfault with no mm, at"),
        ("for (;;) barrier();", GuestHung, "its kernel is at"),
        ("msleep(1);", GuestFailure, "scheduling while atomic: .*, at"),
        ("WARN_ON(1);", GuestFailure, r"WARNING: .*timed\.c:5\b"),
    ],
)
def test_a_module_that_fails_is_named_with_its_function(
    program: str,
    kind: type[Exception],
    says: str,
    built: Kernel,
    guest_root: RootFs,
    tmp_path: Path,
) -> None:
    sources = {"Kbuild": "obj-m := timed.o\n", "timed.c": TIMED % program}
    made = module.build(built, write_files(tmp_path / "timed", sources))
    folder = tmp_path / "scratch"
    folder.mkdir()
    job = {"work": "script", "modules": [{"name": "timed"}]}
    machine = vm.Machine(built.path, guest_root.path, seed=1, modules=(made,))
    vm.prepare(folder, machine, job, script="import time\ntime.sleep(1)\n")
    with pytest.raises(kind, match=says + r".* fails\+0x[0-9a-f]+/0x[0-9a-f]+ \[timed\]"):
        vm.run(machine, folder, hang_s=2)
    assert "fails+0x" in (folder / "console").read_text()
