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

#include "cli/base/array.h"
#include "cli/base/clock.h"
#include "cli/base/proc_file.h"
#include "probes/elf/objects.h"
#include "protocol.h"

/* --- Files, each once --- */

#define MOST_VDSO (256 << 10)

/* The kernel's name of a file. */
struct name {
	struct inode_key key;
	char *path; /* in its file system */
	uint32_t object;
};

struct mapped_files {
	struct opener *opener;
	mapped_found *found;
	void *context; /* of found */
	struct mapped_file *all;
	size_t n, capacity;
	size_t reported; /* objects reported so far */
	struct name *names;
	size_t n_names, names_capacity;
};

struct mapped_files *mapped_files_new(struct opener *opener, mapped_found *found, void *context)
{
	struct mapped_files *files = calloc(1, sizeof(*files));

	if (!files)
		return NULL;
	files->opener = opener;
	files->found = found;
	files->context = context;
	return files;
}

void mapped_files_free(struct mapped_files *files)
{
	if (!files)
		return;
	for (size_t i = 0; i < files->n; i++) {
		free((char *)files->all[i].object.path);
		free(files->all[i].image);
	}
	free(files->all);
	for (size_t i = 0; i < files->n_names; i++)
		free(files->names[i].path);
	free(files->names);
	free(files);
}

const struct mapped_file *mapped_files_get(const struct mapped_files *files, uint32_t number)
{
	return &files->all[number];
}

/* True if some objects were not reported: the receiver is gone. */
static bool mapped_files_are_untold(const struct mapped_files *files)
{
	return files->reported < files->n;
}

/* --- Files --- */

/* Adds an object, copying its path. Returns its number; -ENOSPC if there are too many; -ENOMEM. */
static int file_add(struct mapped_files *files, pid_t pid, const struct object *object)
{
	struct mapped_file *added;

	if (files->n == PROTOCOL_OBJECTS)
		return -ENOSPC;
	if (ARRAY_GROW(files->all, files->n, files->capacity))
		return -ENOMEM;
	added = &files->all[files->n];
	*added = (struct mapped_file){ .object = *object, .pid = pid };
	added->object.path = strdup(object->path);
	return added->object.path ? (int)files->n++ : -ENOMEM;
}

/* Compares paths as well: btrfs shows one device for all subvolumes, which number inodes
 * independently. */
static bool file_is_of(const struct mapped_file *file, const struct map *map, const char *path)
{
	return !file->image && inode_key_is(&file->object.key, &map->key) &&
	       !strcmp(file->object.path, path);
}

/* True if an unreadable file may be readable in this process: the earlier one may have ended. */
static bool file_is_better(const struct mapped_files *files, const struct mapped_file *file,
			   pid_t pid, const struct object *object)
{
	int fd = file->is_open || file->pid == pid ? -1 : opener_mapped(files->opener, pid, object);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

static int file_find(struct mapped_files *files, pid_t pid, const struct map *map, const char *path,
		     bool deleted, uint32_t likely)
{
	const struct object object = {
		.path = path,
		.deleted = deleted,
		.start = map->start,
		.end = map->end,
		.key = map->key,
	};
	size_t number = files->n;

	/* Mappings of one file are often adjacent. Newer files match better. */
	if (likely < files->n && file_is_of(&files->all[likely], map, path))
		number = likely;
	for (size_t i = files->n; number == files->n && i > 0; i--)
		if (file_is_of(&files->all[i - 1], map, path)) {
			number = i - 1;
			break;
		}
	if (number == files->n ||
	    (number < files->reported && file_is_better(files, &files->all[number], pid, &object)))
		return file_add(files, pid, &object);
	files->all[number].pid = pid;
	return (int)number;
}

/* --- vdso: its image is copied, because a process can write to its own --- */

static uint8_t *image_read(pid_t pid, uint64_t start, size_t size)
{
	struct iovec remote = { (void *)start, size }, local = { NULL, size };

	if (size > MOST_VDSO)
		return NULL;
	local.iov_base = malloc(size);
	if (local.iov_base &&
	    process_vm_readv(proc_thread(pid), &local, 1, &remote, 1, 0) != (ssize_t)size) {
		free(local.iov_base);
		return NULL;
	}
	return local.iov_base;
}

static int image_find(struct mapped_files *files, pid_t pid, const struct map *map)
{
	const struct object object = { .path = MAPPED_VDSO, .start = map->start, .end = map->end };
	size_t size = map->end - map->start;
	uint8_t *image = image_read(pid, map->start, size);
	int number;

	for (size_t i = 0; i < files->n; i++) {
		struct mapped_file *file = &files->all[i];

		/* Without an image, only the name can be compared. */
		if (strcmp(file->object.path, MAPPED_VDSO) || !file->image != !image ||
		    (image && (file->size != size || memcmp(file->image, image, size) != 0)))
			continue;
		free(image);
		return (int)i;
	}
	number = file_add(files, pid, &object);
	if (number < 0) {
		free(image);
		return number;
	}
	files->all[number].image = image;
	files->all[number].size = size;
	return number;
}

static int image_open(const struct mapped_file *file)
{
	int fd = file->image ? memfd_create("vdso", MFD_CLOEXEC | MFD_ALLOW_SEALING) : -1;

	if (fd >= 0 &&
	    (write(fd, file->image, file->size) != (ssize_t)file->size ||
	     fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))) {
		close(fd);
		fd = -1;
	}
	return elf_only(fd);
}

