// SPDX-License-Identifier: GPL-2.0
/*
 * The radio channel: who sends when, and what comes of it.
 *
 * All devices hear each other. Time after a transmission is SIFS, then slots;
 * a device may send on the boundary after its AIFSN and its backoff are over
 * (IEEE Std 802.11-2012, 9.3.4 and 9.19.2). Two that choose the same boundary
 * collide, and both fail. One timer runs: to the next transmission while
 * somebody contends, to the end of the exchange, answer included, while the
 * medium is busy.
 */

#include <linux/etherdevice.h>
#include <linux/math64.h>
#include <linux/slab.h>
#include <linux/version.h>

#include "wifi.h"

/* The first boundary on which @device may send with no backoff left. */
static u64 first_boundary(const struct wifi_device *device)
{
	const struct wifi_medium *medium = device->medium;

	return medium->idle_since + wifi_sifs_ns(&medium->phy) +
	       (u64)device->params.aifsn * wifi_slot_ns(&medium->phy);
}

/*
 * When @device, which contends since @now or longer, sends. A backoff that was
 * over before it had a frame, or its processor was done with it, leaves the next
 * boundary.
 */
static u64 sends_at(const struct wifi_device *device, u64 now)
{
	u32 slot = wifi_slot_ns(&device->medium->phy);
	u64 first = first_boundary(device);
	u64 at = first + (u64)device->access.backoff * slot;

	now = max(now, device->built ? device->ppdus[device->first].ready_at : device->busy_until);
	return at >= now ? at : first + DIV64_U64_ROUND_UP(now - first, slot) * slot;
}

/* Count down what @device saw of idle slots until somebody else sent at @at. */
static void count_down(struct wifi_device *device, u64 at)
{
	const struct wifi_phy *phy = &device->medium->phy;
	u64 first = first_boundary(device);
	u64 slots;

	if (at < first)
		return;
	slots = div_u64(at - first, wifi_slot_ns(phy));
	/* With EDCA, each boundary counts, that of the other one's start too. */
	if (phy->backoff == WIFI_BACKOFF_EDCA)
		slots++;
	device->access.backoff -= min_t(u64, device->access.backoff, slots);
}

static void draw_backoff(struct wifi_device *device)
{
	struct wifi_access *access = &device->access;

	access->backoff = prandom_u32_state(&device->medium->random) & access->cw;
}

/* Choose the next transmission, if anybody has one. */
static void contend(struct wifi_medium *medium, u64 now)
{
	struct wifi_device *device;
	u64 next = U64_MAX;

	list_for_each_entry(device, &medium->devices, node)
		if (wifi_device_contends(device))
			next = min(next, sends_at(device, now));
	medium->state = next == U64_MAX ? WIFI_IDLE : WIFI_CONTENTION;
	if (next == U64_MAX)
		return;
	medium->next = next;
	hrtimer_start(&medium->timer, ns_to_ktime(next), HRTIMER_MODE_ABS_SOFT);
}

/**
 * wifi_medium_arrival() - a device got a frame
 * @device:	that did
 * @was_idle:	it had none before
 * @now:	the time
 */
void wifi_medium_arrival(struct wifi_device *device, bool was_idle, u64 now)
{
	struct wifi_medium *medium = device->medium;

	if (medium->state == WIFI_BUSY) {
		/* A device that finds the medium busy backs off, 9.3.4.3. */
		if (was_idle && !device->access.backoff && !device->on_air)
			draw_backoff(device);
		return;
	}
	if (medium->state == WIFI_IDLE ||
	    (was_idle && wifi_device_contends(device) &&
	     sends_at(device, now) < medium->next))
		contend(medium, now);
}

/* Set the timer again, after it was cancelled. */
static void resume(struct wifi_medium *medium)
{
	if (medium->state == WIFI_BUSY)
		hrtimer_start(&medium->timer, ns_to_ktime(medium->next), HRTIMER_MODE_ABS_SOFT);
	else
		contend(medium, ktime_get_ns());
}

