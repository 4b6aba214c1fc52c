// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "socket_owners.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/base/array.h"
#include "cli/base/proc_file.h"

struct socket_owners {
	struct socket_owner *all; /* by inode */
	size_t n, room;
};

static int by_inode(const void *a, const void *b)
{
	const struct socket_owner *x = a, *y = b;

	return (x->inode > y->inode) - (x->inode < y->inode);
}

/* A process that has ended has none. Returns 0 or -ENOMEM. */
static int process_read(struct socket_owners *owners, pid_t pid)
{
	char path[32], target[64];
	struct dirent *entry;
	int error = 0;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)proc_thread(pid));
	folder = opendir(path);
	while (folder && !error && (entry = readdir(folder))) {
		struct socket_owner owner = { .pid = pid, .fd = atoi(entry->d_name) };
		ssize_t length = readlinkat(dirfd(folder), entry->d_name, target,
					    sizeof(target) - 1);

		if (length < 0)
			continue;
		target[length] = '\0';
		if (sscanf(target, "socket:[%" SCNu64 "]", &owner.inode) != 1)
			continue;
		error = ARRAY_GROW(owners->all, owners->n, owners->room);
		if (!error)
			owners->all[owners->n++] = owner;
	}
	if (folder)
		closedir(folder);
	return error;
}

struct socket_owners *socket_owners_new(const struct sample *sample)
{
	struct socket_owners *owners = calloc(1, sizeof(*owners));
	int error = owners ? 0 : -ENOMEM;

	for (size_t i = 0; i < sample->n_usages && !error; i++)
		error = process_read(owners, sample->usages[i].pid);
	if (error) {
		socket_owners_free(owners);
		return NULL;
	}
	if (owners->n)
		qsort(owners->all, owners->n, sizeof(*owners->all), by_inode);
	return owners;
}

const struct socket_owner *socket_owners_find(const struct socket_owners *owners, uint64_t inode)
{
	const struct socket_owner key = { .inode = inode };

	return owners->n ? bsearch(&key, owners->all, owners->n, sizeof(key), by_inode) : NULL;
}

void socket_owners_free(struct socket_owners *owners)
{
	if (!owners)
		return;
	free(owners->all);
	free(owners);
}