/* Finds or adds the object of a process's mapping; mapped_files_tell() reports new ones. likely:
 * probable number. Returns its number; -ENOSPC: too many; -ENOMEM. */
static int mapped_files_find(struct mapped_files *files, pid_t pid, const struct map *map,
			     uint32_t likely)
{
	char *path;
	bool deleted;
	int number;

	if (!strcmp(map->path, MAPPED_VDSO))
		return image_find(files, pid, map);
	path = strdup(map->path);
	if (!path)
		return -ENOMEM;
	deleted = maps_cut_deleted(path);
	number = file_find(files, pid, map, path, deleted, likely);
	free(path);
	return number;
}

/* Reports the next object; closes its descriptor. */
static int file_tell(struct mapped_files *files, int fd)
{
	uint32_t number = (uint32_t)files->reported++;
	int err;

	files->all[number].is_open = fd >= 0;
	err = files->found(files->context, number, fd < 0 ? -1 : fd,
			   files->all[number].object.path);
	if (fd >= 0)
		close(fd);
	return err;
}

/* Reports each new object. Returns 0 or the result of found. */
static int mapped_files_tell(struct mapped_files *files)
{
	int err = 0;

	while (!err && files->reported < files->n) {
		const struct mapped_file *file = &files->all[files->reported];
		bool is_vdso = !strcmp(file->object.path, MAPPED_VDSO);
		int fd = is_vdso ? image_open(file)
				 : opener_mapped(files->opener, file->pid, &file->object);

		err = file_tell(files, fd);
	}
	return err;
}

/* --- Lookup by kernel names --- */

/* Finds an open object by its kernel name: no other file has its inode. Returns its number
 * or -ENOENT. File systems without a major number may reuse inodes: there the path must match. */
static int mapped_files_lookup(const struct mapped_files *files, const struct object *file)
{
	for (size_t i = 0; i < files->n_names; i++) {
		if (inode_key_is(&files->names[i].key, &file->key) &&
		    !strcmp(files->names[i].path, file->path))
			return (int)files->names[i].object;
	}
	for (size_t i = 0; file->key.major && i < files->n; i++) {
		const struct object *object = &files->all[i].object;

		if (files->all[i].is_open && inode_key_is(&object->key, &file->key) &&
		    !strcmp(basename(object->path), basename(file->path)))
			return (int)i;
	}
	return -ENOENT;
}

/* Stores the kernel name of an object; failures do not matter. */
static void mapped_files_name(struct mapped_files *files, const struct object *file,
			      uint32_t number)
{
	struct name name = { .key = file->key, .object = number };

	if (!*file->path || !files->all[number].is_open || files->n_names == PROTOCOL_OBJECTS ||
	    ARRAY_GROW(files->names, files->n_names, files->names_capacity))
		return;
	name.path = strdup(file->path);
	if (name.path)
		files->names[files->n_names++] = name;
}

