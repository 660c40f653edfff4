// SPDX-License-Identifier: GPL-2.0
/*
 * RING, a qdisc around another one that is what a network card has below it.
 *
 * A driver takes packets from the root qdisc for as long as its ring has a
 * free descriptor, and no packet that is in the ring is seen by the qdisc any
 * more. That of an RTL-8139 (8139too) has four descriptors and, as the driver
 * knows no byte queue limits, all four are used. On the wire a frame takes more
 * bytes than a shaper above the card counts: a checksum (4), a preamble (8) and
 * the gap to the next frame (12).
 *
 * A packet is taken from the qdisc inside as soon as a descriptor is free, and
 * leaves when the wire has sent it, which frees its descriptor. Descriptors,
 * framing and rate are module parameters, read when the qdisc is made.
 *
 * A shaper of the same rate may be around this one. It never waits, as the wire
 * is slower by the framing.
 */

#include <linux/if_ether.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/skbuff.h>
#include <linux/timekeeping.h>
#include <net/pkt_sched.h>

#define RING_MOST	64	/* descriptors */

static uint descriptors = 4;
module_param(descriptors, uint, 0644);
MODULE_PARM_DESC(descriptors, "packets that the card holds (1 to 64)");

static uint framing = 24;
module_param(framing, uint, 0644);
MODULE_PARM_DESC(framing, "what a frame takes on the wire beside itself (bytes)");

static ulong rate_bit_s = 10000000;
module_param(rate_bit_s, ulong, 0644);
MODULE_PARM_DESC(rate_bit_s, "rate of the wire (bit/s)");

/* Not in skb->cb, which belongs to the qdisc inside. */
struct ring_descriptor {
	struct sk_buff		*skb;
	u64			leaves_ns;
};

struct ring_sched_data {
	struct Qdisc		*qdisc;		/* the only class's */
	struct ring_descriptor	ring[RING_MOST];
	u32			first;		/* the one that leaves next */
	u32			used;
	u32			descriptors;
	u32			framing;
	u64			rate_bit_s;
	u64			sent_ns;	/* when the wire has sent all */
	struct qdisc_watchdog	watchdog;
};

/*
 * What a driver does: take packets while there is a free descriptor. A shaper
 * above the card, as HTB, asks the qdisc inside only while that has packets, and
 * so does this one: CoDel and RED take a dequeue that finds nothing for the end
 * of a queue (see also sch_idle.c).
 */
static void ring_fill(struct ring_sched_data *q)
{
	struct ring_descriptor *free;
	struct sk_buff *skb;
	u64 bytes;

	while (q->used < q->descriptors && q->qdisc->q.qlen) {
		skb = q->qdisc->dequeue(q->qdisc);
		if (!skb)	/* it holds its packets back, and asks to be called later */
			return;
		bytes = max_t(u32, skb->len, ETH_ZLEN) + q->framing;
		q->sent_ns = max(ktime_get_ns(), q->sent_ns) +
			     div64_u64(bytes * BITS_PER_BYTE * NSEC_PER_SEC, q->rate_bit_s);
		free = &q->ring[(q->first + q->used++) % RING_MOST];
		free->skb = skb;
		free->leaves_ns = q->sent_ns;
	}
}

static int ring_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct ring_sched_data *q = qdisc_priv(sch);
	unsigned int len = qdisc_pkt_len(skb);
	int ret = qdisc_enqueue(skb, q->qdisc, to_free);

	if (ret != NET_XMIT_SUCCESS) {
		if (net_xmit_drop_count(ret))
			qdisc_qstats_drop(sch);
		return ret;
	}
	/* Before the packet is taken: what the qdisc inside drops then is subtracted from these. */
	sch->qstats.backlog += len;
	sch->q.qlen++;
	ring_fill(q);
	return NET_XMIT_SUCCESS;
}

static struct sk_buff *ring_dequeue(struct Qdisc *sch)
{
	struct ring_sched_data *q = qdisc_priv(sch);
	struct ring_descriptor *next = &q->ring[q->first];
	struct sk_buff *skb = NULL;

