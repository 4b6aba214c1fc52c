// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <sys/syscall.h>

#include "probes/call_sites.h"
#include "tap.h"

static int number_of(const char *group, const char *name, bool *leaves)
{
	struct site site = { .fd = -1, .group = group, .name = name };

	*leaves = false;
	return site_call(&site, leaves);
}

static void check(const char *name, bool leaves, int number)
{
	bool found;

	is_i64(number_of("syscalls", name, &found), number, "%s has its number", name);
	if (number >= 0)
		ok(found == leaves, "%s: whether it is the exit", name);
}

int main(void)
{
	bool leaves;

	check("sys_enter_futex", false, SYS_futex);
	check("sys_exit_futex", true, SYS_futex);
	check("sys_exit_newfstatat", true, SYS_newfstatat);
	/* The kernel's functions have other names than the calls. */
	check("sys_enter_newuname", false, SYS_uname);
	check("sys_exit_newfstat", true, SYS_fstat);
	check("sys_enter_umount", false, SYS_umount2);
	check("sys_enter_sendfile64", false, SYS_sendfile);
	check("sys_enter_no_such_call", false, -1);
	check("sys_enter_", false, -1);
	check("sys_futex", false, -1);
	check("", false, -1);
	ok(number_of("raw_syscalls", "sys_enter_futex", &leaves) == -1, "of another system");
	ok(number_of(NULL, "sys_enter_futex", &leaves) == -1, "no tracepoint");
	return done_testing();
}