/* True if an object can be this file. Overlay file systems show another device, that of a layer. */
static bool mapped_files_can_be(const struct mapped_files *files, uint32_t number,
				const struct object *file)
{
	const struct object *object = &files->all[number].object;

	return inode_key_is(&object->key, &file->key) ||
	       (object->key.inode == file->key.inode && !file->key.major &&
		!strcmp(basename(object->path), basename(file->path)));
}

/* Adds a file that a process no longer maps, by its path, and reports it. Returns its number;
 * -ENOENT: not found; another -errno. */
static int mapped_files_gone(struct mapped_files *files, pid_t pid, const struct object *file)
{
	char path[PATH_MAX];
	const struct object object = { .path = path, .key = file->key };
	int fd = *file->path ? opener_gone(files->opener, pid, file, path) : -ENOENT;
	int number, err;

	if (fd < 0 && fd != -ENOEXEC)
		return -ENOENT;
	number = strlen(path) < PROTOCOL_PATH ? file_add(files, pid, &object) : -ENOENT;
	if (number < 0) {
		if (fd >= 0)
			close(fd);
		return number == -ENOMEM ? number : -ENOENT;
	}
	err = file_tell(files, fd);
	return err ? err : number;
}

/* --- Mappings of processes --- */

#define VSYSCALL "[vsyscall]" /* the kernel emulates it */

/* Mappings by address. */
struct ranges {
	struct mapping *mappings;
	size_t n, capacity;
};

struct mapped {
	struct mapped_files *files;
	pid_t pid;
	/* Latest snapshot of the process, current state, and next state. */
	struct ranges snapshot, now, next;
	uint64_t snapshot_at;
};

struct mapped *mapped_new(struct mapped_files *files, pid_t pid)
{
	struct mapped *mapped = calloc(1, sizeof(*mapped));

	if (!mapped)
		return NULL;
	mapped->files = files;
	mapped->pid = pid;
	return mapped;
}

void mapped_free(struct mapped *mapped)
{
	if (!mapped)
		return;
	free(mapped->snapshot.mappings);
	free(mapped->now.mappings);
	free(mapped->next.mappings);
	free(mapped);
}

struct mapped *mapped_fork(const struct mapped *parent, pid_t pid)
{
	struct mapped *mapped = mapped_new(parent->files, pid);
	size_t n = parent->now.n;

	if (!mapped)
		return NULL;
	if (array_reserve(&mapped->now.mappings, n, &mapped->now.capacity,
			  sizeof(*mapped->now.mappings))) {
		mapped_free(mapped);
		return NULL;
	}
	if (n)
		memcpy(mapped->now.mappings, parent->now.mappings,
		       n * sizeof(*mapped->now.mappings));
	mapped->now.n = n;
	return mapped;
}

size_t mapped_size(const struct mapped *mapped)
{
	return mapped->now.capacity + mapped->snapshot.capacity + mapped->next.capacity;
}

const struct mapping *mapped_mappings(const struct mapped *mapped, size_t *n)
{
	*n = mapped->now.n;
	return mapped->now.mappings;
}

/* Appends or extends a mapping. Where there is no space for all, the last one is SPACE_BEYOND, and
 * has the rest of the addresses. */
static int ranges_add(struct ranges *ranges, const struct mapping *mapping)
{
	struct mapping *last = ranges->n ? &ranges->mappings[ranges->n - 1] : NULL;

	if (last && last->object == SPACE_BEYOND && last->end == UINT64_MAX)
		return 0;
	if (last && last->end == mapping->start && last->object == mapping->object &&
	    (mapping->object >= SPACE_BEYOND ||
	     last->offset + (last->end - last->start) == mapping->offset)) {
		last->end = mapping->end;
		return 0;
	}
	if (mapping->start >= mapping->end)
		return 0;
	if (ARRAY_GROW(ranges->mappings, ranges->n, ranges->capacity))
		return -ENOMEM;
	last = &ranges->mappings[ranges->n++];
	memset(last, 0, sizeof(*last)); /* compared as bytes */
	last->start = mapping->start;
	last->end = mapping->end;
	last->offset = mapping->offset;
	last->object = mapping->object;
	if (ranges->n == PROTOCOL_MAPPINGS) {
		last->end = UINT64_MAX;
		last->object = SPACE_BEYOND;
	}
	return 0;
}

