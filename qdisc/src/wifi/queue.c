// SPDX-License-Identifier: GPL-2.0
/*
 * The driver's queue of a device: which path's frames come next, PPDUs that are
 * built ahead, and when the queue above has to stop.
 */

#include <linux/netdevice.h>

#include "wifi.h"

#define QUANTUM_NS	300000	/* air time a round and destination */

static bool over_limits(struct wifi_device *device)
{
	const struct wifi_params *params = &device->params;
	struct wifi_path *path;

	if (params->limit_bytes && device->pending_bytes >= params->limit_bytes)
		return true;
	if (params->limit_airtime && device->pending_ns >= 1000ULL * params->limit_airtime)
		return true;
	if (params->buffer)
		list_for_each_entry(path, &device->active, active)
			if (skb_queue_len(&path->waiting) >= params->buffer)
				return true;
	return false;
}

/* Stop the queue above where there is no room for one frame more. */
static void stop_if_full(struct wifi_device *device)
{
	if (device->pending >= device->params.ring)
		device->ring_full = true;
	else if (!over_limits(device))
		return;
	device->stopped = true;
	device->stops++;
	netif_stop_queue(device->dev);
}

/*
 * wifi_device_wake() - let the queue above go on, if there is room again
 */
void wifi_device_wake(struct wifi_device *device)
{
	if (!device->stopped || over_limits(device) ||
	    device->pending > (device->ring_full ? device->params.wake
						 : device->params.ring - 1))
		return;
	device->stopped = false;
	device->ring_full = false;
	if (wifi_is_running(device))
		netif_wake_queue(device->dev);
}

/* The path whose frames are next, or NULL. */
static struct wifi_path *choose(struct wifi_device *device)
{
	struct wifi_path *path, *next, *best = NULL;
	bool short_of_time;

	switch (device->params.scheduler) {
	case WIFI_SCHEDULER_FIFO:
		list_for_each_entry(path, &device->active, active)
			if (wifi_path_ready(path) &&
			    (!best || wifi_frame(skb_peek(&path->waiting))->queued_at <
				      wifi_frame(skb_peek(&best->waiting))->queued_at))
				best = path;
		return best;
	case WIFI_SCHEDULER_ROBIN:
		list_for_each_entry(path, &device->active, active)
			if (wifi_path_ready(path))
				return path;
		return NULL;
	default:
		do {
			short_of_time = false;
			list_for_each_entry_safe(path, next, &device->active, active) {
				if (!wifi_path_ready(path))
					continue;
				if (path->deficit >= 0)
					return path;
				short_of_time = true;
				path->deficit += QUANTUM_NS;
			}
		} while (short_of_time);
		return NULL;
	}
}

/*
 * wifi_device_contends() - whether the device wants to send
 */
bool wifi_device_contends(struct wifi_device *device)
{
	struct wifi_path *path;

	if (device->built)
		return true;
	list_for_each_entry(path, &device->active, active)
		if (wifi_path_ready(path))
			return true;
	return false;
}

/*
 * wifi_device_work() - the processor of a device has so many frames to do
 *
 * It does them in order, those that it sends before they are in a PPDU that may
 * go on the air; those that it gets only keep it from the next ones.
 */
void wifi_device_work(struct wifi_device *device, u32 frames, u64 now)
{
	u64 work = 1000ULL * device->params.forward * frames;

	device->busy_until = work ? max(device->busy_until, now) + work : 0;
}

/*
 * wifi_device_build() - make a PPDU of frames that wait, which there must be
 */
void wifi_device_build(struct wifi_device *device, u64 now)
{
	struct wifi_ppdu *ppdu = &device->ppdus[(device->first + device->built) % WIFI_AHEAD_MAX];

	wifi_path_build(choose(device), ppdu, now);
	wifi_device_work(device, skb_queue_len(&ppdu->frames), now);
	ppdu->ready_at = device->busy_until;
	device->built++;
}

/*
 * wifi_device_refill() - build as many PPDUs ahead as the device does
 */
void wifi_device_refill(struct wifi_device *device, u64 now)
{
	while (device->built < device->params.ahead && choose(device))
		wifi_device_build(device, now);
}

/*
 * wifi_device_make_room() - take a frame out of a full queue that is never
 * stopped: what has to be dropped, or NULL
 */
struct sk_buff *wifi_device_make_room(struct wifi_device *device)
{
	struct wifi_path *path, *longest = NULL;
	struct sk_buff *skb;

	if (device->params.overflow != WIFI_OVERFLOW_DROP ||
	    device->pending < device->params.ring)
		return NULL;
	list_for_each_entry(path, &device->active, active)
		if (!longest || skb_queue_len(&path->waiting) > skb_queue_len(&longest->waiting))
			longest = path;
	skb = longest ? wifi_path_overflow(longest) : NULL;
	if (skb)
		wifi_completed(device, skb);
	return skb;
}

/*
 * wifi_device_queue() - take a frame from above that goes by @path
 */
void wifi_device_queue(struct wifi_device *device, struct wifi_path *path,
		       struct sk_buff *skb, u64 now)
{
	struct wifi_rate rate;

	wifi_path_queue(path, skb, now);
	rate = wifi_path_rate(path);
	wifi_frame(skb)->airtime = wifi_payload_ns(&rate, skb->len);
	device->pending++;
	device->pending_bytes += skb->len;
	device->pending_ns += wifi_frame(skb)->airtime;
	device->pending_max = max(device->pending_max, device->pending);
	if (device->params.overflow == WIFI_OVERFLOW_STOP)
		stop_if_full(device);
	wifi_device_refill(device, now);
}

/*
 * wifi_device_forget() - drop what a device has for a path that goes away
 */
void wifi_device_forget(struct wifi_device *device, const struct wifi_path *path)
{
	u32 i;

	for (i = 0; i < device->built; i++) {
		struct wifi_ppdu *ppdu = &device->ppdus[(device->first + i) % WIFI_AHEAD_MAX];

		if (ppdu->path != path)
			continue;
		wifi_path_drop(ppdu->path, ppdu);
		/* Empty, it takes its turn as frames to all would. */
		ppdu->path = &device->own;
	}
}

/*
 * wifi_device_purge() - drop all frames that a device has and that are not on the air
 */
void wifi_device_purge(struct wifi_device *device)
{
	struct wifi_path *path, *next;
	u32 i;

	for (i = device->on_air; i < device->built; i++) {
		struct wifi_ppdu *ppdu = &device->ppdus[(device->first + i) % WIFI_AHEAD_MAX];

		wifi_path_drop(ppdu->path, ppdu);
	}
	device->built = device->on_air;
	list_for_each_entry_safe(path, next, &device->active, active)
		wifi_path_purge(path);
}
