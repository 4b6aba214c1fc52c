/* SPDX-License-Identifier: Apache-2.0 */
/* The table of system calls against lists that others made: audit's, gdb's. */
#include <stdlib.h>
#include <sys/syscall.h>

#include "bpf/kernel_delay.h"
#include "cli/base/syscall_names.h"
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

static void skip(const char *what, const char *why)
{
	tap.run++;
	printf("ok %u - %s # SKIP %s\n", tap.run, what, why);
}

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

static void test_outside_lists(void)
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
		skip("names of others' lists", "neither ausyscall nor gdb's list is installed");
}

static void test_both_ways(void)
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

static void test_some(void)
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
	ok(!syscall_name(400), "400 is free everywhere");
	ok(!syscall_name(UINT32_MAX), "no name for the largest number");
	is_str(syscall_name(424), "pidfd_send_signal", "the first common number");
	is_str(syscall_name(451), "cachestat", "newer than the oldest headers");
	is_str(syscall_name(462), "mseal", "newer still");
	is_str(syscall_name(471), "rseq_slice_yield", "the newest");
#ifdef __x86_64__
	is_str(syscall_name(334), "rseq", "x86-64: rseq");
	is_str(syscall_name(335), "uretprobe", "x86-64: uretprobe");
	is_str(syscall_name(336), "uprobe", "x86-64: uprobe");
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

int main(void)
{
	test_some();
	test_both_ways();
	test_outside_lists();
	return done_testing();
}
