"""Make modules that have the bugs again, under names of their own, from a source of Linux.

    python studies/bugs/undo.py LINUX FOLDER    then: emulate kernel module FOLDER/CASE

A folder per case that a module can show: the kernel's file with undo/CASE.patch, whose qdisc or
congestion control is called `…_undone`, and the plugin that lets tc take it. The other patches
(fq_tstamp, htb_atm, tcp_mss_ack) are for `emulate kernel build --tree`.
"""

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
CODEL = "include/net/codel_impl.h"
SOURCES = {
    "codel_stale": "net/sched/sch_fq_codel.c",
    "codel_mtu": "net/sched/sch_codel.c",
    "htb_low_rate": "net/sched/sch_htb.c",
    "tbf_gso": "net/sched/sch_tbf.c",
    "cubic_round": "net/ipv4/tcp_cubic.c",
    "bbr_bdp": "net/ipv4/tcp_bbr.c",
    **{
        f"netem_{name}": "net/sched/sch_netem.c"
        for name in ("slot", "limit", "reseed", "child", "duplicate")
    },
}
PLUGIN = """\
#include <string.h>
#include "tc_plugin.h"
struct qdisc_util *get_qdisc_kind(const char *str);
struct qdisc_util {kind}_undone_qdisc_util = {{ .id = "{kind}_undone" }};
__attribute__((constructor)) static void take(void)
{{
	struct qdisc_util *own = get_qdisc_kind("{kind}");

	own = memcpy(&{kind}_undone_qdisc_util, own, sizeof(*own));
	own->id = "{kind}_undone";
	own->next = NULL;
}}
"""


def make(case: str, linux: Path, folder: Path) -> None:
    """Write the folder of a case."""
    series = re.findall(r"^(?:VERSION|PATCHLEVEL) = (\d+)", (linux / "Makefile").read_text(), re.M)
    name = f"{case}.patch"
    patch = HERE / "undo" / "7.2" / name  # since then some read otherwise
    if series < ["7", "2"] or not patch.exists():
        patch = HERE / "undo" / name
    source, folder = SOURCES[case], folder / case
    for path in (source, CODEL):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text((linux / path).read_text())
    command = ["patch", "-s", "-p1", "-d", str(folder), "-i", str(patch.resolve())]
    subprocess.run(command, check=True)
    text = (folder / source).read_text()
    (kind,) = re.findall(r'^\t\.(?:id|name)\s*=\s*"(\w+)"', text, re.M)
    text = text.replace(f'"{kind}"', f'"{kind}_undone"')
    text = text.replace("<net/codel_impl.h>", '"codel_impl.h"')
    (folder / "codel_impl.h").write_text((folder / CODEL).read_text())
    (folder / f"{case}.c").write_text(text)
    (folder / "Kbuild").write_text(f"obj-m := {case}.o\n")
    if "sched" in source:
        (folder / f"q_{kind}_undone.c").write_text(PLUGIN.format(kind=kind))
        header = HERE.parents[1] / "qdisc" / "src" / "ramp" / "tc_plugin.h"
        (folder / "tc_plugin.h").write_text(header.read_text())


if __name__ == "__main__":
    for case in SOURCES:
        make(case, Path(sys.argv[1]), Path(sys.argv[2]))
