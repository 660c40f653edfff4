// SPDX-License-Identifier: GPL-2.0
/*
 * The network devices: from the qdisc into the driver's queue, and from the
 * air into the network.
 */

#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <net/rtnetlink.h>

#include "wifi.h"

#define QUANTUM_NS	300000	/* air time a round and destination */

/* ---- the driver's queue ---- */

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

/*
 * wifi_device_completed() - the driver's queue is done with a frame
 */
void wifi_device_completed(struct wifi_device *device, struct sk_buff *skb)
{
	device->pending--;
	device->pending_bytes -= skb->len;
	device->pending_ns -= wifi_frame(skb)->airtime;
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
 * wifi_device_build() - make a PPDU of frames that wait, which there must be
 */
void wifi_device_build(struct wifi_device *device, u64 now)
{
	u32 place = (device->first + device->built) % WIFI_AHEAD_MAX;

	wifi_path_build(choose(device), &device->ppdus[place], now);
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

/* ---- frames ---- */

static struct wifi_device *station_of(struct wifi_medium *medium, const u8 *address)
{
	struct wifi_device *device;

	list_for_each_entry(device, &medium->devices, node)
		if (!device->is_ap && ether_addr_equal_64bits(device->dev->dev_addr, address))
			return device;
	return NULL;
}

/* A station sends all to its access point. */
static struct wifi_path *path_of(struct wifi_device *device, const struct ethhdr *header)
{
	struct wifi_device *station;

	if (!device->is_ap || is_multicast_ether_addr(header->h_dest))
		return &device->own;
	station = station_of(device->medium, header->h_dest);
	return station ? &station->down : NULL;
}

/* Room for a frame in a queue that is never stopped. */
static struct sk_buff *make_room(struct wifi_device *device)
{
	struct wifi_path *path, *longest = NULL;
	struct sk_buff *skb;

	if (device->pending < device->params.ring)
		return NULL;
	list_for_each_entry(path, &device->active, active)
		if (!longest || skb_queue_len(&path->waiting) > skb_queue_len(&longest->waiting))
			longest = path;
	skb = longest ? wifi_path_overflow(longest) : NULL;
	if (skb)
		wifi_device_completed(device, skb);
	return skb;
}

static netdev_tx_t wifi_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct wifi_device *device = netdev_priv(dev);
	struct wifi_medium *medium = device->medium;
	struct sk_buff *overflow = NULL;
	struct wifi_path *path;
	struct wifi_rate rate;
	bool was_idle;
	u64 now;

	skb_tx_timestamp(skb);
	now = ktime_get_ns();
	spin_lock(&medium->lock);
	path = path_of(device, (struct ethhdr *)skb->data);
	if (!path) {
		spin_unlock(&medium->lock);
		dev_core_stats_tx_dropped_inc(dev);
		dev_kfree_skb_any(skb);
		return NETDEV_TX_OK;
	}
	dev_sw_netstats_tx_add(dev, 1, skb->len);
	if (device->params.overflow == WIFI_OVERFLOW_DROP)
		overflow = make_room(device);
	was_idle = !wifi_device_contends(device);
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
	wifi_medium_arrival(device, was_idle, now);
	spin_unlock(&medium->lock);
	if (overflow) {
		dev_core_stats_tx_dropped_inc(dev);
		dev_kfree_skb_any(overflow);
	}
	return NETDEV_TX_OK;
}

/* The access point sends a frame on to stations, through its own qdisc. */
static void relay(struct wifi_device *ap, struct sk_buff *skb)
{
	skb->dev = ap->dev;
	skb_reset_mac_header(skb);
	skb_set_network_header(skb, ETH_HLEN);
	skb->protocol = eth_hdr(skb)->h_proto;
	dev_queue_xmit(skb);
}

/**
 * wifi_deliver() - pass a frame to what is above a device
 * @to:		the device that got it
 * @skb:	the frame, from its Ethernet header on
 * @batch:	gets it, for netif_receive_skb_list()
 */
void wifi_deliver(struct wifi_device *to, struct sk_buff *skb, struct list_head *batch)
{
	const struct ethhdr *header = (struct ethhdr *)skb->data;
	struct net_device *dev = to->dev;
	struct sk_buff *copy;

	if (!wifi_is_running(to)) {
		dev_kfree_skb_any(skb);
		return;
	}
	skb_scrub_packet(skb, !net_eq(dev_net(skb->dev), dev_net(dev)));
	if (to->is_ap && is_multicast_ether_addr(header->h_dest)) {
		copy = skb_copy(skb, GFP_ATOMIC);
		if (copy)
			relay(to, copy);
	} else if (to->is_ap && station_of(to->medium, header->h_dest)) {
		relay(to, skb);
		return;
	}
	skb->protocol = eth_type_trans(skb, dev);
	dev_sw_netstats_rx_add(dev, skb->len + ETH_HLEN);
	list_add_tail(&skb->list, batch);
}

/* ---- the device ---- */

static int wifi_open(struct net_device *dev)
{
	struct wifi_device *device = netdev_priv(dev);

	device->stopped = false;
	device->ring_full = false;
	netif_start_queue(dev);
	return 0;
}

static int wifi_stop(struct net_device *dev)
{
	struct wifi_device *device = netdev_priv(dev);

	netif_stop_queue(dev);
	spin_lock_bh(&device->medium->lock);
	wifi_device_purge(device);
	wifi_medium_changed(device->medium);
	spin_unlock_bh(&device->medium->lock);
	return 0;
}

static int wifi_init(struct net_device *dev)
{
	struct wifi_device *device = netdev_priv(dev);

	wifi_medium_add(device->medium, device);
	return 0;
}

static void wifi_uninit(struct net_device *dev)
{
	struct wifi_device *device = netdev_priv(dev);

	if (wifi_medium_remove(device->medium, device)) {
		kfree(device->medium);
		device->medium = NULL;
	}
}

static int wifi_get_iflink(const struct net_device *dev)
{
	const struct wifi_device *device = netdev_priv(dev);
	const struct wifi_medium *medium = device->medium;

	return medium && medium->ap ? READ_ONCE(medium->ap->dev->ifindex) : dev->ifindex;
}

const struct net_device_ops wifi_netdev_ops = {
	.ndo_init		= wifi_init,
	.ndo_uninit		= wifi_uninit,
	.ndo_open		= wifi_open,
	.ndo_stop		= wifi_stop,
	.ndo_start_xmit		= wifi_xmit,
	.ndo_get_iflink		= wifi_get_iflink,
	.ndo_set_mac_address	= eth_mac_addr,
	.ndo_validate_addr	= eth_validate_addr,
};

static void wifi_free(struct net_device *dev)
{
	struct wifi_device *device = netdev_priv(dev);

	wifi_channel_free(&device->own.channel);
	wifi_channel_free(&device->down.channel);
	kfree(device->own.control);
	kfree(device->down.control);
}

void wifi_setup(struct net_device *dev)
{
	ether_setup(dev);
	dev->netdev_ops = &wifi_netdev_ops;
	dev->ethtool_ops = &wifi_ethtool_ops;
	dev->priv_flags |= IFF_LIVE_ADDR_CHANGE;
	dev->hw_features = NETIF_F_SG | NETIF_F_FRAGLIST | NETIF_F_HW_CSUM | NETIF_F_HIGHDMA;
	dev->features |= dev->hw_features;
	dev->pcpu_stat_type = NETDEV_PCPU_STAT_TSTATS;
	dev->needs_free_netdev = true;
	dev->priv_destructor = wifi_free;
}

/*
 * wifi_device_init() - defaults, before a device is registered
 *
 * Those of ath9k in Linux 3.14 and of IEEE Std 802.11-2012; docs/wifi.md has the
 * source of each.
 */
void wifi_device_init(struct wifi_device *device, struct net_device *dev, bool is_ap)
{
	device->dev = dev;
	device->is_ap = is_ap;
	INIT_LIST_HEAD(&device->active);
	INIT_LIST_HEAD(&device->winner);
	device->params = (struct wifi_params){
		.aifsn = 3,
		.cw_min = 15,
		.cw_max = 1023,
		.retries = 30,
		.protection_rate = 240,
		.subframes = 32,
		.ampdu_bytes = 65535,
		.ampdu_time = 4000,
		.ahead = 2,
		.ring = 124,
		.wake = 122,
	};
	device->access.cw = device->params.cw_min;
	wifi_path_init(&device->own, device, is_ap ? NULL : device->medium->ap);
	wifi_path_init(&device->down, is_ap ? device : device->medium->ap, device);
	if (!is_ap)
		dev->priv_flags |= IFF_DONT_BRIDGE;
}

static int __init wifi_module_init(void)
{
	return rtnl_link_register(&wifi_link_ops);
}

static void __exit wifi_module_exit(void)
{
	rtnl_link_unregister(&wifi_link_ops);
}

module_init(wifi_module_init);
module_exit(wifi_module_exit);
MODULE_DESCRIPTION("WiFi-like link of an access point and stations on one radio channel");
MODULE_AUTHOR("The qdisc-lab authors");
MODULE_LICENSE("GPL");
MODULE_ALIAS_RTNL_LINK("wifi");
