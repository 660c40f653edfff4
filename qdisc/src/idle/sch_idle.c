// SPDX-License-Identifier: GPL-2.0
/*
 * IDLE, a qdisc around another one that lets that see when it is empty.
 *
 * RED lets its average decay over the time for which it was idle, and takes for the beginning of
 * that time a dequeue that found nothing (net/sched/sch_red.c, red_dequeue). As the root of a device
 * it is asked until it has nothing left, and after each packet, also after one that it has dropped.
 * HTB and TBF ask only while there is something, so inside of them RED is never idle: its average
 * stays where it was, and if that is above max it drops whatever comes, for good. This one, between
 * HTB and RED, asks as the root is asked.
 */

#include <linux/module.h>
#include <linux/skbuff.h>
#include <net/pkt_sched.h>

struct idle_sched_data {
	struct Qdisc *qdisc;	/* the only class's */
};

/* One more question to a qdisc that has nothing, and so knows that it is idle. */
static void idle_tell(struct Qdisc *child)
{
	if (!child->q.qlen)
		child->dequeue(child);
}

static int idle_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct idle_sched_data *q = qdisc_priv(sch);
	unsigned int len = qdisc_pkt_len(skb);
	int ret = qdisc_enqueue(skb, q->qdisc, to_free);

	if (ret != NET_XMIT_SUCCESS) {
		if (net_xmit_drop_count(ret))
			qdisc_qstats_drop(sch);
		idle_tell(q->qdisc);
		return ret;
	}
	sch->qstats.backlog += len;
	sch->q.qlen++;
	return NET_XMIT_SUCCESS;
}

static struct sk_buff *idle_dequeue(struct Qdisc *sch)
{
	struct idle_sched_data *q = qdisc_priv(sch);
	struct sk_buff *skb = q->qdisc->dequeue(q->qdisc);

	if (!skb)
		return NULL;
	qdisc_qstats_backlog_dec(sch, skb);
	sch->q.qlen--;
	qdisc_bstats_update(sch, skb);
	idle_tell(q->qdisc);
	return skb;
}

static int idle_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct idle_sched_data *q = qdisc_priv(sch);

	q->qdisc = qdisc_create_dflt(sch->dev_queue, &pfifo_qdisc_ops,
				     TC_H_MAKE(sch->handle, 1), extack);
	if (!q->qdisc)
		q->qdisc = &noop_qdisc;
	return 0;
}

static void idle_reset(struct Qdisc *sch)
{
	struct idle_sched_data *q = qdisc_priv(sch);

	qdisc_reset(q->qdisc);
}

static void idle_destroy(struct Qdisc *sch)
{
	struct idle_sched_data *q = qdisc_priv(sch);

	qdisc_put(q->qdisc);
}

static int idle_dump_class(struct Qdisc *sch, unsigned long cl, struct sk_buff *skb,
			   struct tcmsg *tcm)
{
	struct idle_sched_data *q = qdisc_priv(sch);

	tcm->tcm_handle |= TC_H_MIN(1);
	tcm->tcm_info = q->qdisc->handle;
	return 0;
}

static int idle_graft(struct Qdisc *sch, unsigned long arg, struct Qdisc *new, struct Qdisc **old,
		      struct netlink_ext_ack *extack)
{
	struct idle_sched_data *q = qdisc_priv(sch);

	*old = qdisc_replace(sch, new ? new : &noop_qdisc, &q->qdisc);
	return 0;
}

static struct Qdisc *idle_leaf(struct Qdisc *sch, unsigned long arg)
{
	struct idle_sched_data *q = qdisc_priv(sch);

	return q->qdisc;
}

static unsigned long idle_find(struct Qdisc *sch, u32 classid)
{
	return 1;
}

static void idle_walk(struct Qdisc *sch, struct qdisc_walker *walker)
{
	if (!walker->stop)
		tc_qdisc_stats_dump(sch, 1, walker);
}

static const struct Qdisc_class_ops idle_class_ops = {
	.graft		= idle_graft,
	.leaf		= idle_leaf,
	.find		= idle_find,
	.walk		= idle_walk,
	.dump		= idle_dump_class,
};

static struct Qdisc_ops idle_qdisc_ops __read_mostly = {
	.cl_ops		= &idle_class_ops,
	.id		= "idle",
	.priv_size	= sizeof(struct idle_sched_data),
	.enqueue	= idle_enqueue,
	.dequeue	= idle_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= idle_init,
	.reset		= idle_reset,
	.destroy	= idle_destroy,
	.owner		= THIS_MODULE,
};

static int __init idle_module_init(void)
{
	return register_qdisc(&idle_qdisc_ops);
}

static void __exit idle_module_exit(void)
{
	unregister_qdisc(&idle_qdisc_ops);
}

module_init(idle_module_init)
module_exit(idle_module_exit)
MODULE_DESCRIPTION("Lets the qdisc inside see when it is idle");
MODULE_LICENSE("GPL");
