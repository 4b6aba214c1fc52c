// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../../probes/maps.h"
#include "../../probes/objects.h"
#include "elf_magic.h"
#include "protocol.h"

#define VDSO "[vdso]"
#define MOST_VDSO (256 << 10)

/* The places that are mapped, by address. */
struct places {
	struct mapping *mappings;
	size_t n, room;
};

struct mapped {
	pid_t pid;
	/* Known ones. Of those that were found, the files stay open in the other
	 * process: no other file gets the same device and inode. */
	struct object *objects;
	size_t n, room;
	size_t announced; /* of these objects */
	struct places now, next;
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

/* The path is compared as well: btrfs shows one device for all subvolumes, which
 * number their inodes each. */
static bool object_is_of(const struct object *object, const struct map *map, const char *path)
{
	return object->inode == map->inode && object->major == map->major &&
	       object->minor == map->minor && !strcmp(object->path, path);
}

/* Finds the object of a mapping, or adds it. Returns its number; -ENOSPC if there
 * are too many; -ENOMEM. */
static int mapped_object(struct mapped *mapped, const struct map *map)
{
	size_t last = mapped->next.n ? mapped->next.mappings[mapped->next.n - 1].object : 0;
	char *path = strdup(map->path);
	int number = -ENOMEM;
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
	if (number < 0 && mapped->n == PROTOCOL_OBJECTS)
		number = -ENOSPC;
	else if (number < 0 && !array_grow((void **)&mapped->objects, mapped->n, &mapped->room,
					   sizeof(*mapped->objects))) {
		number = (int)mapped->n++;
		mapped->objects[number] = (struct object){
			.path = path,
			.deleted = deleted,
			.start = map->start,
			.end = map->end,
			.major = map->major,
			.minor = map->minor,
			.inode = map->inode,
		};
		return number;
	}
	free(path);
	return number;
}

static int mapped_take(void *context, const struct map *map)
{
	struct mapped *mapped = context;
	struct places *next = &mapped->next;
	struct mapping *mapping;
	int number;

	if (!map->executable || (*map->path != '/' && strcmp(map->path, VDSO)) ||
	    map->start >= map->end || next->n == PROTOCOL_MAPPINGS ||
	    strlen(map->path) >= PROTOCOL_PATH)
		return 0;
	/* The kernel's list is not of one moment: a place may come twice. */
	if (next->n && map->start < next->mappings[next->n - 1].end)
		return 0;
	number = mapped_object(mapped, map);
	if (number == -ENOSPC)
		return 0;
	if (number < 0 ||
	    array_grow((void **)&next->mappings, next->n, &next->room, sizeof(*next->mappings)))
		return -ENOMEM;
	mapping = &next->mappings[next->n++];
	memset(mapping, 0, sizeof(*mapping)); /* they are compared as bytes */
	mapping->start = map->start;
	mapping->end = map->end;
	mapping->offset = map->offset;
	mapping->object = (uint32_t)number;
	return 0;
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

static int mapped_announce(struct mapped *mapped, mapped_found *found, void *context)
{
	int err = 0;

	while (!err && mapped->announced < mapped->n) {
		const struct object *object = &mapped->objects[mapped->announced];
		int fd = elf_only(strcmp(object->path, VDSO) ? object_open(mapped->pid, object)
							     : vdso_open(mapped->pid, object));

		err = found(context, (uint32_t)mapped->announced, fd < 0 ? -1 : fd, object->path);
		if (fd >= 0)
			close(fd);
		mapped->announced++;
	}
	return err;
}

int mapped_read(struct mapped *mapped, mapped_found *found, void *context)
{
	struct places previous = mapped->now;
	int err;

	mapped->next.n = 0;
	err = maps_each(mapped->pid, mapped_take, mapped);
	if (!err && !mapped->next.n)
		return -ESRCH; /* what is left of it has no memory */
	if (err)
		return err;
	err = mapped_announce(mapped, found, context);
	if (err)
		return err;
	if (mapped->next.n == previous.n && !memcmp(mapped->next.mappings, previous.mappings,
						    previous.n * sizeof(*previous.mappings)))
		return 0;
	mapped->now = mapped->next;
	mapped->next = previous;
	return 1;
}
