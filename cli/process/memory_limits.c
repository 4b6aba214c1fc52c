// SPDX-License-Identifier: Apache-2.0
#include "memory_limits.h"

#include <stdio.h>
#include <string.h>

#include "group.h"

/* Files of a group. Where hits are: in version 1 the only number of a file, in version 2 behind a
 * word. */
struct limit_files {
	bool version_1;
	const char *limit, *hits, *word, *usage;
};

static const struct limit_files kinds[] = {
	{ true, "memory.limit_in_bytes", "memory.failcnt", "", "memory.usage_in_bytes" },
	{ true, "memory.memsw.limit_in_bytes", "memory.memsw.failcnt", "",
	  "memory.memsw.usage_in_bytes" },
	{ false, "memory.max", "memory.events.local", "max ", "memory.current" },
	{ false, "memory.high", "memory.events.local", "high ", "memory.current" },
};

/* Reads the number that follows a word at the beginning of a line; 0: none. */
static uint64_t number_read(const struct group_levels *level, const char *name, const char *word)
{
	FILE *file = group_file_open("%s/%s", level->directory, name);
	unsigned long long number = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, word, strlen(word)) &&
		    sscanf(line + strlen(word), "%llu", &number) == 1)
			break;
	if (file)
		fclose(file);
	return number;
}

/* Returns false if it was never reached, or is gone. */
static bool limit_read(const struct group_levels *level, const struct limit_files *files,
		       struct memory_limit *limit)
{
	*limit = (struct memory_limit){ .version_1 = files->version_1 };
	limit->hits = number_read(level, files->hits, files->word);
	if (!limit->hits)
		return false;
	limit->bytes = number_read(level, files->limit, "");
	limit->used = number_read(level, files->usage, "");
	snprintf(limit->file, sizeof(limit->file), "%s", files->limit);
	group_path_cut(limit->group, sizeof(limit->group), level->path);
	return limit->bytes;
}

size_t memory_limits_read(const char *root, pid_t pid, struct memory_limit *limits, size_t most)
{
	struct group_levels level;
	size_t n = 0;

	if (!group_levels_begin(&level, root, pid, "memory"))
		return 0;
	while (group_levels_next(&level))
		for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && n < most; i++)
			if (kinds[i].version_1 == level.version_1)
				n += limit_read(&level, &kinds[i], &limits[n]);
	return n;
}
