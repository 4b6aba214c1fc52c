/* SPDX-License-Identifier: Apache-2.0 */
/* Cgroups that limit CPU time or freeze: the v1 hierarchy of the cpu or freezer controller, or
 * v2. */
#ifndef GROUP_H
#define GROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "cli/model/culprit.h"

/* A line of /proc/PID/cgroup, NUMBER:CONTROLLERS:PATH. */
struct group_line {
	char text[PATH_MAX + 256];
	const char *controllers; /* "": version 2 */
	char *path;
};

/* Reads the next line that has these parts. Returns false at the end, or if file is NULL. */
bool group_line_read(struct group_line *line, FILE *file);

/* True if a comma-separated list has the word. */
bool group_list_has(const char *list, const char *word);

/* Sets *path to the process's cgroup, from the hierarchy's root; or to its end, after "...", if
 * it does not fit. Returns false and "" if unknown. */
bool group_of(pid_t pid, char *path, size_t size);

/* Opens a file for reading; its path may have any length. NULL if that fails. */
FILE *group_file_open(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Copies a path, or its end after "...": from the beginning of a name, if one fits. */
void group_path_cut(char *into, size_t size, const char *path);

#define GROUP_DIRECTORY PATH_MAX

/* Iterates over a process's group and its ancestors, nearest first. */
struct group_levels {
	char directory[GROUP_DIRECTORY];
	char *path; /* its end, from the hierarchy's root */
	bool version_1, begun;
};

/* For a v1 controller (NULL: skip), else for v2; root: see cpu_rules.h. False: unknown. */
bool group_levels_begin(struct group_levels *levels, const char *root, pid_t pid,
			const char *controller);

/* Returns false after the last one; excludes the root. */
bool group_levels_next(struct group_levels *levels);

/* True if this group itself has a quota. */
bool group_has_quota(const struct group_levels *level, struct cpu_quota *quota);

/* Finds the tightest quota of the process's cgroup and its ancestors. Returns false if there is
 * none, or it is unknown. */
bool group_quota(pid_t pid, struct cpu_quota *quota);

/* Sets *path, as group_of() does, to the group with this kernel ID: the thread's, or an
 * ancestor. Returns false if none has it. */
bool group_above(pid_t tid, uint64_t id, char *path, size_t size);

/* Sets *path, as group_of() does, to the frozen group: the process's, or its nearest ancestor.
 * Returns false if there is none, or it is unknown. */
bool group_frozen(pid_t pid, char *path, size_t size);

/* --- Disk limits --- */

/* A limit, and the I/O counted against it so far. */
struct disk_count {
	struct disk_limit limit; /* without used */
	unsigned int major, minor;
	uint64_t count;
};

/* Finds the limits of a process's group and, in v2, of its ancestors; at most most. Returns
 * their number. */
size_t group_disk_limits(pid_t pid, struct disk_count *counts, size_t most);

/* --- Processes of a group --- */

#define GROUP_CONTROLLERS 256

struct control_group {
	char directory[PATH_MAX];
	char path[PATH_MAX]; /* from the hierarchy's root, as in /proc/PID/cgroup */
	uint64_t id;         /* kernel's ID, from its kernfs directory: cgroup_id() */
	bool version_1;
	/* v1 hierarchy as in /proc/PID/cgroup: "cpu,cpuacct", "name=systemd". */
	char controllers[GROUP_CONTROLLERS];
};

/* Finds a group by its path from a hierarchy's root, or by its directory. If several hierarchies
 * match, picks the first with processes: v2, then v1's cpu controller. Returns 0; -ENOENT: no
 * such group; another negative errno: unreadable. */
int group_find(struct control_group *group, const char *path);

/* Sets *pids, which the caller frees, to the processes in the group and below, sorted and
 * unique. Skips other PID namespaces. Returns 0; -EOPNOTSUPP: a threaded group; or another
 * negative errno. */
int group_processes(const struct control_group *group, pid_t **pids, size_t *n);

#endif
