// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "attached.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A program is attached as long as somebody has its link, or the perf event that runs it. */
static bool holds_program(int directory, const char *name)
{
	static const char *const kinds[] = { "anon_inode:bpf_link", "anon_inode:[perf_event]" };
	char kind[32];
	ssize_t length = readlinkat(directory, name, kind, sizeof(kind) - 1);

	kind[length < 0 ? 0 : length] = '\0';
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kind, kinds[i]))
			return true;
	return false;
}

void attached_drop(int instead)
{
	DIR *list = opendir("/proc/self/fd");
	const struct dirent *entry;

	while (list && (entry = readdir(list)))
		if (holds_program(dirfd(list), entry->d_name))
			dup3(instead, atoi(entry->d_name), O_CLOEXEC);
	if (list)
		closedir(list);
}
