// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "group.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <mntent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/kernel_delay.h"
#include "cli/base/arith.h"
#include "cli/base/array.h"
#include "cli/base/clock.h"
#include "cli/base/parse.h"
#include "cli/base/proc_file.h"
#include "disk_users.h"

/* --- CPU bandwidth, and freezing --- */

bool group_list_has(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (!strncmp(at, word, length) && (!at[length] || at[length] == ','))
			return true;
	return false;
}

bool group_line_read(struct group_line *line, FILE *file)
{
	while (file && fgets(line->text, sizeof(line->text), file)) {
		char *first = strchr(line->text, ':'),
		     *second = first ? strchr(first + 1, ':') : NULL;

		if (!second)
			continue;
		*first = *second = '\0';
		line->controllers = first + 1;
		line->path = second + 1;
		line->path[strcspn(line->path, "\n")] = '\0';
		return true;
	}
	return false;
}

FILE *group_file_open(const char *format, ...)
{
	FILE *file = NULL;
	va_list args;
	char *path;

	va_start(args, format);
	if (vasprintf(&path, format, args) >= 0) {
		file = fopen(path, "re");
		free(path);
	}
	va_end(args);
	return file;
}

/* Reads the process's group of a v1 controller (NULL: skip), else of v2. */
static bool path_read(const char *root, pid_t pid, const char *controller, char path[PATH_MAX],
		      bool *version_1)
{
	struct group_line line;
	bool found = false;
	FILE *file = group_file_open("%s/proc/%d/cgroup", root,
				     (int)(*root ? pid : proc_thread(pid)));

	*version_1 = false;
	while (!*version_1 && group_line_read(&line, file)) {
		*version_1 = controller && group_list_has(line.controllers, controller);
		if (!*version_1 && *line.controllers)
			continue;
		snprintf(path, PATH_MAX, "%s", line.path);
		found = true;
	}
	if (file)
		fclose(file);
	return found;
}

void group_path_cut(char *into, size_t size, const char *path)
{
	const size_t length = strlen(path);
	const char *tail;

	if (length < size) {
		memcpy(into, path, length + 1);
		return;
	}
	tail = path + length - (size - 4);
	tail = strchr(tail, '/') ?: tail; /* not through a name, if there is another one */
	memcpy(into, "...", 3);
	memcpy(into + 3, tail, strlen(tail) + 1);
}

bool group_of(pid_t pid, char *path, size_t size)
{
	char full_path[PATH_MAX];
	bool version_1;

	*path = '\0';
	if (!path_read("", pid, "cpu", full_path, &version_1))
		return false;
	group_path_cut(path, size, full_path);
	return true;
}

/* Finds where the hierarchy of a controller (NULL: v2) is mounted from its root. */
static bool mount_find(const char *root, const char *controller, char *mount, size_t size)
{
	FILE *mounts = group_file_open("%s/proc/self/mounts", root);
	struct mntent *entry;
	bool found = false;

	if (!mounts)
		return false;
	while (!found && (entry = getmntent(mounts))) {
		if (strcmp(entry->mnt_type, controller ? "cgroup" : "cgroup2") ||
		    (controller && !group_list_has(entry->mnt_opts, controller)))
			continue;
		found = (size_t)snprintf(mount, size, "%s", entry->mnt_dir) < size;
	}
	endmntent(mounts);
	return found;
}

