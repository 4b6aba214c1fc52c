/* SPDX-License-Identifier: Apache-2.0 */
/* A control group by its path, and the processes in it and below. */
#ifndef GROUP_MEMBERS_H
#define GROUP_MEMBERS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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
