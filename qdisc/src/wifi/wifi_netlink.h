/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Options of a link of type "wifi", inside IFLA_INFO_DATA.
 *
 * All are u32 but for the two nests and the trace. What each means, where its
 * default is from and its range: docs/wifi.md; the range is in netlink.c, too.
 */

#ifndef _WIFI_NETLINK_H
#define _WIFI_NETLINK_H

enum {
	IFLA_WIFI_UNSPEC,
	/* of the medium: access points only */
	IFLA_WIFI_BAND,			/* GHz: 2 or 5 */
	IFLA_WIFI_SLOT,			/* us: 9 or 20 */
	IFLA_WIFI_BACKOFF,		/* enum wifi_backoff */
	IFLA_WIFI_EIFS,			/* 0 or 1 */
	IFLA_WIFI_SHORT_PREAMBLE,	/* 0 or 1 */
	/* of the device: channel access */
	IFLA_WIFI_AIFSN,		/* slots */
	IFLA_WIFI_CW_MIN,		/* slots, 2^n - 1 */
	IFLA_WIFI_CW_MAX,		/* slots, 2^n - 1 */
	IFLA_WIFI_RETRIES,		/* transmissions of a frame after the first */
	IFLA_WIFI_PROTECTION,		/* enum wifi_protection */
	IFLA_WIFI_PROTECTION_RATE,	/* 100 kbit/s */
	/* of the device: aggregation */
	IFLA_WIFI_SUBFRAMES,		/* frames an A-MPDU */
	IFLA_WIFI_AMPDU_BYTES,		/* bytes */
	IFLA_WIFI_AMPDU_TIME,		/* us */
	IFLA_WIFI_AHEAD,		/* PPDUs built before their turn */
	/* of the device: the driver's queue */
	IFLA_WIFI_RING,			/* frames */
	IFLA_WIFI_WAKE,			/* frames */
	IFLA_WIFI_BUFFER,		/* frames a destination; 0: as RING */
	IFLA_WIFI_LIMIT_BYTES,		/* bytes; 0: none */
	IFLA_WIFI_LIMIT_AIRTIME,	/* us; 0: none */
	IFLA_WIFI_SCHEDULER,		/* enum wifi_scheduler */
	IFLA_WIFI_OVERFLOW,		/* enum wifi_overflow */
	IFLA_WIFI_OVERHEAD,		/* bytes a frame, as 16 for CCMP */
	/* of a station: the channel in each direction */
	IFLA_WIFI_UP,			/* nest of IFLA_WIFI_CHANNEL_*: to the access point */
	IFLA_WIFI_DOWN,			/* nest of IFLA_WIFI_CHANNEL_*: from it */
	/* of the medium */
	IFLA_WIFI_APART,		/* us between frames that one PPDU brings; 0: all at once */
	IFLA_WIFI_BATCH,		/* frames that are handed over together */
	/* of the device */
	IFLA_WIFI_FORWARD,		/* us of the processor per frame; 0: none */
	__IFLA_WIFI_MAX,
};
#define IFLA_WIFI_MAX (__IFLA_WIFI_MAX - 1)

enum {
	IFLA_WIFI_CHANNEL_UNSPEC,
	IFLA_WIFI_CHANNEL_RATE,		/* 100 kbit/s; 0: MCS counts */
	IFLA_WIFI_CHANNEL_MCS,		/* 0 to 31 */
	IFLA_WIFI_CHANNEL_WIDTH,	/* MHz: 20 or 40 */
	IFLA_WIFI_CHANNEL_SHORT_GI,	/* 0 or 1 */
	IFLA_WIFI_CHANNEL_CONTROL,	/* enum wifi_rate_control */
	IFLA_WIFI_CHANNEL_LOSS,		/* 1e-6 */
	IFLA_WIFI_CHANNEL_BAD_LOSS,	/* 1e-6 */
	IFLA_WIFI_CHANNEL_GOOD,		/* us, mean; 0: always good */
	IFLA_WIFI_CHANNEL_BAD,		/* us, mean */
	IFLA_WIFI_CHANNEL_SNR,		/* 0.1 dB; 0: loss does not depend on the rate */
	IFLA_WIFI_CHANNEL_TRACE,	/* array of struct wifi_trace_step */
	IFLA_WIFI_CHANNEL_RESIDUAL,	/* 1e-6: acknowledged, and lost nevertheless */
	__IFLA_WIFI_CHANNEL_MAX,
};
#define IFLA_WIFI_CHANNEL_MAX (__IFLA_WIFI_CHANNEL_MAX - 1)

/* A step of a trace: the channel's SNR from there on; the trace repeats itself. */
struct wifi_trace_step {
	__u32	us;			/* length of the step */
	__u32	snr;			/* 0.1 dB */
};

enum wifi_backoff {
	WIFI_BACKOFF_DCF,		/* a busy slot does not count down */
	WIFI_BACKOFF_EDCA,		/* it does */
	__WIFI_BACKOFF_MAX,
};

enum wifi_protection {
	WIFI_PROTECTION_NONE,
	WIFI_PROTECTION_CTS,		/* CTS-to-self before each PPDU */
	WIFI_PROTECTION_RTS,		/* RTS and CTS before each PPDU */
	__WIFI_PROTECTION_MAX,
};

enum wifi_scheduler {
	WIFI_SCHEDULER_FIFO,		/* destination of the oldest frame */
	WIFI_SCHEDULER_ROBIN,		/* destinations in turn, a PPDU each */
	WIFI_SCHEDULER_AIRTIME,		/* equal airtime by destination */
	__WIFI_SCHEDULER_MAX,
};

enum wifi_overflow {
	WIFI_OVERFLOW_STOP,		/* stop the queue above, as drivers of 2014 */
	WIFI_OVERFLOW_DROP,		/* drop from the destination with most frames */
	__WIFI_OVERFLOW_MAX,
};

enum wifi_rate_control {
	WIFI_CONTROL_FIXED,		/* the rate above */
	WIFI_CONTROL_MINSTREL,		/* chosen from what was acknowledged */
	WIFI_CONTROL_IWL,		/* likewise, by iwlwifi's iwl-agn-rs */
	__WIFI_CONTROL_MAX,
};

#endif
