// SPDX-License-Identifier: GPL-2.0
/*
 * A delay line whose packets leave at the ticks of a clock, as dummynet's do.
 *
 * dummynet, which added the latency in the testbed of gbw2015, looks for packets
 * that are due once a tick of the kernel's timer: at 250 Hz once in 4 ms. All
 * that became due in between leave together. netem's packets leave when they are
 * due, to the nanosecond.
 *
 * A packet is due hold_us after it came and leaves at the next multiple of
 * tick_us. Both are module parameters, read when the qdisc is made.
 */

#include <linux/math64.h>
#include <linux/module.h>
#include <linux/timekeeping.h>
#include <net/pkt_sched.h>

#define TICKS_LIMIT	100000	/* packets; never reached */

static uint hold_us = 23000;
module_param(hold_us, uint, 0644);
MODULE_PARM_DESC(hold_us, "how long a packet is held at least (us)");

static uint tick_us = 4000;
module_param(tick_us, uint, 0644);
MODULE_PARM_DESC(tick_us, "packets leave at multiples of this time (us)");

struct ticks_sched_data {
	u64			hold_ns;
	u64			tick_ns;
	struct qdisc_watchdog	watchdog;
};

struct ticks_skb_cb {
	u64			leaves_ns;
};

static struct ticks_skb_cb *ticks_cb(const struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct ticks_skb_cb));
	return (struct ticks_skb_cb *)qdisc_skb_cb(skb)->data;
}

static int ticks_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			 struct sk_buff **to_free)
{
	struct ticks_sched_data *q = qdisc_priv(sch);
	u64 due = ktime_get_ns() + q->hold_ns;

	if (unlikely(sch->q.qlen >= sch->limit))
		return qdisc_drop(skb, sch, to_free);
	ticks_cb(skb)->leaves_ns = DIV64_U64_ROUND_UP(due, q->tick_ns) * q->tick_ns;
	return qdisc_enqueue_tail(skb, sch);
}

static struct sk_buff *ticks_dequeue(struct Qdisc *sch)
{
	struct ticks_sched_data *q = qdisc_priv(sch);
	struct sk_buff *skb = qdisc_peek_head(sch);

	if (!skb)
		return NULL;
	if (ticks_cb(skb)->leaves_ns > ktime_get_ns()) {
		qdisc_watchdog_schedule_ns(&q->watchdog, ticks_cb(skb)->leaves_ns);
		return NULL;
	}
	return qdisc_dequeue_head(sch);
}

static int ticks_init(struct Qdisc *sch, struct nlattr *opt,
		      struct netlink_ext_ack *extack)
{
	struct ticks_sched_data *q = qdisc_priv(sch);

	qdisc_watchdog_init(&q->watchdog, sch);
	if (!tick_us) {
		NL_SET_ERR_MSG(extack, "tick_us must not be 0");
		return -EINVAL;
	}
	q->hold_ns = (u64)hold_us * NSEC_PER_USEC;
	q->tick_ns = (u64)tick_us * NSEC_PER_USEC;
	sch->limit = TICKS_LIMIT;
	return 0;
}

static void ticks_reset(struct Qdisc *sch)
{
	struct ticks_sched_data *q = qdisc_priv(sch);

	qdisc_reset_queue(sch);
	qdisc_watchdog_cancel(&q->watchdog);
}

static void ticks_destroy(struct Qdisc *sch)
{
	struct ticks_sched_data *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
}

static struct Qdisc_ops ticks_qdisc_ops __read_mostly = {
	.id		= "ticks",
	.priv_size	= sizeof(struct ticks_sched_data),
	.enqueue	= ticks_enqueue,
	.dequeue	= ticks_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= ticks_init,
	.reset		= ticks_reset,
	.destroy	= ticks_destroy,
	.owner		= THIS_MODULE,
};

static int __init ticks_module_init(void)
{
	return register_qdisc(&ticks_qdisc_ops);
}

static void __exit ticks_module_exit(void)
{
	unregister_qdisc(&ticks_qdisc_ops);
}

module_init(ticks_module_init)
module_exit(ticks_module_exit)
MODULE_DESCRIPTION("Delay line with a clock that ticks");
MODULE_LICENSE("GPL");
