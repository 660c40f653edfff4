// SPDX-License-Identifier: GPL-2.0
/*
 * PROBE, what nothing in the guest can notice: counters of qdiscs and of TCP connections as series,
 * and packets.
 *
 * A process that woke up for it would be noticed: the idle loop keeps the tick for a jiffy behind
 * each process that ran, and an interrupt more has timers of others expire early that are within
 * their slack. So no process wakes and no interrupt is added. The timer is on CLOCK_TAI, on which
 * nobody else waits, and has so much slack that it never programs the clock event device: it expires
 * with the first interrupt that comes anyway once a sample is due. The sample is taken in a soft
 * interrupt, in which reading the clock takes no simulated time and the locks of qdiscs and sockets
 * may be taken. It goes straight to a file of the host, past the guest.
 *
 * What to record is in the host's file PROBE_PLACES_FILE: struct place. Samples are in
 * PROBE_SAMPLES_FILE: struct record, and then netlink messages as RTM_GETQDISC and
 * SOCK_DIAG_BY_FAMILY answer with. Packets are in a pcap file of each place; of a queue, struct
 * passage says what went in and what came out, in the order in which that happened, and where each
 * sample of its counters was taken in between. Where something cannot be recorded a line of the
 * kernel's log says so, with a word that fails the run.
 */

#include <linux/hrtimer.h>
#include <linux/if_ether.h>
#include <linux/inet_diag.h>
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <linux/version.h>
#include <net/gen_stats.h>
#include <net/inet_hashtables.h>
#include <net/net_namespace.h>
#include <net/pkt_sched.h>
#include <net/tcp.h>
#include <os.h>

/* From the folder in which the kernel was started. */
#define PROBE_PLACES_FILE	"job/probe.places"
#define PROBE_SAMPLES_FILE	"job/out/probe.samples"
#define PROBE_PACKETS_FILE	"job/out/probe.%u.pcap"
#define PROBE_QUEUE_FILE	"job/out/probe.%u.queue"

#define PROBE_PLACES	128
#define PROBE_MESSAGES	(256u << 10)	/* bytes of one record at most */
#define PROBE_SNAP	128		/* bytes of a packet that are kept: all headers */
#define PROBE_HEAD	72		/* the same of a passage */
#define PROBE_ROOTS	16		/* queues of an interface with several */
#define PROBE_SLACK_NS	(3600ull * NSEC_PER_SEC)

enum probe_kind {
	PROBE_QDISCS,	/* of an interface */
	PROBE_SOCKETS,	/* of a network namespace */
	PROBE_PACKETS,	/* of an interface */
	PROBE_QUEUE,	/* of an interface: what enters and leaves its qdisc */
};

enum passage_event {
	PASSAGE_ENTERED,
	PASSAGE_LEFT,
	PASSAGE_REFUSED,	/* dropped as a packet entered, that one or another */
	PASSAGE_CAME,		/* from the other side */
	PASSAGE_SAMPLED,	/* no packet: the counters were read */
};

struct passage {
	u64 time_ns;		/* since 1970 */
	u32 length;		/* of the frame, bytes */
	u32 packets, bytes;	/* in the qdisc, before this one entered */
	u16 segment;		/* bytes of payload of each segment of a superpacket, or 0 */
	u8 event, kept;
	u8 content[PROBE_HEAD];
};

struct place {
	u64 interval_ns;	/* 0 for packets */
	u32 kind;		/* enum probe_kind */
	u32 namespace;		/* in the order in which they were made, from 0, the first process's */
	char interface[IFNAMSIZ];	/* empty for sockets */
};

/* What precedes the messages of a sample. */
struct record {
	u64 time_ns;		/* since 1970 */
	u32 place;		/* in the order of PROBE_PLACES_FILE, from 0 */
	u32 length;		/* of the messages, bytes */
};

/* pcap of Ethernet with nanoseconds. */
struct pcap_header {
	u32 magic;
	u16 major, minor;
	u32 zone, accuracy, snap, link;
};

struct pcap_packet {
	u32 seconds, nanoseconds, kept, length;
};

