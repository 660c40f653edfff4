// SPDX-License-Identifier: GPL-2.0
/*
 * AIMD: additive increase by `increase` segments a round trip, multiplicative decrease by `decrease`
 * percent of the window, and nothing else.
 *
 * With 1 and 50 it is Reno. The throughput of a flow that loses a share p of its packets is
 * sqrt(increase * (2 - b) / (2 * b * p)) packets a round trip, b the decrease as a part of one
 * (Floyd, Handley and Padhye, "A Comparison of Equation-Based and AIMD Congestion Control", 2000):
 * 1 and 50 share a queue with `increase` 0.2 and `decrease` 12.5 as equals.
 */

#include <linux/module.h>
#include <net/tcp.h>

static unsigned int increase = 1000;
module_param(increase, uint, 0644);
MODULE_PARM_DESC(increase, "thousandths of a segment that the window grows by in a round trip");

static unsigned int decrease = 500;
module_param(decrease, uint, 0644);
MODULE_PARM_DESC(decrease, "thousandths of the window that a loss or a mark takes");

#define WHOLE	1000u

/* What acknowledgments have added to the window and is less than a segment. */
struct aimd {
	u32 grown;	/* segments / (WHOLE * window) */
};

static void aimd_init(struct sock *sk)
{
	struct aimd *ca = inet_csk_ca(sk);

	ca->grown = 0;
}

static u32 aimd_ssthresh(struct sock *sk)
{
	u32 window = tcp_snd_cwnd(tcp_sk(sk));
	u32 lost = mult_frac(window, min(decrease, WHOLE), WHOLE);

	return max(window - max(lost, 1u), 2u);
}

static void aimd_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct aimd *ca = inet_csk_ca(sk);
	u64 segment;

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	segment = (u64)WHOLE * tcp_snd_cwnd(tp);
	ca->grown += acked * increase;
	if (ca->grown >= segment) {
		tcp_snd_cwnd_set(tp, min(tcp_snd_cwnd(tp) + 1, tp->snd_cwnd_clamp));
		ca->grown -= segment;
	}
}

static struct tcp_congestion_ops aimd __read_mostly = {
	.init		= aimd_init,
	.ssthresh	= aimd_ssthresh,
	.cong_avoid	= aimd_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "aimd",
};

static int __init aimd_register(void)
{
	BUILD_BUG_ON(sizeof(struct aimd) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&aimd);
}

static void __exit aimd_unregister(void)
{
	tcp_unregister_congestion_control(&aimd);
}

module_init(aimd_register);
module_exit(aimd_unregister);
MODULE_DESCRIPTION("TCP congestion control: additive increase, multiplicative decrease");
MODULE_LICENSE("GPL");
