"""A qdisc of the user's own whose options `tc` cannot show, run in a guest."""

import json
from pathlib import Path

import pytest

from qdisclab.emulate import cli
from tests import write_files

pytestmark = pytest.mark.kernel

STUDY = """\
format: 1
study: dumping
title: A qdisc that dumps an option and has no plugin of tc
rig: {kind: daisy_chain, base_rtt: 40 ms, edge_rate: 1 Gbit/s}
qdiscs: {x: {kind: x, module: src/x}}
experiments:
  e:
    title: Pings
    traffic:
      kind: programs
      length: 2 s
      programs: [{kind: ping, from: client, to: server, interval: 500 ms}]
    sweep: {link: [10/1], qdisc: [x], cc: [cubic]}
"""

SOURCE = """\
// SPDX-License-Identifier: GPL-2.0
#include <linux/module.h>
#include <net/pkt_sched.h>
static int x_enqueue(struct sk_buff *skb, struct Qdisc *q, struct sk_buff **to_free)
{
	return q->q.qlen < 100 ? qdisc_enqueue_tail(skb, q) : qdisc_drop(skb, q, to_free);
}
static int x_dump(struct Qdisc *q, struct sk_buff *skb)
{
	struct nlattr *options = nla_nest_start_noflag(skb, TCA_OPTIONS);

	if (!options || nla_put_u32(skb, 1, 100))
		return -EMSGSIZE;
	return nla_nest_end(skb, options);
}
static struct Qdisc_ops x_ops = {
	.id = "x", .enqueue = x_enqueue, .dequeue = qdisc_dequeue_head, .peek = qdisc_peek_head,
	.reset = qdisc_reset_queue, .dump = x_dump, .owner = THIS_MODULE,
};
static int __init x_init(void) { return register_qdisc(&x_ops); }
static void __exit x_exit(void) { unregister_qdisc(&x_ops); }
module_init(x_init);
module_exit(x_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("a FIFO that dumps an option");
"""


def test_it_runs_and_its_packets_are_counted(tmp_path: Path) -> None:
    texts = {"study.yaml": STUDY, "src/x/Kbuild": "obj-m := sch_x.o\n", "src/x/sch_x.c": SOURCE}
    folder = write_files(tmp_path / "dumping", texts)
    assert cli.main(["run", f"{folder}/e", "--trust", "--seed", "1"]) == 0
    (record,) = (folder / "data").rglob("seed-001.json")
    qdiscs = [
        qdisc
        for port in json.loads(record.read_text())["qdiscs"].values()
        for qdisc in (port if isinstance(port, list) else port["qdiscs"])
        if qdisc["kind"] == "x"
    ]
    assert len(qdiscs) == 2
    assert all(qdisc["packets"] >= 4 for qdisc in qdiscs)