struct probe {
	struct place place;
	struct net *net;
	int ifindex;
	u64 due_ns;
	struct packet_type tap;
	int fd;			/* of the host, for packets */
	struct {
		struct Qdisc *qdisc;
		int (*enqueue)(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free);
	} roots[PROBE_ROOTS];
	unsigned int root_count;
};

static struct probe probes[PROBE_PLACES];
static unsigned int probe_count;
static struct hrtimer timer;
static struct sk_buff *messages;
static int samples_fd = -1;
static bool lost;

/* Write; after a failure nothing more, so that a file never has a gap. */
static void keep(int fd, const void *from, size_t bytes)
{
	if (lost || os_write_file(fd, from, bytes) == bytes)
		return;
	lost = true;
	pr_err("probe: BUG: the host did not take what was recorded\n");
}

/* As tc_fill_qdisc() (net/sched/sch_api.c) does, without the options. */
static int fill_qdisc(struct Qdisc *q)
{
	struct gnet_dump d;
	struct nlmsghdr *header;
	struct tcmsg *tcm;

	if (q->flags & (TCQ_F_BUILTIN | TCQ_F_INVISIBLE))
		return 0;
	header = nlmsg_put(messages, 0, 0, RTM_NEWQDISC, sizeof(*tcm), 0);
	if (!header)
		return -EMSGSIZE;
	tcm = nlmsg_data(header);
	memset(tcm, 0, sizeof(*tcm));
	tcm->tcm_ifindex = qdisc_dev(q)->ifindex;
	tcm->tcm_parent = q->parent;
	tcm->tcm_handle = q->handle;
	if (nla_put_string(messages, TCA_KIND, q->ops->id) ||
	    gnet_stats_start_copy_compat(messages, TCA_STATS2, 0, 0, NULL, &d, TCA_PAD) ||
	    (q->ops->dump_stats && q->ops->dump_stats(q, &d) < 0) ||
	    gnet_stats_copy_basic(&d, q->cpu_bstats, &q->bstats, false) ||
	    gnet_stats_copy_queue(&d, q->cpu_qstats, &q->qstats, qdisc_qlen_sum(q)) ||
	    gnet_stats_finish_copy(&d))
		return -EMSGSIZE;
	nlmsg_end(messages, header);
	return 0;
}

static int fill_qdiscs(struct probe *probe)
{
	struct net_device *dev = dev_get_by_index_rcu(probe->net, probe->ifindex);
	struct Qdisc *root = dev ? rcu_dereference(dev->qdisc) : NULL;
	struct Qdisc *q;
	int bucket;

	if (!root)
		return 0;
	if (fill_qdisc(root))
		return -EMSGSIZE;
	hash_for_each_rcu(qdisc_dev(root)->qdisc_hash, bucket, q, hash)
		if (fill_qdisc(q))
			return -EMSGSIZE;
	return 0;
}

/* As inet_sk_diag_fill() (net/ipv4/inet_diag.c) does, without what needs a process. */
static int fill_socket(struct sock *sk)
{
	static struct tcp_info info;
	const struct inet_sock *inet = inet_sk(sk);
	const struct tcp_congestion_ops *control;
	struct inet_diag_msg *msg;
	struct nlmsghdr *header;
	union tcp_cc_info of_control;
	size_t bytes;
	int attribute;

	header = nlmsg_put(messages, 0, 0, SOCK_DIAG_BY_FAMILY, sizeof(*msg), 0);
	if (!header)
		return -EMSGSIZE;
	msg = nlmsg_data(header);
	memset(msg, 0, sizeof(*msg));
	msg->idiag_family = sk->sk_family;
	msg->idiag_state = sk->sk_state;
	msg->id.idiag_sport = inet->inet_sport;
	msg->id.idiag_dport = inet->inet_dport;
	msg->id.idiag_src[0] = inet->inet_rcv_saddr;
	msg->id.idiag_dst[0] = inet->inet_daddr;
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		memcpy(msg->id.idiag_src, &sk->sk_v6_rcv_saddr, sizeof(msg->id.idiag_src));
		memcpy(msg->id.idiag_dst, &sk->sk_v6_daddr, sizeof(msg->id.idiag_dst));
	}
