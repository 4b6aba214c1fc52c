/* SPDX-License-Identifier: Apache-2.0 */
/* Reads /proc/PID/maps. */
#ifndef MAPS_H
#define MAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* One mapping. The path belongs to the reader. */
struct map {
	uint64_t start, end;
	uint64_t offset; /* in the file */
	unsigned int major, minor;
	uint64_t inode;
	bool executable, writable, shared;
	const char *path; /* as the kernel shows it; "": none; may also be "[heap]" and so on */
};

/* Called for a mapping. Not 0: no further ones. */
typedef int maps_take(void *context, const struct map *map);

/* Calls take for all mappings of a process, by address. Returns what it returned
 * last; 0 also for a process without memory, as one that has exited; -ESRCH if there
 * is none; another -errno. */
int maps_each(pid_t pid, maps_take *take, void *context);

/* Cuts " (deleted)" off a path as the kernel shows it. Returns whether it was there. */
bool maps_cut_deleted(char *path);

#endif