/*
 * wifi_medium_changed() - frames that contended are gone, or options are others
 */
void wifi_medium_changed(struct wifi_medium *medium)
{
	if (medium->state == WIFI_BUSY)
		return;
	/* If it runs, it waits for the lock, and finds nothing due. */
	hrtimer_try_to_cancel(&medium->timer);
	contend(medium, ktime_get_ns());
}

/* From the start of the exchange to where a collision or the answer ends it. */
static u64 exchange_ns(struct wifi_medium *medium, struct wifi_device *device, bool collides)
{
	const struct wifi_params *params = &device->params;
	const struct wifi_ppdu *ppdu = wifi_first_ppdu(device);
	u64 ns;

	if (!ppdu->path->to)
		return ppdu->air_ns;
	if (collides && params->protection == WIFI_PROTECTION_RTS)
		return wifi_rts_ns(&medium->phy, params->protection_rate);
	ns = wifi_protect_ns(&medium->phy, params->protection, params->protection_rate) +
	     ppdu->air_ns;
	if (ppdu->answered)
		ns += wifi_sifs_ns(&medium->phy) +
		      (ppdu->aggregate ? wifi_block_ack_ns(&medium->phy, &ppdu->rate)
				       : wifi_ack_ns(&medium->phy, &ppdu->rate));
	return ns;
}

/* Draw which frames of a PPDU that has the medium for itself are lost. */
static void transmit(struct wifi_medium *medium, struct wifi_ppdu *ppdu, u64 at)
{
	struct wifi_path *path = ppdu->path;
	u32 count = skb_queue_len(&ppdu->frames);
	u32 place;

	ppdu->lost = 0;
	ppdu->answered = false;
	if (!path->to)
		return;
	for (place = 0; place < count; place++)
		if (!wifi_is_running(path->to) ||
		    wifi_channel_lost(&path->channel, &medium->random, &ppdu->rate, at))
			ppdu->lost |= BIT_ULL(place);
	ppdu->answered = hweight64(ppdu->lost) < count;
}

static void start(struct wifi_medium *medium)
{
	struct wifi_device *device;
	u64 at = medium->next;
	u64 length = 0;
	bool collides, understood;

	list_for_each_entry(device, &medium->devices, node)
		if (wifi_device_contends(device) && sends_at(device, at) == at)
			list_add_tail(&device->winner, &medium->winners);
	list_for_each_entry(device, &medium->devices, node)
		if (list_empty(&device->winner))
			count_down(device, at);
	list_for_each_entry(device, &medium->winners, winner) {
		struct sk_buff *skb;

		if (!device->built)
			wifi_device_build(device, at);
		device->on_air = true;
		skb_queue_walk(&wifi_first_ppdu(device)->frames, skb)
			if (!wifi_frame(skb)->aired_at)
				wifi_frame(skb)->aired_at = at;
	}
	collides = !list_is_singular(&medium->winners);
	understood = !collides;
	list_for_each_entry(device, &medium->winners, winner) {
		struct wifi_ppdu *ppdu = wifi_first_ppdu(device);
		u64 ns;

		if (collides) {
			ppdu->answered = false;
			ppdu->path->counters.collisions++;
		} else {
			transmit(medium, ppdu, at);
			understood = ppdu->answered || !ppdu->path->to;
		}
		ns = exchange_ns(medium, device, collides);
		ppdu->path->counters.airtime += ns;
		ppdu->path->deficit -= ns;
		length = max(length, ns);
	}
	medium->exchanges++;
	medium->collisions += collides;
	medium->busy += length;
	medium->collided += collides ? length : 0;
	medium->then_idle = at + length;
	if (!understood && medium->phy.eifs)
		medium->then_idle += wifi_eifs_ns(&medium->phy);
	medium->state = WIFI_BUSY;
	medium->next = at + length;
	hrtimer_start(&medium->timer, ns_to_ktime(medium->next), HRTIMER_MODE_ABS_SOFT);
}

