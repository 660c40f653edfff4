/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RAMP's options and counters, as the kernel and tc exchange them.
 */
#ifndef RAMP_H
#define RAMP_H

#include <linux/types.h>

enum {
	TCA_RAMP_UNSPEC,
	TCA_RAMP_LIMIT,		/* u32, packets */
	TCA_RAMP_MIN,		/* u32, us */
	TCA_RAMP_MAX,		/* u32, us */
	TCA_RAMP_PROBABILITY,	/* u32, of 2^32 */
	TCA_RAMP_ECN,		/* u32, 0 or 1 */
	__TCA_RAMP_MAX
};

struct tc_ramp_xstats {
	__u32 delay_us;		/* sojourn time of the packet that left last */
	__u32 dropped;		/* for their sojourn time */
	__u32 marked;		/* instead of dropped */
	__u32 overlimit;	/* dropped since the queue was full */
};

#endif
