// SPDX-License-Identifier: GPL-2.0
/*
 * tc's side of DualPI2 (RFC 9332), which the kernel has since 6.17 and tc since 6.16; the guest's
 * is older.
 *
 * Words are those of later releases of tc, but for `step_packets`: `step_thresh` is a time here.
 * In JSON a time is `<name>_us` and a word that stands alone is true or false, which is how the rig
 * is read back.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dualpi2.h"
#include "tc_plugin.h"

#define ONE	4294967295.0	/* a probability of 1 */
#define HZ	256.0		/* a gain of 1 Hz */

static int get_number(unsigned int *value, const char *word)
{
	return get_unsigned(value, word, 0);
}

static int get_byte(unsigned int *value, const char *word)
{
	return get_unsigned(value, word, 0) || *value > UINT8_MAX ? -1 : 0;
}

/* Bytes, as tc itself is told them here: `1000000b`. */
static int get_bytes(unsigned int *value, const char *word)
{
	char *end;
	unsigned long bytes = strtoul(word, &end, 10);

	if (end == word || (*end && strcmp(end, "b")) || bytes > UINT32_MAX)
		return -1;
	*value = bytes;
	return 0;
}

static int get_gain(unsigned int *value, const char *word)
{
	char *end;
	double hz = strtod(word, &end);

	if (*end || end == word || hz < 0 || hz * HZ > INT32_MAX)
		return -1;
	*value = (unsigned int)(hz * HZ + 0.5);
	return 0;
}

static const struct option {
	const char *name;
	int type;
	int (*get)(unsigned int *value, const char *word);
} OPTIONS[] = {
	{ "limit", DUALPI2_LIMIT, get_number },
	{ "memlimit", DUALPI2_MEMORY_LIMIT, get_bytes },
	{ "target", DUALPI2_TARGET, get_time },
	{ "tupdate", DUALPI2_TUPDATE, get_time },
	{ "alpha", DUALPI2_ALPHA, get_gain },
	{ "beta", DUALPI2_BETA, get_gain },
	{ "step_thresh", DUALPI2_STEP_US, get_time },
	{ "step_packets", DUALPI2_STEP_PACKETS, get_number },
	{ "min_qlen_step", DUALPI2_MIN_QLEN_STEP, get_number },
	{ "coupling_factor", DUALPI2_COUPLING, get_byte },
	{ "classic_protection", DUALPI2_C_PROTECTION, get_byte },
};

/* Words that stand alone, with the value that they stand for. */
static const struct word {
	const char *name;
	int type;
	__u8 value;
} WORDS[] = {
	{ "drop_on_overload", DUALPI2_DROP_OVERLOAD, 1 },
	{ "overflow", DUALPI2_DROP_OVERLOAD, 0 },
	{ "drop_enqueue", DUALPI2_DROP_EARLY, 1 },
	{ "drop_dequeue", DUALPI2_DROP_EARLY, 0 },
	{ "l4s_ect", DUALPI2_ECN_MASK, L4S_ECT },
	{ "any_ect", DUALPI2_ECN_MASK, ANY_ECT },
	{ "split_gso", DUALPI2_SPLIT_GSO, 1 },
	{ "no_split_gso", DUALPI2_SPLIT_GSO, 0 },
};

#define COUNT(table)	(sizeof(table) / sizeof((table)[0]))

static void add(struct nlmsghdr *n, int type, unsigned int value)
{
	__u8 byte = value;

	if (type < DUALPI2_COUPLING)
		addattr32(n, MOST_BYTES, type, value);
	else
		addattr_l(n, MOST_BYTES, type, &byte, sizeof(byte));
}

/* The option that argv begins with; how many words it took, or -1. */
static int parse_one(int argc, char **argv, struct nlmsghdr *n)
{
	unsigned int value;

	for (size_t i = 0; i < COUNT(WORDS); i++) {
		if (!strcmp(*argv, WORDS[i].name)) {
			add(n, WORDS[i].type, WORDS[i].value);
			return 1;
		}
	}
	for (size_t i = 0; i < COUNT(OPTIONS); i++) {
		if (strcmp(*argv, OPTIONS[i].name))
			continue;
		if (argc < 2 || OPTIONS[i].get(&value, argv[1])) {
			fprintf(stderr, "dualpi2: %s: '%s' is no such value\n", *argv,
				argc < 2 ? "" : argv[1]);
			return -1;
		}
		add(n, OPTIONS[i].type, value);
		return 2;
	}
	fprintf(stderr, "dualpi2: unknown option '%s'\n"
		"Usage: ... dualpi2 [ limit PACKETS ] [ memlimit BYTES ] [ target TIME ]\n"
		"                   [ tupdate TIME ] [ alpha HZ ] [ beta HZ ]\n"
		"                   [ step_thresh TIME | step_packets PACKETS ]\n"
		"                   [ min_qlen_step PACKETS ] [ coupling_factor NUMBER ]\n"
		"                   [ classic_protection PERCENT ]\n"
		"                   [ drop_on_overload | overflow ]\n"
		"                   [ drop_enqueue | drop_dequeue ] [ l4s_ect | any_ect ]\n"
		"                   [ split_gso | no_split_gso ]\n", *argv);
	return -1;
}