/* Contention window after success, or after one failure more: 9.3.3. */
static void settle(struct wifi_device *device, bool answered, bool empty)
{
	struct wifi_access *access = &device->access;

	if (answered || empty) {
		access->failures = 0;
		access->cw = device->params.cw_min;
	} else {
		access->failures++;
		access->cw = min(2 * access->cw + 1, device->params.cw_max);
	}
	draw_backoff(device);
}

struct delivery {
	struct wifi_device *to;		/* NULL: all stations */
	struct sk_buff_head frames;
};

static void finish(struct wifi_medium *medium, struct delivery *delivery)
{
	struct wifi_device *device, *next;
	u64 at = medium->next;

	__skb_queue_head_init(&delivery->frames);
	list_for_each_entry_safe(device, next, &medium->winners, winner) {
		struct wifi_ppdu *ppdu = wifi_first_ppdu(device);
		struct wifi_path *path = ppdu->path;
		bool done;

		list_del_init(&device->winner);
		device->on_air = false;
		if (wifi_is_running(device)) {
			wifi_path_finish(path, ppdu, at, &delivery->frames);
			delivery->to = path->to;
			if (path->to)
				wifi_device_work(path->to, skb_queue_len(&delivery->frames), at);
		} else {
			wifi_path_drop(path, ppdu);
		}
		done = skb_queue_empty(&ppdu->frames);
		settle(device, ppdu->answered || !path->to, done);
		if (done) {
			device->first = (device->first + 1) % WIFI_AHEAD_MAX;
			device->built--;
		}
		wifi_device_refill(device, at);
		wifi_device_wake(device);
	}
	medium->idle_since = medium->then_idle;
	contend(medium, medium->idle_since);
}

static const u8 *eth_source(const struct sk_buff *skb)
{
	return ((const struct ethhdr *)skb->data)->h_source;
}

/*
 * A receiver gets the frames of an A-MPDU while they arrive, and a process that
 * waits for them reads some before the last one is there. Here all of an A-MPDU
 * is known at its end; with a time between them they are at least not one
 * burst, of which TCP acknowledges no more than the last segment.
 */
static void hand_over(struct wifi_medium *medium, struct list_head *batch)
{
	struct sk_buff *skb, *next;
	u64 apart = 1000ULL * READ_ONCE(medium->phy.apart);

	if (!apart) {
		netif_receive_skb_list(batch);
		return;
	}
	spin_lock(&medium->lock);
	list_for_each_entry_safe(skb, next, batch, list) {
		skb_list_del_init(skb);
		__skb_queue_tail(&medium->received, skb);
	}
	if (!skb_queue_empty(&medium->received) && !hrtimer_is_queued(&medium->hand_over))
		hrtimer_start(&medium->hand_over, ns_to_ktime(ktime_get_ns() + apart),
			      HRTIMER_MODE_ABS_SOFT);
	spin_unlock(&medium->lock);
}

static enum hrtimer_restart hand_over_next(struct hrtimer *timer)
{
	struct wifi_medium *medium = container_of(timer, struct wifi_medium, hand_over);
	LIST_HEAD(batch);
	struct sk_buff *skb;
	bool more;
	u32 left;

	spin_lock(&medium->lock);
	for (left = max(medium->phy.batch, 1U); left; left--) {
		skb = __skb_dequeue(&medium->received);
		if (!skb)
			break;
		list_add_tail(&skb->list, &batch);
	}
	more = !skb_queue_empty(&medium->received);
	if (more)
		hrtimer_forward_now(timer, ns_to_ktime(1000ULL * max(medium->phy.apart, 1U)));
	spin_unlock(&medium->lock);
	netif_receive_skb_list(&batch);
	return more ? HRTIMER_RESTART : HRTIMER_NORESTART;
}

