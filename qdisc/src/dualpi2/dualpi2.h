/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Options and counters of DualPI2 as the kernel exchanges them (linux/pkt_sched.h, from 6.17 on).
 *
 * The headers that a plugin is built with may be older.
 */
#ifndef DUALPI2_H
#define DUALPI2_H

#include <linux/types.h>

enum {
	DUALPI2_LIMIT = 1,		/* packets */
	DUALPI2_MEMORY_LIMIT,		/* bytes */
	DUALPI2_TARGET,			/* us */
	DUALPI2_TUPDATE,		/* us */
	DUALPI2_ALPHA,			/* 1/256 Hz */
	DUALPI2_BETA,			/* 1/256 Hz */
	DUALPI2_STEP_PACKETS,		/* packets */
	DUALPI2_STEP_US,		/* us */
	DUALPI2_MIN_QLEN_STEP,		/* packets */
	DUALPI2_COUPLING,		/* 8 bits, as are those that follow */
	DUALPI2_DROP_OVERLOAD,
	DUALPI2_DROP_EARLY,
	DUALPI2_C_PROTECTION,		/* percent */
	DUALPI2_ECN_MASK,
	DUALPI2_SPLIT_GSO,
	DUALPI2_COUNT
};

/* Codepoints of ECN that lead into the queue of low latency: ECT(1) and CE, or any but Not-ECT. */
enum { L4S_ECT = 1, ANY_ECT = 3 };

struct dualpi2_counters {
	__u32 probability;		/* of the PI controller, p'; all ones are 1 */
	__u32 delay_c_us, delay_l_us;	/* now: classic queue, queue of low latency */
	__u32 packets_in_c, packets_in_l;
	__u32 max_queue;		/* packets */
	__u32 ecn_mark, step_mark;	/* packets, all and those by the step */
	__s32 credit;			/* of the protection of the classic queue */
	__u32 memory_used, max_memory_used, memory_limit;	/* bytes */
};

#endif
