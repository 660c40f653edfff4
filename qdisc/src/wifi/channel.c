// SPDX-License-Identifier: GPL-2.0
/*
 * What a path loses: a fixed share, two states after Gilbert and Elliott, or a
 * share that follows from the signal-to-noise ratio and the rate.
 */

#include <linux/int_log.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "wifi.h"

#define MILLION		1000000
#define LN2_16		45426		/* ln(2) * 2^16 */

/*
 * SNR in 0.1 dB at which a receiver that just meets the standard loses 10 % of
 * its frames: the sensitivity of IEEE Std 802.11-2012, tables 18-14 and 20-22,
 * for 20 MHz, less the noise that they assume: -174 dBm/Hz in 20 MHz, a noise
 * figure of 10 dB and 5 dB for the implementation.
 */
static const u16 needed_snr[8] = { 40, 70, 90, 120, 160, 200, 210, 220 };

static const struct {
	u16 rate;
	u16 snr;
} needed_legacy_snr[] = {
	{ 10, 0 }, { 20, 20 }, { 55, 40 }, { 110, 60 },	/* 16.4.8.2, 17.4.8.2 */
	{ 60, 40 }, { 90, 50 }, { 120, 70 }, { 180, 90 },
	{ 240, 120 }, { 360, 160 }, { 480, 200 }, { 540, 210 },
};

/* Each stream more, and twice the width, share the power: 3 dB each. */
#define SNR_TWICE	30

/* Shares of 1e-6 lost at 0, 0.5, 1, ... dB above the SNR for 10 %: a decade in
 * 1.5 dB, about the slope of coded OFDM without fading. Below it mirrors to 1.
 */
static const u32 lost_above[] = {
	100000, 46416, 21544, 10000, 4642, 2154, 1000, 464, 215, 100, 46, 22, 10,
};
static const u32 lost_below[] = {
	100000, 215443, 464159, 700000, 900000, 990000, 1000000,
};

/* An exponential time of mean @us, in ns. */
static u64 exponential_ns(struct rnd_state *random, u32 us)
{
	u32 x = prandom_u32_state(random) | 1;
	u32 log = (u32)(32ULL << 24) - intlog2(x);	/* -log2(x / 2^32) * 2^24 */
	u64 units = ((u64)log * LN2_16) >> 16;		/* -ln(x / 2^32) * 2^24 */

	return (units * us >> 12) * 1000 >> 12;
}

void wifi_channel_init(struct wifi_channel *channel)
{
	channel->params = (struct wifi_channel_params){ .mcs = 7, .width = 20 };
}

void wifi_channel_free(struct wifi_channel *channel)
{
	kfree(channel->trace);
}

/**
 * wifi_channel_start() - begin anew in the good state, at the first step
 * @channel:	with new parameters
 * @at:		now
 */
void wifi_channel_start(struct wifi_channel *channel, u64 at)
{
	channel->is_bad = true;		/* for no time: the good one is drawn first */
	channel->turns_at = at;
	channel->step = 0;
	channel->step_ends_at = channel->steps ? at + 1000ULL * channel->trace[0].us : 0;
}

/*
 * wifi_channel_rate() - the rate that the parameters fix
 */
struct wifi_rate wifi_channel_rate(const struct wifi_channel *channel)
{
	const struct wifi_channel_params *params = &channel->params;

	return (struct wifi_rate){
		.legacy = params->legacy,
		.mcs = params->mcs,
		.wide = params->width == 40,
		.short_gi = params->short_gi,
	};
}

/* Gilbert and Elliott, in continuous time: exponential stays in each state. */
static bool is_bad(struct wifi_channel *channel, struct rnd_state *random, u64 at)
{
	const struct wifi_channel_params *params = &channel->params;

	if (!params->good)
		return false;
	while (channel->turns_at <= at) {
		channel->is_bad = !channel->is_bad;
		channel->turns_at += 1 + exponential_ns(random, channel->is_bad ? params->bad
									  : params->good);
	}
	return channel->is_bad;
}

static u32 snr_now(struct wifi_channel *channel, u64 at)
{
	if (!channel->steps)
		return channel->params.snr;
	while (channel->step_ends_at <= at) {
		channel->step = (channel->step + 1) % channel->steps;
		channel->step_ends_at += 1000ULL * channel->trace[channel->step].us;
	}
	return channel->trace[channel->step].snr;
}

static s32 snr_needed(const struct wifi_rate *rate)
{
	int i;

	if (!rate->legacy)
		return needed_snr[rate->mcs % 8] + (rate->wide ? SNR_TWICE : 0) +
		       (rate->mcs >= 16 ? 2 * SNR_TWICE : rate->mcs >= 8 ? SNR_TWICE : 0);
	for (i = 0; i < ARRAY_SIZE(needed_legacy_snr); i++)
		if (needed_legacy_snr[i].rate == rate->legacy)
			return needed_legacy_snr[i].snr;
	return 0;
}

/* Draw, unless @share, in 1e-6, is none. */
static bool happens(struct rnd_state *random, u32 share)
{
	return share && (u64)prandom_u32_state(random) * MILLION < (u64)share << 32;
}

static u32 lost_by_snr(s32 margin)
{
	if (margin >= 0)
		return lost_above[min_t(u32, margin / 5, ARRAY_SIZE(lost_above) - 1)];
	return lost_below[min_t(u32, -margin / 5, ARRAY_SIZE(lost_below) - 1)];
}

/**
 * wifi_channel_lost() - whether the channel loses one frame
 * @channel:	of the frame's path
 * @random:	of the medium
 * @rate:	of the frame
 * @at:		start of the transmission, not before that of an earlier call
 */
bool wifi_channel_lost(struct wifi_channel *channel, struct rnd_state *random,
		       const struct wifi_rate *rate, u64 at)
{
	const struct wifi_channel_params *params = &channel->params;
	u32 share = is_bad(channel, random, at) ? params->bad_loss : params->loss;
	u32 snr = snr_now(channel, at);

	if (snr)
		share = max(share, lost_by_snr((s32)snr - snr_needed(rate)));
	return happens(random, share);
}

/*
 * wifi_channel_swallows() - whether an acknowledged frame gets lost all the same
 */
bool wifi_channel_swallows(const struct wifi_channel *channel, struct rnd_state *random)
{
	return happens(random, channel->params.residual);
}