static void deliver(struct wifi_medium *medium, struct delivery *delivery)
{
	struct wifi_device *device;
	LIST_HEAD(batch);
	struct sk_buff *skb, *copy;

	while ((skb = __skb_dequeue(&delivery->frames))) {
		if (delivery->to) {
			medium->deliver(delivery->to, skb, &batch);
			continue;
		}
		list_for_each_entry(device, &medium->devices, node) {
			/* A station ignores what it sent to all, and hears again. */
			if (device->is_ap || ether_addr_equal(eth_source(skb), device->dev->dev_addr))
				continue;
			copy = skb_clone(skb, GFP_ATOMIC);
			if (copy)
				medium->deliver(device, copy, &batch);
		}
		consume_skb(skb);
	}
	hand_over(medium, &batch);
}

static enum hrtimer_restart due(struct hrtimer *timer)
{
	struct wifi_medium *medium = container_of(timer, struct wifi_medium, timer);
	struct delivery delivery;

	spin_lock(&medium->lock);
	if (medium->state == WIFI_BUSY && !hrtimer_is_queued(timer)) {
		finish(medium, &delivery);
		spin_unlock(&medium->lock);
		deliver(medium, &delivery);
		return HRTIMER_NORESTART;
	}
	/* Where somebody set the timer anew while we waited for the lock, it will come. */
	if (medium->state == WIFI_CONTENTION && !hrtimer_is_queued(timer))
		start(medium);
	spin_unlock(&medium->lock);
	return HRTIMER_NORESTART;
}

/*
 * wifi_medium_add() - a device joins
 */
void wifi_medium_add(struct wifi_medium *medium, struct wifi_device *device)
{
	hrtimer_cancel(&medium->timer);
	spin_lock_bh(&medium->lock);
	list_add_tail(&device->node, &medium->devices);
	if (device->is_ap)
		medium->ap = device;
	medium->stations += !device->is_ap;
	resume(medium);
	spin_unlock_bh(&medium->lock);
}

/*
 * wifi_medium_remove() - a device, which is down, leaves
 *
 * Nobody delivers to it any more when this returns whether it was the last one.
 */
bool wifi_medium_remove(struct wifi_medium *medium, struct wifi_device *device)
{
	bool last;

	hrtimer_cancel(&medium->timer);
	hrtimer_cancel(&medium->hand_over);
	skb_queue_purge(&medium->received);
	spin_lock_bh(&medium->lock);
	if (medium->ap)
		wifi_device_forget(medium->ap, &device->down);
	wifi_device_purge(device);
	wifi_path_purge(&device->down);
	list_del_init(&device->winner);
	list_del(&device->node);
	medium->stations -= !device->is_ap;
	if (device->is_ap)
		medium->ap = NULL;
	last = list_empty(&medium->devices);
	if (!last)
		resume(medium);
	spin_unlock_bh(&medium->lock);
	return last;
}

/*
 * wifi_medium_create() - a medium without devices, or NULL
 */
struct wifi_medium *wifi_medium_create(void)
{
	struct wifi_medium *medium = kzalloc(sizeof(*medium), GFP_KERNEL);

	if (!medium)
		return NULL;
	spin_lock_init(&medium->lock);
	INIT_LIST_HEAD(&medium->devices);
	INIT_LIST_HEAD(&medium->winners);
	skb_queue_head_init(&medium->received);
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
	hrtimer_init(&medium->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	medium->timer.function = due;
	hrtimer_init(&medium->hand_over, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	medium->hand_over.function = hand_over_next;
#else
	hrtimer_setup(&medium->timer, due, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	hrtimer_setup(&medium->hand_over, hand_over_next, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
#endif
	prandom_seed_state(&medium->random, get_random_u64());
	medium->phy = (struct wifi_phy){
		.band = 5, .slot = 9, .backoff = WIFI_BACKOFF_EDCA, .eifs = 1,
		.batch = 1,
	};
	medium->idle_since = ktime_get_ns();
	return medium;
}
