/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of system calls, against the numbers of <sys/syscall.h>. */
#define _GNU_SOURCE
#include "cli/base/syscall_set.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/base/syscall_names.h"
#include "tap.h"

static unsigned int count(const struct syscall_set *set)
{
	unsigned int n = 0;

	for (size_t i = 0; i < KD_CLASSES; i++)
		n += set->has[SYSCALL_NATIVE][i];
	return n;
}

static void test_lists(void)
{
	static const struct {
		const char *list;
		unsigned int count;
		int has[4], has_not[4]; /* up to a 0 */
	} cases[] = {
		{ "futex", 1, { SYS_futex }, { SYS_recvmsg } },
		{ "futex,recvmsg", 2, { SYS_futex, SYS_recvmsg }, { SYS_ppoll } },
		{ "recvmsg,futex,futex", 2, { SYS_futex, SYS_recvmsg }, { SYS_ppoll } },
		{ "!ppoll", KD_CLASSES - 1, { SYS_futex }, { SYS_ppoll } },
		{ "!ppoll,futex", KD_CLASSES - 2, { SYS_recvmsg }, { SYS_ppoll, SYS_futex } },
		{ "511", 1, { 511 }, { SYS_futex } },
		{ "!511,007", KD_CLASSES - 2, { SYS_futex }, { 511, 7 } },
		{ "clock_nanosleep", 1, { SYS_clock_nanosleep }, { SYS_nanosleep } },
		{ "recvm?sg", 1, { SYS_recvmmsg }, { SYS_recvmsg } },
		{ "!*", 0, { 0 }, { SYS_futex, 510 } },
		{ "futex,*", KD_CLASSES, { SYS_futex, 510 }, { 0 } },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct syscall_set set;
		bool right = true;

		memset(&set, 0xa5, sizeof(set));
		is_i64(syscall_set_read("x", cases[i].list, &set), 0, "%s is a list",
		       cases[i].list);
		is_u64(count(&set), cases[i].count, "%s: so many calls", cases[i].list);
		for (size_t j = 0; j < 4 && cases[i].has[j]; j++)
			right = right && set.has[SYSCALL_NATIVE][cases[i].has[j]];
		for (size_t j = 0; j < 4 && cases[i].has_not[j]; j++)
			right = right && !set.has[SYSCALL_NATIVE][cases[i].has_not[j]];
		ok(right, "%s: the right ones", cases[i].list);
	}
}

/* A pattern is exactly what it is without one, name by name. */
static void test_patterns(void)
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
static void test_modes(void)
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

static void test_whole_sets(void)
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

/* Runs a reading that must fail, with what it says. */
static const char *refuse(const char *list, int *status)
{
	static char said[1024];
	struct syscall_set set;
	FILE *err = tmpfile();
	int saved = dup(STDERR_FILENO);

	fflush(stderr);
	dup2(fileno(err), STDERR_FILENO);
	*status = syscall_set_read("syscall-filter", list, &set);
	dup2(saved, STDERR_FILENO);
	close(saved);
	memset(said, 0, sizeof(said));
	rewind(err);
	if (fread(said, 1, sizeof(said) - 1, err) == 0)
		said[0] = '\0';
	fclose(err);
	return said;
}

static void test_refused(void)
{
	static const struct {
		const char *list, *says;
	} cases[] = {
		{ "", "a name is missing" },
		{ "!", "a name is missing" },
		{ ",", "a name is missing" },
		{ "futex,", "a name is missing" },
		{ "futex,,read", "a name is missing" },
		{ "!futex,!read", "no system call '!read'" },
		{ "futx", "similar names: futex" },
		{ "Futex", "similar names: futex" },
		{ "recvmsgs", "recvmsg" },
		{ "futex read", "no system call 'futex read'" },
		{ "nothing*", "no system call 'nothing*'" },
		{ "512", "out of range" },
		{ "99999999999999999999", "out of range" },
		{ "-1", "no system call '-1'" },
		{ "a\x1b[2J", "\\x1b" },
		{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		  "aaaa",
		  "no system call" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int status;
		const char *said = refuse(cases[i].list, &status);

		is_i64(status, 64, "list %zu is refused with 64", i);
		ok(strstr(said, cases[i].says) && strstr(said, "--syscall-filter"),
		   "list %zu: it is said why: %s", i, cases[i].says);
		ok(!strchr(said, '\x1b'), "list %zu: no control characters", i);
	}
}

int main(void)
{
	test_lists();
	test_patterns();
	test_modes();
	test_whole_sets();
	test_refused();
	return done_testing();
}
