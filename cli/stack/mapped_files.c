// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "mapped_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cli/base/array.h"
#include "cli/base/proc_file.h"
#include "probes/elf/objects.h"
#include "elf_magic.h"
#include "protocol.h"

#define MOST_VDSO (256 << 10)

/* What the kernel calls a file that is known. */
struct name {
	char *path; /* in its file system */
	unsigned int major, minor;
	uint64_t inode;
	uint32_t object;
};

/* Of those that were found, the files stay open in the other process: no other file gets the
 * same device and inode. */
struct known_file {
	struct object object;
	pid_t pid;      /* the process in which it was seen last */
	bool kept;      /* there was a file */
	uint8_t *image; /* of a vdso, else NULL */
	size_t size;    /* of the image */
};

struct mapped_files {
	struct opener *opener;
	struct known_file *all;
	size_t n, room;
	size_t told; /* of these */
	struct name *names;
	size_t n_names, names_room;
};

struct mapped_files *mapped_files_new(struct opener *opener)
{
	struct mapped_files *files = calloc(1, sizeof(*files));

	if (files)
		files->opener = opener;
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

const char *mapped_files_path(const struct mapped_files *files, uint32_t number)
{
	return files->all[number].object.path;
}

bool mapped_files_is_elf(const struct mapped_files *files, uint32_t number)
{
	return files->all[number].kept;
}

const struct object *mapped_files_object(const struct mapped_files *files, uint32_t number)
{
	return files->all[number].image ? NULL : &files->all[number].object;
}

pid_t mapped_files_pid(const struct mapped_files *files, uint32_t number)
{
	return files->all[number].pid;
}

bool mapped_files_are_untold(const struct mapped_files *files)
{
	return files->told < files->n;
}

/* --- Files --- */

/* Adds an object, whose path is copied. Returns its number; -ENOSPC if there are too many;
 * -ENOMEM. */
static int file_add(struct mapped_files *files, pid_t pid, const struct object *object)
{
	struct known_file *added;

	if (files->n == PROTOCOL_OBJECTS)
		return -ENOSPC;
	if (ARRAY_GROW(files->all, files->n, files->room))
		return -ENOMEM;
	added = &files->all[files->n];
	*added = (struct known_file){ .object = *object, .pid = pid };
	added->object.path = strdup(object->path);
	return added->object.path ? (int)files->n++ : -ENOMEM;
}

/* The path is compared as well: btrfs shows one device for all subvolumes,
 * which number their inodes each. */
static bool file_is_of(const struct known_file *file, const struct map *map, const char *path)
{
	const struct object *object = &file->object;

	return !file->image && object->inode == map->inode && object->major == map->major &&
	       object->minor == map->minor && !strcmp(object->path, path);
}

/* One that could not be read, maybe as its process had gone: another process may still have it. */
static bool file_is_better(const struct mapped_files *files, const struct known_file *file,
			   pid_t pid, const struct object *object)
{
	int fd = file->kept || file->pid == pid ? -1 : opener_mapped(files->opener, pid, object);

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
		.major = map->major,
		.minor = map->minor,
		.inode = map->inode,
	};
	size_t number = files->n;

	/* Mappings of one file follow one another. Newer ones are better. */
	if (likely < files->n && file_is_of(&files->all[likely], map, path))
		number = likely;
	for (size_t i = files->n; number == files->n && i > 0; i--)
		if (file_is_of(&files->all[i - 1], map, path)) {
			number = i - 1;
			break;
		}
	if (number == files->n ||
	    (number < files->told && file_is_better(files, &files->all[number], pid, &object)))
		return file_add(files, pid, &object);
	files->all[number].pid = pid;
	return (int)number;
}

/* --- The vdso: its image is copied. A process can write into its own. --- */

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
		struct known_file *file = &files->all[i];

		/* Without an image it can only be told that it is the vdso. */
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

static int image_open(const struct known_file *file)
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

/* --- */

int mapped_files_find(struct mapped_files *files, pid_t pid, const struct map *map, uint32_t likely)
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

/* Tells of the next object; its descriptor is closed. */
static int file_tell(struct mapped_files *files, int fd, mapped_found *found, void *context)
{
	uint32_t number = (uint32_t)files->told++;
	int err;

	files->all[number].kept = fd >= 0;
	err = found(context, number, fd < 0 ? -1 : fd, files->all[number].object.path);
	if (fd >= 0)
		close(fd);
	return err;
}

int mapped_files_tell(struct mapped_files *files, mapped_found *found, void *context)
{
	int err = 0;

	while (!err && files->told < files->n) {
		const struct known_file *file = &files->all[files->told];
		bool is_vdso = !strcmp(file->object.path, MAPPED_VDSO);
		int fd = is_vdso ? image_open(file)
				 : opener_mapped(files->opener, file->pid, &file->object);

		err = file_tell(files, fd, found, context);
	}
	return err;
}

/* --- By what the kernel calls them --- */

static bool is_named(const struct name *name, const struct mounted_file *file)
{
	return name->inode == file->inode && name->major == file->major &&
	       name->minor == file->minor && !strcmp(name->path, file->path);
}

/* File systems without a major number may use one inode several times: there it must be of
 * the same path. */
int mapped_files_known(const struct mapped_files *files, const struct mounted_file *file)
{
	for (size_t i = 0; i < files->n_names; i++) {
		if (is_named(&files->names[i], file))
			return (int)files->names[i].object;
	}
	for (size_t i = 0; file->major && i < files->n; i++) {
		const struct object *object = &files->all[i].object;

		if (files->all[i].kept && object->inode == file->inode &&
		    object->major == file->major && object->minor == file->minor &&
		    !strcmp(basename(object->path), basename(file->path)))
			return (int)i;
	}
	return -ENOENT;
}

void mapped_files_name(struct mapped_files *files, const struct mounted_file *file, uint32_t number)
{
	struct name name = {
		.major = file->major, .minor = file->minor, .inode = file->inode, .object = number
	};

	if (!*file->path || !files->all[number].kept || files->n_names == PROTOCOL_OBJECTS ||
	    ARRAY_GROW(files->names, files->n_names, files->names_room))
		return;
	name.path = strdup(file->path);
	if (name.path)
		files->names[files->n_names++] = name;
}

bool mapped_files_can_be(const struct mapped_files *files, uint32_t number,
			 const struct mounted_file *file)
{
	const struct object *object = &files->all[number].object;

	return object->inode == file->inode &&
	       ((object->major == file->major && object->minor == file->minor) ||
		(!file->major && !strcmp(basename(object->path), basename(file->path))));
}

int mapped_files_gone(struct mapped_files *files, pid_t pid, const struct mounted_file *file,
		      mapped_found *found, void *context)
{
	char path[PATH_MAX];
	const struct object object = {
		.path = path, .major = file->major, .minor = file->minor, .inode = file->inode
	};
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
	err = file_tell(files, fd, found, context);
	return err ? err : number;
}
