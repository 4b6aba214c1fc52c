// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../../probes/maps.h"
#include "../../probes/objects.h"
#include "../clock.h"
#include "elf_magic.h"
#include "mounts.h"
#include "protocol.h"

#define VDSO "[vdso]"
#define MOST_VDSO (256 << 10)

/* The places that are mapped, by address. */
struct places {
	struct mapping *mappings;
	size_t n, room;
};

/* What the kernel calls a file that is known. */
struct name {
	char *path; /* in its file system */
	unsigned int major, minor;
	uint64_t inode;
	uint32_t object;
};

struct mapped {
	pid_t pid;
	/* Known ones. Of those that were found, the files stay open in the other
	 * process: no other file gets the same device and inode. */
	struct object *objects;
	size_t n, room;
	size_t announced;            /* of these objects */
	bool kept[PROTOCOL_OBJECTS]; /* there was a file */
	struct name *names;
	size_t n_names, names_room;
	/* What was read when it was begun to read last; what is known; for the next.
	 */
	struct places seen, now, next;
	uint64_t seen_at;
};

struct mapped *mapped_new(pid_t pid)
{
	struct mapped *mapped = calloc(1, sizeof(*mapped));

	if (mapped)
		mapped->pid = pid;
	return mapped;
}

void mapped_free(struct mapped *mapped)
{
	if (!mapped)
		return;
	for (size_t i = 0; i < mapped->n; i++)
		free((char *)mapped->objects[i].path);
	free(mapped->objects);
	for (size_t i = 0; i < mapped->n_names; i++)
		free(mapped->names[i].path);
	free(mapped->names);
	free(mapped->seen.mappings);
	free(mapped->now.mappings);
	free(mapped->next.mappings);
	free(mapped);
}

const struct mapping *mapped_mappings(const struct mapped *mapped, size_t *n)
{
	*n = mapped->now.n;
	return mapped->now.mappings;
}

const char *mapped_path(const struct mapped *mapped, uint32_t number)
{
	return mapped->objects[number].path;
}

/* Makes room for another element. Returns 0 or -ENOMEM. */
static int array_grow(void **array, size_t n, size_t *room, size_t size)
{
	size_t more = *room ? *room * 2 : 32;
	void *grown;

	if (n < *room)
		return 0;
	grown = realloc(*array, more * size);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*room = more;
	return 0;
}

/* The path is compared as well: btrfs shows one device for all subvolumes,
 * which number their inodes each. */
static bool object_is_of(const struct object *object, const struct map *map, const char *path)
{
	return object->inode == map->inode && object->major == map->major &&
	       object->minor == map->minor && !strcmp(object->path, path);
}

/* Adds an object. Returns its number; -ENOSPC if there are too many; -ENOMEM.
 */
static int object_add(struct mapped *mapped, const struct object *object)
{
	struct object *added;

	if (mapped->n == PROTOCOL_OBJECTS)
		return -ENOSPC;
	if (array_grow((void **)&mapped->objects, mapped->n, &mapped->room,
		       sizeof(*mapped->objects)))
		return -ENOMEM;
	added = &mapped->objects[mapped->n];
	*added = *object;
	added->path = strdup(object->path);
	return added->path ? (int)mapped->n++ : -ENOMEM;
}

/* Finds the object of a mapping, or adds it. */
static int mapped_object(struct mapped *mapped, const struct map *map)
{
	size_t last = mapped->seen.n ? mapped->seen.mappings[mapped->seen.n - 1].object : 0;
	char *path = strdup(map->path);
	int number = -ENOENT;
	bool deleted;

	if (!path)
		return -ENOMEM;
	deleted = maps_cut_deleted(path);
	/* Mappings of one file follow one another. */
	if (last < mapped->n && object_is_of(&mapped->objects[last], map, path))
		number = (int)last;
	for (size_t i = 0; number < 0 && i < mapped->n; i++) {
		if (object_is_of(&mapped->objects[i], map, path))
			number = (int)i;
	}
	if (number < 0) {
		const struct object object = {
			.path = path,
			.deleted = deleted,
			.start = map->start,
			.end = map->end,
			.major = map->major,
			.minor = map->minor,
			.inode = map->inode,
		};

		number = object_add(mapped, &object);
	}
	free(path);
	return number;
}

/* Appends a mapping, or makes the last one longer. Beyond the room there is
 * none. */
