/* SPDX-License-Identifier: Apache-2.0 */
/* Control groups as far as they share out CPU time, or freeze: version 1's hierarchy of the cpu or
 * freezer controller, or version 2's. */
#ifndef GROUP_H
#define GROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/model/culprit.h"
#include "cli/model/disk_limit.h"

/* Sets *path to the process's control group, from the hierarchy's root; its end, after
 * "...", if it does not fit. Returns false if it is not known: *path is "". */
bool group_of(pid_t pid, char *path, size_t size);

/* Finds the tightest quota of the process's control group and of those above it. Returns
 * false if there is none, or it is not known. */
bool group_quota(pid_t pid, struct cpu_quota *quota);

/* Sets *path, as group_of() does, to that of the thread's group and those above it which has this
 * ID of the kernel's. Returns false if none has. */
bool group_above(pid_t tid, uint64_t id, char *path, size_t size);

/* Sets *path, as group_of() does, to the group that the freezer holds: the process's, or the
 * nearest above it. Returns false if there is none, or it is not known. */
bool group_frozen(pid_t pid, char *path, size_t size);

/* --- Limits of disks --- */

/* A limit, and how much there was of that until now. */
struct disk_count {
	struct disk_limit limit; /* without used */
	unsigned int major, minor;
	uint64_t count;
};

/* Finds the limits of a process's group and, of version 2, those above it: at most so many.
 * Returns how many. */
size_t group_disk_limits(pid_t pid, struct disk_count *counts, size_t most);

/* --- Which processes are in a group --- */

#define GROUP_CONTROLLERS 256

struct control_group {
	char directory[PATH_MAX];
	char path[PATH_MAX]; /* from the hierarchy's root, as in /proc/PID/cgroup */
	uint64_t id;         /* the kernel's, of its directory in kernfs: cgroup_id() */
	bool version_1;
	/* Of version 1's hierarchy, as in /proc/PID/cgroup: "cpu,cpuacct", "name=systemd". */
	char controllers[GROUP_CONTROLLERS];
};

/* Finds the group of a path from a hierarchy's root, or of its directory's path: of several
 * hierarchies that have one in the first with processes in it, version 2's first, then that of
 * version 1's cpu controller. Returns 0; -ENOENT: there is no such group; another negative
 * errno: it cannot be read. */
int group_find(struct control_group *group, const char *path);

/* Sets *pids, which the caller frees, to the processes in it and in all groups below, sorted,
 * each once; those of other PID namespaces are left out. Returns 0; -EOPNOTSUPP: the group is
 * for threads of processes that are in another one; or another negative errno. */
int group_processes(const struct control_group *group, pid_t **pids, size_t *n);

#endif
