/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A WiFi-like link: an access point and stations that share a radio channel.
 *
 * netlink.c	the module, and the options of its devices
 * device.c	network devices: from the qdisc into the driver's queue, and back
 * statistics.c	what they count
 * medium.c	the channel that all share: contention, collisions, air time
 * queue.c	the driver's queue of a device: its paths in turn, PPDUs built ahead
 * path.c	frames from one device to another: A-MPDU, block ack, order
 * channel.c	what a path loses
 * minstrel.c	at which rate it sends: by what was acknowledged
 * iwl.c	the same as a card's driver of 2014 decides
 * phy.c	how long things take on the air
 *
 * Each calls those below it only.
 *
 * Times are nanoseconds of CLOCK_MONOTONIC. Everything of a medium is protected
 * by its lock; options change under the lock and RTNL.
 */

#ifndef _WIFI_H
#define _WIFI_H

#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/prandom.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>

#include "wifi_netlink.h"

#define WIFI_WINDOW	64	/* frames, IEEE 802.11-2012 8.5.14: block ack of 64 bits */
#define WIFI_AHEAD_MAX	4
#define WIFI_STATIONS	63

/* ---- phy.c ---- */

struct wifi_rate {
	u16	legacy;		/* 100 kbit/s; 0: the MCS counts */
	u8	mcs;
	bool	wide;		/* 40 MHz */
	bool	short_gi;
};

struct wifi_phy {
	u32	band;		/* GHz */
	u32	slot;		/* us */
	u32	backoff;	/* enum wifi_backoff */
	u32	eifs;
	u32	short_preamble;
	u32	apart;		/* us */
	u32	batch;		/* frames */
};

bool wifi_rate_valid(const struct wifi_phy *phy, const struct wifi_rate *rate);
u32 wifi_ppdu_ns(const struct wifi_phy *phy, const struct wifi_rate *rate, u32 bytes);
u32 wifi_ppdu_bytes(const struct wifi_phy *phy, const struct wifi_rate *rate, u32 ns);
u32 wifi_payload_ns(const struct wifi_rate *rate, u32 bytes);
struct wifi_rate wifi_control_rate(const struct wifi_rate *rate);
struct wifi_rate wifi_basic_rate(const struct wifi_rate *rate);
u32 wifi_sifs_ns(const struct wifi_phy *phy);
u32 wifi_slot_ns(const struct wifi_phy *phy);
u32 wifi_ack_ns(const struct wifi_phy *phy, const struct wifi_rate *rate);
u32 wifi_block_ack_ns(const struct wifi_phy *phy, const struct wifi_rate *rate);
u32 wifi_eifs_ns(const struct wifi_phy *phy);
u32 wifi_protect_ns(const struct wifi_phy *phy, u32 protection, u32 rate);
u32 wifi_rts_ns(const struct wifi_phy *phy, u32 rate);
u32 wifi_mpdu_bytes(const struct wifi_rate *rate, u32 frame, u32 overhead);

/* ---- channel.c ---- */

struct wifi_channel_params {
	u32	legacy;		/* 100 kbit/s */
	u32	mcs;
	u32	width;		/* MHz */
	u32	short_gi;
	u32	control;	/* enum wifi_rate_control */
	u32	loss;		/* 1e-6 */
	u32	bad_loss;	/* 1e-6 */
	u32	good;		/* us */
	u32	bad;		/* us */
	u32	snr;		/* 0.1 dB */
	u32	residual;	/* 1e-6 */
};

struct wifi_channel {
	struct wifi_channel_params params;
	struct wifi_trace_step *trace;
	u32	steps;
	/* state */
	bool	is_bad;
	u64	turns_at;	/* end of the good or the bad time */
	u32	step;
	u64	step_ends_at;
};

struct wifi_medium;
struct wifi_path;

void wifi_channel_init(struct wifi_channel *channel);
void wifi_channel_free(struct wifi_channel *channel);
void wifi_channel_start(struct wifi_channel *channel, u64 at);
struct wifi_rate wifi_channel_rate(const struct wifi_channel *channel);
bool wifi_channel_lost(struct wifi_channel *channel, struct rnd_state *random,
		       const struct wifi_rate *rate, u64 at);
bool wifi_channel_swallows(const struct wifi_channel *channel, struct rnd_state *random);

/* ---- minstrel.c, iwl.c ---- */

#define WIFI_CHAIN	16	/* rates for the transmissions of a PPDU, at most */

struct wifi_ppdu;
struct wifi_control;

