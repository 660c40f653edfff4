// SPDX-License-Identifier: GPL-2.0
/*
 * Rate adaptation as iwlwifi's "iwl-agn-rs" of Linux 3.14 has it (its file
 * dvm/rs.c), for a card with one transmitter such as Intel's WiFi Link 5100.
 *
 * A mode is a column of rates: 802.11a/g, 802.11n with the long guard interval,
 * 802.11n with the short one. Within the mode in use, the rate moves to a
 * neighbour by the share of the last 62 transmissions that succeeded and by
 * what a rate can carry when all do. When little has changed for some time,
 * or much has failed, another mode is tried at a rate that promises more than
 * is had now, and kept if it has more.
 *
 * Not here: antennas and streams, which one transmitter has no choice of;
 * greenfield; coexistence with Bluetooth. The original begins anew with each
 * association, here with each change of an option.
 */

#include <linux/kernel.h>
#include <linux/slab.h>

#include "wifi.h"

#define RATES		13	/* 1 to 54 Mbit/s and, with 802.11n only, "60" */
#define FIRST_OFDM	4	/* 6 Mbit/s, MCS 0 */
#define NINE		5	/* 9 Mbit/s, which is no MCS */
#define NO_RATE		-1
#define UNKNOWN		-1
#define HISTORY		62	/* transmissions of a rate that are remembered */
#define FEW_FAILURES	6	/* with fewer, */
#define FEW_SUCCESSES	8	/* and fewer of these, nothing is known of a rate */
#define PERCENT		128	/* unit of a share that succeeded */
#define WELL		(85 * PERCENT)
#define HALF		(50 * PERCENT)
#define BADLY		(15 * PERCENT)
#define STAY_NS		(3ULL * NSEC_PER_SEC)
#define HT_TRIES	3	/* of a chain, at the second rate; one less at the first */
#define ACTIONS		7	/* of a search; of one transmitter only the next two exist */
#define TRY_HT		2	/* in a legacy mode */
#define TRY_GUARD	5	/* in an 802.11n mode */
#define ENOUGH_ACTIONS	6	/* a search is over */

enum mode { NO_MODE, LEGACY, LONG_GUARD, SHORT_GUARD };

/* Until a mode is left: transmissions that failed, that succeeded, and decisions. */
static const struct stay {
	u32	failures, successes, decisions;
} stay_legacy = { 160, 480, 160 }, stay_ht = { 400, 4500, 1500 };

static const u16 legacy_rates[RATES] = {
	10, 20, 55, 110, 60, 90, 120, 180, 240, 360, 480, 540
};

/* What a rate can carry, in the unit of the original. */
static const s16 legacy_carries[RATES] = {
	7, 13, 35, 58, 40, 57, 72, 98, 121, 154, 177, 186, 0
};

/* By width; aggregated or not; guard interval. */
static const s16 ht_carries[2][2][2][RATES] = {
	{ { { 0, 0, 0, 0, 42, 0, 76, 102, 124, 159, 183, 193, 202 },
	    { 0, 0, 0, 0, 46, 0, 82, 110, 132, 168, 192, 202, 210 } },
	  { { 0, 0, 0, 0, 47, 0, 91, 133, 171, 242, 305, 334, 362 },
	    { 0, 0, 0, 0, 52, 0, 101, 145, 187, 264, 330, 361, 390 } } },
	{ { { 0, 0, 0, 0, 77, 0, 127, 160, 184, 220, 242, 250, 257 },
	    { 0, 0, 0, 0, 83, 0, 135, 169, 193, 229, 250, 257, 264 } },
	  { { 0, 0, 0, 0, 94, 0, 177, 249, 313, 423, 512, 550, 586 },
	    { 0, 0, 0, 0, 104, 0, 193, 270, 338, 454, 545, 584, 620 } } },
};

/* Neighbours at 2.4 GHz, where 6 and 9 Mbit/s are passed over. */
static const s8 lower_2ghz[RATES] = { NO_RATE, 0, 1, 2, 2, 4, 3, 6, 7, 8, 9, 10, NO_RATE };
static const s8 higher_2ghz[RATES] = { 1, 2, 3, 6, 3, 3, 7, 8, 9, 10, 11, NO_RATE, NO_RATE };

struct history {
	u64	bits;		/* the newest first, 1: succeeded */
	s32	count, successes;
	s32	share;		/* that succeeded, or UNKNOWN */
	s32	throughput;	/* share times what the rate can carry, or UNKNOWN */
};

struct table {
	enum mode mode;
	u8	rate;		/* in use */
	u8	action;		/* the next one of a search */
	const s16 *carries;
	struct history histories[RATES];
};

