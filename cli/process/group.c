// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "group.h"

#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/base/clock.h"
#include "cli/base/proc_file.h"

/* True if a comma-separated list has the word. */
static bool list_has(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (!strncmp(at, word, length) && (!at[length] || at[length] == ','))
			return true;
	return false;
}

/* Reads the process's line of a controller of version 1 (NULL: of none), else that of version 2.
 * Lines are NUMBER:CONTROLLERS:PATH. */
static bool path_read(pid_t pid, const char *controller, char path[PATH_MAX], bool *version_1)
{
	char name[64], line[PATH_MAX + 256];
	bool found = false;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/cgroup", (int)proc_thread(pid));
	file = fopen(name, "re");
	if (!file)
		return false;
	*version_1 = false;
	while (!*version_1 && fgets(line, sizeof(line), file)) {
		char *controllers = strchr(line, ':'), *group;

		group = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!group)
			continue;
		*group++ = '\0';
		*version_1 = controller && list_has(controllers + 1, controller);
		if (!*version_1 && controllers[1])
			continue;
		group[strcspn(group, "\n")] = '\0';
		snprintf(path, PATH_MAX, "%s", group);
		found = true;
	}
	fclose(file);
	return found;
}

void group_path_cut(char *into, size_t size, const char *path)
{
	size_t length = strlen(path);

	if (length < size) {
		memcpy(into, path, length + 1);
	} else {
		memcpy(into, "...", 3);
		memcpy(into + 3, path + length - (size - 4), size - 3);
	}
}

bool group_of(pid_t pid, char *path, size_t size)
{
	char whole[PATH_MAX];
	bool version_1;

	*path = '\0';
	if (!path_read(pid, "cpu", whole, &version_1))
		return false;
	group_path_cut(path, size, whole);
	return true;
}

/* Where the hierarchy of a controller (NULL: that of version 2) is mounted whole. */
static bool mount_find(const char *controller, char mount[PATH_MAX])
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *entry;
	bool found = false;

	if (!mounts)
		return false;
	while (!found && (entry = getmntent(mounts))) {
		if (strcmp(entry->mnt_type, controller ? "cgroup" : "cgroup2") ||
		    (controller && !list_has(entry->mnt_opts, controller)))
			continue;
		found = snprintf(mount, PATH_MAX, "%s", entry->mnt_dir) < PATH_MAX;
	}
	endmntent(mounts);
	return found;
}

/* Reads up to two numbers of a file of the group; "max" is no number. */
static int numbers_read(const char *group, const char *name, long long numbers[2])
{
	char path[2 * PATH_MAX + 64];
	int n = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", group, name);
	file = fopen(path, "re");
	if (!file)
		return 0;
	n = fscanf(file, "%lld %lld", &numbers[0], &numbers[1]);
	fclose(file);
	return n;
}

static bool quota_read(const char *group, bool version_1, struct cpu_quota *quota)
{
	long long numbers[2] = { 0, 0 }, period[2];

	if (!version_1) {
		if (numbers_read(group, "cpu.max", numbers) != 2)
			return false;
	} else if (numbers_read(group, "cpu.cfs_quota_us", numbers) == 1 &&
		   numbers_read(group, "cpu.cfs_period_us", period) == 1) {
		numbers[1] = period[0];
	}
	if (numbers[0] <= 0 || numbers[1] <= 0)
		return false;
	quota->quota_ns = (uint64_t)numbers[0] * NSEC_PER_USEC;
	quota->period_ns = (uint64_t)numbers[1] * NSEC_PER_USEC;
	return true;
}

static bool is_tighter(const struct cpu_quota *a, const struct cpu_quota *b)
{
	return !b->period_ns || (double)a->quota_ns / (double)a->period_ns <
					(double)b->quota_ns / (double)b->period_ns;
}

/* A process's group and those above it, the nearest first. */
struct levels {
	char path[PATH_MAX], mount[PATH_MAX];
	char directory[2 * PATH_MAX]; /* of path */
	bool version_1, begun;
};

/* Of a controller of version 1 (NULL: of none), else of version 2. */
static bool levels_begin(struct levels *levels, pid_t pid, const char *controller)
{
	levels->begun = false;
	return path_read(pid, controller, levels->path, &levels->version_1) &&
	       mount_find(levels->version_1 ? controller : NULL, levels->mount);
}

/* Returns false after the last one; the root is none. */
static bool levels_next(struct levels *levels)
{
	char *slash = strrchr(levels->path, '/');

	if (levels->begun && slash)
		*slash = '\0';
	levels->begun = true;
	snprintf(levels->directory, sizeof(levels->directory), "%s%s", levels->mount, levels->path);
	return *levels->path && strcmp(levels->path, "/") != 0;
}

bool group_quota(pid_t pid, struct cpu_quota *quota)
{
	struct cpu_quota found = { 0 };
	struct levels levels;

	memset(quota, 0, sizeof(*quota));
	if (!levels_begin(&levels, pid, "cpu"))
		return false;
	while (levels_next(&levels)) {
		if (!quota_read(levels.directory, levels.version_1, &found) ||
		    !is_tighter(&found, quota))
			continue;
		group_path_cut(found.group, sizeof(found.group), levels.path);
		*quota = found;
	}
	return quota->period_ns > 0;
}

bool group_above(pid_t tid, uint64_t id, char *path, size_t size)
{
	struct levels levels;
	struct stat status;
	bool found = false;

	if (!levels_begin(&levels, tid, "cpu"))
		return false;
	while (!found && levels_next(&levels))
		found = !stat(levels.directory, &status) && status.st_ino == id;
	if (found)
		group_path_cut(path, size, levels.path);
	return found;
}

static bool frozen_find(pid_t pid, const char *controller, const char *file, char *into,
			size_t size)
{
	struct levels levels;
	long long is_frozen[2];

	if (!levels_begin(&levels, pid, controller) || levels.version_1 != (controller != NULL))
		return false;
	while (levels_next(&levels)) {
		if (!numbers_read(levels.directory, file, is_frozen) || is_frozen[0] != 1)
			continue;
		group_path_cut(into, size, levels.path);
		return true;
	}
	return false;
}

bool group_frozen(pid_t pid, char *path, size_t size)
{
	return frozen_find(pid, NULL, "cgroup.freeze", path, size) ||
	       frozen_find(pid, "freezer", "freezer.self_freezing", path, size);
}

void group_levels(pid_t pid, const char *controller, group_level_function *see, void *context)
{
	struct levels levels;
	bool more = levels_begin(&levels, pid, controller);

	while (more && levels_next(&levels))
		more = see(levels.path, levels.directory, levels.version_1, context);
}
