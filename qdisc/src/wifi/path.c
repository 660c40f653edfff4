// SPDX-License-Identifier: GPL-2.0
/*
 * Frames from one device to another: the queue, A-MPDUs made of it, block ack
 * and release in order (IEEE Std 802.11-2012, 9.12 and 9.21).
 *
 * Both ends are here, so the transmitter's window and the receiver's reorder
 * buffer are one: 64 sequence numbers from the oldest that is not released.
 */

#include <linux/etherdevice.h>
#include <linux/kernel.h>

#include "wifi.h"

#define DELIMITER	4	/* before each subframe, 8.6.1 */

void wifi_path_init(struct wifi_path *path, struct wifi_device *from, struct wifi_device *to)
{
	path->from = from;
	path->to = to;
	INIT_LIST_HEAD(&path->active);
	__skb_queue_head_init(&path->waiting);
	wifi_channel_init(&path->channel);
}

/* Frames of the window: those sent and not released. */
static u16 outstanding(const struct wifi_path *path)
{
	return path->next_seq - path->window;
}

/* Give the receiver what is in order, and move the window. */
static void release(struct wifi_path *path, struct sk_buff_head *released, u64 now)
{
	while (path->window != path->next_seq) {
		u32 slot = path->window % WIFI_WINDOW;
		struct sk_buff *skb = path->received[slot];

		if (skb) {
			/* aired_at is when it was acknowledged, from accept() on */
			path->counters.reorder += now - wifi_frame(skb)->aired_at;
			path->received[slot] = NULL;
			if (wifi_channel_swallows(&path->channel, &path->from->medium->random))
				dev_kfree_skb_any(skb);
			else
				__skb_queue_tail(released, skb);
		} else if (path->skipped & BIT_ULL(slot)) {
			path->skipped &= ~BIT_ULL(slot);
		} else {
			return;
		}
		path->window++;
	}
}

/* The receiver has @skb, the transmitter its acknowledgment. */
static void accept(struct wifi_path *path, struct sk_buff *skb, u64 now)
{
	struct wifi_counters *counters = &path->counters;
	struct wifi_frame *frame = wifi_frame(skb);

	counters->packets++;
	counters->bytes += skb->len;
	counters->ring += frame->built_at - frame->queued_at;
	counters->aggregation += frame->aired_at - frame->built_at;
	counters->air += now - frame->aired_at;
	frame->aired_at = now;
	wifi_completed(path->from, skb);
	skb_orphan(skb);
	path->received[frame->seq % WIFI_WINDOW] = skb;
}

/* Neither end waits for @skb any more; the block ack request that says so is free. */
static void give_up(struct wifi_path *path, struct sk_buff *skb)
{
	if (wifi_frame(skb)->has_seq)
		path->skipped |= BIT_ULL(wifi_frame(skb)->seq % WIFI_WINDOW);
	wifi_completed(path->from, skb);
	dev_kfree_skb_any(skb);
}

/* Back into the queue, before all that have a later sequence number or none. */
static void requeue(struct wifi_path *path, struct sk_buff *skb)
{
	struct sk_buff *next;

	skb_queue_walk(&path->waiting, next) {
		struct wifi_frame *frame = wifi_frame(next);

		if (!frame->has_seq || (s16)(frame->seq - wifi_frame(skb)->seq) > 0)
			break;
	}
	/* Past the end @next is the head of the queue, before which is its tail. */
	__skb_queue_before(&path->waiting, next, skb);
	if (list_empty(&path->active))
		list_add(&path->active, &path->from->active);
}

/*
 * wifi_path_queue() - put a frame at the end of the driver's queue
 */
void wifi_path_queue(struct wifi_path *path, struct sk_buff *skb, u64 now)
{
	*wifi_frame(skb) = (struct wifi_frame){ .queued_at = now };
	__skb_queue_tail(&path->waiting, skb);
	if (list_empty(&path->active))
		list_add_tail(&path->active, &path->from->active);
}

/*
 * wifi_path_overflow() - take the oldest frame that was never sent, or NULL
 */
struct sk_buff *wifi_path_overflow(struct wifi_path *path)
{
	struct sk_buff *skb;

