/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RAMP, the algorithm: which packets a queue that is too long gives up.
 *
 * RED (Floyd and Jacobson, 1993) drops with a probability that rises with the
 * length of the queue. In bytes that length means another delay at each rate,
 * so RED has to be set anew for each link. RAMP does the same with the time
 * that the packet has spent in the queue, as CoDel measures it: it needs no
 * average, since it looks at a packet when it leaves, and one setting serves
 * all rates.
 *
 *	probability
 *	1           +-----
 *	            |
 *	probability /
 *	           /
 *	0  -------+
 *	         min  max    sojourn time
 */
#ifndef RAMP_IMPL_H
#define RAMP_IMPL_H

#include <linux/math64.h>
#include <linux/random.h>
#include <linux/types.h>

struct ramp_params {
	u32 limit;		/* packets */
	u32 min_us;		/* up to here no packet is dropped */
	u32 max_us;		/* from here on every packet is */
	u32 probability;	/* just before max, of 2^32 */
	bool ecn;		/* mark instead of drop, where the sender takes part */
};

struct ramp_stats {
	u64 delay_ns;
	u32 dropped;
	u32 marked;
	u32 overlimit;
};

static inline void ramp_params_init(struct ramp_params *params)
{
	params->limit = 1000;		/* as PIE and CoDel */
	params->min_us = 5 * USEC_PER_MSEC;	/* CoDel's target */
	params->max_us = 100 * USEC_PER_MSEC;	/* CoDel's interval: a round trip */
	params->probability = U32_MAX / 10;	/* RED's usual max_p */
	params->ecn = false;
}

/* Whether a packet that waited for so long is one to drop or mark. */
static inline bool ramp_should_signal(const struct ramp_params *params, u64 delay_ns)
{
	u64 min_ns = (u64)params->min_us * NSEC_PER_USEC;
	u64 max_ns = (u64)params->max_us * NSEC_PER_USEC;

	if (delay_ns <= min_ns)
		return false;
	if (delay_ns >= max_ns)
		return true;
	/* 2^32 * 2^32 us would overflow; microseconds are exact enough. */
	return get_random_u32() < div_u64(div_u64(delay_ns - min_ns, NSEC_PER_USEC) *
					  params->probability,
					  params->max_us - params->min_us);
}

#endif
