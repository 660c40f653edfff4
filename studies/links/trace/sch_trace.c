// SPDX-License-Identifier: GPL-2.0
/*
 * A link whose packets leave when a trace lets them, as in Cellsim (K. Winstein et al., NSDI 2013)
 * and mahimahi: each line of the file is a millisecond in which 1500 bytes may leave. What is not
 * used then is lost; a longer packet waits for the next line, which has a rest for another. The
 * file is repeated. `trace` is a FIFO, `trace_codel` Linux's CoDel, as sch_codel.c has it.
 *
 * echo "DEVICE FILE" >/sys/module/sch_trace/parameters/play begins; until then nothing waits.
 */

#include <linux/kernel_read_file.h>
#include <linux/module.h>
#include <linux/vmalloc.h>
#include <net/codel.h>
#include <net/codel_impl.h>
#include <net/codel_qdisc.h>
#include <net/pkt_sched.h>

#define TRACE_LIMIT	1000000	/* packets; never reached */
#define TRACE_BYTES	1500	/* of a line */

struct trace_sched_data {
	struct list_head	all;
	struct Qdisc		*sch;
	u32			*ms;	/* the lines; NULL before the trace is played */
	size_t			lines, next;
	u64			began_ns;	/* of the round that is being played */
	u32			credit;
	bool			drops;
	struct codel_params	params;
	struct codel_vars	vars;
	struct codel_stats	stats;
	struct qdisc_watchdog	watchdog;
};

static LIST_HEAD(trace_all);	/* under the RTNL */

static u64 trace_next(const struct trace_sched_data *q)
{
	return q->began_ns + (u64)q->ms[q->next] * NSEC_PER_MSEC;
}

/* Takes what the trace has let until now, which is lost where nothing waits. */
static void trace_advance(struct trace_sched_data *q, bool is_lost)
{
	u64 now = ktime_get_ns();

	while (trace_next(q) <= now) {
		q->credit += TRACE_BYTES;
		if (++q->next == q->lines) {
			q->began_ns += (u64)q->ms[q->lines - 1] * NSEC_PER_MSEC;
			q->next = 0;
		}
	}
	if (is_lost)
		q->credit = 0;
}

static int trace_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct trace_sched_data *q = qdisc_priv(sch);

	if (unlikely(sch->q.qlen >= sch->limit))
		return qdisc_drop(skb, sch, to_free);
	if (q->ms && !sch->q.qlen)
		trace_advance(q, true);
	codel_set_enqueue_time(skb);
	return qdisc_enqueue_tail(skb, sch);
}

static struct sk_buff *trace_take(struct codel_vars *vars, void *sch)
{
	return qdisc_dequeue_head(sch);
}

static void trace_drop(struct sk_buff *skb, void *ctx)
{
	struct Qdisc *sch = ctx;

	kfree_skb_reason(skb, SKB_DROP_REASON_QDISC_DROP);
	qdisc_qstats_drop(sch);
}

static struct sk_buff *trace_dequeue(struct Qdisc *sch)
{
	struct trace_sched_data *q = qdisc_priv(sch);
	struct sk_buff *skb;

	if (!sch->q.head)
		return NULL;
	if (q->ms) {
		trace_advance(q, false);
		if (q->credit < qdisc_pkt_len(sch->q.head)) {
			qdisc_watchdog_schedule_ns(&q->watchdog, trace_next(q));
			return NULL;
		}
	}
	if (!q->drops || !q->ms)
		skb = qdisc_dequeue_head(sch);
	else
		skb = codel_dequeue(sch, &sch->qstats.backlog, &q->params, &q->vars, &q->stats,
				    qdisc_pkt_len, codel_get_enqueue_time, trace_drop, trace_take);
	if (q->stats.drop_count) {
		qdisc_tree_reduce_backlog(sch, q->stats.drop_count, q->stats.drop_len);
		q->stats.drop_count = 0;
		q->stats.drop_len = 0;
	}
	if (skb && q->ms)
		q->credit -= min(q->credit, qdisc_pkt_len(skb));
	if (!sch->q.qlen)
		q->credit = 0;
	return skb;
}

