// SPDX-License-Identifier: GPL-2.0
/*
 * What ethtool -S shows of a device: counters of its paths, its queue and, of an
 * access point, its medium. docs/wifi.md has their meaning and units.
 */

#include <linux/ethtool.h>

#include "wifi.h"

static const char path_strings[][ETH_GSTRING_LEN] = {
	"packets", "bytes", "ppdus", "subframes", "collisions", "unanswered", "lost",
	"dropped", "overflowed", "airtime_ns", "ring_ns", "aggregation_ns", "air_ns",
	"reorder_ns",
};

static const char device_strings[][ETH_GSTRING_LEN] = {
	"queue_stops", "queue_frames", "queue_bytes", "queue_frames_max",
};

static const char medium_strings[][ETH_GSTRING_LEN] = {
	"medium_exchanges", "medium_collisions", "medium_busy_ns", "medium_collided_ns",
};

/* An access point sends to stations and to all, a station up and is sent to. */
static const char * const prefixes[2][2] = { { "up", "down" }, { "all", "down" } };

static int wifi_sset_count(struct net_device *dev, int set)
{
	struct wifi_device *device = netdev_priv(dev);

	if (set != ETH_SS_STATS)
		return -EOPNOTSUPP;
	return 2 * ARRAY_SIZE(path_strings) + ARRAY_SIZE(device_strings) +
	       (device->is_ap ? ARRAY_SIZE(medium_strings) : 0);
}

static void wifi_strings(struct net_device *dev, u32 set, u8 *data)
{
	struct wifi_device *device = netdev_priv(dev);
	int which, i;

	BUILD_BUG_ON(ARRAY_SIZE(path_strings) * sizeof(u64) != sizeof(struct wifi_counters));
	if (set != ETH_SS_STATS)
		return;
	for (which = 0; which < 2; which++)
		for (i = 0; i < ARRAY_SIZE(path_strings); i++)
			ethtool_sprintf(&data, "%s_%s", prefixes[device->is_ap][which],
					path_strings[i]);
	for (i = 0; i < ARRAY_SIZE(device_strings); i++)
		ethtool_puts(&data, device_strings[i]);
	for (i = 0; device->is_ap && i < ARRAY_SIZE(medium_strings); i++)
		ethtool_puts(&data, medium_strings[i]);
}

static void add_counters(u64 *sum, const struct wifi_counters *counters)
{
	const u64 *value = (const u64 *)counters;
	int i;

	for (i = 0; i < ARRAY_SIZE(path_strings); i++)
		sum[i] += value[i];
}

static void wifi_stats(struct net_device *dev, struct ethtool_stats *stats, u64 *data)
{
	struct wifi_device *device = netdev_priv(dev);
	struct wifi_medium *medium = device->medium;
	struct wifi_device *other;

	memset(data, 0, wifi_sset_count(dev, ETH_SS_STATS) * sizeof(*data));
	spin_lock_bh(&medium->lock);
	add_counters(data, &device->own.counters);
	data += ARRAY_SIZE(path_strings);
	if (device->is_ap)
		list_for_each_entry(other, &medium->devices, node)
			add_counters(data, &other->down.counters);
	else
		add_counters(data, &device->down.counters);
	data += ARRAY_SIZE(path_strings);
	*data++ = device->stops;
	*data++ = device->pending;
	*data++ = device->pending_bytes;
	*data++ = device->pending_max;
	if (device->is_ap) {
		*data++ = medium->exchanges;
		*data++ = medium->collisions;
		*data++ = medium->busy;
		*data++ = medium->collided;
	}
	spin_unlock_bh(&medium->lock);
}

static void wifi_drvinfo(struct net_device *dev, struct ethtool_drvinfo *info)
{
	strscpy(info->driver, "wifi", sizeof(info->driver));
}

const struct ethtool_ops wifi_ethtool_ops = {
	.get_drvinfo		= wifi_drvinfo,
	.get_link		= ethtool_op_get_link,
	.get_ts_info		= ethtool_op_get_ts_info,
	.get_sset_count		= wifi_sset_count,
	.get_strings		= wifi_strings,
	.get_ethtool_stats	= wifi_stats,
};