	skb_queue_walk(&path->waiting, skb) {
		if (wifi_frame(skb)->has_seq)
			continue;
		__skb_unlink(skb, &path->waiting);
		if (skb_queue_empty(&path->waiting))
			list_del_init(&path->active);
		path->counters.overflowed++;
		return skb;
	}
	return NULL;
}

/*
 * wifi_path_purge() - drop all that waits and all that is out of order
 */
void wifi_path_purge(struct wifi_path *path)
{
	struct sk_buff_head none;
	struct sk_buff *skb;
	u32 slot;

	while ((skb = __skb_dequeue(&path->waiting)))
		give_up(path, skb);
	list_del_init(&path->active);
	for (slot = 0; slot < WIFI_WINDOW; slot++) {
		if (!path->received[slot])
			continue;
		dev_kfree_skb_any(path->received[slot]);
		path->received[slot] = NULL;
		path->skipped |= BIT_ULL(slot);
	}
	__skb_queue_head_init(&none);
	release(path, &none, 0);
}

static bool fits_window(const struct wifi_path *path, struct sk_buff *skb)
{
	return wifi_frame(skb)->has_seq || outstanding(path) < WIFI_WINDOW;
}

static struct wifi_rate rate_of(const struct wifi_path *path, u8 which)
{
	return path->control->ops->rate(path->control, which);
}

/*
 * wifi_path_rate() - the rate at which most frames go now
 */
struct wifi_rate wifi_path_rate(const struct wifi_path *path)
{
	struct wifi_rate rate = wifi_channel_rate(&path->channel);

	if (!path->to)
		return wifi_basic_rate(&rate);
	return path->control ? rate_of(path, path->control->ops->usual(path->control)) : rate;
}

/*
 * wifi_path_ready() - whether a frame waits and the window has room for it
 */
bool wifi_path_ready(const struct wifi_path *path)
{
	struct sk_buff *skb = skb_peek(&path->waiting);

	return skb && fits_window(path, skb);
}

static void add(struct wifi_path *path, struct wifi_ppdu *ppdu, struct sk_buff *skb, u64 now)
{
	struct wifi_frame *frame = wifi_frame(skb);

	__skb_unlink(skb, &path->waiting);
	if (!frame->has_seq) {
		frame->seq = path->next_seq++;
		frame->has_seq = true;
		frame->built_at = now;
	}
	__skb_queue_tail(&ppdu->frames, skb);
}

/* Length and air time, which follow from the frames and the rate. */
static void measure(struct wifi_ppdu *ppdu)
{
	const struct wifi_device *from = ppdu->path->from;
	struct sk_buff *skb;

	ppdu->aggregate = skb_queue_len(&ppdu->frames) > 1;
	ppdu->bytes = 0;
	skb_queue_walk(&ppdu->frames, skb) {
		if (ppdu->aggregate)
			ppdu->bytes = ALIGN(ppdu->bytes, 4) + DELIMITER;
		ppdu->bytes += wifi_mpdu_bytes(&ppdu->rate, skb->len, from->params.overhead);
	}
	ppdu->air_ns = wifi_ppdu_ns(&from->medium->phy, &ppdu->rate, ppdu->bytes);
}

/* The rate of the first transmission. Whether it goes without aggregation. */
static bool choose_rate(struct wifi_path *path, struct wifi_ppdu *ppdu, u64 now)
{
	struct wifi_control *control = path->to ? path->control : NULL;
	bool alone;

	ppdu->rate = wifi_path_rate(path);
	if (!control)
		return false;
	alone = control->ops->choose(control, &path->from->medium->random, ppdu, now);
	ppdu->stage = 0;
	ppdu->rate = rate_of(path, ppdu->chain[0]);
	return alone;
}

/* Bytes of an A-MPDU: the limit on its air time holds at all rates that it may have. */
static u32 longest(const struct wifi_path *path, const struct wifi_ppdu *ppdu)
{
	const struct wifi_params *params = &path->from->params;
	const struct wifi_phy *phy = &path->from->medium->phy;
	u32 most = params->ampdu_bytes;
	struct wifi_rate rate;
	u32 stage;

	if (!path->control)
		return min(most, wifi_ppdu_bytes(phy, &ppdu->rate, 1000 * params->ampdu_time));
	for (stage = 0; stage < path->control->ops->stages; stage++) {
		rate = rate_of(path, ppdu->chain[stage]);
		if (!rate.legacy)
			most = min(most, wifi_ppdu_bytes(phy, &rate, 1000 * params->ampdu_time));
	}
	return most;
}

