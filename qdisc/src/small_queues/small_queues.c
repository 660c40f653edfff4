// SPDX-License-Identifier: GPL-2.0
/*
 * A sender may have as many bytes below TCP as tcp_limit_output_bytes says.
 *
 * Since commit 46d3ceabd8d9 ("tcp: TCP Small Queues", Linux 3.6) a connection
 * stops where so many bytes of it are in its own host's qdisc and driver. Since
 * commit c9eeec26e32e ("tcp: TSQ can use a dynamic limit", 3.12) it stops
 * earlier: at what it sends in about a millisecond, sk_pacing_rate >>
 * sk_pacing_shift, or at two packets. On a slow link that is all that there is
 * in the queue of a host; it used to be 128 KiB a connection.
 *
 * This looks at what connections send, and has them stop at what they send in a
 * second. With tcp_limit_output_bytes at its former 131072, and tcp_pacing_ca_ratio
 * and tcp_pacing_ss_ratio at their most, the sysctl is what stops them.
 */

#include <linux/ip.h>
#include <linux/module.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <net/net_namespace.h>
#include <net/sock.h>

static unsigned int small_queues_out(void *priv, struct sk_buff *skb,
				     const struct nf_hook_state *state)
{
	struct sock *sk = skb->sk;

	if (ip_hdr(skb)->protocol == IPPROTO_TCP && sk && sk_fullsock(sk))
		sk_pacing_shift_update(sk, 0);
	return NF_ACCEPT;
}

static const struct nf_hook_ops small_queues_ops = {
	.hook		= small_queues_out,
	.pf		= NFPROTO_IPV4,
	.hooknum	= NF_INET_LOCAL_OUT,
	.priority	= NF_IP_PRI_LAST,
};

static int __net_init small_queues_net_init(struct net *net)
{
	return nf_register_net_hook(net, &small_queues_ops);
}

static void __net_exit small_queues_net_exit(struct net *net)
{
	nf_unregister_net_hook(net, &small_queues_ops);
}

static struct pernet_operations small_queues_net_ops = {
	.init	= small_queues_net_init,
	.exit	= small_queues_net_exit,
};

static int __init small_queues_init(void)
{
	return register_pernet_subsys(&small_queues_net_ops);
}

static void __exit small_queues_exit(void)
{
	unregister_pernet_subsys(&small_queues_net_ops);
}

module_init(small_queues_init);
module_exit(small_queues_exit);
MODULE_DESCRIPTION("TCP stops where tcp_limit_output_bytes are queued, as before Linux 3.12");
MODULE_LICENSE("GPL");
