// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "group_members.h"

#include <dirent.h>
#include <errno.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/kernel_delay.h"
#include "cli/base/array.h"
#include "cli/base/parse.h"

#define DEPTH_MAX (KD_GROUP_LEVELS - 1) /* below the group, as the kernel side looks */

struct member_list {
	pid_t *pids;
	size_t n, room;
};

/* --- The processes of a group --- */

static int members_read(struct member_list *members, FILE *file)
{
	char line[32];
	uint64_t pid;
	int error = 0;

	while (!error && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		/* 0: a process of a PID namespace that is not below ours. */
		if (parse_u64(line, 1, INT32_MAX, &pid))
			continue;
		error = ARRAY_GROW(members->pids, members->n, members->room);
		if (!error)
			members->pids[members->n++] = (pid_t)pid;
	}
	/* Of a group for threads the read fails: cgroup_procs_start(), kernel/cgroup/cgroup.c. */
	if (!error && ferror(file))
		error = -errno;
	return error;
}

/* Adds what is in the directory and those below. Path has the directory's and room for theirs; it
 * is left as it was. */
static int members_add(struct member_list *members, char path[PATH_MAX], unsigned int depth)
{
	size_t length = strlen(path);
	struct dirent *entry;
	FILE *file;
	DIR *below;
	int error;

	if (length + sizeof("/cgroup.procs") > PATH_MAX)
		return -ENAMETOOLONG;
	strcpy(path + length, "/cgroup.procs");
	file = fopen(path, "re");
	path[length] = '\0';
	if (!file)
		return -errno;
	error = members_read(members, file);
	fclose(file);
	/* Groups for threads are below the one that has their processes. */
	if (error && (error != -EOPNOTSUPP || !depth))
		return error;
	below = depth < DEPTH_MAX ? opendir(path) : NULL;
	for (error = 0; below && !error && (entry = readdir(below));) {
		if (entry->d_type != DT_DIR || !strcmp(entry->d_name, ".") ||
		    !strcmp(entry->d_name, "..") || length + 1 + strlen(entry->d_name) >= PATH_MAX)
			continue;
		snprintf(path + length, PATH_MAX - length, "/%s", entry->d_name);
		error = members_add(members, path, depth + 1);
		/* It may have been removed by now. */
		error = error == -ENOENT || error == -ENODEV ? 0 : error;
		path[length] = '\0';
	}
	if (below)
		closedir(below);
	return error;
}

static int compare_pids(const void *a, const void *b)
{
	pid_t first = *(const pid_t *)a, second = *(const pid_t *)b;

	return first < second ? -1 : first > second;
}

int group_processes(const struct control_group *group, pid_t **pids, size_t *n)
{
	struct member_list members = { 0 };
	char path[PATH_MAX];
	int error;

	*pids = NULL;
	*n = 0;
	snprintf(path, sizeof(path), "%s", group->directory);
	error = members_add(&members, path, 0);
	if (error) {
		free(members.pids);
		return error;
	}
	if (members.n)
		qsort(members.pids, members.n, sizeof(*members.pids), compare_pids);
	/* Of version 1 a process is in each group that has threads of it. */
	for (size_t i = 0; i < members.n; i++)
		if (!*n || members.pids[i] != members.pids[*n - 1])
			members.pids[(*n)++] = members.pids[i];
	*pids = members.pids;
	return 0;
}

/* --- The group --- */

static bool is_controller(const char *word)
{
	FILE *file = fopen("/proc/cgroups", "re");
	char line[256];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\t")] = '\0';
		found = *line != '#' && !strcmp(line, word);
	}
	if (file)
		fclose(file);
	return found;
}

/* What of a mount's options names the hierarchy. */
static void controllers_read(char controllers[GROUP_CONTROLLERS], char *options)
{
	char *save = NULL;
	size_t length = 0;

	*controllers = '\0';
	for (char *word = strtok_r(options, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		if (strncmp(word, "name=", 5) != 0 && !is_controller(word))
			continue;
		if (length + strlen(word) + 2 > GROUP_CONTROLLERS)
			break;
		length += (size_t)sprintf(controllers + length, "%s%s", length ? "," : "", word);
	}
}

static bool has_cpu(const char *controllers)
{
	return !strcmp(controllers, "cpu") || !strncmp(controllers, "cpu,", 4) ||
	       strstr(controllers, ",cpu,") ||
	       (strlen(controllers) > 4 && !strcmp(controllers + strlen(controllers) - 4, ",cpu"));
}

/* True if a path is that of a directory or of one below it. */
static bool is_within(const char *path, const char *directory)
{
	size_t length = strlen(directory);

	return !strncmp(path, directory, length) && (!path[length] || path[length] == '/');
}

/* Finds the path, of a directory of this mount or below it. */
static int group_in_mount(struct control_group *group, struct mntent *mount, const char *path)
{
	char joined[2 * PATH_MAX];
	struct stat status;

	memset(group, 0, sizeof(*group));
	snprintf(joined, sizeof(joined), "%s/%s",
		 is_within(path, mount->mnt_dir) ? "" : mount->mnt_dir, path);
	if (strlen(joined) >= PATH_MAX)
		return -ENAMETOOLONG;
	if (!realpath(joined, group->directory) || stat(group->directory, &status))
		return -errno;
	if (!is_within(group->directory, mount->mnt_dir) || !S_ISDIR(status.st_mode))
		return -ENOENT;
	snprintf(group->path, sizeof(group->path), "%s", group->directory + strlen(mount->mnt_dir));
	if (!*group->path)
		strcpy(group->path, "/");
	group->id = status.st_ino; /* kernfs_ino(), include/linux/kernfs.h */
	group->version_1 = strcmp(mount->mnt_type, "cgroup2") != 0;
	if (group->version_1)
		controllers_read(group->controllers, mount->mnt_opts);
	return 0;
}

/* How much a hierarchy is worth: more is better. */
static unsigned int group_rank(const struct control_group *group)
{
	size_t n = 0;
	pid_t *pids;
	bool used = !group_processes(group, &pids, &n) && n;

	if (used)
		free(pids);
	return 1 + (used ? 4 : 0) + (!group->version_1 ? 2 : has_cpu(group->controllers) ? 1 : 0);
}

int group_find(struct control_group *group, const char *path)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct control_group *other = malloc(sizeof(*other));
	unsigned int best = 0, rank;
	struct mntent *entry;
	int error = -ENOENT, failed;

	while (mounts && other && (entry = getmntent(mounts))) {
		if (strcmp(entry->mnt_type, "cgroup") != 0 &&
		    strcmp(entry->mnt_type, "cgroup2") != 0)
			continue;
		failed = group_in_mount(other, entry, path);
		if (failed) {
			error = error == -ENOENT ? failed : error;
			continue;
		}
		rank = group_rank(other);
		if (rank > best)
			*group = *other;
		best = rank > best ? rank : best;
	}
	if (mounts)
		endmntent(mounts);
	if (!other)
		error = -ENOMEM;
	free(other);
	return best ? 0 : error;
}
