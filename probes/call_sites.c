// SPDX-License-Identifier: Apache-2.0
#include "call_sites.h"

#include <string.h>

#include "cli/base/syscall_names.h"

/* The kernel calls a few by the names of their functions (SYSCALL_DEFINE). */
static const struct {
	const char *function, *name;
} renamed[] = {
	{ "newfstat", "fstat" },       { "newlstat", "lstat" }, { "newstat", "stat" },
	{ "newuname", "uname" },       { "umount", "umount2" }, { "sendfile64", "sendfile" },
	{ "fstatat64", "newfstatat" },
};

static int function_number(const char *function)
{
	for (size_t i = 0; i < sizeof(renamed) / sizeof(*renamed); i++)
		if (!strcmp(function, renamed[i].function))
			return syscall_number(renamed[i].name);
	return syscall_number(function);
}

int site_call(const struct site *site, bool *exit)
{
	static const char enter_prefix[] = "sys_enter_", exit_prefix[] = "sys_exit_";

	if (!site->group || strcmp(site->group, "syscalls"))
		return -1;
	*exit = !strncmp(site->name, exit_prefix, sizeof(exit_prefix) - 1);
	if (*exit)
		return function_number(site->name + sizeof(exit_prefix) - 1);
	if (!strncmp(site->name, enter_prefix, sizeof(enter_prefix) - 1))
		return function_number(site->name + sizeof(enter_prefix) - 1);
	return -1;
}