/* The rate for the next transmission of what is left. */
static void fall_back(struct wifi_path *path, struct wifi_ppdu *ppdu)
{
	if (path->to && path->control) {
		ppdu->stage = path->control->ops->stage(path->control, ppdu);
		ppdu->rate = rate_of(path, ppdu->chain[ppdu->stage]);
	}
	measure(ppdu);
}

/**
 * wifi_path_build() - make a PPDU of the frames that wait
 * @path:	that is ready
 * @ppdu:	where it goes
 * @now:	the time
 *
 * An A-MPDU at HT rates, as long as the limits of the sending device allow; a
 * frame alone goes without aggregation.
 */
void wifi_path_build(struct wifi_path *path, struct wifi_ppdu *ppdu, u64 now)
{
	const struct wifi_params *params = &path->from->params;
	struct sk_buff *skb = skb_peek(&path->waiting);
	u32 limit = 0, bytes = 0, most = 1;
	bool alone;

	ppdu->path = path;
	ppdu->lost = 0;
	ppdu->tries = 0;
	__skb_queue_head_init(&ppdu->frames);
	alone = choose_rate(path, ppdu, now);
	if (!ppdu->rate.legacy && !alone) {
		most = params->subframes;
		limit = longest(path, ppdu);
	}
	do {
		bytes = ALIGN(bytes, 4) + DELIMITER +
			wifi_mpdu_bytes(&ppdu->rate, skb->len, params->overhead);
		if (!skb_queue_empty(&ppdu->frames) && bytes > limit)
			break;
		add(path, ppdu, skb, now);
		skb = skb_peek(&path->waiting);
	} while (skb && skb_queue_len(&ppdu->frames) < most && fits_window(path, skb));
	measure(ppdu);
	/* To the end, so that paths that are served in turn are. */
	if (skb_queue_empty(&path->waiting))
		list_del_init(&path->active);
	else
		list_move_tail(&path->active, &path->from->active);
}

/*
 * wifi_path_drop() - drop what is in a PPDU
 */
void wifi_path_drop(struct wifi_path *path, struct wifi_ppdu *ppdu)
{
	struct sk_buff *skb;

	while ((skb = __skb_dequeue(&ppdu->frames)))
		give_up(path, skb);
}

/**
 * wifi_path_finish() - what a transmission came to
 * @path:	of @ppdu
 * @ppdu:	that was on the air, with what of it was lost
 * @now:	end of the exchange
 * @released:	gets the frames that the receiver passes on
 *
 * What is left in the PPDU without an answer is sent again as it is; frames
 * that a block ack lacks go back to the queue.
 */
void wifi_path_finish(struct wifi_path *path, struct wifi_ppdu *ppdu, u64 now,
		      struct sk_buff_head *released)
{
	u32 most = path->to ? path->from->params.retries : 0;
	u32 frames = skb_queue_len(&ppdu->frames);
	struct sk_buff *skb, *next;
	u32 successes = frames;
	u32 place = 0;

	path->counters.ppdus++;
	path->counters.subframes += frames;
	path->counters.lost += hweight64(ppdu->lost);
	if (!ppdu->answered && path->to)
		path->counters.unanswered++;
	if (ppdu->answered)
		successes -= hweight64(ppdu->lost);
	else
		successes = 0;
	ppdu->tries++;

	skb_queue_walk_safe(&ppdu->frames, skb, next) {
		bool lost = path->to ? !ppdu->answered || ppdu->lost & BIT_ULL(place) : false;

		place++;
		if (lost && wifi_frame(skb)->tries++ < most) {
			if (!ppdu->answered)
				continue;
			__skb_unlink(skb, &ppdu->frames);
			requeue(path, skb);
			continue;
		}
		__skb_unlink(skb, &ppdu->frames);
		if (lost) {
			path->counters.dropped++;
			give_up(path, skb);
		} else {
			accept(path, skb, now);
		}
	}
	release(path, released, now);
	ppdu->lost = 0;
	if (path->to && path->control)
		path->control->ops->report(path->control, ppdu, frames, successes,
					   skb_queue_empty(&ppdu->frames), now);
	if (!skb_queue_empty(&ppdu->frames))
		fall_back(path, ppdu);
}