static int places_add(struct places *places, const struct mapping *mapping)
{
	struct mapping *last = places->n ? &places->mappings[places->n - 1] : NULL;

	if (last && last->end == mapping->start && last->object == mapping->object &&
	    (mapping->object == SPACE_NO_FILE ||
	     last->offset + (last->end - last->start) == mapping->offset)) {
		last->end = mapping->end;
		return 0;
	}
	if (mapping->start >= mapping->end || places->n == PROTOCOL_MAPPINGS)
		return 0;
	if (array_grow((void **)&places->mappings, places->n, &places->room, sizeof(*mapping)))
		return -ENOMEM;
	last = &places->mappings[places->n++];
	memset(last, 0, sizeof(*last)); /* they are compared as bytes */
	last->start = mapping->start;
	last->end = mapping->end;
	last->offset = mapping->offset;
	last->object = mapping->object;
	return 0;
}

static int mapped_take(void *context, const struct map *map)
{
	struct mapped *mapped = context;
	struct places *seen = &mapped->seen;
	struct mapping mapping = { .start = map->start, .end = map->end, .offset = map->offset };
	int number;

	if (!map->executable || (*map->path != '/' && strcmp(map->path, VDSO)) ||
	    seen->n == PROTOCOL_MAPPINGS || strlen(map->path) >= PROTOCOL_PATH)
		return 0;
	/* The kernel's list is not of one moment: a place may come twice. */
	if (seen->n && map->start < seen->mappings[seen->n - 1].end)
		return 0;
	number = mapped_object(mapped, map);
	if (number == -ENOSPC)
		return 0;
	if (number < 0)
		return number;
	mapping.object = (uint32_t)number;
	return places_add(seen, &mapping);
}

/* The vdso is in no file: its image is copied into one. */
static int vdso_open(pid_t pid, const struct object *object)
{
	size_t size = object->end - object->start;
	struct iovec remote = { (void *)object->start, size }, local = { NULL, size };
	int fd = -ENOMEM;

	if (size > MOST_VDSO)
		return -E2BIG;
	local.iov_base = malloc(size);
	if (!local.iov_base)
		return -ENOMEM;
	if (process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)size)
		fd = memfd_create("vdso", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd >= 0 &&
	    (write(fd, local.iov_base, size) != (ssize_t)size ||
	     fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))) {
		close(fd);
		fd = -EIO;
	}
	free(local.iov_base);
	return fd;
}

static int still_there(void *context, const struct map *map)
{
	const struct object *object = context;

	return map->start == object->start && map->end == object->end &&
	       map->major == object->major && map->minor == object->minor &&
	       map->inode == object->inode;
}

/* The kernel's link leads to what is mapped there now, which may be another
 * file than a moment ago. */
static int object_file(pid_t pid, const struct object *object)
{
	struct mounted_file file = { object->major, object->minor, object->inode, NULL };
	struct object by_path = *object;
	int fd = object_open(pid, object);

	if (fd < 0 || mounted_file_is(&file, fd) || maps_each(pid, still_there, (void *)object) > 0)
		return fd;
	close(fd);
	by_path.start = by_path.end = 0;
	return object_open(pid, &by_path);
}

/* Tells of the next object; its descriptor is closed. */
static int object_announce(struct mapped *mapped, int fd, mapped_found *found, void *context)
{
	uint32_t number = (uint32_t)mapped->announced++;
	int err;

	fd = elf_only(fd);
	mapped->kept[number] = fd >= 0;
	err = found(context, number, fd < 0 ? -1 : fd, mapped->objects[number].path);
	if (fd >= 0)
		close(fd);
	return err;
}

static int mapped_announce(struct mapped *mapped, mapped_found *found, void *context)
{
	int err = 0;

	while (!err && mapped->announced < mapped->n) {
		const struct object *object = &mapped->objects[mapped->announced];
		int fd = strcmp(object->path, VDSO) ? object_file(mapped->pid, object)
						    : vdso_open(mapped->pid, object);

		err = object_announce(mapped, fd, found, context);
	}
	return err;
}

/* Reads what is mapped, unless that was done after t. */
static int mapped_look(struct mapped *mapped, uint64_t t, mapped_found *found, void *context)
{
	uint64_t now = clock_monotonic();
	int err;

	if (t <= mapped->seen_at)
		return 0;
	mapped->seen.n = 0;
	mapped->seen_at = 0;
	err = maps_each(mapped->pid, mapped_take, mapped);
	if (!err && !mapped->seen.n)
		err = -ESRCH; /* what is left of it has no memory */
	err = mapped_announce(mapped, found, context) ?: err;
	if (!err)
		mapped->seen_at = now;
	else
		mapped->seen.n = 0;
	return err;
}