static int trace_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct trace_sched_data *q = qdisc_priv(sch);

	q->sch = sch;
	q->drops = !strcmp(sch->ops->id, "trace_codel");
	sch->limit = TRACE_LIMIT;
	codel_params_init(&q->params);	/* 5 ms, 100 ms */
	q->params.mtu = psched_mtu(qdisc_dev(sch));
	codel_vars_init(&q->vars);
	codel_stats_init(&q->stats);
	qdisc_watchdog_init(&q->watchdog, sch);
	list_add_tail(&q->all, &trace_all);
	return 0;
}

static void trace_reset(struct Qdisc *sch)
{
	struct trace_sched_data *q = qdisc_priv(sch);

	qdisc_reset_queue(sch);
	codel_vars_init(&q->vars);
	qdisc_watchdog_cancel(&q->watchdog);
}

static void trace_destroy(struct Qdisc *sch)
{
	struct trace_sched_data *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
	list_del(&q->all);
	vfree(q->ms);
}

/* The lines of a text as numbers that do not fall; NULL for any other. */
static u32 *trace_read(const char *text, size_t size, size_t *lines)
{
	u32 *ms = vmalloc_array(size / 2 + 1, sizeof(*ms));
	u32 number = 0, digits = 0;
	size_t at;

	*lines = 0;
	for (at = 0; ms && at <= size; at++) {
		char one = at < size ? text[at] : '\n';

		if (isdigit(one)) {
			number = 10 * number + one - '0';
			digits++;
		} else if (one == '\n' && digits && digits < 10 &&
			   (!*lines || number >= ms[*lines - 1])) {
			ms[(*lines)++] = number;
			number = 0;
			digits = 0;
		} else if (one != '\n' || digits) {
			*lines = 0;
			break;
		}
	}
	if (ms && *lines && ms[*lines - 1])
		return ms;
	vfree(ms);
	return NULL;
}

static int trace_play(const char *words, const struct kernel_param *kp)
{
	char device[IFNAMSIZ], *file, *path = kstrdup(words, GFP_KERNEL);
	struct trace_sched_data *q;
	int error = -ENODEV;
	void *text = NULL;
	ssize_t size;
	size_t lines;
	u32 *ms;

	if (!path)
		return -ENOMEM;
	file = strchr(strim(path), ' ');
	if (!file || file - path >= IFNAMSIZ) {
		kfree(path);
		return -EINVAL;
	}
	strscpy(device, path, file - path + 1);
	size = kernel_read_file_from_path(file + 1, 0, &text, INT_MAX, NULL, READING_UNKNOWN);
	kfree(path);
	if (size < 0)
		return size;
	ms = trace_read(text, size, &lines);
	vfree(text);
	if (!ms)
		return -EINVAL;
	rtnl_lock();
	list_for_each_entry(q, &trace_all, all) {
		if (strcmp(qdisc_dev(q->sch)->name, device) || q->ms)
			continue;
		sch_tree_lock(q->sch);
		q->lines = lines;
		q->began_ns = ktime_get_ns();
		q->ms = ms;
		sch_tree_unlock(q->sch);
		error = 0;
		break;
	}
	rtnl_unlock();
	if (error)
		vfree(ms);
	return error;
}

static const struct kernel_param_ops trace_play_ops = { .set = trace_play };
module_param_cb(play, &trace_play_ops, NULL, 0200);
MODULE_PARM_DESC(play, "a device and the file of its trace");

#define TRACE_OPS(name)						\
	{							\
		.id		= name,				\
		.priv_size	= sizeof(struct trace_sched_data),	\
		.enqueue	= trace_enqueue,		\
		.dequeue	= trace_dequeue,		\
		.peek		= qdisc_peek_dequeued,		\
		.init		= trace_init,			\
		.reset		= trace_reset,			\
		.destroy	= trace_destroy,		\
		.owner		= THIS_MODULE,			\
	}

static struct Qdisc_ops trace_ops[] = { TRACE_OPS("trace"), TRACE_OPS("trace_codel") };

static int __init trace_module_init(void)
{
	int error = register_qdisc(&trace_ops[0]);

	if (error)
		return error;
	error = register_qdisc(&trace_ops[1]);
	if (error)
		unregister_qdisc(&trace_ops[0]);
	return error;
}

static void __exit trace_module_exit(void)
{
	unregister_qdisc(&trace_ops[1]);
	unregister_qdisc(&trace_ops[0]);
}

module_init(trace_module_init)
module_exit(trace_module_exit)
MODULE_DESCRIPTION("A link that sends by a trace");
MODULE_LICENSE("GPL");
