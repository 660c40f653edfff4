// SPDX-License-Identifier: GPL-2.0
/*
 * tc's side of RAMP: reads `tc qdisc add ... ramp limit 1000 min 5ms ...` and shows what is there.
 *
 * A time is shown as `<name>_us` in JSON, which is how the rig is read back (docs).
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ramp.h"
#include "tc_plugin.h"

#define RAMP_MAX	(__TCA_RAMP_MAX - 1)
#define ONE		4294967296.0	/* a probability of 1 */

static int wrong(const char *name, const char *word)
{
	fprintf(stderr, "ramp: %s: '%s' is no such value\n", name, word);
	return -1;
}

static int get_probability(unsigned int *share, const char *word)
{
	char *end;
	double value = strtod(word, &end);

	if (*end || end == word || value < 0 || value > 1)
		return -1;
	*share = value * ONE >= UINT32_MAX ? UINT32_MAX : (unsigned int)(value * ONE + 0.5);
	return 0;
}

static int get_number(unsigned int *value, const char *word)
{
	return get_unsigned(value, word, 0);
}

static const struct {
	const char *name;
	int type;
	int (*get)(unsigned int *value, const char *word);
} OPTIONS[] = {
	{ "limit", TCA_RAMP_LIMIT, get_number },
	{ "min", TCA_RAMP_MIN, get_time },
	{ "max", TCA_RAMP_MAX, get_time },
	{ "probability", TCA_RAMP_PROBABILITY, get_probability },
};

#define COUNT	(sizeof(OPTIONS) / sizeof(OPTIONS[0]))

/* The option that argv begins with; how many words it took, or -1. */
static int parse_one(int argc, char **argv, struct nlmsghdr *n)
{
	unsigned int value;

	if (!strcmp(*argv, "ecn") || !strcmp(*argv, "noecn")) {
		addattr32(n, MOST_BYTES, TCA_RAMP_ECN, **argv == 'e');
		return 1;
	}
	for (size_t i = 0; i < COUNT; i++) {
		if (strcmp(*argv, OPTIONS[i].name))
			continue;
		if (argc < 2 || OPTIONS[i].get(&value, argv[1]))
			return wrong(*argv, argc < 2 ? "" : argv[1]);
		addattr32(n, MOST_BYTES, OPTIONS[i].type, value);
		return 2;
	}
	fprintf(stderr, "ramp: unknown option '%s'\n"
		"Usage: ... ramp [ limit PACKETS ] [ min TIME ] [ max TIME ]\n"
		"                [ probability SHARE ] [ ecn | noecn ]\n", *argv);
	return -1;
}

static int ramp_parse(struct qdisc_util *qu, int argc, char **argv,
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

static unsigned int u32_of(struct rtattr *attribute)
{
	return attribute ? *(unsigned int *)RTA_DATA(attribute) : 0;
}

static int ramp_print(struct qdisc_util *qu, FILE *f, struct rtattr *opt)
{
	struct rtattr *tb[RAMP_MAX + 1];

	(void)qu;
	(void)f;
	if (!opt)
		return 0;
	parse_rtattr(tb, RAMP_MAX, RTA_DATA(opt), RTA_PAYLOAD(opt));
	print_color_uint(PRINT_ANY, COLOR_NONE, "limit", "limit %up ",
			 u32_of(tb[TCA_RAMP_LIMIT]));
	print_color_uint(PRINT_ANY, COLOR_NONE, "min_us", "min %uus ", u32_of(tb[TCA_RAMP_MIN]));
	print_color_uint(PRINT_ANY, COLOR_NONE, "max_us", "max %uus ", u32_of(tb[TCA_RAMP_MAX]));
	print_color_float(PRINT_ANY, COLOR_NONE, "probability", "probability %.6g ",
			  u32_of(tb[TCA_RAMP_PROBABILITY]) / ONE);
	print_color_bool(PRINT_JSON, COLOR_NONE, "ecn", NULL, u32_of(tb[TCA_RAMP_ECN]));
	if (u32_of(tb[TCA_RAMP_ECN]))
		print_color_uint(PRINT_FP, COLOR_NONE, NULL, "ecn ", 0);
	return 0;
}

static int ramp_print_xstats(struct qdisc_util *qu, FILE *f, struct rtattr *xstats)
{
	struct tc_ramp_xstats stats = { 0 };

	(void)qu;
	(void)f;
	if (!xstats || RTA_PAYLOAD(xstats) < sizeof(stats))
		return 0;
	memcpy(&stats, RTA_DATA(xstats), sizeof(stats));
	print_color_uint(PRINT_ANY, COLOR_NONE, "delay_us", "  delay %uus", stats.delay_us);
	print_color_uint(PRINT_ANY, COLOR_NONE, "dropped", " dropped %u", stats.dropped);
	print_color_uint(PRINT_ANY, COLOR_NONE, "marked", " marked %u", stats.marked);
	print_color_uint(PRINT_ANY, COLOR_NONE, "overlimit", " overlimit %u", stats.overlimit);
	return 0;
}

struct qdisc_util ramp_qdisc_util = {
	.id = "ramp",
	.parse_qopt = ramp_parse,
	.print_qopt = ramp_print,
	.print_xstats = ramp_print_xstats,
};