/* What is next becomes what is known. Returns whether that is something else.
 */
static int mapped_step(struct mapped *mapped)
{
	struct places previous = mapped->now;

	if (mapped->next.n == previous.n &&
	    (!previous.n || !memcmp(mapped->next.mappings, previous.mappings,
				    previous.n * sizeof(*previous.mappings))))
		return 0;
	mapped->now = mapped->next;
	mapped->next = previous;
	return 1;
}

/* Appends what others have between start and end. */
static int places_add_part(struct places *places, const struct places *others, uint64_t start,
			   uint64_t end)
{
	int err = 0;

	for (size_t i = 0; !err && i < others->n; i++) {
		struct mapping part = others->mappings[i];

		if (part.end <= start || part.start >= end)
			continue;
		if (part.start < start) {
			part.offset += start - part.start;
			part.start = start;
		}
		if (part.end > end)
			part.end = end;
		err = places_add(places, &part);
	}
	return err;
}

/* All that was seen, and nothing else. */
static int mapped_take_all(struct mapped *mapped, uint64_t t, mapped_found *found, void *context)
{
	int err = mapped_look(mapped, t, found, context);

	mapped->next.n = 0;
	if (!err)
		err = places_add_part(&mapped->next, &mapped->seen, 0, UINT64_MAX);
	return err ? err : mapped_step(mapped);
}

int mapped_read(struct mapped *mapped, mapped_found *found, void *context)
{
	return mapped_take_all(mapped, UINT64_MAX, found, context);
}

/* Only between start and end there is something else. */
static int mapped_replace(struct mapped *mapped, uint64_t start, uint64_t end,
			  const struct mapping *with, size_t n)
{
	struct places *next = &mapped->next;
	int err;

	next->n = 0;
	err = places_add_part(next, &mapped->now, 0, start);
	for (size_t i = 0; !err && i < n; i++)
		err = places_add(next, &with[i]);
	if (!err)
		err = places_add_part(next, &mapped->now, end, UINT64_MAX);
	return err ? err : mapped_step(mapped);
}

/* What was mapped between start and end can be executed now. */
static int mapped_changed(struct mapped *mapped, uint64_t start, uint64_t end)
{
	struct places parts = { 0 }, with = { 0 };
	uint64_t at = start;
	int err = places_add_part(&parts, &mapped->seen, start, end);

	for (size_t i = 0; !err && i <= parts.n; i++) {
		uint64_t upto = i < parts.n ? parts.mappings[i].start : end;
		const struct mapping gap = { .start = at, .end = upto, .object = SPACE_NO_FILE };

		err = at < upto ? places_add(&with, &gap) : 0;
		if (err || i == parts.n)
			break;
		err = places_add(&with, &parts.mappings[i]);
		at = parts.mappings[i].end;
	}
	if (!err)
		err = mapped_replace(mapped, start, end, with.mappings, with.n);
	free(parts.mappings);
	free(with.mappings);
	return err;
}

/* --- One file --- */

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Puts the names together: "" if the path is not known. */
static void change_path(const struct kd_mapped *change, char path[PATH_MAX])
{
	size_t length = 0;

	*path = '\0';
	for (uint32_t i = change->n; change->whole && i > 0 && i <= KD_PATH_NAMES; i--)
		length += (size_t)snprintf(path + length, PATH_MAX - length, "/%.*s", KD_PATH_NAME,
					   change->names[i - 1]);
}

_Static_assert(KD_PATH_NAMES *(KD_PATH_NAME + 1) < PATH_MAX, "a path of names fits");

static bool is_named(const struct name *name, const struct mounted_file *file)
{
	return name->inode == file->inode && name->major == file->major &&
	       name->minor == file->minor && !strcmp(name->path, file->path);
}

/* A file that is known and kept open: its inode is no other's. File systems
 * without a major number may use one inode several times: there it must be of
 * the same path. */
static int file_known(const struct mapped *mapped, const struct mounted_file *file)
{
	for (size_t i = 0; i < mapped->n_names; i++) {
		if (is_named(&mapped->names[i], file))
			return (int)mapped->names[i].object;
	}
	for (size_t i = 0; file->major && i < mapped->n; i++) {
		const struct object *object = &mapped->objects[i];

		if (mapped->kept[i] && object->inode == file->inode &&
		    object->major == file->major && object->minor == file->minor &&
		    !strcmp(last_part(object->path), last_part(file->path)))
			return (int)i;
	}
	return -ENOENT;
}

