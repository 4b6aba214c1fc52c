/* SPDX-License-Identifier: Apache-2.0 */
/* Names of system calls against lists that others made: audit's, gdb's; and lists of calls, against
 * the numbers of <sys/syscall.h>. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/kernel_delay.h"
#include "cli/base/syscall_set.h"
#include "captured.h"
#include "cases.h"
#include "tap.h"

/* The newest number that lists of Linux 6.0 and later have. */
#define LIST_END 450

#if defined(__x86_64__)
#define GDB_FILE "/usr/share/gdb/syscalls/amd64-linux.xml"
#define GDB_COMPAT_FILE "/usr/share/gdb/syscalls/i386-linux.xml"
#elif defined(__aarch64__)
#define GDB_FILE "/usr/share/gdb/syscalls/aarch64-linux.xml"
#else
#define GDB_FILE "/nonexistent"
#endif

/* Compares one list, which is read to its end. Returns how many it has. */
static unsigned int compare(FILE *list, const char *format, bool name_first, const char *source,
			    enum syscall_mode mode)
{
	unsigned int lines = 0, wrong = 0, number;
	char line[256], name[64];

	while (fgets(line, sizeof(line), list)) {
		const char *ours;

		if (name_first ? sscanf(line, format, name, &number) != 2
			       : sscanf(line, format, &number, name) != 2)
			continue;
		lines++;
		ours = syscall_name(syscall_in_mode(mode, number));
		if (number > LIST_END || (ours && !strcmp(ours, name)))
			continue;
		printf("# %s: %u is %s, not %s\n", source, number, name, ours ? ours : "known");
		wrong++;
	}
	if (lines)
		ok(!wrong, "all %u names of %s", lines, source);
	return lines;
}

TEST(outside_lists)
{
	FILE *list = popen("ausyscall --dump 2>/dev/null", "r");
	unsigned int lines = 0;

	if (list) {
		lines += compare(list, "%u\t%63s", false, "ausyscall", SYSCALL_NATIVE);
		pclose(list);
	}
	list = fopen(GDB_FILE, "r");
	if (list) {
		lines += compare(list, " <syscall name=\"%63[^\"]\" number=\"%u\"", true, "gdb",
				 SYSCALL_NATIVE);
		fclose(list);
	}
#ifdef __x86_64__
	list = popen("ausyscall i386 --dump 2>/dev/null", "r");
	if (list) {
		lines += compare(list, "%u\t%63s", false, "ausyscall i386", SYSCALL_COMPAT);
		pclose(list);
	}
	list = fopen(GDB_COMPAT_FILE, "r");
	if (list) {
		lines += compare(list, " <syscall name=\"%63[^\"]\" number=\"%u\"", true,
				 "gdb's i386", SYSCALL_COMPAT);
		fclose(list);
	}
#endif
	if (!lines)
		skip("neither ausyscall nor gdb's list is installed", "names of others' lists");
}

TEST(both_ways)
{
	unsigned int known = 0, wrong = 0;

	for (uint32_t number = 0; number < 1024; number++) {
		const char *name = syscall_name(number);

		if (!name)
			continue;
		known++;
		wrong += syscall_number(name) != (int)number;
	}
	ok(known > 300, "%u system calls are known", known);
	is_u64(wrong, 0, "each name leads back to its number");
}

static const char *name_of(const char *number)
{
	const char *name = syscall_name((uint32_t)strtoul(number, NULL, 0));

	return name ? name : "none";
}

