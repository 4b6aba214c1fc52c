// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "group_disk.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "group.h"

/* Where a limit is, and the count of what there was: in version 1 each has a file, in version 2 a
 * word in the disk's line. */
static const struct {
	const char *limit_file, *count_file, *count_word; /* version 1 */
	const char *limit, *count;                        /* version 2 */
} places[DISK_LIMIT_KINDS] = {
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

static FILE *group_file_open(const char *directory, bool version_1, const char *name)
{
	char path[2 * PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s%s", directory, version_1 ? "blkio.throttle." : "io.",
		 name);
	return fopen(path, "re");
}

/* "vda"; "254:0" if that is not known. */
static void device_name(struct disk_count *count)
{
	char path[64], target[PATH_MAX];
	ssize_t length;
	const char *name;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", count->major, count->minor);
	length = readlink(path, target, sizeof(target) - 1);
	target[length > 0 ? length : 0] = '\0';
	name = strrchr(target, '/');
	snprintf(count->limit.device, sizeof(count->limit.device), "%.31s",
		 name ? name + 1 : strrchr(path, '/') + 1);
}

/* The number behind a word in a line: "rbps=2097152", "Read 4096". "max" is none. */
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

/* What there was until now of each of the limits from the first on, which one group has. */
static void counts_read(const char *directory, struct disk_count *counts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct disk_count *count = &counts[i];
		const bool version_1 = count->limit.version_1;
		FILE *file = group_file_open(directory, version_1,
					     version_1 ? places[count->limit.kind].count_file
						       : "stat");
		unsigned int major, minor;
		char line[512];

		while (file && fgets(line, sizeof(line), file))
			if (sscanf(line, "%u:%u ", &major, &minor) == 2 && major == count->major &&
			    minor == count->minor &&
			    word_read(line,
				      version_1 ? places[count->limit.kind].count_word
						: places[count->limit.kind].count,
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
	device_name(&count);
	group_path_cut(count.limit.group, sizeof(count.limit.group), path);
	finding->counts[finding->n++] = count;
}

/* Returns whether the limits of groups above count, too. */
static bool level_see(const char *path, const char *directory, bool version_1, void *context)
{
	struct disk_search *finding = context;
	const size_t before = finding->n;
	char line[512];

	for (uint32_t kind = 0; kind < DISK_LIMIT_KINDS; kind++) {
		FILE *file = group_file_open(directory, version_1,
					     version_1 ? places[kind].limit_file : "max");

		while (file && fgets(line, sizeof(line), file)) {
			struct disk_limit limit = { .kind = kind, .version_1 = version_1 };
			const char *space = strchr(line, ' ');

			if (version_1 && space)
				limit.per_second = strtoull(space, NULL, 10);
			else if (!version_1)
				word_read(line, places[kind].limit, '=', &limit.per_second);
			limit_add(finding, path, line, &limit);
		}
		if (file)
			fclose(file);
	}
	counts_read(directory, finding->counts + before, finding->n - before);
	return !version_1;
}

size_t group_disk_limits(pid_t pid, struct disk_count *counts, size_t most)
{
	struct disk_search finding = { .counts = counts, .most = most };

	group_levels(pid, "blkio", level_see, &finding);
	return finding.n;
}