/* Remembers what the kernel calls an object; that it cannot does not matter. */
static void file_name(struct mapped *mapped, const struct mounted_file *file, int object)
{
	struct name name = { .major = file->major,
			     .minor = file->minor,
			     .inode = file->inode,
			     .object = (uint32_t)object };

	if (!*file->path || !mapped->kept[object] || mapped->n_names == PROTOCOL_OBJECTS ||
	    array_grow((void **)&mapped->names, mapped->n_names, &mapped->names_room, sizeof(name)))
		return;
	name.path = strdup(file->path);
	if (name.path)
		mapped->names[mapped->n_names++] = name;
}

/* The object that was seen where the file was mapped, if it is that file.
 * Overlay file systems show another device, that of a layer. */
static int file_seen(const struct mapped *mapped, const struct mounted_file *file, uint64_t start,
		     uint64_t offset)
{
	for (size_t i = 0; i < mapped->seen.n; i++) {
		const struct mapping *mapping = &mapped->seen.mappings[i];
		const struct object *object = &mapped->objects[mapping->object];

		if (start < mapping->start || start >= mapping->end)
			continue;
		if (mapping->offset + (start - mapping->start) != offset ||
		    object->inode != file->inode)
			return -ENOENT;
		if ((object->major == file->major && object->minor == file->minor) ||
		    (!file->major && !strcmp(last_part(object->path), last_part(file->path))))
			return (int)mapping->object;
	}
	return -ENOENT;
}

/* A file that has gone again, by its path. */
static int file_gone(struct mapped *mapped, const struct mounted_file *file, mapped_found *found,
		     void *context)
{
	char path[PATH_MAX];
	const struct object object = {
		.path = path, .major = file->major, .minor = file->minor, .inode = file->inode
	};
	int fd = *file->path ? mounts_open(mapped->pid, file, path) : -ENOENT;
	int number, err;

	if (fd < 0)
		return -ENOENT;
	number = strlen(path) < PROTOCOL_PATH ? object_add(mapped, &object) : -ENOENT;
	if (number < 0) {
		close(fd);
		return number == -ENOMEM ? number : -ENOENT;
	}
	err = object_announce(mapped, fd, found, context);
	return err ? err : number;
}

/* The number of the file's object; -ENOENT if there is none; another -errno. */
static int file_find(struct mapped *mapped, uint64_t t, const struct kd_mapped *change,
		     mapped_found *found, void *context)
{
	char path[PATH_MAX];
	const struct mounted_file file = { .major = change->device >> 20,
					   .minor = change->device & 0xfffff,
					   .inode = change->inode,
					   .path = path };
	int number, err;

	change_path(change, path);
	number = file_known(mapped, &file);
	if (number >= 0)
		return number;
	err = mapped_look(mapped, t, found, context);
	if (mapped->announced < mapped->n)
		return err; /* nobody listens any more */
	number = err ? -ENOENT : file_seen(mapped, &file, change->start, change->offset);
	if (number < 0)
		number = file_gone(mapped, &file, found, context);
	if (number >= 0)
		file_name(mapped, &file, number);
	return number;
}

int mapped_change(struct mapped *mapped, uint64_t t, const struct kd_mapped *change,
		  mapped_found *found, void *context)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct mapping mapping = { .start = change->start,
				   .offset = change->offset,
				   .object = SPACE_NO_FILE };
	int number = -ENOENT, err;

	if (change->kind == KD_MAPPED_ALL)
		return mapped_take_all(mapped, t, found, context);
	mapping.end = (change->start + change->length + page - 1) / page * page;
	if (mapping.end <= mapping.start || change->length > mapping.end)
		return 0;
	if (change->kind == KD_MAPPED_CHANGED) {
		err = mapped_look(mapped, t, found, context);
		return err ? err : mapped_changed(mapped, mapping.start, mapping.end);
	}
	if (change->kind == KD_MAPPED_FILE)
		number = file_find(mapped, t, change, found, context);
	if (number >= 0)
		mapping.object = (uint32_t)number;
	else if (number != -ENOENT)
		return number;
	return mapped_replace(mapped, mapping.start, mapping.end, &mapping, 1);
}