#endif
	msg->idiag_retrans = inet_csk(sk)->icsk_retransmits;
	msg->idiag_rqueue = max_t(int, READ_ONCE(tcp_sk(sk)->rcv_nxt) -
				  READ_ONCE(tcp_sk(sk)->copied_seq), 0);
	msg->idiag_wqueue = READ_ONCE(tcp_sk(sk)->write_seq) - tcp_sk(sk)->snd_una;
	msg->idiag_inode = sk->sk_socket ? SOCK_INODE(sk->sk_socket)->i_ino : 0;
	tcp_get_info(sk, &info);
	if (nla_put(messages, INET_DIAG_INFO, sizeof(info), &info))
		return -EMSGSIZE;
	control = inet_csk(sk)->icsk_ca_ops;
	if (control && nla_put_string(messages, INET_DIAG_CONG, control->name))
		return -EMSGSIZE;
	if (control && control->get_info) {
		bytes = control->get_info(sk, ~0U, &attribute, &of_control);
		if (bytes && nla_put(messages, attribute, bytes, &of_control))
			return -EMSGSIZE;
	}
	nlmsg_end(messages, header);
	return 0;
}

static int fill_sockets(struct probe *probe)
{
	struct inet_hashinfo *hashed = probe->net->ipv4.tcp_death_row.hashinfo;
	struct hlist_nulls_node *node;
	struct sock *sk;
	unsigned int bucket;

	for (bucket = 0; bucket <= hashed->ehash_mask; bucket++) {
		if (hlist_nulls_empty(&hashed->ehash[bucket].chain))
			continue;
		sk_nulls_for_each_rcu(sk, node, &hashed->ehash[bucket].chain) {
			if (!net_eq(sock_net(sk), probe->net) || !sk_fullsock(sk) ||
			    sk->sk_protocol != IPPROTO_TCP)
				continue;
			/* A process that holds it was interrupted: tcp_get_info() would wait. */
			if (sock_owned_by_user_nocheck(sk))
				continue;
			if (fill_socket(sk))
				return -EMSGSIZE;
		}
	}
	return 0;
}

static bool of_queue(const struct probe *probe)
{
	return probe->place.kind == PROBE_QUEUE;
}

static void take(unsigned int number, u64 now)
{
	struct probe *probe = &probes[number];
	struct record *record;
	int failed;

	skb_trim(messages, 0);
	record = skb_put(messages, sizeof(*record));
	failed = probe->place.kind == PROBE_SOCKETS ? fill_sockets(probe) : fill_qdiscs(probe);
	if (failed) {
		lost = true;
		pr_err("probe: BUG: a sample is larger than %u bytes\n", PROBE_MESSAGES);
		return;
	}
	*record = (struct record){
		.time_ns = now, .place = number, .length = messages->len - sizeof(*record),
	};
	keep(samples_fd, messages->data, messages->len);
	if (of_queue(probe)) {
		struct passage here = { .time_ns = now, .event = PASSAGE_SAMPLED };

		keep(probe->fd, &here, sizeof(here));
	}
}

static void sample(struct tasklet_struct *unused)
{
	u64 now = ktime_get_clocktai_ns(), next = U64_MAX;
	unsigned int number;
	/* Qdiscs insist on it for their statistics; whoever has it was interrupted at a clock read. */
	bool locked = rtnl_trylock();

	rcu_read_lock();
	for (number = 0; number < probe_count; number++) {
		struct probe *probe = &probes[number];
		u64 interval_ns = probe->place.interval_ns;

		if (!interval_ns)
			continue;
		if (probe->due_ns <= now) {
			take(number, now);
			probe->due_ns += (div64_u64(now - probe->due_ns, interval_ns) + 1) *
					 interval_ns;
		}
		next = min(next, probe->due_ns);
	}
	rcu_read_unlock();
	if (locked)
		rtnl_unlock();
	if (next != U64_MAX)
		hrtimer_start_range_ns(&timer, ns_to_ktime(next), PROBE_SLACK_NS, HRTIMER_MODE_ABS);
}