static int mapped_take(void *context, const struct map *map)
{
	struct mapped *mapped = context;
	struct ranges *snapshot = &mapped->snapshot;
	struct mapping mapping = { .start = map->start, .end = map->end, .offset = map->offset };
	int number;

	if (!map->executable || !strcmp(map->path, VSYSCALL) || strlen(map->path) >= PROTOCOL_PATH)
		return 0;
	/* The kernel's list is not atomic: a range may appear twice. */
	if (snapshot->n && map->start < snapshot->mappings[snapshot->n - 1].end)
		return 0;
	if (*map->path != '/' && strcmp(map->path, MAPPED_VDSO) != 0) {
		mapping.object = SPACE_NO_FILE;
		return ranges_add(snapshot, &mapping);
	}
	number = mapped_files_find(mapped->files, mapped->pid, map,
				   snapshot->n ? snapshot->mappings[snapshot->n - 1].object : 0);
	if (number < 0 && number != -ENOSPC)
		return number;
	mapping.object = number < 0 ? SPACE_BEYOND : (uint32_t)number;
	return ranges_add(snapshot, &mapping);
}

/* Reads the mappings, unless that was done after t. */
static int mapped_look(struct mapped *mapped, uint64_t t)
{
	uint64_t now = clock_monotonic();
	int err;

	if (t <= mapped->snapshot_at)
		return 0;
	mapped->snapshot.n = 0;
	mapped->snapshot_at = 0;
	err = maps_each(mapped->pid, mapped_take, mapped);
	if (!err && !mapped->snapshot.n)
		err = -ESRCH; /* a zombie has no memory */
	err = mapped_files_tell(mapped->files) ?: err;
	if (!err)
		mapped->snapshot_at = now;
	else
		mapped->snapshot.n = 0;
	return err;
}

/* Makes the next state current. Returns whether it differs. */
static int mapped_step(struct mapped *mapped)
{
	struct ranges previous = mapped->now;

	if (mapped->next.n == previous.n &&
	    (!previous.n || !memcmp(mapped->next.mappings, previous.mappings,
				    previous.n * sizeof(*previous.mappings))))
		return 0;
	mapped->now = mapped->next;
	mapped->next = previous;
	return 1;
}

/* Appends what others have between start and end. */
static int ranges_add_between(struct ranges *ranges, const struct ranges *others, uint64_t start,
			      uint64_t end)
{
	int err = 0;

	for (size_t i = 0; !err && i < others->n; i++) {
		struct mapping range = others->mappings[i];

		if (range.end <= start || range.start >= end)
			continue;
		if (range.start < start) {
			range.offset += start - range.start;
			range.start = start;
		}
		if (range.end > end)
			range.end = end;
		err = ranges_add(ranges, &range);
	}
	return err;
}

/* Takes over the snapshot entirely. */
static int mapped_take_all(struct mapped *mapped, uint64_t t)
{
	int err = mapped_look(mapped, t);

	mapped->next.n = 0;
	if (!err)
		err = ranges_add_between(&mapped->next, &mapped->snapshot, 0, UINT64_MAX);
	return err ? err : mapped_step(mapped);
}

/* Forgets everything: the process has ended or executed another program. */
static int mapped_forget(struct mapped *mapped)
{
	const struct mapping unknown = { .end = UINT64_MAX, .object = SPACE_NO_FILE };

	mapped->next.n = 0;
	return ranges_add(&mapped->next, &unknown) ?: mapped_step(mapped);
}

int mapped_read(struct mapped *mapped)
{
	return mapped_take_all(mapped, UINT64_MAX);
}

/* Replaces only the range between start and end. */
static int mapped_replace(struct mapped *mapped, uint64_t start, uint64_t end,
			  const struct mapping *with, size_t n)
{
	struct ranges *next = &mapped->next;
	int err;

	next->n = 0;
	err = ranges_add_between(next, &mapped->now, 0, start);
	for (size_t i = 0; !err && i < n; i++)
		err = ranges_add(next, &with[i]);
	if (!err)
		err = ranges_add_between(next, &mapped->now, end, UINT64_MAX);
	return err ? err : mapped_step(mapped);
}

