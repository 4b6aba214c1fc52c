// SPDX-License-Identifier: Apache-2.0
#include "maps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/proc_file.h"
#define DELETED " (deleted)"

/* "START-END PERMISSIONS OFFSET MAJOR:MINOR INODE PATH" */
static bool map_parse(struct map *map, char *line)
{
	char permissions[8];
	int at = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%lx-%lx %7s %lx %x:%x %lu %n", &map->start, &map->end, permissions,
		   &map->offset, &map->major, &map->minor, &map->inode, &at) != 7 ||
	    !at || strlen(permissions) < 3)
		return false;
	map->writable = permissions[1] == 'w';
	map->executable = permissions[2] == 'x';
	map->shared = permissions[3] == 's';
	map->path = line + at;
	return true;
}

int maps_each(pid_t pid, maps_take *take, void *context)
{
	char name[32], *line = NULL;
	size_t size = 0;
	struct map map;
	int err = 0;
	FILE *maps;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)proc_thread(pid));
	maps = fopen(name, "re");
	if (!maps)
		return errno == ENOENT ? -ESRCH : -errno;
	errno = 0;
	while (!err && getline(&line, &size, maps) >= 0)
		err = map_parse(&map, line) ? take(context, &map) : 0;
	if (!err && ferror(maps))
		err = errno ? -errno : -EIO;
	free(line);
	fclose(maps);
	return err;
}

bool maps_cut_deleted(char *path)
{
	size_t length = strlen(path), suffix = strlen(DELETED);

	if (length <= suffix || strcmp(path + length - suffix, DELETED) != 0)
		return false;
	path[length - suffix] = '\0';
	return true;
}
