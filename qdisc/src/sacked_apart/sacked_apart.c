// SPDX-License-Identifier: GPL-2.0
/*
 * Segments that were acknowledged selectively stay apart in the send buffer.
 *
 * Until commit 0a6b2a1dc2a2 ("tcp: switch to GSO being always on", Linux 4.17)
 * tcp_shift_skb_data() merged them only where segments could be sent together.
 * Without segmentation offloads each kept its head and its share of the buffer
 * until the hole below it was filled, so that a sender whose buffer was full
 * stopped during recovery, and sent a burst when it was over.
 *
 * This marks what a connection sends for the first time as the end of a record
 * (MSG_EOR), with which nothing is merged.
 */

#include <linux/ip.h>
#include <linux/module.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/tcp.h>
#include <net/net_namespace.h>
#include <net/tcp.h>

static unsigned int sacked_apart_out(void *priv, struct sk_buff *skb,
				     const struct nf_hook_state *state)
{
	struct sock *sk = skb->sk;
	struct sk_buff *head;

	if (ip_hdr(skb)->protocol != IPPROTO_TCP || !sk || !sk_fullsock(sk))
		return NF_ACCEPT;
	/* What leaves is a clone of the head, which stays there until it has. */
	head = tcp_send_head(sk);
	if (head && skb->len > ip_hdrlen(skb) + tcp_hdrlen(skb) &&
	    ntohl(tcp_hdr(skb)->seq) == TCP_SKB_CB(head)->seq)
		TCP_SKB_CB(head)->eor = 1;
	return NF_ACCEPT;
}

static const struct nf_hook_ops sacked_apart_ops = {
	.hook		= sacked_apart_out,
	.pf		= NFPROTO_IPV4,
	.hooknum	= NF_INET_LOCAL_OUT,
	.priority	= NF_IP_PRI_LAST,
};

static int __net_init sacked_apart_net_init(struct net *net)
{
	return nf_register_net_hook(net, &sacked_apart_ops);
}

static void __net_exit sacked_apart_net_exit(struct net *net)
{
	nf_unregister_net_hook(net, &sacked_apart_ops);
}

static struct pernet_operations sacked_apart_net_ops = {
	.init	= sacked_apart_net_init,
	.exit	= sacked_apart_net_exit,
};

static int __init sacked_apart_init(void)
{
	return register_pernet_subsys(&sacked_apart_net_ops);
}

static void __exit sacked_apart_exit(void)
{
	unregister_pernet_subsys(&sacked_apart_net_ops);
}

module_init(sacked_apart_init);
module_exit(sacked_apart_exit);
MODULE_DESCRIPTION("Segments that were acknowledged selectively are not merged, as without offloads before Linux 4.17");
MODULE_LICENSE("GPL");
