// SPDX-License-Identifier: GPL-2.0
/*
 * Options of the devices: checked, set and shown.
 */

#include <linux/etherdevice.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/version.h>
#include <net/net_namespace.h>
#include <net/netlink.h>
#include <net/rtnetlink.h>

#include "wifi.h"

#define TRACE_STEPS	65535

struct option {
	u16 attr;
	u16 offset;
};

#define MEDIUM_OPTION(attr, field) { IFLA_WIFI_##attr, offsetof(struct wifi_phy, field) }
#define DEVICE_OPTION(attr, field) { IFLA_WIFI_##attr, offsetof(struct wifi_params, field) }
#define CHANNEL_OPTION(attr, field) \
	{ IFLA_WIFI_CHANNEL_##attr, offsetof(struct wifi_channel_params, field) }

static const struct option medium_options[] = {
	MEDIUM_OPTION(BAND, band),
	MEDIUM_OPTION(SLOT, slot),
	MEDIUM_OPTION(BACKOFF, backoff),
	MEDIUM_OPTION(EIFS, eifs),
	MEDIUM_OPTION(SHORT_PREAMBLE, short_preamble),
	MEDIUM_OPTION(APART, apart),
	MEDIUM_OPTION(BATCH, batch),
};

static const struct option device_options[] = {
	DEVICE_OPTION(AIFSN, aifsn),
	DEVICE_OPTION(CW_MIN, cw_min),
	DEVICE_OPTION(CW_MAX, cw_max),
	DEVICE_OPTION(RETRIES, retries),
	DEVICE_OPTION(PROTECTION, protection),
	DEVICE_OPTION(PROTECTION_RATE, protection_rate),
	DEVICE_OPTION(SUBFRAMES, subframes),
	DEVICE_OPTION(AMPDU_BYTES, ampdu_bytes),
	DEVICE_OPTION(AMPDU_TIME, ampdu_time),
	DEVICE_OPTION(AHEAD, ahead),
	DEVICE_OPTION(RING, ring),
	DEVICE_OPTION(WAKE, wake),
	DEVICE_OPTION(BUFFER, buffer),
	DEVICE_OPTION(LIMIT_BYTES, limit_bytes),
	DEVICE_OPTION(LIMIT_AIRTIME, limit_airtime),
	DEVICE_OPTION(SCHEDULER, scheduler),
	DEVICE_OPTION(OVERFLOW, overflow),
	DEVICE_OPTION(OVERHEAD, overhead),
	DEVICE_OPTION(FORWARD, forward),
};

static const struct option channel_options[] = {
	CHANNEL_OPTION(RATE, legacy),
	CHANNEL_OPTION(MCS, mcs),
	CHANNEL_OPTION(WIDTH, width),
	CHANNEL_OPTION(SHORT_GI, short_gi),
	CHANNEL_OPTION(CONTROL, control),
	CHANNEL_OPTION(LOSS, loss),
	CHANNEL_OPTION(BAD_LOSS, bad_loss),
	CHANNEL_OPTION(GOOD, good),
	CHANNEL_OPTION(BAD, bad),
	CHANNEL_OPTION(SNR, snr),
	CHANNEL_OPTION(RESIDUAL, residual),
};

/* NLA_POLICY_MAX() has 16 bits for the limit. */
static const struct netlink_range_validation share = { .max = 1000000 };
static const struct netlink_range_validation stay = { .max = 1000000000 };
static const struct netlink_range_validation word = { .max = 65535 };
static const struct netlink_range_validation positive_word = { .min = 1, .max = 65535 };
static const struct netlink_range_validation airtime = { .max = 10000000 };

static const struct nla_policy channel_policy[IFLA_WIFI_CHANNEL_MAX + 1] = {
	[IFLA_WIFI_CHANNEL_RATE]	= NLA_POLICY_MAX(NLA_U32, 540),
	[IFLA_WIFI_CHANNEL_MCS]		= NLA_POLICY_MAX(NLA_U32, 31),
	[IFLA_WIFI_CHANNEL_WIDTH]	= NLA_POLICY_RANGE(NLA_U32, 20, 40),
	[IFLA_WIFI_CHANNEL_SHORT_GI]	= NLA_POLICY_MAX(NLA_U32, 1),
	[IFLA_WIFI_CHANNEL_CONTROL]	= NLA_POLICY_MAX(NLA_U32, __WIFI_CONTROL_MAX - 1),
	[IFLA_WIFI_CHANNEL_LOSS]	= NLA_POLICY_FULL_RANGE(NLA_U32, &share),
	[IFLA_WIFI_CHANNEL_BAD_LOSS]	= NLA_POLICY_FULL_RANGE(NLA_U32, &share),
	[IFLA_WIFI_CHANNEL_GOOD]	= NLA_POLICY_FULL_RANGE(NLA_U32, &stay),
	[IFLA_WIFI_CHANNEL_BAD]		= NLA_POLICY_FULL_RANGE(NLA_U32, &stay),
	[IFLA_WIFI_CHANNEL_SNR]		= NLA_POLICY_MAX(NLA_U32, 1000),
	[IFLA_WIFI_CHANNEL_TRACE]	= { .type = NLA_BINARY },
	[IFLA_WIFI_CHANNEL_RESIDUAL]	= NLA_POLICY_FULL_RANGE(NLA_U32, &share),
};

static const struct nla_policy wifi_policy[IFLA_WIFI_MAX + 1] = {
	[IFLA_WIFI_BAND]		= NLA_POLICY_RANGE(NLA_U32, 2, 5),
	[IFLA_WIFI_SLOT]		= NLA_POLICY_RANGE(NLA_U32, 9, 20),
	[IFLA_WIFI_BACKOFF]		= NLA_POLICY_MAX(NLA_U32, __WIFI_BACKOFF_MAX - 1),
	[IFLA_WIFI_EIFS]		= NLA_POLICY_MAX(NLA_U32, 1),
	[IFLA_WIFI_SHORT_PREAMBLE]	= NLA_POLICY_MAX(NLA_U32, 1),
	[IFLA_WIFI_AIFSN]		= NLA_POLICY_RANGE(NLA_U32, 1, 15),
	[IFLA_WIFI_CW_MIN]		= NLA_POLICY_RANGE(NLA_U32, 0, 32767),
	[IFLA_WIFI_CW_MAX]		= NLA_POLICY_RANGE(NLA_U32, 0, 32767),
	[IFLA_WIFI_RETRIES]		= NLA_POLICY_MAX(NLA_U32, 254),
	[IFLA_WIFI_PROTECTION]		= NLA_POLICY_MAX(NLA_U32, __WIFI_PROTECTION_MAX - 1),
	[IFLA_WIFI_PROTECTION_RATE]	= NLA_POLICY_RANGE(NLA_U32, 10, 540),
	[IFLA_WIFI_SUBFRAMES]		= NLA_POLICY_RANGE(NLA_U32, 1, WIFI_WINDOW),
	[IFLA_WIFI_AMPDU_BYTES]		= NLA_POLICY_FULL_RANGE(NLA_U32, &positive_word),
	[IFLA_WIFI_AMPDU_TIME]		= NLA_POLICY_RANGE(NLA_U32, 100, 10000),
	[IFLA_WIFI_AHEAD]		= NLA_POLICY_MAX(NLA_U32, WIFI_AHEAD_MAX),
	[IFLA_WIFI_RING]		= NLA_POLICY_FULL_RANGE(NLA_U32, &positive_word),
	[IFLA_WIFI_WAKE]		= NLA_POLICY_FULL_RANGE(NLA_U32, &word),
	[IFLA_WIFI_BUFFER]		= NLA_POLICY_FULL_RANGE(NLA_U32, &word),
	[IFLA_WIFI_LIMIT_BYTES]		= { .type = NLA_U32 },
	[IFLA_WIFI_LIMIT_AIRTIME]	= NLA_POLICY_FULL_RANGE(NLA_U32, &airtime),
	[IFLA_WIFI_SCHEDULER]		= NLA_POLICY_MAX(NLA_U32, __WIFI_SCHEDULER_MAX - 1),
	[IFLA_WIFI_OVERFLOW]		= NLA_POLICY_MAX(NLA_U32, __WIFI_OVERFLOW_MAX - 1),
	[IFLA_WIFI_OVERHEAD]		= NLA_POLICY_MAX(NLA_U32, 64),
	[IFLA_WIFI_UP]			= NLA_POLICY_NESTED(channel_policy),
	[IFLA_WIFI_DOWN]		= NLA_POLICY_NESTED(channel_policy),
	[IFLA_WIFI_APART]		= NLA_POLICY_MAX(NLA_U32, 1000),
	[IFLA_WIFI_BATCH]		= NLA_POLICY_RANGE(NLA_U32, 1, WIFI_WINDOW),
	[IFLA_WIFI_FORWARD]		= NLA_POLICY_MAX(NLA_U32, 10000),
};

/* What a request makes of a device; it takes effect when all of it is right. */
struct change {
	struct wifi_phy phy;
	struct wifi_params params;
	struct wifi_channel_params channel[2];	/* up, down */
	struct nlattr *trace[2];
	bool has_channel[2];
};

static bool parse(void *to, const struct option *options, int count, struct nlattr **tb)
{
	bool found = false;
	int i;

	for (i = 0; i < count; i++) {
		if (!tb[options[i].attr])
			continue;
		*(u32 *)(to + options[i].offset) = nla_get_u32(tb[options[i].attr]);
		found = true;
	}
	return found;
}

static int fill(struct sk_buff *skb, const void *from, const struct option *options, int count)
{
	int i;

	for (i = 0; i < count; i++)
		if (nla_put_u32(skb, options[i].attr, *(u32 *)(from + options[i].offset)))
			return -EMSGSIZE;
	return 0;
}

static int check_channel(const struct wifi_phy *phy, const struct wifi_channel_params *params,
			 struct nlattr *trace, struct netlink_ext_ack *extack)
{
	struct wifi_channel channel = { .params = *params };
	struct wifi_rate rate = wifi_channel_rate(&channel);
	const struct wifi_trace_step *step;
	int left;

	if (!wifi_rate_valid(phy, &rate)) {
		NL_SET_ERR_MSG_FMT(extack, "rate: %u.%u Mbit/s does not exist at %u GHz",
				   params->legacy / 10, params->legacy % 10, phy->band);
		return -EINVAL;
	}
	if (params->width != 20 && params->width != 40) {
		NL_SET_ERR_MSG(extack, "width: 20 or 40 MHz");
		return -EINVAL;
	}
	if (params->legacy && (params->width != 20 || params->short_gi)) {
		NL_SET_ERR_MSG(extack, "width, short_gi: only with an MCS");
		return -EINVAL;
	}
	if (params->control == WIFI_CONTROL_IWL && params->mcs > 7 && !params->legacy) {
		NL_SET_ERR_MSG(extack, "control: iwl has one transmitter, mcs 0 to 7");
		return -EINVAL;
	}
	if (!params->good != !params->bad) {
		NL_SET_ERR_MSG(extack, "good, bad: both times or none");
		return -EINVAL;
	}
	if (!trace)
		return 0;
	left = nla_len(trace);
	if (left % sizeof(*step) || left / sizeof(*step) > TRACE_STEPS) {
		NL_SET_ERR_MSG(extack, "trace: up to 65535 steps of two u32, us and 0.1 dB");
		return -EINVAL;
	}
	for (step = nla_data(trace); left; step++, left -= sizeof(*step))
		if (!step->us || !step->snr || step->snr > 1000) {
			NL_SET_ERR_MSG(extack, "trace: a step has 1 us or more and 1 to 1000 tenths of dB");
			return -EINVAL;
		}
	return 0;
}

static int check(const struct wifi_device *device, const struct change *change,
		 struct netlink_ext_ack *extack)
{
	const struct wifi_params *params = &change->params;
	struct wifi_rate protection = { .legacy = params->protection_rate };
	int which, error;

	if (change->phy.band != 2 && change->phy.band != 5) {
		NL_SET_ERR_MSG(extack, "band: 2 or 5 GHz");
		return -EINVAL;
	}
	if (change->phy.band != device->medium->phy.band && device->medium->stations) {
		NL_SET_ERR_MSG(extack, "band: stations have rates of the old one");
		return -EBUSY;
	}
	if (change->phy.slot != 9 && change->phy.slot != 20) {
		NL_SET_ERR_MSG(extack, "slot: 9 or 20 us");
		return -EINVAL;
	}
	if (!is_power_of_2(params->cw_min + 1) || !is_power_of_2(params->cw_max + 1) ||
	    params->cw_min > params->cw_max) {
		NL_SET_ERR_MSG(extack, "cw_min, cw_max: powers of 2 less 1, the smaller one first");
		return -EINVAL;
	}
	if (params->wake >= params->ring) {
		NL_SET_ERR_MSG(extack, "wake: less than ring");
		return -EINVAL;
	}
	if (!wifi_rate_valid(&change->phy, &protection)) {
		NL_SET_ERR_MSG(extack, "protection_rate: no such rate in this band");
		return -EINVAL;
	}
	for (which = 0; which < 2; which++) {
		if (!device->is_ap) {
			error = check_channel(&change->phy, &change->channel[which],
					      change->trace[which], extack);
			if (error)
				return error;
		}
	}
	return 0;
}

static int read(const struct wifi_device *device, struct nlattr **data, struct change *change,
		struct netlink_ext_ack *extack)
{
	struct nlattr *tb[IFLA_WIFI_CHANNEL_MAX + 1];
	int which, error;

	change->phy = device->medium->phy;
	change->params = device->params;
	change->channel[0] = device->own.channel.params;
	change->channel[1] = device->down.channel.params;
	if (!data)
		return 0;
	if (parse(&change->phy, medium_options, ARRAY_SIZE(medium_options), data) &&
	    !device->is_ap) {
		NL_SET_ERR_MSG(extack, "band, slot, backoff, eifs, short_preamble, apart, batch: of the access point");
		return -EINVAL;
	}
	parse(&change->params, device_options, ARRAY_SIZE(device_options), data);
	for (which = 0; which < 2; which++) {
		struct nlattr *nest = data[which ? IFLA_WIFI_DOWN : IFLA_WIFI_UP];

		if (!nest)
			continue;
		if (device->is_ap) {
			NL_SET_ERR_MSG(extack, "up, down: of a station");
			return -EINVAL;
		}
		error = nla_parse_nested(tb, IFLA_WIFI_CHANNEL_MAX, nest, channel_policy, extack);
		if (error)
			return error;
		/* One of the two names the rate. */
		if (tb[IFLA_WIFI_CHANNEL_MCS] && !tb[IFLA_WIFI_CHANNEL_RATE])
			change->channel[which].legacy = 0;
		parse(&change->channel[which], channel_options, ARRAY_SIZE(channel_options), tb);
		if (tb[IFLA_WIFI_CHANNEL_MCS] && change->channel[which].legacy) {
			NL_SET_ERR_MSG(extack, "rate, mcs: one of the two");
			return -EINVAL;
		}
		change->trace[which] = tb[IFLA_WIFI_CHANNEL_TRACE];
		change->has_channel[which] = true;
	}
	return check(device, change, extack);
}

/* A path's channel, and a rate adaptation that begins anew. */
static int apply_channel(struct wifi_path *path, const struct wifi_channel_params *params,
			 struct nlattr *trace)
{
	struct wifi_channel *channel = &path->channel;
	const struct wifi_phy *phy = &path->from->medium->phy;
	struct wifi_control *control = NULL;
	struct wifi_trace_step *steps = NULL;
	struct wifi_rate rate;

	if (trace) {
		steps = kmemdup(nla_data(trace), nla_len(trace), GFP_ATOMIC);
		if (!steps)
			return -ENOMEM;
		kfree(channel->trace);
		channel->trace = steps;
		channel->steps = nla_len(trace) / sizeof(*steps);
	}
	channel->params = *params;
	wifi_channel_start(channel, ktime_get_ns());
	if (params->control != WIFI_CONTROL_FIXED) {
		rate = wifi_channel_rate(channel);
		if (params->control == WIFI_CONTROL_MINSTREL)
			control = wifi_minstrel_create(phy, &rate);
		else
			control = wifi_iwl_create(phy, &rate);
		if (!control)
			return -ENOMEM;
	}
	kfree(path->control);
	path->control = control;
	return 0;
}

static int apply(struct wifi_device *device, const struct change *change)
{
	struct wifi_path *path[2] = { &device->own, &device->down };
	int which, error = 0;

	spin_lock_bh(&device->medium->lock);
	device->medium->phy = change->phy;
	device->params = change->params;
	device->access.cw = max(device->access.cw, device->params.cw_min);
	for (which = 0; which < 2 && !error; which++)
		if (change->has_channel[which])
			error = apply_channel(path[which], &change->channel[which],
					      change->trace[which]);
	wifi_device_wake(device);
	wifi_medium_changed(device->medium);
	spin_unlock_bh(&device->medium->lock);
	return error;
}

static int create(struct net *net, struct net_device *dev, struct nlattr *tb[],
		  struct nlattr *data[], struct netlink_ext_ack *extack)
{
	struct wifi_device *device = netdev_priv(dev);
	struct change change = {};
	int error;

	if (tb[IFLA_LINK]) {
		struct net_device *ap = __dev_get_by_index(net, nla_get_u32(tb[IFLA_LINK]));

		if (!ap || ap->netdev_ops != &wifi_netdev_ops ||
		    !((struct wifi_device *)netdev_priv(ap))->is_ap) {
			NL_SET_ERR_MSG(extack, "link: no access point of type wifi");
			return -EINVAL;
		}
		device->medium = ((struct wifi_device *)netdev_priv(ap))->medium;
		if (device->medium->stations >= WIFI_STATIONS) {
			NL_SET_ERR_MSG(extack, "link: the access point has 63 stations");
			return -ENOSPC;
		}
	} else {
		device->medium = wifi_medium_create();
		if (!device->medium)
			return -ENOMEM;
	}
	if (!tb[IFLA_ADDRESS])
		eth_hw_addr_random(dev);
	wifi_device_init(device, dev, !tb[IFLA_LINK]);
	error = read(device, data, &change, extack) ?: apply(device, &change) ?:
		register_netdevice(dev);
	if (error && device->is_ap)
		kfree(device->medium);	/* NULL where the device had joined and left it */
	return error;
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
static int wifi_newlink(struct net *net, struct net_device *dev, struct nlattr *tb[],
			struct nlattr *data[], struct netlink_ext_ack *extack)
{
	return create(net, dev, tb, data, extack);
}
#else
static int wifi_newlink(struct net_device *dev, struct rtnl_newlink_params *params,
			struct netlink_ext_ack *extack)
{
	return create(rtnl_newlink_link_net(params), dev, params->tb, params->data, extack);
}
#endif

static int wifi_changelink(struct net_device *dev, struct nlattr *tb[], struct nlattr *data[],
			   struct netlink_ext_ack *extack)
{
	struct wifi_device *device = netdev_priv(dev);
	struct change change = {};

	return read(device, data, &change, extack) ?: apply(device, &change);
}

static void wifi_dellink(struct net_device *dev, struct list_head *head)
{
	struct wifi_device *device = netdev_priv(dev);
	struct wifi_device *other;

	if (device->is_ap)
		list_for_each_entry(other, &device->medium->devices, node)
			if (other != device)
				unregister_netdevice_queue(other->dev, head);
	unregister_netdevice_queue(dev, head);
}

static size_t wifi_get_size(const struct net_device *dev)
{
	return (ARRAY_SIZE(medium_options) + ARRAY_SIZE(device_options) +
		2 * ARRAY_SIZE(channel_options)) * nla_total_size(sizeof(u32)) +
	       2 * nla_total_size(0);
}

static int fill_channel(struct sk_buff *skb, int attr, const struct wifi_channel *channel)
{
	struct nlattr *nest = nla_nest_start(skb, attr);

	if (!nest || fill(skb, &channel->params, channel_options, ARRAY_SIZE(channel_options)))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int wifi_fill_info(struct sk_buff *skb, const struct net_device *dev)
{
	const struct wifi_device *device = netdev_priv(dev);
	const struct wifi_phy *phy = &device->medium->phy;

	if (device->is_ap && fill(skb, phy, medium_options, ARRAY_SIZE(medium_options)))
		return -EMSGSIZE;
	if (fill(skb, &device->params, device_options, ARRAY_SIZE(device_options)))
		return -EMSGSIZE;
	if (device->is_ap)
		return 0;
	return fill_channel(skb, IFLA_WIFI_UP, &device->own.channel) ?:
	       fill_channel(skb, IFLA_WIFI_DOWN, &device->down.channel);
}

static struct net *wifi_get_link_net(const struct net_device *dev)
{
	struct wifi_device *device = netdev_priv(dev);

	return dev_net(device->medium->ap->dev);
}

struct rtnl_link_ops wifi_link_ops __read_mostly = {
	.kind		= "wifi",
	.maxtype	= IFLA_WIFI_MAX,
	.policy		= wifi_policy,
	.priv_size	= sizeof(struct wifi_device),
	.setup		= wifi_setup,
	.newlink	= wifi_newlink,
	.changelink	= wifi_changelink,
	.dellink	= wifi_dellink,
	.get_size	= wifi_get_size,
	.fill_info	= wifi_fill_info,
	.get_link_net	= wifi_get_link_net,
};

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