static int dualpi2_parse(struct qdisc_util *qu, int argc, char **argv,
			 struct nlmsghdr *n, const char *dev)
{
	struct rtattr *nest = addattr_nest(n, MOST_BYTES, TCA_OPTIONS | NLA_F_NESTED);

	(void)qu;
	(void)dev;
	while (argc > 0) {
		int taken = parse_one(argc, argv, n);

		if (taken < 0)
			return -1;
		argc -= taken;
		argv += taken;
	}
	addattr_nest_end(n, nest);
	return 0;
}

static void print_number(const char *name, const char *format, struct rtattr *attribute)
{
	if (attribute)
		print_color_uint(PRINT_ANY, COLOR_NONE, name, format,
				 *(unsigned int *)RTA_DATA(attribute));
}

static void print_byte(const char *name, const char *format, struct rtattr *attribute)
{
	if (attribute)
		print_color_uint(PRINT_ANY, COLOR_NONE, name, format, *(__u8 *)RTA_DATA(attribute));
}

static void print_gain(const char *name, const char *format, struct rtattr *attribute)
{
	if (attribute)
		print_color_float(PRINT_ANY, COLOR_NONE, name, format,
				  *(unsigned int *)RTA_DATA(attribute) / HZ);
}

static int dualpi2_print(struct qdisc_util *qu, FILE *f, struct rtattr *opt)
{
	struct rtattr *tb[DUALPI2_COUNT];

	(void)qu;
	(void)f;
	if (!opt)
		return 0;
	parse_rtattr(tb, DUALPI2_COUNT - 1, RTA_DATA(opt), RTA_PAYLOAD(opt));
	print_number("limit", "limit %up ", tb[DUALPI2_LIMIT]);
	print_number("memlimit", "memlimit %ub ", tb[DUALPI2_MEMORY_LIMIT]);
	print_number("target_us", "target %uus ", tb[DUALPI2_TARGET]);
	print_number("tupdate_us", "tupdate %uus ", tb[DUALPI2_TUPDATE]);
	print_gain("alpha", "alpha %.6f ", tb[DUALPI2_ALPHA]);
	print_gain("beta", "beta %.6f ", tb[DUALPI2_BETA]);
	print_number("step_thresh_us", "step_thresh %uus ", tb[DUALPI2_STEP_US]);
	print_number("step_packets", "step_packets %u ", tb[DUALPI2_STEP_PACKETS]);
	print_number("min_qlen_step", "min_qlen_step %up ", tb[DUALPI2_MIN_QLEN_STEP]);
	print_byte("coupling_factor", "coupling_factor %u ", tb[DUALPI2_COUPLING]);
	print_byte("classic_protection", "classic_protection %u%% ", tb[DUALPI2_C_PROTECTION]);
	for (size_t i = 0; i < COUNT(WORDS); i++) {
		struct rtattr *attribute = tb[WORDS[i].type];
		bool on = attribute && *(__u8 *)RTA_DATA(attribute) == WORDS[i].value;

		print_color_bool(PRINT_JSON, COLOR_NONE, WORDS[i].name, NULL, on);
		if (on)
			print_color_string(PRINT_FP, COLOR_NONE, NULL, "%s ", WORDS[i].name);
	}
	return 0;
}

static int dualpi2_print_xstats(struct qdisc_util *qu, FILE *f, struct rtattr *xstats)
{
	struct dualpi2_counters now = { 0 };

	(void)qu;
	(void)f;
	if (!xstats || RTA_PAYLOAD(xstats) < sizeof(now))
		return 0;
	memcpy(&now, RTA_DATA(xstats), sizeof(now));
	print_color_float(PRINT_ANY, COLOR_NONE, "prob", "  prob %.6g", now.probability / ONE);
	print_color_uint(PRINT_ANY, COLOR_NONE, "delay_c", " delay_c %uus", now.delay_c_us);
	print_color_uint(PRINT_ANY, COLOR_NONE, "delay_l", " delay_l %uus", now.delay_l_us);
	print_color_uint(PRINT_ANY, COLOR_NONE, "pkts_in_c", " pkts_in_c %u", now.packets_in_c);
	print_color_uint(PRINT_ANY, COLOR_NONE, "pkts_in_l", " pkts_in_l %u", now.packets_in_l);
	print_color_uint(PRINT_ANY, COLOR_NONE, "maxq", " maxq %u", now.max_queue);
	print_color_uint(PRINT_ANY, COLOR_NONE, "ecn_mark", " ecn_mark %u", now.ecn_mark);
	print_color_uint(PRINT_ANY, COLOR_NONE, "step_mark", " step_mark %u", now.step_mark);
	print_color_int(PRINT_ANY, COLOR_NONE, "credit", " credit %d", now.credit);
	print_color_uint(PRINT_ANY, COLOR_NONE, "memory_used", " memory_used %u",
			 now.memory_used);
	print_color_uint(PRINT_ANY, COLOR_NONE, "max_memory_used", " max_memory_used %u",
			 now.max_memory_used);
	print_color_uint(PRINT_ANY, COLOR_NONE, "memory_limit", " memory_limit %u",
			 now.memory_limit);
	return 0;
}

struct qdisc_util dualpi2_qdisc_util = {
	.id = "dualpi2",
	.parse_qopt = dualpi2_parse,
	.print_qopt = dualpi2_print,
	.print_xstats = dualpi2_print_xstats,
};