static DECLARE_TASKLET(sampling, sample);

static enum hrtimer_restart expired(struct hrtimer *unused)
{
	tasklet_schedule(&sampling);
	return HRTIMER_NORESTART;
}

static u64 present(void)
{
	unsigned long flags;
	u64 now;

	local_irq_save(flags);	/* the clock takes no simulated time then */
	now = ktime_get_clocktai_ns();
	local_irq_restore(flags);
	return now;
}

static int packet(struct sk_buff *skb, struct net_device *dev, struct packet_type *tap,
		  struct net_device *from)
{
	struct probe *probe = container_of(tap, struct probe, tap);
	struct {
		struct pcap_packet about;
		u8 content[PROBE_SNAP];
	} kept;
	int before = skb->data - skb_mac_header(skb);
	u32 nanoseconds;
	u64 now = present();

	kept.about.seconds = div_u64_rem(now, NSEC_PER_SEC, &nanoseconds);
	kept.about.nanoseconds = nanoseconds;
	kept.about.length = skb->len + before;
	kept.about.kept = min_t(u32, kept.about.length, PROBE_SNAP);
	if (skb_copy_bits(skb, -before, kept.content, kept.about.kept))
		pr_err_once("probe: BUG: a packet could not be read\n");
	keep(probe->fd, &kept, sizeof(kept.about) + kept.about.kept);
	kfree_skb(skb);
	return 0;
}

static void passes(struct probe *probe, struct sk_buff *skb, enum passage_event event,
		   const struct Qdisc *qdisc)
{
	int before = skb->data - skb_mac_header(skb);
	struct passage passage = {
		.time_ns = present(),
		.length = skb->len + before,
		.segment = skb_is_gso(skb) ? skb_shinfo(skb)->gso_size : 0,
		.event = event,
	};

	if (qdisc) {
		passage.packets = qdisc_qlen_sum(qdisc);
		passage.bytes = qdisc->qstats.backlog;
	}
	passage.kept = min_t(u32, passage.length, PROBE_HEAD);
	if (skb_copy_bits(skb, -before, passage.content, passage.kept))
		pr_err_once("probe: BUG: a packet could not be read\n");
	keep(probe->fd, &passage, sizeof(passage));
}

static int passage_tap(struct sk_buff *skb, struct net_device *dev, struct packet_type *tap,
		       struct net_device *from)
{
	struct probe *probe = container_of(tap, struct probe, tap);

	passes(probe, skb, skb->pkt_type == PACKET_OUTGOING ? PASSAGE_LEFT : PASSAGE_CAME, NULL);
	kfree_skb(skb);
	return 0;
}

/* In the place of a root qdisc's own, so that it does not matter where a packet comes from. */
static int enqueue(struct sk_buff *skb, struct Qdisc *qdisc, struct sk_buff **to_free)
{
	struct sk_buff *freed_before = *to_free, *freed;
	unsigned int number, root;
	int status;

	for (number = 0; number < probe_count; number++)
		for (root = 0; root < probes[number].root_count; root++)
			if (probes[number].roots[root].qdisc == qdisc)
				goto found;
	BUG();
found:
	passes(&probes[number], skb, PASSAGE_ENTERED, qdisc);
	status = probes[number].roots[root].enqueue(skb, qdisc, to_free);
	for (freed = *to_free; freed != freed_before; freed = freed->next)
		passes(&probes[number], freed, PASSAGE_REFUSED, NULL);
	return status;
}

static int create(const char *name)
{
	return os_open_file(name, of_create(of_write(OPENFLAGS())), 0644);
}

