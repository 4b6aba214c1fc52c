// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "objects.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"
#include "cli/base/names.h"
#include "cli/base/proc_file.h"
#include "cli/sandbox/helper.h"
#include "elf_file.h"

/* --- Reading /proc/PID/maps --- */

#define DELETED " (deleted)"

/* "START-END PERMISSIONS OFFSET MAJOR:MINOR INODE PATH" */
static bool map_parse(struct map *map, char *line)
{
	char permissions[8];
	int at = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%lx-%lx %7s %lx %x:%x %lu %n", &map->start, &map->end, permissions,
		   &map->offset, &map->key.major, &map->key.minor, &map->key.inode, &at) != 7 ||
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

/* --- Executable files mapped by a process: its program and shared objects --- */

/* Far more than any program loads; paths may have 4 KiB. */
#define MAX_OBJECTS 8192

struct objects {
	pid_t pid;
	struct object *all;
	size_t n, capacity;
	uint64_t changed; /* modification time of the program's file, ns */
};

int inode_key_compare(const struct inode_key *a, const struct inode_key *b)
{
	return ORDER(a->inode, b->inode) ?: ORDER(a->major, b->major) ?: ORDER(a->minor, b->minor);
}

static int by_start(const void *left, const void *right)
{
	const struct object *a = left, *b = right;

	return ORDER(a->start, b->start);
}

static int by_file(const void *left, const void *right)
{
	const struct object *a = left, *b = right;

	return inode_key_compare(&a->key, &b->key) ?: by_start(a, b);
}

/* Keeps the first mapping of each file. */
static void objects_unify(struct objects *objects)
{
	struct object *all = objects->all;
	size_t last = 0;

	if (!objects->n)
		return;
	qsort(all, objects->n, sizeof(*all), by_file);
	for (size_t i = 1; i < objects->n; i++) {
		if (inode_key_is(&all[last].key, &all[i].key))
			free((char *)all[i].path);
		else
			all[++last] = all[i];
	}
	objects->n = last + 1;
	ARRAY_SORT(all, objects->n, by_start);
}

/* Half of the space must be free afterwards, or each object added might lead here. */
static int objects_grow(struct objects *objects)
{
	objects_unify(objects);
	if (objects->n < objects->capacity / 2)
		return 0;
	if (objects->capacity >= MAX_OBJECTS)
		return -E2BIG;
	return array_reserve(&objects->all, objects->capacity + 1, &objects->capacity,
			     sizeof(*objects->all));
}

/* Copies the path. */
static int objects_add(struct objects *objects, struct object object)
{
	int err = objects->n == objects->capacity ? objects_grow(objects) : 0;

	if (err)
		return err;
	object.path = strdup(object.path);
	if (!object.path)
		return -ENOMEM;
	objects->all[objects->n++] = object;
	return 0;
}

/* Adds a mapping if it is executable and of a file. */
static int objects_add_map(void *context, const struct map *map)
{
	struct objects *objects = context;

	if (*map->path != '/' || !map->executable)
		return 0;
	if (objects->n && inode_key_is(&objects->all[objects->n - 1].key, &map->key))
		return 0;
	return objects_add(objects, (struct object){ .path = map->path,
						     .start = map->start,
						     .end = map->end,
						     .key = map->key });
}

/* How certain an object is the program: its path and inode match, or only one, as with overlay
 * file systems and renaming. */
static unsigned int object_is_program(const struct object *object, const char *path,
				      const struct statx *program)
{
	return (strcmp(object->path, path) == 0 ? 2 : 0) + (object->key.inode == program->stx_ino);
}

/* Uses cached attributes: a file server might not respond. */
static int program_stat(const char *name, struct statx *program)
{
	return statx(AT_FDCWD, name, AT_STATX_DONT_SYNC, STATX_BASIC_STATS, program);
}

/* Marks the program. Adds it if it is not mapped as such (it was started through the dynamic
 * linker). */
