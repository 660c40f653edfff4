// SPDX-License-Identifier: GPL-2.0
/*
 * A process that waits by looking sees time pass.
 *
 * In simulated time computing takes none. A read of the clock costs 256 ns, so a loop that reads it
 * until a time has come ends. Whoever looks elsewhere loops for ever: at times(2), at a coarse clock
 * or one of CPU time, at descriptors without waiting, or at a variable that another process will
 * set, with sched_yield(2) in between. Here each of these reads the clock first, and costs as much;
 * times(2) and time(2), of which one answer lasts 10 ms and 1 s, cost 16 us, so that a process that
 * waits for the next makes 610 calls a tick instead of 39 000.
 *
 * That they do takes no patch of the kernel, whose other guests stay as they are: entries in the
 * table of system calls are replaced. The table is not exported. It is found by its content, in the
 * image of the kernel behind its code, by the names of the functions that its first entries call.
 */

#include <linux/kallsyms.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/time64.h>
#include <linux/uaccess.h>
#include <asm/unistd.h>

#define IMAGE	(16ul << 20)	/* bytes behind a function in which the table is looked for */

typedef long call(long, long, long, long, long, long);

static call **table;

/* How often a call reads the clock: always once, or as one at a clock of ticks does. */
static int always(long a, long b, long c, long d, long e)
{
	return 1;
}

static int ticks(long a, long b, long c, long d, long e)
{
	return 64;
}

/* clock_gettime(): all other clocks cost something already. */
static int other_clock(long clock, long b, long c, long d, long e)
{
	return clock < 0 || clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID ||
	       clock == CLOCK_REALTIME_COARSE || clock == CLOCK_MONOTONIC_COARSE;
}

/* Seconds and micro- or nanoseconds of a process; no address is a wait without an end. */
static bool is_zero(long address)
{
	struct __kernel_old_timespec time;

	return address && !copy_from_user(&time, (void __user *)address, sizeof(time)) &&
	       !time.tv_sec && !time.tv_nsec;
}

static int poll_0(long a, long b, long timeout_ms, long d, long e)
{
	return !(int)timeout_ms;
}

static int ppoll_0(long a, long b, long timeout, long d, long e)
{
	return is_zero(timeout);
}

static int epoll_wait_0(long a, long b, long c, long timeout_ms, long e)
{
	return !(int)timeout_ms;
}

static int epoll_pwait2_0(long a, long b, long c, long timeout, long e)
{
	return is_zero(timeout);
}

static int select_0(long a, long b, long c, long d, long timeout)
{
	return is_zero(timeout);
}

#define LOOKS(look)									\
	look(times, ticks) look(time, ticks) look(getrusage, always)				\
	look(sched_yield, always) look(clock_gettime, other_clock) look(poll, poll_0)	\
	look(ppoll, ppoll_0) look(select, select_0) look(pselect6, select_0)		\
	look(epoll_wait, epoll_wait_0) look(epoll_pwait, epoll_wait_0)			\
	look(epoll_pwait2, epoll_pwait2_0)

#define DEFINE_LOOK(name, count)							\
static call *real_##name;								\
static long look_##name(long a, long b, long c, long d, long e, long f)			\
{											\
	int reads;									\
											\
	for (reads = count(a, b, c, d, e); reads; reads--)				\
		ktime_get();								\
	return real_##name(a, b, c, d, e, f);						\
}

LOOKS(DEFINE_LOOK)

static bool calls(call *entry, const char *name)
{
	char symbol[KSYM_SYMBOL_LEN];

	sprint_symbol_no_offset(symbol, (unsigned long)entry);
	return strstr(symbol, name);
}

static call **find_table(void)
{
	unsigned long code = ALIGN((unsigned long)printk_timed_ratelimit, sizeof(call *));
	call **end = (call **)(code + IMAGE), **at;

	for (at = (call **)code; at < end; at++) {
		if ((unsigned long)at[0] - code + IMAGE < 2 * IMAGE && calls(at[0], "sys_read") &&
		    calls(at[1], "sys_write") && calls(at[2], "sys_open") &&
		    calls(at[__NR_sched_yield], "sys_sched_yield"))
			return at;
	}
	return NULL;
}

/* Let the table be written: a call of the host, mprotect(2), as the kernel is a process there. */
static long make_writable(void)
{
	unsigned long begin = (unsigned long)table & PAGE_MASK;
	unsigned long end = PAGE_ALIGN((unsigned long)(table + __NR_syscalls));
	long result = __NR_mprotect;

	asm volatile("syscall" : "+a" (result) :
		     "D" (begin), "S" (end - begin), "d" (3 /* PROT_READ | PROT_WRITE */) :
		     "rcx", "r11", "memory");
	return result;
}

static int __init looks_init(void)
{
	table = find_table();
	if (!table || make_writable()) {
		pr_err("looks: there is no table of system calls, or it cannot be written\n");
		return -ENOENT;
	}
#define REPLACE(name, count)				\
	real_##name = table[__NR_##name];		\
	table[__NR_##name] = look_##name;
	LOOKS(REPLACE)
	return 0;
}

module_init(looks_init);
MODULE_DESCRIPTION("What a process does to wait by looking takes simulated time");
MODULE_LICENSE("GPL");
