// SPDX-License-Identifier: GPL-2.0
/*
 * RAMP, the qdisc: a FIFO around the algorithm of ramp_impl.h, and its options.
 *
 * An example to start from: docs/evaluate-your-qdisc.md.
 */

#include <linux/module.h>
#include <linux/skbuff.h>
#include <net/inet_ecn.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>

#include "ramp.h"
#include "ramp_impl.h"

#define RAMP_MAX	(__TCA_RAMP_MAX - 1)

struct ramp_sched_data {
	struct ramp_params params;
	struct ramp_stats stats;
};

struct ramp_skb_cb {
	u64 enqueued_ns;
};

static struct ramp_skb_cb *ramp_cb(const struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct ramp_skb_cb));
	return (struct ramp_skb_cb *)qdisc_skb_cb(skb)->data;
}

static int ramp_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct ramp_sched_data *q = qdisc_priv(sch);

	if (unlikely(qdisc_qlen(sch) >= q->params.limit)) {
		q->stats.overlimit++;
		return qdisc_drop(skb, sch, to_free);
	}
	ramp_cb(skb)->enqueued_ns = ktime_get_ns();
	return qdisc_enqueue_tail(skb, sch);
}

/* The next packet of the FIFO, no longer counted. */
static struct sk_buff *ramp_next(struct Qdisc *sch)
{
	struct sk_buff *skb = __qdisc_dequeue_head(&sch->q);

	if (skb)
		qdisc_qstats_backlog_dec(sch, skb);
	return skb;
}

static struct sk_buff *ramp_dequeue(struct Qdisc *sch)
{
	struct ramp_sched_data *q = qdisc_priv(sch);
	unsigned int packets = 0, bytes = 0;
	u64 now_ns = ktime_get_ns();
	struct sk_buff *skb;

	while ((skb = ramp_next(sch)) != NULL) {
		q->stats.delay_ns = now_ns - ramp_cb(skb)->enqueued_ns;
		if (!ramp_should_signal(&q->params, q->stats.delay_ns))
			break;
		if (q->params.ecn && INET_ECN_set_ce(skb)) {
			q->stats.marked++;
			break;
		}
		q->stats.dropped++;
		packets++;
		bytes += qdisc_pkt_len(skb);
		qdisc_qstats_drop(sch);
		kfree_skb(skb);
	}
	if (packets)
		qdisc_tree_reduce_backlog(sch, packets, bytes);
	if (skb)
		qdisc_bstats_update(sch, skb);
	return skb;
}

static const struct nla_policy ramp_policy[RAMP_MAX + 1] = {
	[TCA_RAMP_LIMIT]	= NLA_POLICY_MIN(NLA_U32, 1),
	[TCA_RAMP_MIN]		= { .type = NLA_U32 },
	[TCA_RAMP_MAX]		= NLA_POLICY_MIN(NLA_U32, 1),
	[TCA_RAMP_PROBABILITY]	= { .type = NLA_U32 },
	[TCA_RAMP_ECN]		= NLA_POLICY_MAX(NLA_U32, 1),
};

static int ramp_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct ramp_sched_data *q = qdisc_priv(sch);
	struct ramp_params asked = q->params;
	struct nlattr *tb[RAMP_MAX + 1];
	unsigned int packets = 0, bytes = 0;
	int err;

	err = nla_parse_nested(tb, RAMP_MAX, opt, ramp_policy, extack);
	if (err < 0)
		return err;
	if (tb[TCA_RAMP_LIMIT])
		asked.limit = nla_get_u32(tb[TCA_RAMP_LIMIT]);
	if (tb[TCA_RAMP_MIN])
		asked.min_us = nla_get_u32(tb[TCA_RAMP_MIN]);
	if (tb[TCA_RAMP_MAX])
		asked.max_us = nla_get_u32(tb[TCA_RAMP_MAX]);
	if (tb[TCA_RAMP_PROBABILITY])
		asked.probability = nla_get_u32(tb[TCA_RAMP_PROBABILITY]);
	if (tb[TCA_RAMP_ECN])
		asked.ecn = nla_get_u32(tb[TCA_RAMP_ECN]);
	if (asked.min_us >= asked.max_us) {
		NL_SET_ERR_MSG(extack, "ramp: min has to be less than max");
		return -EINVAL;
	}

	sch_tree_lock(sch);
	q->params = asked;
	while (sch->q.qlen > q->params.limit) {
		struct sk_buff *skb = ramp_next(sch);

		packets++;
		bytes += qdisc_pkt_len(skb);
		rtnl_qdisc_drop(skb, sch);
	}
	qdisc_tree_reduce_backlog(sch, packets, bytes);
	sch_tree_unlock(sch);
	return 0;
}

static int ramp_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct ramp_sched_data *q = qdisc_priv(sch);

	ramp_params_init(&q->params);
	return opt ? ramp_change(sch, opt, extack) : 0;
}

static int ramp_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct ramp_sched_data *q = qdisc_priv(sch);
	struct nlattr *nest = nla_nest_start_noflag(skb, TCA_OPTIONS);

	if (!nest)
		return -EMSGSIZE;
	if (nla_put_u32(skb, TCA_RAMP_LIMIT, q->params.limit) ||
	    nla_put_u32(skb, TCA_RAMP_MIN, q->params.min_us) ||
	    nla_put_u32(skb, TCA_RAMP_MAX, q->params.max_us) ||
	    nla_put_u32(skb, TCA_RAMP_PROBABILITY, q->params.probability) ||
	    nla_put_u32(skb, TCA_RAMP_ECN, q->params.ecn)) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, nest);
}

static int ramp_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct ramp_sched_data *q = qdisc_priv(sch);
	struct tc_ramp_xstats stats = {
		.delay_us = div_u64(q->stats.delay_ns, NSEC_PER_USEC),
		.dropped = q->stats.dropped,
		.marked = q->stats.marked,
		.overlimit = q->stats.overlimit,
	};

	return gnet_stats_copy_app(d, &stats, sizeof(stats));
}

static struct Qdisc_ops ramp_qdisc_ops __read_mostly = {
	.id		= "ramp",
	.priv_size	= sizeof(struct ramp_sched_data),
	.enqueue	= ramp_enqueue,
	.dequeue	= ramp_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= ramp_init,
	.reset		= qdisc_reset_queue,
	.change		= ramp_change,
	.dump		= ramp_dump,
	.dump_stats	= ramp_dump_stats,
	.owner		= THIS_MODULE,
};

static int __init ramp_module_init(void)
{
	return register_qdisc(&ramp_qdisc_ops);
}

static void __exit ramp_module_exit(void)
{
	unregister_qdisc(&ramp_qdisc_ops);
}

module_init(ramp_module_init)
module_exit(ramp_module_exit)
MODULE_DESCRIPTION("Drops with a probability that rises with the sojourn time");
MODULE_LICENSE("GPL");
