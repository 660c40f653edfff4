// SPDX-License-Identifier: GPL-2.0
/*
 * Loads the module `probe` within a sleep of the guest's first process, Python, at which nobody else
 * is awake. To load it takes some microseconds of simulated time, which the sleep hides: it ends when
 * it would have ended without.
 *
 * Python must not notice. What it makes itself counts for its garbage collection, and to collect a
 * file is to read the clock. So this is no Python: `main.py` opens this library, and from then on the
 * interpreter's calls of clock_nanosleep(2), which time.sleep() ends in, come here.
 */

#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MODULE "/job/modules/probe.ko"

/* A sleep that is long enough, and how long all have been in sum once others sleep, too. */
#define QUIET_NS 40000000ll
#define SETTLED_NS 1000000000ll

static int64_t slept_ns;
static int begun;

static void begin(void)
{
	/* Whoever waits for asynchronous work reads the clock: not with async_probe. */
	int fd = open(MODULE, O_RDONLY | O_CLOEXEC);

	syscall(SYS_finit_module, fd, "async_probe", 0);
	close(fd);
}

static int sleep_as_asked(clockid_t clock, int flags, const struct timespec *end,
			  struct timespec *left)
{
	struct timespec now;

	if (!begun && clock == CLOCK_MONOTONIC && flags == TIMER_ABSTIME) {
		/* The coarse clock costs nothing. */
		syscall(SYS_clock_gettime, CLOCK_MONOTONIC_COARSE, &now);
		int64_t ns = (end->tv_sec - now.tv_sec) * 1000000000ll + end->tv_nsec - now.tv_nsec;

		slept_ns += ns > 0 ? ns : 0;
		if (ns >= QUIET_NS && slept_ns >= SETTLED_NS) {
			begun = 1;
			begin();
		}
	}
	return syscall(SYS_clock_nanosleep, clock, flags, end, left) ? errno : 0;
}

/* Have the program's calls of clock_nanosleep() come here. */
static int redirect(struct dl_phdr_info *program, size_t size, void *unused)
{
	const ElfW(Dyn) *entry = NULL;
	const ElfW(Sym) *symbols = NULL;
	const ElfW(Rela) *slots = NULL;
	const char *names = NULL;
	size_t bytes = 0;

	for (int i = 0; i < program->dlpi_phnum; i++)
		if (program->dlpi_phdr[i].p_type == PT_DYNAMIC)
			entry = (const void *)(program->dlpi_addr + program->dlpi_phdr[i].p_vaddr);
	for (; entry && entry->d_tag != DT_NULL; entry++) {
		const void *place = (const void *)entry->d_un.d_ptr;

		switch (entry->d_tag) {
		case DT_SYMTAB: symbols = place; break;
		case DT_STRTAB: names = place; break;
		case DT_JMPREL: slots = place; break;
		case DT_PLTRELSZ: bytes = entry->d_un.d_val; break;
		}
	}
	for (size_t i = 0; i < bytes / sizeof(*slots); i++) {
		const char *name = names + symbols[ELF64_R_SYM(slots[i].r_info)].st_name;

		if (!strcmp(name, "clock_nanosleep"))
			*(void **)(program->dlpi_addr + slots[i].r_offset) = sleep_as_asked;
	}
	return 1;	/* the program is the first; libraries are as they were */
}

__attribute__((constructor)) static void opened(void)
{
	dl_iterate_phdr(redirect, NULL);
}
