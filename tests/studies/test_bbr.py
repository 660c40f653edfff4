"""The cases of BBR's draft: each has bounds, and a control from a module of one's own has them."""

import re
import shutil
import sys
from pathlib import Path

import pytest

from qdisclab.analysis.measures.registry import Metric
from qdisclab.analysis.runs.study import study_at
from qdisclab.emulation.datafile import counters, read_rows
from studies.bbr.programs.flow import state_of
from tests import ROOT, captured

STUDY = ROOT / "studies" / "bbr"

#: Paces at 10 Mbit/s whatever happens, and says that it cruises: no control, but with BBR's hooks.
MODULE = """\
#include <linux/inet_diag.h>
#include <linux/module.h>
#include <net/tcp.h>

static void steady_init(struct sock *sk)
{
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

static void steady_main(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	WRITE_ONCE(sk->sk_pacing_rate, 10000000 / 8);
	tcp_snd_cwnd_set(tcp_sk(sk), 200);
}

static u32 steady_ssthresh(struct sock *sk) { return TCP_INFINITE_SSTHRESH; }
static u32 steady_undo(struct sock *sk) { return tcp_snd_cwnd(tcp_sk(sk)); }
static u32 steady_sndbuf(struct sock *sk) { return 3; }
static u32 steady_tso(struct sock *sk) { return 1; }
static void steady_state(struct sock *sk, u8 state) { }

static size_t steady_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	info->bbr = (struct tcp_bbr_info) {
		.bbr_bw_lo = 10000000 / 8, .bbr_min_rtt = 40000,
		.bbr_pacing_gain = 256, .bbr_cwnd_gain = 512,
	};
	*attr = INET_DIAG_BBRINFO;
	return sizeof(info->bbr);
}

static struct tcp_congestion_ops steady __read_mostly = {
	.name = "steady", .owner = THIS_MODULE, .flags = TCP_CONG_NON_RESTRICTED,
	.init = steady_init, .cong_control = steady_main, .ssthresh = steady_ssthresh,
	.undo_cwnd = steady_undo, .sndbuf_expand = steady_sndbuf, .min_tso_segs = steady_tso,
	.set_state = steady_state, .get_info = steady_info,
};

static int __init steady_start(void) { return tcp_register_congestion_control(&steady); }
static void __exit steady_end(void) { tcp_unregister_congestion_control(&steady); }
module_init(steady_start);
module_exit(steady_end);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A rate that stays");
"""


def test_each_case_has_a_script_bounds_and_a_rule() -> None:
    own = study_at("bbr")
    bounds, metrics = own.module("claims").BOUNDS, own.module("measures").METRICS
    assert bounds.keys() == metrics.keys()
    assert all(low <= high for low, high in bounds.values())
    cases = own.module("plots").statements(STUDY / "programs/cases.py")
    assert [*cases] == [*range(1, 23)]
    assert {int(name.partition("_")[0][1:]) for name in bounds} == {*cases}


@pytest.mark.parametrize(
    ("pacing", "window", "state"),
    [
        (739 / 256, 739 / 256, "STARTUP"),  # Linux's: 2.885
        (2.77, 2, "STARTUP"),  # the draft's
        (88 / 256, 739 / 256, "DRAIN"),
        (0.5, 2, "DRAIN"),
        (1.25, 2.25, "UP"),
        (0.75, 2, "DOWN"),
        (0.9, 2, "DOWN"),
        (1, 2, "CRUISE"),
        (1, 1, "PROBE_RTT"),  # Linux's
        (1, 0.5, "PROBE_RTT"),  # the draft's
    ],
)
def test_gains_tell_the_state(pacing: float, window: float, state: str) -> None:
    assert state_of(pacing, window) == state


def test_the_table_counts_what_is_within_the_bounds() -> None:
    tables = study_at("bbr").module("plots")

    class Run:
        cc = "bbr"

        def __init__(self, era: str, value: float) -> None:
            self.era, self.value = era, value

    runs = [Run("modern", 3), Run("modern", 5), Run("modern@linux-7.2", 3)]
    metrics = {"a1_rounds": Metric("A.1: rounds", ""), "a1_drain": Metric("A.1: drain", "%")}
    bounds = {"a1_rounds": (2.0, 4.0), "a1_drain": (100.0, 100.0)}
    means = tables.numbers(
        runs, lambda run: {"a1_rounds": run.value, "a1_drain": 100}, metrics, bounds
    )
    (row,) = tables.by_case(means, {1: "STARTUP ends."}).to_dict("records")
    assert (row["bbr, 6.12"], row["bbr, 7.2"]) == ("1 of 2", "yes")
    first = tables.by_number(means).set_index("measured")
    assert list(first["bbr, 6.12"]) == ["4 (no)", "100"]
    assert list(first["asked"]) == ["2 to 4", "100"]


@pytest.mark.kernel
def test_a_control_with_the_hooks_of_bbr_is_a_module_of_ones_own(tmp_path: Path) -> None:
    study = tmp_path / "own"
    study.mkdir()
    shutil.copytree(STUDY / "programs", study / "programs")
    (study / "steady").mkdir()
    (study / "steady/Kbuild").write_text("obj-m := tcp_steady.o\n")
    (study / "steady/tcp_steady.c").write_text(f"// SPDX-License-Identifier: GPL-2.0\n{MODULE}")
    text = (STUDY / "study.yaml").read_text()
    text, changed = re.subn(r"(tcp_congestion_control\))'", r"\1 13'", text)
    assert changed == 1
    text = text.replace("study: bbr", "study: own").replace("    measure: cases\n", "", 1)
    text = text.replace("\nexperiments:", "\ncontrols: {steady: {module: steady}}\nexperiments:", 1)
    (study / "study.yaml").write_text(text)
    emulate = [sys.executable, "-m", "qdisclab.emulate.cli", "run", f"{study}/cases", "--trust"]
    done = captured(
        [*emulate, "--cc", "steady", "--seed", "1", "--output", str(tmp_path / "data")], cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "data").rglob("*.rows.jsonl.gz")
    (row,) = read_rows(path)
    assert row["case"] == 13
    assert row["use"] == pytest.approx(100 * 10 / (20 * 1448 / 1514), abs=1)
    assert row["more"] == 0


def test_queues_without_packets_make_no_twins() -> None:
    """This study's queues are its script's own: those of its rig have none."""
    idle: dict[str, object] = {"packets": 0, "kind": "tbf"}
    assert counters({"qdiscs": {"lab": {"qdiscs": [idle]}}}) == ""
    assert counters({"qdiscs": {"lab": {"qdiscs": [idle, {"packets": 1}]}}})
    assert counters({"qdiscs": {}}) == ""
