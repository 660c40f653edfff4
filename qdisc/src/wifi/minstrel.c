// SPDX-License-Identifier: GPL-2.0
/*
 * Rate adaptation in the manner of Minstrel: measure how often each rate
 * succeeds, send at the one that promises most, try others now and then.
 *
 * After its description (D. Smithies, F. Fietkau, minstrel.txt of MadWifi) and
 * what mac80211 of Linux 3.14 documents of its own: a moving average of weight
 * 75 % each 100 ms (50 ms with HT), 10 % of the frames at other rates, a chain
 * of four rates for the retries of a frame, each for about 6 ms.
 */

#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "wifi.h"

#define FRAME_BYTES	1200	/* of the frame whose time decides */
#define SEGMENT_US	6000	/* of the chain, for one rate */
#define MOST_TRIES	7	/* of the chain, at one rate */
#define WEIGHT		75	/* of the past, % */
#define SURE		(95 * ALWAYS / 100)
#define CAPPED		(90 * ALWAYS / 100)
#define HOPELESS	(10 * ALWAYS / 100)
#define UPDATE_NS	100000000ULL
#define UPDATE_HT_NS	50000000ULL
#define ALWAYS		65536	/* a probability of 1 */
#define STAGES		4	/* of a chain */
#define LOOKAROUND	10	/* % of frames without aggregation */
#define STALE		20	/* updates after which HT probes a slow rate */

static const u16 legacy_rates[] = { 10, 20, 55, 110, 60, 90, 120, 180, 240, 360, 480, 540 };

struct one_rate {
	struct wifi_rate rate;
	u32	frame_us;	/* air time of a frame of 1200 bytes */
	u32	tries;		/* in a chain */
	u32	attempts, successes;
	u32	probability;	/* of ALWAYS, averaged */
	u32	unused;		/* updates since the last attempt */
	bool	known;
};

struct minstrel {
	struct wifi_control control;
	struct one_rate rates[32];
	u32	count;
	bool	ht;
	u8	best, second, sure;
	u64	update_at;
	u32	frames, probes;	/* since the counts began */
	u32	length;		/* frames a PPDU, averaged */
};

static struct minstrel *minstrel_of(const struct wifi_control *control)
{
	return container_of_const(control, struct minstrel, control);
}

static void add_rate(struct minstrel *minstrel, const struct wifi_phy *phy,
		     const struct wifi_rate *rate)
{
	struct one_rate *one = &minstrel->rates[minstrel->count];
	u32 window = 15, single, total = 0;

	if (!wifi_rate_valid(phy, rate))
		return;
	one->rate = *rate;
	one->frame_us = wifi_ppdu_ns(phy, rate, wifi_mpdu_bytes(rate, FRAME_BYTES, 0)) / 1000;
	for (one->tries = 0; one->tries < MOST_TRIES; one->tries++) {
		single = one->frame_us + (wifi_sifs_ns(phy) + wifi_ack_ns(phy, rate)) / 1000 +
			 phy->slot * window / 2;
		total += single;
		if (one->tries >= 2 && total > SEGMENT_US)
			break;
		window = min(2 * window + 1, 1023U);
	}
	minstrel->count++;
}

/* What a rate promises: bits/s up to a factor, nothing below 10 %. */
static u64 throughput(const struct one_rate *one)
{
	if (one->probability < HOPELESS)
		return 0;
	return div_u64(1000000ULL * min_t(u32, one->probability, CAPPED), one->frame_us);
}

static void rank(struct minstrel *minstrel)
{
	struct one_rate *rates = minstrel->rates;
	u32 best = 0, second = 0, sure = 0, i;

	for (i = 1; i < minstrel->count; i++) {
		if (throughput(&rates[i]) > throughput(&rates[best]) || best == i) {
			second = best;
			best = i;
		} else if (second == best || throughput(&rates[i]) > throughput(&rates[second])) {
			second = i;
		}
		if (rates[i].probability >= SURE) {
			if (rates[sure].probability < SURE ||
			    throughput(&rates[i]) > throughput(&rates[sure]))
				sure = i;
		} else if (rates[i].probability > rates[sure].probability) {
			sure = i;
		}
	}
	minstrel->best = best;
	minstrel->second = second;
	minstrel->sure = sure;
}

static void update(struct minstrel *minstrel, u64 now)
{
	u32 i;

	if (now < minstrel->update_at)
		return;
	minstrel->update_at = now + (minstrel->ht ? UPDATE_HT_NS : UPDATE_NS);
	for (i = 0; i < minstrel->count; i++) {
		struct one_rate *one = &minstrel->rates[i];
		u32 share;

		if (!one->attempts) {
			one->unused++;
			continue;
		}
		share = div_u64((u64)one->successes * ALWAYS, one->attempts);
		one->probability = one->known ? (one->probability * WEIGHT +
						 share * (100 - WEIGHT)) / 100 : share;
		one->known = true;
		one->attempts = 0;
		one->successes = 0;
		one->unused = 0;
	}
	rank(minstrel);
}