/**
 * struct wifi_control_ops - how a path chooses its rates, which it numbers
 * @rate:	the rate of a number
 * @usual:	the number at which most frames go now
 * @choose:	fills the chain of a new PPDU; true: it goes without aggregation
 * @stage:	the place in the chain for the next transmission
 * @report:	what a transmission came to; @done: the PPDU has nothing left
 * @stages:	of a chain
 */
struct wifi_control_ops {
	struct wifi_rate (*rate)(const struct wifi_control *control, u8 which);
	u8 (*usual)(const struct wifi_control *control);
	bool (*choose)(struct wifi_control *control, struct rnd_state *random,
		       struct wifi_ppdu *ppdu, u64 now);
	u32 (*stage)(const struct wifi_control *control, const struct wifi_ppdu *ppdu);
	void (*report)(struct wifi_control *control, const struct wifi_ppdu *ppdu,
		       u32 frames, u32 successes, bool done, u64 now);
	u32 stages;
};

/* First in what a way of choosing keeps, which kfree() frees. */
struct wifi_control {
	const struct wifi_control_ops *ops;
};

struct wifi_control *wifi_minstrel_create(const struct wifi_phy *phy,
					  const struct wifi_rate *top);
struct wifi_control *wifi_iwl_create(const struct wifi_phy *phy, const struct wifi_rate *top);

/* ---- path.c ---- */

/* Control block of a frame, from the driver's queue to its release. */
struct wifi_frame {
	u64	queued_at;
	u64	built_at;	/* into a PPDU, for the first time */
	u64	aired_at;	/* first time on the air */
	u32	airtime;	/* ns, as charged against the limit */
	u16	seq;
	u8	tries;		/* transmissions so far */
	bool	has_seq;
};

static inline struct wifi_frame *wifi_frame(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct wifi_frame) > sizeof(skb->cb));
	return (struct wifi_frame *)skb->cb;
}

struct wifi_counters {
	u64	packets;	/* acknowledged */
	u64	bytes;		/* of those, with Ethernet header */
	u64	ppdus;		/* transmissions */
	u64	subframes;	/* in them */
	u64	collisions;	/* transmissions that collided */
	u64	unanswered;	/* transmissions without an ACK, collisions among them */
	u64	lost;		/* subframes that the channel lost */
	u64	dropped;	/* frames given up after the retry limit */
	u64	overflowed;	/* frames dropped because the queue was full */
	u64	airtime;	/* ns on the air, PPDU to ACK */
	u64	ring;		/* ns, sum over packets: queued to built */
	u64	aggregation;	/* ns: built to first on the air */
	u64	air;		/* ns: first on the air to acknowledged */
	u64	reorder;	/* ns: acknowledged to released in order */
};

struct wifi_path {
	struct wifi_device *from;
	struct wifi_device *to;		/* NULL: all stations */
	struct list_head active;	/* in from->active while frames wait */
	struct sk_buff_head waiting;	/* ring: not in a PPDU, oldest first */
	u16	next_seq;
	u16	window;			/* first that is not released */
	struct sk_buff *received[WIFI_WINDOW];
	u64	skipped;		/* bit a sequence number: given up */
	s64	deficit;		/* ns of air time */
	struct wifi_channel channel;
	struct wifi_control *control;	/* NULL: the channel's rate */
	struct wifi_counters counters;
};

struct wifi_ppdu {
	struct wifi_path *path;
	struct sk_buff_head frames;	/* by sequence number */
	struct wifi_rate rate;
	u8	chain[WIFI_CHAIN];	/* of rates, numbers of the path's control */
	u8	stage;			/* of the chain */
	u32	tries;			/* transmissions so far */
	u32	bytes;			/* of the PSDU */
	u64	lost;			/* bit a frame */
	u64	ready_at;		/* the processor is done with it */
	u32	air_ns;
	bool	aggregate;
	bool	answered;
};

void wifi_path_init(struct wifi_path *path, struct wifi_device *from, struct wifi_device *to);
void wifi_path_purge(struct wifi_path *path);
void wifi_path_queue(struct wifi_path *path, struct sk_buff *skb, u64 now);
struct sk_buff *wifi_path_overflow(struct wifi_path *path);
struct wifi_rate wifi_path_rate(const struct wifi_path *path);
bool wifi_path_ready(const struct wifi_path *path);
void wifi_path_build(struct wifi_path *path, struct wifi_ppdu *ppdu, u64 now);
void wifi_path_drop(struct wifi_path *path, struct wifi_ppdu *ppdu);
void wifi_path_finish(struct wifi_path *path, struct wifi_ppdu *ppdu, u64 now,
		      struct sk_buff_head *released);

/* ---- device.c ---- */