TEST(some)
{
	is_str(syscall_name(SYS_read), "read", "read by this architecture's number");
	is_str(syscall_name(SYS_ppoll), "ppoll", "ppoll by this architecture's number");
	is_i64(syscall_number("futex"), SYS_futex, "futex by name");
#ifdef SYS_poll
	is_i64(syscall_number("poll"), SYS_poll, "poll by name");
#else
	is_i64(syscall_number("poll"), -1, "no poll here");
#endif
	is_i64(syscall_number("no such call"), -1, "no number for an unknown name");
	is_i64(syscall_number(""), -1, "no number for an empty name");
	/* 424 is the first common number, 471 the newest. */
	cases_check("400 = none|0xffffffff = none|424 = pidfd_send_signal|451 = cachestat"
		    "|462 = mseal|471 = rseq_slice_yield",
		    name_of, "a number");
#ifdef __x86_64__
	cases_check("334 = rseq|335 = uretprobe|336 = uprobe", name_of, "x86-64");
	is_str(syscall_name(KD_CALL_COMPAT | 64), "getppid", "32-bit mode: getppid");
	is_str(syscall_name(KD_CALL_COMPAT | 471), "rseq_slice_yield", "32-bit mode: the newest");
	is_str(syscall_name(KD_CALL_COMPAT | 335), "rt_tgsigqueueinfo",
	       "32-bit mode: no uretprobe");
	is_str(syscall_name(KD_CALL_X32 | 7), "poll", "x32: poll");
	is_str(syscall_name(KD_CALL_X32 | 520), "execve", "x32: execve");
	is_i64(syscall_find(SYSCALL_COMPAT, "_newselect"), KD_CALL_COMPAT | 142,
	       "_newselect by name");
	is_i64(syscall_number("_newselect"), -1, "which there is no native one of");
	is_u64(syscall_mode(KD_CALL_X32 | 1), SYSCALL_X32, "a mode");
	is_u64(syscall_plain(KD_CALL_COMPAT | 64), 64, "a number without its mode");
	is_u64(syscall_mode(INT32_MAX), SYSCALL_NATIVE, "the largest number is in no other mode");
	is_u64(syscall_plain(INT32_MAX), INT32_MAX, "and a whole one");
#endif
}

/* --- Lists of them --- */

static unsigned int count(const struct syscall_set *set)
{
	unsigned int n = 0;

	for (size_t i = 0; i < KD_CLASSES; i++)
		n += set->has[SYSCALL_NATIVE][i];
	return n;
}

/* Of how many calls a list is, and which of some are among them. */
static const char *listed(const char *list)
{
	static const struct {
		int number;
		const char *name;
	} some[] = { { SYS_futex, "futex" },
		     { SYS_recvmsg, "recvmsg" },
		     { SYS_recvmmsg, "recvmmsg" },
		     { SYS_ppoll, "ppoll" },
		     { SYS_nanosleep, "nanosleep" },
		     { SYS_clock_nanosleep, "clock_nanosleep" },
		     { 510, "510" },
		     { 511, "511" } };
	static char said[256];
	struct syscall_set set;

	memset(&set, 0xa5, sizeof(set));
	if (syscall_set_read("x", list, &set))
		return "refused";
	snprintf(said, sizeof(said), "%u", count(&set));
	for (size_t i = 0; i < sizeof(some) / sizeof(*some); i++)
		if (set.has[SYSCALL_NATIVE][some[i].number])
			snprintf(said + strlen(said), 32, " %s", some[i].name);
	return said;
}

TEST(lists)
{
	cases_check("futex = 1 futex|futex,recvmsg = 2 futex recvmsg"
		    "|recvmsg,futex,futex = 2 futex recvmsg|511 = 1 511|recvm?sg = 1 recvmmsg"
		    "|clock_nanosleep = 1 clock_nanosleep|!* = 0"
		    "|!ppoll = 511 futex recvmsg recvmmsg nanosleep clock_nanosleep 510 511"
		    "|!ppoll,futex = 510 recvmsg recvmmsg nanosleep clock_nanosleep 510 511"
		    "|!511,007 = 510 futex recvmsg recvmmsg ppoll nanosleep clock_nanosleep 510"
		    "|futex,* = 512 futex recvmsg recvmmsg ppoll nanosleep clock_nanosleep 510 511",
		    listed, "a list");
}

/* A pattern is exactly what it is without one, name by name. */
TEST(patterns)
{
	struct syscall_set set, names;

	is_i64(syscall_set_read("x", "epoll_*", &set), 0, "epoll_* is a list");
	ok(set.has[SYSCALL_NATIVE][SYS_epoll_pwait] && set.has[SYSCALL_NATIVE][SYS_epoll_ctl] &&
		   set.has[SYSCALL_NATIVE][SYS_epoll_create1] &&
		   !set.has[SYSCALL_NATIVE][SYS_ppoll],
	   "epoll_* is all that begins so");
	is_i64(syscall_set_read("x", "!epoll_*", &names), 0, "!epoll_* is a list");
	is_u64(count(&set) + count(&names), KD_CLASSES, "and its opposite has the others");
	is_i64(syscall_set_read("x", "[gs]etsockopt,mk*at", &set), 0, "several patterns");
	ok(set.has[SYSCALL_NATIVE][SYS_getsockopt] && set.has[SYSCALL_NATIVE][SYS_setsockopt] &&
		   set.has[SYSCALL_NATIVE][SYS_mkdirat] && set.has[SYSCALL_NATIVE][SYS_mknodat],
	   "are all that match");
	is_u64(count(&set), 4, "and no others");
}