/* Whether it is time to try another rate. */
static bool is_probe(struct minstrel *minstrel)
{
	if (minstrel->ht)
		return minstrel->frames >= 16 + 2 * minstrel->length;
	return minstrel->frames * LOOKAROUND / 100 > minstrel->probes;
}

static struct wifi_rate minstrel_rate(const struct wifi_control *control, u8 which)
{
	return minstrel_of(control)->rates[which].rate;
}

static u8 minstrel_usual(const struct wifi_control *control)
{
	return minstrel_of(control)->best;
}

/* A probe goes without aggregation. */
static bool minstrel_choose(struct wifi_control *control, struct rnd_state *random,
			    struct wifi_ppdu *ppdu, u64 now)
{
	struct minstrel *minstrel = minstrel_of(control);
	bool is_slow;
	u32 probe;

	update(minstrel, now);
	ppdu->chain[0] = minstrel->best;
	ppdu->chain[1] = minstrel->second;
	ppdu->chain[2] = minstrel->sure;
	/* A-MPDUs are as short as the slowest of the chain demands: minstrel_ht has three. */
	ppdu->chain[3] = minstrel->ht ? minstrel->sure : 0;
	if (!is_probe(minstrel))
		return false;
	probe = prandom_u32_state(random) % minstrel->count;
	minstrel->probes++;
	if (minstrel->ht)
		minstrel->frames = 0;
	if (probe == minstrel->best)
		return false;
	is_slow = minstrel->rates[probe].frame_us > minstrel->rates[minstrel->best].frame_us;
	if (minstrel->ht && is_slow && minstrel->rates[probe].unused < STALE)
		return false;
	/* Without aggregation, what is slower is tried where the best rate fails. */
	if (!minstrel->ht && is_slow) {
		ppdu->chain[1] = probe;
	} else {
		ppdu->chain[0] = probe;
		ppdu->chain[1] = minstrel->best;
	}
	return true;
}

static u32 minstrel_stage(const struct wifi_control *control, const struct wifi_ppdu *ppdu)
{
	const struct minstrel *minstrel = minstrel_of(control);
	u32 tries = ppdu->tries;
	u32 stage;

	for (stage = 0; stage < STAGES - 1; stage++) {
		u32 most = minstrel->rates[ppdu->chain[stage]].tries;

		if (tries < most)
			break;
		tries -= most;
	}
	return stage;
}

static void minstrel_report(struct wifi_control *control, const struct wifi_ppdu *ppdu,
			    u32 frames, u32 successes, bool done, u64 now)
{
	struct minstrel *minstrel = minstrel_of(control);
	struct one_rate *one = &minstrel->rates[ppdu->chain[ppdu->stage]];

	one->attempts += frames;
	one->successes += successes;
	minstrel->frames += frames;
	minstrel->length = (minstrel->length * 3 + frames) / 4;
	if (!minstrel->ht && minstrel->frames >= 10000) {
		minstrel->frames = 0;
		minstrel->probes = 0;
	}
}

static const struct wifi_control_ops minstrel_ops = {
	.rate	= minstrel_rate,
	.usual	= minstrel_usual,
	.choose	= minstrel_choose,
	.stage	= minstrel_stage,
	.report	= minstrel_report,
	.stages	= STAGES,
};

/**
 * wifi_minstrel_create() - begin to adapt
 * @phy:	band, which decides about the rates
 * @top:	legacy, or an MCS whose streams, width and guard interval are used
 *
 * Returns NULL without memory.
 */
struct wifi_control *wifi_minstrel_create(const struct wifi_phy *phy,
					  const struct wifi_rate *top)
{
	struct minstrel *minstrel = kzalloc(sizeof(*minstrel), GFP_ATOMIC);
	struct wifi_rate rate = *top;
	u32 i;

	if (!minstrel)
		return NULL;
	minstrel->control.ops = &minstrel_ops;
	minstrel->ht = !top->legacy;
	if (minstrel->ht) {
		for (i = 0; i < 8 * (top->mcs / 8 + 1); i++) {
			rate.mcs = i;
			add_rate(minstrel, phy, &rate);
		}
	} else {
		for (i = 0; i < ARRAY_SIZE(legacy_rates); i++) {
			rate.legacy = legacy_rates[i];
			add_rate(minstrel, phy, &rate);
		}
	}
	return &minstrel->control;
}
