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
 * A packet is taken from the qdisc inside as soon as a descriptor is free and
 * HTB, between the two on a computer, lets it go; it leaves when the wire has
 * sent it, which frees its descriptor. HTB has the rate of the wire, and counts
 * packets without the framing, so that the ring fills by and by while there is a
 * queue: at 10 Mbit/s by one packet in 64. All numbers are module parameters,
 * read when the qdisc is made.
 *
 * The HTB that is around this qdisc never waits: what leaves here is slower.
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
MODULE_PARM_DESC(rate_bit_s, "rate of the wire, and of HTB (bit/s)");

static uint bucket = 1600;
module_param(bucket, uint, 0644);
MODULE_PARM_DESC(bucket, "size of HTB's bucket (bytes)");

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
	s64			bucket_ns;	/* HTB's, in the time that they take */
	s64			tokens_ns;	/* in it at counted_ns; less than 0 after a packet */
	u64			counted_ns;
	struct qdisc_watchdog	watchdog;
};

static u64 ring_time_ns(const struct ring_sched_data *q, u64 bytes)
{
	return div64_u64(bytes * BITS_PER_BYTE * NSEC_PER_SEC, q->rate_bit_s);
}

/* Whether HTB lets a packet go: while there are tokens, however few. */
static bool ring_has_tokens(struct ring_sched_data *q)
{
	u64 now = ktime_get_ns();

	q->tokens_ns = min_t(s64, q->bucket_ns, q->tokens_ns + (s64)(now - q->counted_ns));
	q->counted_ns = now;
	return q->tokens_ns >= 0;
}

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

	while (q->used < q->descriptors && q->qdisc->q.qlen && ring_has_tokens(q)) {
		skb = q->qdisc->dequeue(q->qdisc);
		if (!skb)	/* it holds its packets back, and asks to be called later */
			return;
		q->tokens_ns -= ring_time_ns(q, qdisc_pkt_len(skb));
		bytes = max_t(u32, skb->len, ETH_ZLEN) + q->framing;
		q->sent_ns = max(q->counted_ns, q->sent_ns) + ring_time_ns(q, bytes);
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

/* When a packet leaves, or HTB lets one go for a descriptor that is free. */
static u64 ring_next_ns(const struct ring_sched_data *q)
{
	u64 leaves_ns = q->used ? q->ring[q->first].leaves_ns : U64_MAX;
	u64 tokens_ns = U64_MAX;

	if (q->used < q->descriptors && q->qdisc->q.qlen && q->tokens_ns < 0)
		tokens_ns = q->counted_ns - q->tokens_ns;
	return min(leaves_ns, tokens_ns);
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
	if (!skb && sch->q.qlen)
		qdisc_watchdog_schedule_ns(&q->watchdog, ring_next_ns(q));
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
	q->bucket_ns = ring_time_ns(q, bucket);
	q->tokens_ns = q->bucket_ns;
	q->counted_ns = ktime_get_ns();
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
	q->tokens_ns = q->bucket_ns;
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