struct iwl {
	struct wifi_control control;
	u32	band;		/* GHz */
	bool	has_ht, has_short_guard, is_wide;
	struct table tables[2];	/* the mode in use and the one that is tried */
	u8	active;
	u8	rate;		/* in use, of either */
	u8	chain[WIFI_CHAIN];
	bool	is_searching;
	bool	stays;
	bool	reached_ht;
	bool	aggregates;
	s32	throughput;	/* of the mode in use, when a search began */
	const struct stay *stay;
	u32	failures, successes, decisions;
	u64	stays_since;	/* 0: it does not */
	u32	actions;
};

static struct iwl *iwl_of(const struct wifi_control *control)
{
	return container_of_const(control, struct iwl, control);
}

/* The number of a rate: its mode, and its place in the column. */
static u8 number(enum mode mode, u8 rate)
{
	return mode << 4 | rate;
}

static enum mode mode_of(u8 which)
{
	return which >> 4;
}

static u8 rate_of(u8 which)
{
	return which & 0xf;
}

static void forget(struct table *table)
{
	u32 i;

	for (i = 0; i < RATES; i++)
		table->histories[i] = (struct history){ .share = UNKNOWN, .throughput = UNKNOWN };
}

static bool exists(const struct iwl *iwl, enum mode mode, int rate)
{
	if (mode == LEGACY)
		return rate < RATES - 1 && (iwl->band == 2 || rate >= FIRST_OFDM);
	return rate >= FIRST_OFDM && rate != NINE;
}

static int lower(const struct iwl *iwl, enum mode mode, int rate)
{
	if (mode == LEGACY && iwl->band == 2)
		return lower_2ghz[rate];
	while (--rate >= 0)
		if (exists(iwl, mode, rate))
			return rate;
	return NO_RATE;
}

static int higher(const struct iwl *iwl, enum mode mode, int rate)
{
	if (mode == LEGACY && iwl->band == 2)
		return higher_2ghz[rate];
	while (++rate < RATES)
		if (exists(iwl, mode, rate))
			return rate;
	return NO_RATE;
}

static void look_up(struct iwl *iwl, struct table *table)
{
	if (table->mode == LEGACY)
		table->carries = legacy_carries;
	else
		table->carries = ht_carries[iwl->is_wide][iwl->aggregates]
					   [table->mode == SHORT_GUARD];
}

/*
 * The rates of a frame's transmissions: two of the first, three of the next
 * lower one, then 802.11a/g downwards, each once.
 */
static void fill_chain(struct iwl *iwl, enum mode mode, int rate)
{
	u32 place = 0, left = mode == LEGACY ? 1 : HT_TRIES - 1;
	bool next_is_ht = true;
	int next;

	while (place < WIFI_CHAIN) {
		iwl->chain[place++] = number(mode, rate);
		if (--left)
			continue;
		left = 1;
		if (mode == LEGACY || next_is_ht) {
			next = lower(iwl, mode, rate);
			if (next != NO_RATE)
				rate = next;
			if (mode != LEGACY)
				left = HT_TRIES;
			next_is_ht = false;
		} else {
			/* The rate of 802.11a/g that is a step below, 6 Mbit/s at least. */
			mode = LEGACY;
			rate = max(rate - 1, FIRST_OFDM);
		}
	}
}

static void collect(struct table *table, u8 rate, u32 attempts, u32 successes)
{
	struct history *history = &table->histories[rate];

	while (attempts--) {
		if (history->count == HISTORY) {
			history->count--;
			if (history->bits & BIT_ULL(HISTORY - 1)) {
				history->bits &= ~BIT_ULL(HISTORY - 1);
				history->successes--;
			}
		}
		history->count++;
		history->bits <<= 1;
		if (successes) {
			successes--;
			history->successes++;
			history->bits |= 1;
		}
	}
	history->share = PERCENT * (100 * history->successes) / history->count;
	if (history->count - history->successes >= FEW_FAILURES ||
	    history->successes >= FEW_SUCCESSES)
		history->throughput = (history->share * table->carries[rate] + 64) / 128;
	else
		history->throughput = UNKNOWN;
}

static void stay(struct iwl *iwl, const struct stay *limits, u64 now)
{
	iwl->stays = true;
	iwl->stay = limits;
	iwl->decisions = 0;
	iwl->failures = 0;
	iwl->successes = 0;
	iwl->stays_since = now;
	iwl->actions = 0;
}

/* Whether it is time to look for another mode, with a fresh memory of this one. */
static void consider_leaving(struct iwl *iwl, u64 now)
{
	struct table *table = &iwl->tables[iwl->active];

	if (!iwl->stays)
		return;
	if (iwl->failures > iwl->stay->failures || iwl->successes > iwl->stay->successes ||
	    (!iwl->is_searching && iwl->stays_since && now > iwl->stays_since + STAY_NS)) {
		iwl->stays = false;
		iwl->failures = 0;
		iwl->successes = 0;
		iwl->stays_since = 0;
		forget(table);
	} else if (++iwl->decisions >= iwl->stay->decisions) {
		iwl->decisions = 0;
		forget(table);
	}
}