/* Names and numbers stand for calls of 32-bit mode, too. */
TEST(modes)
{
	struct syscall_set set;

	is_i64(syscall_set_read("x", "getppid,400", &set), 0, "names and numbers");
	ok(set.has[SYSCALL_COMPAT][400], "a number in both modes");
#ifdef __x86_64__
	ok(set.has[SYSCALL_NATIVE][110] && set.has[SYSCALL_COMPAT][64] &&
		   !set.has[SYSCALL_COMPAT][110] && !set.has[SYSCALL_NATIVE][64],
	   "getppid has a number in each");
	is_i64(syscall_set_read("x", "!_newselect,poll*", &set), 0,
	       "one that only 32-bit mode has");
	ok(!set.has[SYSCALL_COMPAT][142] && !set.has[SYSCALL_COMPAT][168] &&
		   !set.has[SYSCALL_NATIVE][7],
	   "is known");
	syscall_set_fill(&set);
	syscall_set_remove_polls(&set);
	ok(!set.has[SYSCALL_COMPAT][142] && !set.has[SYSCALL_COMPAT][168] &&
		   !set.has[SYSCALL_COMPAT][414] && !set.has[SYSCALL_COMPAT][413] &&
		   !set.has[SYSCALL_COMPAT][256],
	   "and what waits for descriptors there");
#endif
}

TEST(whole_sets)
{
	struct syscall_set set = { { { false } } };
	unsigned int polls = 3; /* that every machine has */

	ok(syscall_set_is_empty(&set), "an empty set");
	set.has[SYSCALL_NATIVE][KD_CLASSES - 1] = true;
	ok(!syscall_set_is_empty(&set), "one with the last number only");
	syscall_set_fill(&set);
	is_u64(count(&set), KD_CLASSES, "a full set");
	syscall_set_remove_polls(&set);
#ifdef SYS_poll
	ok(!set.has[SYSCALL_NATIVE][SYS_poll], "no poll");
	polls++;
#endif
#ifdef SYS_select
	ok(!set.has[SYSCALL_NATIVE][SYS_select], "no select");
	polls++;
#endif
#ifdef SYS_epoll_wait
	ok(!set.has[SYSCALL_NATIVE][SYS_epoll_wait], "no epoll_wait");
	polls++;
#endif
	ok(!set.has[SYSCALL_NATIVE][SYS_ppoll] && !set.has[SYSCALL_NATIVE][SYS_pselect6] &&
		   !set.has[SYSCALL_NATIVE][SYS_epoll_pwait],
	   "none of their variants");
	ok(!set.has[SYSCALL_NATIVE][441], "not epoll_pwait2");
	is_u64(count(&set), KD_CLASSES - polls - 1, "all others");
}

TEST(refused)
{
	static const struct {
		const char *lists, *says;
	} cases[] = {
		{ "|!|,|futex,|futex,,read", "a name is missing" },
		{ "!futex,!read", "no system call '!read'" },
		{ "futx|Futex", "similar names: futex" },
		{ "recvmsgs", "recvmsg" },
		{ "futex read", "no system call 'futex read'" },
		{ "nothing*", "no system call 'nothing*'" },
		{ "512|99999999999999999999", "out of range" },
		{ "-1", "no system call '-1'" },
		{ "a\x1b[2J", "\\x1b" },
		{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		  "aaaa",
		  "no system call" },
	};
	struct syscall_set set;
	char list[CASE_LEN];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (const char *lists = cases[i].lists; case_next(&lists, list);) {
			const char *said;
			int status;

			capture_begin();
			status = syscall_set_read("syscall-filter", list, &set);
			said = capture_end();
			ok(status == 64 && strstr(said, cases[i].says) &&
				   strstr(said, "--syscall-filter") && !strchr(said, '\x1b'),
			   "'%s' is refused with 64, and why: %s", list, cases[i].says);
		}
}