struct wifi_params {
	/* access */
	u32	aifsn;
	u32	cw_min;
	u32	cw_max;
	u32	retries;
	u32	protection;
	u32	protection_rate;
	/* aggregation */
	u32	subframes;
	u32	ampdu_bytes;
	u32	ampdu_time;
	u32	ahead;
	/* queue */
	u32	ring;
	u32	wake;
	u32	buffer;
	u32	limit_bytes;
	u32	limit_airtime;
	u32	scheduler;
	u32	overflow;
	u32	overhead;
	u32	forward;	/* us */
};

/*
 * What contends for the medium. A device has one; the access categories of
 * 802.11e would be four of them.
 */
struct wifi_access {
	u32	cw;
	u32	backoff;	/* slots left when the medium last fell idle */
	u32	failures;	/* in a row */
};

struct wifi_device {
	struct net_device *dev;
	struct wifi_medium *medium;
	struct list_head node;		/* in medium->devices */
	bool	is_ap;
	struct wifi_params params;
	struct wifi_access access;
	struct list_head active;	/* paths with frames that wait */
	struct wifi_ppdu ppdus[WIFI_AHEAD_MAX];
	u32	first, built;		/* the queue of PPDUs, a ring in ppdus[] */
	bool	on_air;			/* its first one */
	u64	busy_until;		/* its processor */
	u32	pending, pending_bytes;
	u64	pending_ns;
	u32	pending_max;
	bool	stopped, ring_full;
	u64	stops;
	struct wifi_path own;		/* station: to the access point; that: to all */
	struct wifi_path down;		/* station: from the access point */
	struct list_head winner;	/* in medium->winners */
};

extern const struct net_device_ops wifi_netdev_ops;
void wifi_setup(struct net_device *dev);
void wifi_device_init(struct wifi_device *device, struct net_device *dev, bool is_ap);

static inline struct wifi_ppdu *wifi_first_ppdu(struct wifi_device *device)
{
	return &device->ppdus[device->first];
}

static inline bool wifi_is_running(const struct wifi_device *device)
{
	return READ_ONCE(device->dev->flags) & IFF_UP;
}

/* The driver's queue is done with a frame. */
static inline void wifi_completed(struct wifi_device *device, struct sk_buff *skb)
{
	device->pending--;
	device->pending_bytes -= skb->len;
	device->pending_ns -= wifi_frame(skb)->airtime;
}

/* ---- queue.c ---- */

void wifi_device_queue(struct wifi_device *device, struct wifi_path *path,
		       struct sk_buff *skb, u64 now);
struct sk_buff *wifi_device_make_room(struct wifi_device *device);
bool wifi_device_contends(struct wifi_device *device);
void wifi_device_refill(struct wifi_device *device, u64 now);
void wifi_device_build(struct wifi_device *device, u64 now);
void wifi_device_wake(struct wifi_device *device);
void wifi_device_work(struct wifi_device *device, u32 frames, u64 now);
void wifi_device_forget(struct wifi_device *device, const struct wifi_path *path);
void wifi_device_purge(struct wifi_device *device);

/* ---- medium.c ---- */

enum wifi_state { WIFI_IDLE, WIFI_CONTENTION, WIFI_BUSY };

struct wifi_medium {
	spinlock_t lock;
	struct hrtimer timer;
	struct hrtimer hand_over;
	struct sk_buff_head received;	/* frames that are handed over one by one */
	/* passes a frame to what is above @to, or into @batch for the network */
	void (*deliver)(struct wifi_device *to, struct sk_buff *skb, struct list_head *batch);
	struct wifi_phy phy;
	struct rnd_state random;
	struct list_head devices;
	struct wifi_device *ap;
	struct list_head winners;	/* devices that are on the air */
	u32	stations;
	enum wifi_state state;
	u64	idle_since;		/* SIFS and slots count from here */
	u64	next;			/* when the timer is due */
	u64	then_idle;		/* idle_since after what is on the air */
	u64	busy;			/* ns */
	u64	collided;		/* ns of that with more than one sender */
	u64	exchanges, collisions;
};

struct wifi_medium *wifi_medium_create(void);
void wifi_medium_add(struct wifi_medium *medium, struct wifi_device *device);
bool wifi_medium_remove(struct wifi_medium *medium, struct wifi_device *device);
void wifi_medium_changed(struct wifi_medium *medium);
void wifi_medium_arrival(struct wifi_device *device, bool was_idle, u64 now);

/* ---- statistics.c ---- */

extern const struct ethtool_ops wifi_ethtool_ops;

/* ---- netlink.c ---- */

extern struct rtnl_link_ops wifi_link_ops;

#endif