/*
 * Where a mode is begun: at the lowest of its rates that can carry more than
 * is had now, or than could be had where nearly all succeeds.
 */
static int first_rate(const struct iwl *iwl, const struct table *table, int rate)
{
	const struct table *active = &iwl->tables[iwl->active];
	s32 share = active->histories[rate].share;
	s32 could = active->carries[rate];
	int found = NO_RATE, raised = NO_RATE, next;

	for (;;) {
		s32 carries = table->carries[rate];

		if ((100 * carries > iwl->throughput && share > BADLY && share <= WELL &&
		     carries <= could) || (share >= WELL && carries > could)) {
			if (raised != NO_RATE)
				return raised;
			found = rate;
			next = lower(iwl, table->mode, rate);
			if (next == NO_RATE)
				return found;
		} else {
			if (found != NO_RATE)
				return found;
			next = higher(iwl, table->mode, rate);
			if (next == NO_RATE)
				return rate;
			raised = next;
		}
		rate = next;
	}
}

/* Sets up the other table for a mode to be tried; false: there is none. */
static bool begin_search(struct iwl *iwl, u8 rate)
{
	struct table *active = &iwl->tables[iwl->active];
	struct table *search = &iwl->tables[1 - iwl->active];
	u8 first = active->action;
	int start;

	do {
		u8 action = active->action;

		iwl->actions++;
		active->action = (action + 1) % ACTIONS;
		if (active->mode == LEGACY && action == TRY_HT && iwl->has_ht) {
			search->mode = LONG_GUARD;
			search->action = 0;
			look_up(iwl, search);
			start = first_rate(iwl, search, rate);
			if (exists(iwl, search->mode, start)) {
				search->rate = start;
				iwl->actions = 0;
				return true;
			}
		}
		if (active->mode != LEGACY && action == TRY_GUARD && iwl->has_short_guard) {
			search->mode = active->mode == SHORT_GUARD ? LONG_GUARD : SHORT_GUARD;
			look_up(iwl, search);
			if (active->mode == LONG_GUARD ||
			    iwl->throughput / 100 < search->carries[rate]) {
				search->rate = rate;
				search->action = active->action;
				return true;
			}
		}
	} while (active->action != first);
	search->mode = NO_MODE;
	return false;
}

/* A step down, up or none, by what is known of a rate and its neighbours. */
static int step(const struct table *table, int rate, int low, int high)
{
	const struct history *here = &table->histories[rate];
	s32 below = low == NO_RATE ? UNKNOWN : table->histories[low].throughput;
	s32 above = high == NO_RATE ? UNKNOWN : table->histories[high].throughput;
	bool may_rise = here->share >= HALF;

	if (here->share <= BADLY || !here->throughput ||
	    (above == UNKNOWN && below > here->throughput)) {
		if (low != NO_RATE && (here->share > WELL ||
				       here->throughput > 100 * table->carries[low]))
			return 0;
		return -1;
	}
	return may_rise && (above == UNKNOWN || above > here->throughput);
}

/* After the end of a frame or A-MPDU: the rate and mode from here on. */
static void decide(struct iwl *iwl, bool may_aggregate, u64 now)
{
	struct table *active = &iwl->tables[iwl->active];
	struct table *table = iwl->is_searching ? &iwl->tables[1 - iwl->active] : active;
	struct history *history = &table->histories[iwl->rate];
	s32 throughput = history->throughput;
	bool is_searched = false, changed = false;
	int low, high, rate = iwl->rate;

	if (throughput == UNKNOWN) {
		consider_leaving(iwl, now);
		return;
	}
	if (iwl->is_searching) {
		iwl->is_searching = false;
		is_searched = true;
		if (throughput > iwl->throughput) {
			iwl->active = 1 - iwl->active;
			if (table->mode != LEGACY)
				iwl->reached_ht = true;
		} else {
			table->mode = NO_MODE;
			table = active;
			rate = table->rate;
			changed = true;
		}
	} else {
		low = lower(iwl, table->mode, rate);
		high = higher(iwl, table->mode, rate);
		switch (step(table, rate, low, high)) {
		case -1:
			changed = low != NO_RATE;
			rate = changed ? low : rate;
			break;
		case 1:
			changed = high != NO_RATE;
			rate = changed ? high : rate;
			break;
		}
	}
	if (changed)
		fill_chain(iwl, table->mode, rate);
	consider_leaving(iwl, now);

	if (!changed && !is_searched && !iwl->stays && history->count) {
		iwl->throughput = throughput;
		iwl->is_searching = begin_search(iwl, rate);
		is_searched = !iwl->is_searching;
		if (iwl->is_searching) {
			table = &iwl->tables[1 - iwl->active];
			forget(table);
			rate = table->rate;
			fill_chain(iwl, table->mode, rate);
		}
	}
	if (is_searched && !iwl->stays) {
		if (iwl->tables[iwl->active].mode == LEGACY && !iwl->has_ht &&
		    iwl->actions > ENOUGH_ACTIONS)
			stay(iwl, &stay_legacy, now);
		if (iwl->reached_ht && iwl->actions >= ENOUGH_ACTIONS) {
			iwl->aggregates = may_aggregate && iwl->throughput > 0;
			stay(iwl, &stay_ht, now);
		}
	}
	table->rate = rate;
	iwl->rate = rate;
}