	if (q->used && next->leaves_ns <= ktime_get_ns()) {
		skb = next->skb;
		q->first = (q->first + 1) % RING_MOST;
		q->used--;
		qdisc_qstats_backlog_dec(sch, skb);
		sch->q.qlen--;
		qdisc_bstats_update(sch, skb);
	}
	ring_fill(q);
	if (!skb && q->used)
		qdisc_watchdog_schedule_ns(&q->watchdog, q->ring[q->first].leaves_ns);
	return skb;
}

static int ring_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct ring_sched_data *q = qdisc_priv(sch);

	qdisc_watchdog_init(&q->watchdog, sch);
	if (!descriptors || descriptors > RING_MOST) {
		NL_SET_ERR_MSG(extack, "descriptors must be 1 to 64");
		return -EINVAL;
	}
	if (!rate_bit_s) {
		NL_SET_ERR_MSG(extack, "rate_bit_s must not be 0");
		return -EINVAL;
	}
	sch->flags |= TCQ_F_WARN_NONWC;	/* it holds packets back; HTB need not warn of that */
	q->descriptors = descriptors;
	q->framing = framing;
	q->rate_bit_s = rate_bit_s;
	q->qdisc = qdisc_create_dflt(sch->dev_queue, &pfifo_qdisc_ops,
				     TC_H_MAKE(sch->handle, 1), extack);
	if (!q->qdisc)
		q->qdisc = &noop_qdisc;
	return 0;
}

static void ring_reset(struct Qdisc *sch)
{
	struct ring_sched_data *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
	for (; q->used; q->used--) {
		kfree_skb(q->ring[q->first].skb);
		q->first = (q->first + 1) % RING_MOST;
	}
	q->sent_ns = 0;
	qdisc_reset(q->qdisc);
}

static void ring_destroy(struct Qdisc *sch)
{
	struct ring_sched_data *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
	qdisc_put(q->qdisc);	/* none where init failed */
}

static int ring_dump_class(struct Qdisc *sch, unsigned long cl, struct sk_buff *skb,
			   struct tcmsg *tcm)
{
	struct ring_sched_data *q = qdisc_priv(sch);

	tcm->tcm_handle |= TC_H_MIN(1);
	tcm->tcm_info = q->qdisc->handle;
	return 0;
}

static int ring_graft(struct Qdisc *sch, unsigned long arg, struct Qdisc *new, struct Qdisc **old,
		      struct netlink_ext_ack *extack)
{
	struct ring_sched_data *q = qdisc_priv(sch);

	*old = qdisc_replace(sch, new ? new : &noop_qdisc, &q->qdisc);
	return 0;
}

static struct Qdisc *ring_leaf(struct Qdisc *sch, unsigned long arg)
{
	struct ring_sched_data *q = qdisc_priv(sch);

	return q->qdisc;
}

static unsigned long ring_find(struct Qdisc *sch, u32 classid)
{
	return TC_H_MIN(classid) == 1;
}

static void ring_walk(struct Qdisc *sch, struct qdisc_walker *walker)
{
	if (!walker->stop)
		tc_qdisc_stats_dump(sch, 1, walker);
}

static const struct Qdisc_class_ops ring_class_ops = {
	.graft		= ring_graft,
	.leaf		= ring_leaf,
	.find		= ring_find,
	.walk		= ring_walk,
	.dump		= ring_dump_class,
};

static struct Qdisc_ops ring_qdisc_ops __read_mostly = {
	.cl_ops		= &ring_class_ops,
	.id		= "ring",
	.priv_size	= sizeof(struct ring_sched_data),
	.enqueue	= ring_enqueue,
	.dequeue	= ring_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= ring_init,
	.reset		= ring_reset,
	.destroy	= ring_destroy,
	.owner		= THIS_MODULE,
};

static int __init ring_module_init(void)
{
	return register_qdisc(&ring_qdisc_ops);
}

static void __exit ring_module_exit(void)
{
	unregister_qdisc(&ring_qdisc_ops);
}

module_init(ring_module_init)
module_exit(ring_module_exit)
MODULE_DESCRIPTION("Ring of descriptors below a qdisc");
MODULE_LICENSE("GPL");