static int objects_mark_executable(struct objects *objects)
{
	char name[32], path[PATH_MAX];
	unsigned int sure = 0;
	struct object *best = NULL;
	struct statx program;
	ssize_t length;
	int err;

	snprintf(name, sizeof(name), "/proc/%d/exe", (int)proc_thread(objects->pid));
	length = readlink(name, path, sizeof(path) - 1);
	if (length < 0 || program_stat(name, &program))
		return errno == ENOENT ? -ESRCH : -errno;
	path[length] = '\0';
	for (size_t i = 0; i < objects->n; i++) {
		unsigned int score = object_is_program(&objects->all[i], path, &program);

		if (score > sure) {
			sure = score;
			best = &objects->all[i];
		}
	}
	if (!best) {
		err = objects_add(objects, (struct object){ .path = path,
							    .key = { program.stx_dev_major,
								     program.stx_dev_minor,
								     program.stx_ino } });
		if (err)
			return err;
		best = &objects->all[objects->n - 1];
	}
	best->executable = true;
	objects->changed = (uint64_t)program.stx_ctime.tv_sec * 1000000000 +
			   program.stx_ctime.tv_nsec;
	return 0;
}

int objects_read(struct objects **out, pid_t pid)
{
	struct objects *objects = *out = calloc(1, sizeof(*objects));
	int err;

	if (!objects)
		return -ENOMEM;
	objects->pid = pid;
	err = maps_each(pid, objects_add_map, objects);
	objects_unify(objects);
	if (!err)
		err = objects_mark_executable(objects);
	/* Not before, as paths were compared. */
	for (size_t i = 0; i < objects->n; i++)
		objects->all[i].deleted = maps_cut_deleted((char *)objects->all[i].path);
	if (err) {
		objects_free(objects);
		*out = NULL;
	}
	return err;
}

void objects_free(struct objects *objects)
{
	if (!objects)
		return;
	for (size_t i = 0; i < objects->n; i++)
		free((char *)objects->all[i].path);
	free(objects->all);
	free(objects);
}

size_t objects_count(const struct objects *objects)
{
	return objects->n;
}

const struct object *objects_get(const struct objects *objects, size_t index)
{
	return &objects->all[index];
}

/* Each bit of the result depends on each bit of the number. */
static uint64_t number_mix(uint64_t number)
{
	number = (number ^ number >> 33) * 0xff51afd7ed558ccdULL;
	number = (number ^ number >> 33) * 0xc4ceb9fe1a85ec53ULL;
	return number ^ number >> 33;
}

uint64_t objects_key(const struct objects *objects)
{
	/* A new file may reuse the inode of a removed one. */
	uint64_t key = number_mix(objects->changed);

	/* Add up: the order depends on addresses, which the kernel chooses. */
	for (size_t i = 0; i < objects->n; i++) {
		const struct object *object = &objects->all[i];
		uint64_t device = (uint64_t)object->key.major << 32 | object->key.minor;

		key += number_mix(object->key.inode + number_mix(device + object->executable));
	}
	return key;
}

pid_t objects_pid(const struct objects *objects)
{
	return objects->pid;
}

/* True if the open file is the mapped one. For btrfs and overlay file systems, stat() shows
 * another device than maps, one without a major number: there only the inode counts. */
static bool object_is_file(const struct object *object, int fd)
{
	struct stat stat;

	if (fstat(fd, &stat) || stat.st_ino != object->key.inode)
		return false;
	return (major(stat.st_dev) == object->key.major &&
		minor(stat.st_dev) == object->key.minor) ||
	       !major(stat.st_dev) || !object->key.major;
}