static struct table *table_of(struct iwl *iwl, enum mode mode)
{
	u32 i;

	for (i = 0; i < 2; i++)
		if (iwl->tables[i].mode == mode)
			return &iwl->tables[i];
	return NULL;
}

static struct wifi_rate iwl_rate(const struct wifi_control *control, u8 which)
{
	struct wifi_rate rate = {};

	if (mode_of(which) == LEGACY) {
		rate.legacy = legacy_rates[rate_of(which)];
	} else {
		rate.mcs = rate_of(which) - FIRST_OFDM - (rate_of(which) > NINE);
		rate.wide = iwl_of(control)->is_wide;
		rate.short_gi = mode_of(which) == SHORT_GUARD;
	}
	return rate;
}

static u8 iwl_usual(const struct wifi_control *control)
{
	return iwl_of(control)->chain[0];
}

static bool iwl_choose(struct wifi_control *control, struct rnd_state *random,
		       struct wifi_ppdu *ppdu, u64 now)
{
	struct iwl *iwl = iwl_of(control);

	memcpy(ppdu->chain, iwl->chain, sizeof(ppdu->chain));
	return !iwl->aggregates;
}

/* An A-MPDU that nobody answered does not come to rates that have none. */
static u32 iwl_stage(const struct wifi_control *control, const struct wifi_ppdu *ppdu)
{
	u32 last = WIFI_CHAIN - 1;

	while (skb_queue_len(&ppdu->frames) > 1 && mode_of(ppdu->chain[last]) == LEGACY)
		last--;
	return min(ppdu->tries, last);
}

/* Of an A-MPDU only the rate counts that it was to have. */
static void iwl_report(struct wifi_control *control, const struct wifi_ppdu *ppdu,
		       u32 frames, u32 successes, bool done, u64 now)
{
	u8 which = ppdu->chain[ppdu->aggregate ? 0 : ppdu->stage];
	struct iwl *iwl = iwl_of(control);
	struct table *table = table_of(iwl, mode_of(which));

	/* Built before the last change: what became of it is of no interest. */
	if (ppdu->chain[0] != iwl->chain[0])
		return;
	if (table)
		collect(table, rate_of(which), frames, successes);
	if (iwl->stays) {
		iwl->successes += successes;
		iwl->failures += frames - successes;
	}
	if (done || ppdu->aggregate)
		decide(iwl, ppdu->path->from->params.subframes > 1, now);
}

static const struct wifi_control_ops iwl_ops = {
	.rate	= iwl_rate,
	.usual	= iwl_usual,
	.choose	= iwl_choose,
	.stage	= iwl_stage,
	.report	= iwl_report,
	.stages	= WIFI_CHAIN,
};

/**
 * wifi_iwl_create() - begin to adapt, at the lowest rate
 * @phy:	band, which decides about the rates
 * @top:	legacy, or an MCS whose width is used, and its guard interval where it is short
 *
 * Returns NULL without memory.
 */
struct wifi_control *wifi_iwl_create(const struct wifi_phy *phy, const struct wifi_rate *top)
{
	struct iwl *iwl = kzalloc(sizeof(*iwl), GFP_ATOMIC);
	struct table *table;

	if (!iwl)
		return NULL;
	iwl->control.ops = &iwl_ops;
	iwl->band = phy->band;
	iwl->is_wide = top->wide;
	iwl->has_ht = !top->legacy;
	iwl->has_short_guard = iwl->has_ht && top->short_gi;
	iwl->rate = phy->band == 2 ? 0 : FIRST_OFDM;
	table = &iwl->tables[0];
	table->mode = LEGACY;
	table->rate = iwl->rate;
	look_up(iwl, table);
	forget(table);
	forget(&iwl->tables[1]);
	fill_chain(iwl, LEGACY, iwl->rate);
	return &iwl->control;
}