/* Handles a range that became executable. */
static int mapped_changed(struct mapped *mapped, uint64_t start, uint64_t end)
{
	struct ranges pieces = { 0 }, with = { 0 };
	uint64_t at = start;
	int err = ranges_add_between(&pieces, &mapped->snapshot, start, end);

	for (size_t i = 0; !err && i <= pieces.n; i++) {
		uint64_t upto = i < pieces.n ? pieces.mappings[i].start : end;
		const struct mapping gap = { .start = at, .end = upto, .object = SPACE_NO_FILE };

		err = at < upto ? ranges_add(&with, &gap) : 0;
		if (err || i == pieces.n)
			break;
		err = ranges_add(&with, &pieces.mappings[i]);
		at = pieces.mappings[i].end;
	}
	if (!err)
		err = mapped_replace(mapped, start, end, with.mappings, with.n);
	free(pieces.mappings);
	free(with.mappings);
	return err;
}

/* --- Single files --- */

/* Joins the path components: "" if unknown. */
static void change_path(const struct kd_mapped *change, char path[PATH_MAX])
{
	size_t length = 0;

	*path = '\0';
	for (uint32_t i = change->n; change->whole && i > 0 && i <= KD_PATH_NAMES; i--)
		length += (size_t)snprintf(path + length, PATH_MAX - length, "/%.*s", KD_PATH_NAME,
					   change->names[i - 1]);
}

_Static_assert(KD_PATH_NAMES *(KD_PATH_NAME + 1) < PATH_MAX, "a path of names fits");

/* Object in the latest snapshot where the file is mapped, if it is that file. */
static int file_in_snapshot(const struct mapped *mapped, const struct object *file, uint64_t start,
			    uint64_t offset)
{
	for (size_t i = 0; i < mapped->snapshot.n; i++) {
		const struct mapping *mapping = &mapped->snapshot.mappings[i];

		if (start < mapping->start || start >= mapping->end)
			continue;
		if (mapping->object >= SPACE_BEYOND ||
		    mapping->offset + (start - mapping->start) != offset ||
		    !mapped_files_can_be(mapped->files, mapping->object, file))
			return -ENOENT;
		return (int)mapping->object;
	}
	return -ENOENT;
}

/* Number of the file's object; -ENOENT: none; another -errno. */
static int numbered_find(struct mapped *mapped, uint64_t t, const struct kd_mapped *change)
{
	char path[PATH_MAX];
	const struct object file = {
		.path = path,
		.key = { change->device >> 20, change->device & 0xfffff, change->inode },
	};
	int number, err;

	change_path(change, path);
	number = mapped_files_lookup(mapped->files, &file);
	if (number >= 0)
		return number;
	err = mapped_look(mapped, t);
	if (mapped_files_are_untold(mapped->files))
		return err; /* the receiver is gone */
	number = err ? -ENOENT : file_in_snapshot(mapped, &file, change->start, change->offset);
	if (number < 0)
		number = mapped_files_gone(mapped->files, mapped->pid, &file);
	if (number >= 0)
		mapped_files_name(mapped->files, &file, (uint32_t)number);
	return number;
}

int mapped_change(struct mapped *mapped, uint64_t t, const struct kd_mapped *change)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct mapping mapping = { .start = change->start,
				   .offset = change->offset,
				   .object = SPACE_NO_FILE };
	int number = -ENOENT, err;

	if (change->kind == KD_MAPPED_ALL) {
		err = mapped_take_all(mapped, t);
		return err == -ESRCH ? mapped_forget(mapped) : err;
	}
	mapping.end = (change->start + change->length + page - 1) / page * page;
	if (mapping.end <= mapping.start || change->length > mapping.end)
		return 0;
	if (change->kind == KD_MAPPED_CHANGED) {
		err = mapped_look(mapped, t);
		return err ? err : mapped_changed(mapped, mapping.start, mapping.end);
	}
	if (change->kind == KD_MAPPED_FILE)
		number = numbered_find(mapped, t, change);
	if (number >= 0)
		mapping.object = (uint32_t)number;
	else if (number == -ENOSPC)
		mapping.object = SPACE_BEYOND;
	else if (number != -ENOENT)
		return number;
	return mapped_replace(mapped, mapping.start, mapping.end, &mapping, 1);
}