/* Reads up to two numbers from a file of the group; "max" is not a number. */
static int numbers_read(const char *group, const char *name, long long numbers[2])
{
	FILE *file = group_file_open("%s/%s", group, name);
	int n = 0;

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

bool group_levels_begin(struct group_levels *levels, const char *root, pid_t pid,
			const char *controller)
{
	char path[PATH_MAX], *mount = levels->directory + strlen(root);

	levels->begun = false;
	if (!path_read(root, pid, controller, path, &levels->version_1) ||
	    !mount_find(root, levels->version_1 ? controller : NULL, mount,
			sizeof(levels->directory) - strlen(root)))
		return false;
	memcpy(levels->directory, root, strlen(root));
	levels->path = mount + strlen(mount);
	if (strlen(path) >= sizeof(levels->directory) - (size_t)(levels->path - levels->directory))
		return false;
	memcpy(levels->path, path, strlen(path) + 1);
	return true;
}

bool group_levels_next(struct group_levels *levels)
{
	char *slash = strrchr(levels->path, '/');

	if (levels->begun && slash)
		*slash = '\0';
	levels->begun = true;
	return *levels->path && strcmp(levels->path, "/") != 0;
}

bool group_has_quota(const struct group_levels *level, struct cpu_quota *quota)
{
	return quota_read(level->directory, level->version_1, quota);
}

bool group_quota(pid_t pid, struct cpu_quota *quota)
{
	struct cpu_quota found = { 0 };
	struct group_levels levels;

	memset(quota, 0, sizeof(*quota));
	if (!group_levels_begin(&levels, "", pid, "cpu"))
		return false;
	while (group_levels_next(&levels)) {
		if (!group_has_quota(&levels, &found) || !is_tighter(&found, quota))
			continue;
		group_path_cut(found.group, sizeof(found.group), levels.path);
		*quota = found;
	}
	return quota->period_ns > 0;
}

bool group_above(pid_t tid, uint64_t id, char *path, size_t size)
{
	struct group_levels levels;
	struct stat status;
	bool found = false;

	if (!group_levels_begin(&levels, "", tid, "cpu"))
		return false;
	while (!found && group_levels_next(&levels))
		found = !stat(levels.directory, &status) && status.st_ino == id;
	if (found)
		group_path_cut(path, size, levels.path);
	return found;
}

static bool frozen_find(pid_t pid, const char *controller, const char *file, char *into,
			size_t size)
{
	struct group_levels levels;
	long long is_frozen[2];

	if (!group_levels_begin(&levels, "", pid, controller) ||
	    levels.version_1 != (controller != NULL))
		return false;
	while (group_levels_next(&levels)) {
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

/* --- Disk limits --- */

/* Where limits and I/O counts are: in files of their own in v1, as words in the disk's line in
 * v2. */
static const struct {
	const char *limit_file, *count_file, *count_word; /* v1 */
	const char *limit, *count;                        /* v2 */
} locations[DISK_LIMIT_KINDS] = {
	[DISK_LIMIT_READ_BYTES] = { "read_bps_device", "io_service_bytes", "Read", "rbps",
				    "rbytes" },
	[DISK_LIMIT_WRITE_BYTES] = { "write_bps_device", "io_service_bytes", "Write", "wbps",
				     "wbytes" },
	[DISK_LIMIT_READS] = { "read_iops_device", "io_serviced", "Read", "riops", "rios" },
	[DISK_LIMIT_WRITES] = { "write_iops_device", "io_serviced", "Write", "wiops", "wios" },
};

struct disk_search {
	struct disk_count *counts;
	size_t n, most;
};

static FILE *disk_file_open(const char *directory, bool version_1, const char *name)
{
	return group_file_open("%s/%s%s", directory, version_1 ? "blkio.throttle." : "io.", name);
}

/* Reads the number after a word in a line: "rbps=2097152", "Read 4096". "max" is none. */
static bool word_read(const char *line, const char *word, char between, uint64_t *number)
{
	const size_t length = strlen(word);

	for (const char *at = strchr(line, ' '); at; at = strchr(at, ' ')) {
		at++;
		if (!strncmp(at, word, length) && at[length] == between)
			return sscanf(at + length + 1, "%" SCNu64, number) == 1;
	}
	return false;
}

/* Reads the I/O counts for n limits of one group. */
static void counts_read(const char *directory, struct disk_count *counts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct disk_count *count = &counts[i];
		const bool version_1 = count->limit.version_1;
		FILE *file = disk_file_open(directory, version_1,
					    version_1 ? locations[count->limit.kind].count_file
						      : "stat");
		unsigned int major, minor;
		char line[512];

		while (file && fgets(line, sizeof(line), file))
			if (sscanf(line, "%u:%u ", &major, &minor) == 2 && major == count->major &&
			    minor == count->minor &&
			    word_read(line,
				      version_1 ? locations[count->limit.kind].count_word
						: locations[count->limit.kind].count,
				      version_1 ? ' ' : '=', &count->count))
				break;
		if (file)
			fclose(file);
	}
}

static void limit_add(struct disk_search *finding, const char *path, const char *line,
		      const struct disk_limit *limit)
{
	struct disk_count count = { .limit = *limit };

	if (!limit->per_second || finding->n == finding->most ||
	    sscanf(line, "%u:%u ", &count.major, &count.minor) != 2)
		return;
	disk_name(count.limit.device, count.major, count.minor);
	group_path_cut(count.limit.group, sizeof(count.limit.group), path);
	finding->counts[finding->n++] = count;
}

static void level_see(struct disk_search *finding, const struct group_levels *level)
{
	const bool version_1 = level->version_1;
	const size_t before = finding->n;
	char line[512];

	for (uint32_t kind = 0; kind < DISK_LIMIT_KINDS; kind++) {
		FILE *file = disk_file_open(level->directory, version_1,
					    version_1 ? locations[kind].limit_file : "max");

		while (file && fgets(line, sizeof(line), file)) {
			struct disk_limit limit = { .kind = kind, .version_1 = version_1 };
			const char *space = strchr(line, ' ');

			if (version_1 && space)
				limit.per_second = strtoull(space, NULL, 10);
			else if (!version_1)
				word_read(line, locations[kind].limit, '=', &limit.per_second);
			limit_add(finding, level->path, line, &limit);
		}
		if (file)
			fclose(file);
	}
	counts_read(level->directory, finding->counts + before, finding->n - before);
}

size_t group_disk_limits(pid_t pid, struct disk_count *counts, size_t most)
{
	struct disk_search finding = { .counts = counts, .most = most };
	struct group_levels levels;
	bool more = group_levels_begin(&levels, "", pid, "blkio");

	while (more && group_levels_next(&levels)) {
		level_see(&finding, &levels);
		more = !levels.version_1; /* limits of ancestors count, too */
	}
	return finding.n;
}

/* --- Processes of a group --- */

#define DEPTH_MAX (KD_GROUP_LEVELS - 1) /* below the group; matches the kernel side */

struct member_list {
	pid_t *pids;
	size_t n, capacity;
};

static int members_read(struct member_list *members, FILE *file)
{
	char line[32];
	uint64_t pid;
	int error = 0;

	while (!error && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		/* 0: a process in a PID namespace outside ours. */
		if (parse_u64(line, 1, INT32_MAX, &pid))
			continue;
		error = ARRAY_ADD(members->pids, members->n, members->capacity, (pid_t)pid);
	}
	/* Reading fails for threaded groups: cgroup_procs_start(), kernel/cgroup/cgroup.c. */
	if (!error && ferror(file))
		error = -errno;
	return error;
}

/* Adds the members of a directory and of those below. path has space for their names; it is
 * restored. */
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
	/* Threaded groups are below the group with their processes. */
	if (error && (error != -EOPNOTSUPP || !depth))
		return error;
	below = depth < DEPTH_MAX ? opendir(path) : NULL;
	for (error = 0; below && !error && (entry = readdir(below));) {
		if (entry->d_type != DT_DIR || !strcmp(entry->d_name, ".") ||
		    !strcmp(entry->d_name, "..") || length + 1 + strlen(entry->d_name) >= PATH_MAX)
			continue;
		snprintf(path + length, PATH_MAX - length, "/%s", entry->d_name);
		error = members_add(members, path, depth + 1);
		/* It may have been removed meanwhile. */
		error = error == -ENOENT || error == -ENODEV ? 0 : error;
		path[length] = '\0';
	}
	if (below)
		closedir(below);
	return error;
}

static int compare_pids(const void *a, const void *b)
{
	return ORDER(*(const pid_t *)a, *(const pid_t *)b);
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
	ARRAY_SORT(members.pids, members.n, compare_pids);
	/* In v1, a process is in each group with one of its threads. */
	*n = ARRAY_UNIQUE(members.pids, members.n, compare_pids);
	*pids = members.pids;
	return 0;
}

/* --- Groups --- */

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

/* Extracts the words of a mount's options that name the hierarchy. */
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

/* True if a path is a directory or below it. */
static bool is_within(const char *path, const char *directory)
{
	size_t length = strlen(directory);

	return !strncmp(path, directory, length) && (!path[length] || path[length] == '/');
}

/* Looks up a path in this mount. */
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

/* Preference of a hierarchy: higher is better. */
static unsigned int group_rank(const struct control_group *group)
{
	size_t n = 0;
	pid_t *pids;
	bool used = !group_processes(group, &pids, &n) && n;

	if (used)
		free(pids);
	return 1 + (used ? 4 : 0) +
	       (!group->version_1 ? 2 : group_list_has(group->controllers, "cpu"));
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