static int begin_packets(struct probe *probe, struct net_device *dev)
{
	static const struct pcap_header header = {
		.magic = 0xa1b23c4d, .major = 2, .minor = 4, .snap = PROBE_SNAP, .link = 1,
	};
	char name[32];

	snprintf(name, sizeof(name), PROBE_PACKETS_FILE, (unsigned int)(probe - probes));
	probe->fd = create(name);
	if (probe->fd < 0)
		return probe->fd;
	keep(probe->fd, &header, sizeof(header));
	probe->tap.type = htons(ETH_P_ALL);
	probe->tap.dev = dev;
	probe->tap.func = packet;
	dev_add_pack(&probe->tap);
	return 0;
}

static int begin_queue(struct probe *probe, struct net_device *dev)
{
	unsigned int number;
	char name[32];

	snprintf(name, sizeof(name), PROBE_QUEUE_FILE, (unsigned int)(probe - probes));
	probe->fd = create(name);
	if (probe->fd < 0)
		return probe->fd;
	for (number = 0; number < dev->real_num_tx_queues; number++) {
		struct Qdisc *root = rtnl_dereference(netdev_get_tx_queue(dev, number)->qdisc);

		if (!root->enqueue || probe->root_count == PROBE_ROOTS)
			return -EOPNOTSUPP;
		if (root->enqueue == enqueue)
			continue;
		probe->roots[probe->root_count].qdisc = root;
		probe->roots[probe->root_count++].enqueue = root->enqueue;
		root->enqueue = enqueue;
	}
	probe->tap.type = htons(ETH_P_ALL);
	probe->tap.dev = dev;
	probe->tap.func = passage_tap;
	dev_add_pack(&probe->tap);
	return 0;
}

static struct net *namespace(unsigned int number)
{
	struct net *net;

	for_each_net(net)
		if (!number--)
			return net;
	return NULL;
}

static int begin(struct probe *probe)
{
	struct net_device *dev;

	probe->net = namespace(probe->place.namespace);
	if (!probe->net)
		return -ENXIO;
	if (probe->place.kind == PROBE_SOCKETS)
		return 0;
	dev = dev_get_by_name(probe->net, probe->place.interface);
	if (!dev)
		return -ENODEV;
	probe->ifindex = dev->ifindex;
	dev_put(dev);
	if (of_queue(probe))
		return begin_queue(probe, dev);
	return probe->place.kind == PROBE_PACKETS ? begin_packets(probe, dev) : 0;
}

static int read_places(void)
{
	int fd = os_open_file(PROBE_PLACES_FILE, of_read(OPENFLAGS()), 0);
	int bytes;

	if (fd < 0)
		return fd;
	for (; probe_count < PROBE_PLACES; probe_count++) {
		struct place *place = &probes[probe_count].place;

		bytes = os_read_file(fd, place, sizeof(*place));
		if (bytes != sizeof(*place))
			break;
	}
	os_close_file(fd);
	return probe_count ? 0 : -EINVAL;
}

static int __init probe_init(void)
{
	unsigned int number;
	int status;

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
	hrtimer_init(&timer, CLOCK_TAI, HRTIMER_MODE_ABS);
	timer.function = expired;
#else
	hrtimer_setup(&timer, expired, CLOCK_TAI, HRTIMER_MODE_ABS);
#endif
	messages = alloc_skb(PROBE_MESSAGES, GFP_KERNEL);
	if (!messages)
		return -ENOMEM;
	status = read_places();
	samples_fd = create(PROBE_SAMPLES_FILE);
	if (samples_fd < 0)
		status = samples_fd;
	local_bh_disable();	/* no packet passes before the first sample */
	for (number = 0; !status && number < probe_count; number++)
		status = begin(&probes[number]);
	if (status) {	/* never unloaded: taps may be there */
		lost = true;
		pr_err("probe: BUG: place %u cannot be recorded: %d\n", number, status);
	} else {
		for (number = 0; number < probe_count; number++)
			probes[number].due_ns = ktime_get_clocktai_ns();
		tasklet_schedule(&sampling);
	}
	local_bh_enable();
	return 0;
}

module_init(probe_init);
MODULE_DESCRIPTION("Series of counters and packets, which nothing in the guest can notice");
MODULE_LICENSE("GPL");
MODULE_INFO(intree, "Y");	/* without a line in the kernel's log, which belongs to the run */
