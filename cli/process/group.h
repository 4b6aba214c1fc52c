/* SPDX-License-Identifier: Apache-2.0 */
/* Control groups as far as they share out CPU time, or freeze: version 1's hierarchy of the cpu or
 * freezer controller, or version 2's. */
#ifndef GROUP_H
#define GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/model/culprit.h"

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

/* Calls the function for the process's group and those above it, the nearest first, without the
 * root, until it returns false: with the path, its directory, and whether the controller is of
 * version 1. */
typedef bool group_level_function(const char *path, const char *directory, bool version_1,
				  void *context);
void group_levels(pid_t pid, const char *controller, group_level_function *see, void *context);

/* Copies a path, or the end of it after "...". */
void group_path_cut(char *into, size_t size, const char *path);

#endif
