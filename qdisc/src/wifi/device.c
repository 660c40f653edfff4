// SPDX-License-Identifier: GPL-2.0
/*
 * The network devices: from the qdisc into the driver's queue, and from the
 * air into the network.
 */

#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "wifi.h"

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

static netdev_tx_t wifi_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct wifi_device *device = netdev_priv(dev);
	struct wifi_medium *medium = device->medium;
	struct sk_buff *overflow;
	struct wifi_path *path;
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
	overflow = wifi_device_make_room(device);
	was_idle = !wifi_device_contends(device);
	wifi_device_queue(device, path, skb, now);
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

/* Pass a frame to what is above a device: on to stations, or into a list for the network. */
static void deliver(struct wifi_device *to, struct sk_buff *skb, struct list_head *batch)
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

	device->medium->deliver = deliver;
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
