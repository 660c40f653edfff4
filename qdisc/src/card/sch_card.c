// SPDX-License-Identifier: GPL-2.0
/*
 * A delay line that ends in a network card which moderates its interrupts.
 *
 * A card that receives a frame waits before it interrupts the host, and then
 * keeps a least time from one interrupt to the next. All frames that arrive in
 * between enter the host together.
 *
 * A packet arrives hold_us after it came, but no sooner after the packet before
 * than a wire of link_mbit takes for it. The card interrupts delay_us after the
 * first packet that waits, and no sooner than gap_us after the last interrupt.
 * All are module parameters, read when the qdisc is made.
 */

#include <linux/math64.h>
#include <linux/module.h>
#include <linux/timekeeping.h>
#include <net/pkt_sched.h>

#define CARD_LIMIT	100000	/* packets; never reached */
#define CARD_FRAMING	24	/* bytes: checksum, preamble and gap of Ethernet */

static uint hold_us = 23000;
module_param(hold_us, uint, 0644);
MODULE_PARM_DESC(hold_us, "how long a packet is held at least (us)");

static uint gap_us = 250;
module_param(gap_us, uint, 0644);
MODULE_PARM_DESC(gap_us, "the least time from one interrupt to the next (us)");

static uint delay_us = 32;
module_param(delay_us, uint, 0644);
MODULE_PARM_DESC(delay_us, "how long the first packet waits for an interrupt (us)");

static uint link_mbit = 100;
module_param(link_mbit, uint, 0644);
MODULE_PARM_DESC(link_mbit, "rate of the wire (Mbit/s)");

struct card_sched_data {
	u64			hold_ns;
	u64			gap_ns;
	u64			delay_ns;
	u64			arrived_ns;	/* the last packet, at the card */
	u64			interrupt_ns;	/* the last one, or the next */
	u32			link_mbit;
	struct qdisc_watchdog	watchdog;
};

struct card_skb_cb {
	u64			leaves_ns;
};

static struct card_skb_cb *card_cb(const struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct card_skb_cb));
	return (struct card_skb_cb *)qdisc_skb_cb(skb)->data;
}

static int card_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			 struct sk_buff **to_free)
{
	struct card_sched_data *q = qdisc_priv(sch);
	u64 wire_ns = div_u64((u64)(skb->len + CARD_FRAMING) * 8000, q->link_mbit);

	if (unlikely(sch->q.qlen >= sch->limit))
		return qdisc_drop(skb, sch, to_free);
	q->arrived_ns = max(ktime_get_ns() + q->hold_ns, q->arrived_ns + wire_ns);
	if (q->arrived_ns > q->interrupt_ns)
		q->interrupt_ns = max(q->arrived_ns + q->delay_ns,
				      q->interrupt_ns + q->gap_ns);
	card_cb(skb)->leaves_ns = q->interrupt_ns;
	return qdisc_enqueue_tail(skb, sch);
}

static struct sk_buff *card_dequeue(struct Qdisc *sch)
{
	struct card_sched_data *q = qdisc_priv(sch);
	struct sk_buff *skb = qdisc_peek_head(sch);

	if (!skb)
		return NULL;
	if (card_cb(skb)->leaves_ns > ktime_get_ns()) {
		qdisc_watchdog_schedule_ns(&q->watchdog, card_cb(skb)->leaves_ns);
		return NULL;
	}
	return qdisc_dequeue_head(sch);
}

static int card_init(struct Qdisc *sch, struct nlattr *opt,
		      struct netlink_ext_ack *extack)
{
	struct card_sched_data *q = qdisc_priv(sch);

	qdisc_watchdog_init(&q->watchdog, sch);
	if (!link_mbit) {
		NL_SET_ERR_MSG(extack, "link_mbit must not be 0");
		return -EINVAL;
	}
	q->hold_ns = (u64)hold_us * NSEC_PER_USEC;
	q->gap_ns = (u64)gap_us * NSEC_PER_USEC;
	q->delay_ns = (u64)delay_us * NSEC_PER_USEC;
	q->link_mbit = link_mbit;
	sch->limit = CARD_LIMIT;
	return 0;
}

static void card_reset(struct Qdisc *sch)
{
	struct card_sched_data *q = qdisc_priv(sch);

	qdisc_reset_queue(sch);
	qdisc_watchdog_cancel(&q->watchdog);
}

static void card_destroy(struct Qdisc *sch)
{
	struct card_sched_data *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
}

static struct Qdisc_ops card_qdisc_ops __read_mostly = {
	.id		= "card",
	.priv_size	= sizeof(struct card_sched_data),
	.enqueue	= card_enqueue,
	.dequeue	= card_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= card_init,
	.reset		= card_reset,
	.destroy	= card_destroy,
	.owner		= THIS_MODULE,
};

static int __init card_module_init(void)
{
	return register_qdisc(&card_qdisc_ops);
}

static void __exit card_module_exit(void)
{
	unregister_qdisc(&card_qdisc_ops);
}

module_init(card_module_init)
module_exit(card_module_exit)
MODULE_DESCRIPTION("Delay line with a card that moderates interrupts");
MODULE_LICENSE("GPL");
