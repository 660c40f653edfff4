// SPDX-License-Identifier: GPL-2.0
/*
 * Receivers acknowledge segment by segment after one that was out of order.
 *
 * Until commit a3893637e1eb ("tcp: do not force quickack when receiving
 * out-of-order packets", Linux 4.18) a segment that did not arrive in order put
 * its receiver into quick mode: the next 16 acknowledgments, at most, were not
 * delayed. After each loss a window or more was thus acknowledged segment by
 * segment, and its sender sent segments one at a time and not in pairs.
 *
 * With ce=Y the same happens after a mark of congestion, and after a segment
 * without ECN where others had it: since commit 522040ea5fdd ("tcp: do not
 * aggressively quick ack after ECN events", 4.18) at most two are quick then.
 *
 * This looks at what comes in for a connection before TCP does, and sets what
 * tcp_enter_quickack_mode() would have set.
 */

#include <linux/ip.h>
#include <linux/module.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <net/inet_ecn.h>
#include <net/net_namespace.h>
#include <net/tcp.h>

static bool ce;
module_param(ce, bool, 0644);
MODULE_PARM_DESC(ce, "also after a mark of congestion (ECN)");

/* As tcp_enter_quickack_mode(), which is not exported. */
static void enter_quickack_mode(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	u32 acks = 2;

	if (icsk->icsk_ack.rcv_mss)
		acks = max(tcp_sk(sk)->rcv_wnd / (2 * icsk->icsk_ack.rcv_mss), 2U);
	acks = min(acks, TCP_MAX_QUICKACKS);
	if (acks > icsk->icsk_ack.quick)
		icsk->icsk_ack.quick = acks;
	inet_csk_exit_pingpong_mode(sk);
	icsk->icsk_ack.ato = TCP_ATO_MIN;
}

/* What tcp_ecn_check_ce() would take for a reason. */
static bool marked(const struct sock *sk, const struct iphdr *ip)
{
	u8 flags = tcp_sk(sk)->ecn_flags;

	if (!ce || !(flags & TCP_ECN_OK))
		return false;
	if (INET_ECN_is_ce(ip->tos))
		return !(flags & TCP_ECN_DEMAND_CWR);
	return INET_ECN_is_not_ect(ip->tos) && (flags & TCP_ECN_SEEN);
}

static unsigned int quickack_in(void *priv, struct sk_buff *skb,
				const struct nf_hook_state *state)
{
	const struct iphdr *ip = ip_hdr(skb);
	struct sock *sk = skb->sk;	/* by early demultiplexing */
	const struct tcphdr *th;
	struct tcphdr buffer;
	u32 seq, length;

	if (ip->protocol != IPPROTO_TCP || !sk || !sk_fullsock(sk) ||
	    sk->sk_state != TCP_ESTABLISHED)
		return NF_ACCEPT;
	th = skb_header_pointer(skb, ip_hdrlen(skb), sizeof(buffer), &buffer);
	if (!th)
		return NF_ACCEPT;
	seq = ntohl(th->seq);
	length = ntohs(ip->tot_len) - ip_hdrlen(skb) - 4 * th->doff;
	if (length && ((seq != tcp_sk(sk)->rcv_nxt &&
			after(seq + length, tcp_sk(sk)->rcv_nxt)) ||
		       marked(sk, ip)))
		enter_quickack_mode(sk);
	return NF_ACCEPT;
}

static const struct nf_hook_ops quickack_ops = {
	.hook		= quickack_in,
	.pf		= NFPROTO_IPV4,
	.hooknum	= NF_INET_LOCAL_IN,
	.priority	= NF_IP_PRI_LAST,
};

static int __net_init quickack_net_init(struct net *net)
{
	return nf_register_net_hook(net, &quickack_ops);
}

static void __net_exit quickack_net_exit(struct net *net)
{
	nf_unregister_net_hook(net, &quickack_ops);
}

static struct pernet_operations quickack_net_ops = {
	.init	= quickack_net_init,
	.exit	= quickack_net_exit,
};

static int __init quickack_init(void)
{
	return register_pernet_subsys(&quickack_net_ops);
}

static void __exit quickack_exit(void)
{
	unregister_pernet_subsys(&quickack_net_ops);
}

module_init(quickack_init);
module_exit(quickack_exit);
MODULE_DESCRIPTION("Acknowledge at once after a segment out of order, as before Linux 4.18");
MODULE_LICENSE("GPL");