/* Opens a path in a process's view (0: ours), if it leads to the mapped file. */
static int object_open_path(const struct object *object, pid_t pid, const char *path)
{
	int fd = file_open(pid, path);

	if (fd >= 0 && !object_is_file(object, fd)) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

/* Kernel links lead to the file itself, wherever it is. Without permission to follow them, tries
 * the path, in the process's view and in ours. */
int object_open(pid_t pid, const struct object *object)
{
	pid_t thread = proc_thread(pid);
	char name[96];
	int fd = -ENOENT;

	if (object->executable) {
		snprintf(name, sizeof(name), "/proc/%d/exe", (int)thread);
		fd = file_open(0, name);
	}
	if (fd < 0 && object->end) {
		snprintf(name, sizeof(name), "/proc/%d/map_files/%lx-%lx", (int)thread,
			 object->start, object->end);
		fd = file_open(0, name);
	}
	if (fd < 0)
		fd = object_open_path(object, pid, object->path);
	return fd < 0 ? object_open_path(object, 0, object->path) : fd;
}

int objects_open(const struct objects *objects, const struct object *object)
{
	return object_open(objects->pid, object);
}

/* True if a path, maybe with symbolic links, leads the process to the mapped file. */
static bool objects_path_leads_to(const struct objects *objects, const char *path,
				  const struct object *object)
{
	int fd = *path == '/' ? object_open_path(object, objects->pid, path) : -ENOENT;

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

const char *object_basename(const struct object *object)
{
	return basename(object->path);
}

/* --- Lookup by name --- */

#define MAX_SONAME 256

/* Quality of a match; the best ones count. */
enum fit { FIT_NONE, FIT_PATTERN, FIT_UNVERSIONED, FIT_EXACT };

static enum fit name_fit(const char *wanted, const char *name)
{
	size_t length = strlen(wanted);

	if (strncmp(wanted, name, length) != 0)
		return names_match(wanted, name) ? FIT_PATTERN : FIT_NONE;
	if (!name[length])
		return FIT_EXACT;
	return name[length] == '.' && length > 3 && strstr(wanted, ".so") ? FIT_UNVERSIONED
									  : FIT_NONE;
}

static bool object_soname(const struct objects *objects, const struct object *object, char *soname,
			  size_t size)
{
	struct elf_file *file;
	bool found = false;
	int fd = objects_open(objects, object);

	if (fd < 0)
		return false;
	if (!elf_file_open(&file, fd)) {
		found = elf_file_soname(file, soname, size);
		elf_file_close(file);
	}
	helper_try_close(fd);
	close(fd);
	return found;
}

static enum fit object_fit(const struct objects *objects, const struct object *object,
			   const char *wanted)
{
	char soname[MAX_SONAME];
	enum fit fit, other;

	if (strchr(wanted, '/'))
		return strcmp(wanted, object->path) == 0 ||
				       objects_path_leads_to(objects, wanted, object)
			       ? FIT_EXACT
		       : names_match(wanted, object->path) ? FIT_PATTERN
							   : FIT_NONE;
	fit = name_fit(wanted, object_basename(object));
	if (fit == FIT_EXACT || !object_soname(objects, object, soname, sizeof(soname)))
		return fit;
	other = name_fit(wanted, soname);
	return other > fit ? other : fit;
}

size_t objects_meant(const struct objects *objects, const char *wanted, bool *meant)
{
	enum fit best = FIT_PATTERN;
	size_t n = 0;

	for (size_t i = 0; i < objects_count(objects); i++) {
		const struct object *object = objects_get(objects, i);
		enum fit fit = wanted               ? object_fit(objects, object, wanted)
			       : object->executable ? FIT_EXACT
						    : FIT_NONE;

		meant[i] = fit >= best;
		if (fit > best) {
			memset(meant, 0, i * sizeof(*meant));
			n = 0;
			best = fit;
		}
		n += meant[i];
	}
	return n;
}

const char *object_label(const struct objects *objects, const struct object *object)
{
	for (size_t i = 0; i < objects_count(objects); i++) {
		const struct object *other = objects_get(objects, i);

		if (other != object && strcmp(object_basename(other), object_basename(object)) == 0)
			return object->path;
	}
	return object_basename(object);
}
