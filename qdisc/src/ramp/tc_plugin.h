/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a plugin of tc needs of iproute2, which installs no header for it.
 *
 * tc loads `q_<kind>.so` from the folder that TC_LIB_DIR names, and looks for
 * `<kind>_qdisc_util` in it. The functions are tc's own (iproute2 6.1).
 */
#ifndef TC_PLUGIN_H
#define TC_PLUGIN_H

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stdio.h>

struct qdisc_util {
	struct qdisc_util *next;
	const char *id;
	int (*parse_qopt)(struct qdisc_util *qu, int argc, char **argv,
			  struct nlmsghdr *n, const char *dev);
	int (*print_qopt)(struct qdisc_util *qu, FILE *f, struct rtattr *opt);
	int (*print_xstats)(struct qdisc_util *qu, FILE *f, struct rtattr *xstats);
	int (*parse_copt)(struct qdisc_util *qu, int argc, char **argv,
			  struct nlmsghdr *n, const char *dev);
	int (*print_copt)(struct qdisc_util *qu, FILE *f, struct rtattr *opt);
	int (*has_block)(struct qdisc_util *qu, struct nlmsghdr *n, bool *has_block);
};

enum output_type { PRINT_FP = 1, PRINT_JSON = 2, PRINT_ANY = 4 };
enum color_attr { COLOR_NONE = 6 };

/* Options of a request; where one begins that has others inside, and where it ends. */
int addattr_l(struct nlmsghdr *n, int maxlen, int type, const void *data, int alen);
int addattr32(struct nlmsghdr *n, int maxlen, int type, __u32 data);
struct rtattr *addattr_nest(struct nlmsghdr *n, int maxlen, int type);
int addattr_nest_end(struct nlmsghdr *n, struct rtattr *nest);
int parse_rtattr(struct rtattr *tb[], int max, struct rtattr *rta, int len);

/* Words of the command line; not 0 where they are no such value. A time is in us. */
int get_unsigned(unsigned int *value, const char *word, int base);
int get_time(unsigned int *us, const char *word);

/* One value: as JSON under `key`, or as text by `format`. */
int print_color_uint(enum output_type t, enum color_attr color, const char *key,
		     const char *format, unsigned int value);
int print_color_int(enum output_type t, enum color_attr color, const char *key,
		    const char *format, int value);
int print_color_string(enum output_type t, enum color_attr color, const char *key,
		       const char *format, const char *value);
int print_color_float(enum output_type t, enum color_attr color, const char *key,
		      const char *format, double value);
int print_color_bool(enum output_type t, enum color_attr color, const char *key,
		     const char *format, bool value);

#define MOST_BYTES	1024	/* of a request's options */

#endif
