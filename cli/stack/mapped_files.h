/* SPDX-License-Identifier: Apache-2.0 */
/* The files that processes have mapped to execute, each known once, by its number. */
#ifndef MAPPED_FILES_H
#define MAPPED_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "probes/elf/maps.h"
#include "mounts.h"
#include "opener.h"

#define MAPPED_VDSO "[vdso]" /* in no file */

struct mapped_files;

/* An object that was not known before, with the next number, from 0 on. fd: the very
 * file that is mapped, or an image of the vdso; -1 if it is not an ELF file, or
 * cannot be read. It remains the caller's. Not 0: no further ones. */
typedef int mapped_found(void *context, uint32_t number, int fd, const char *path);

/* Nothing is known yet. The opener, which opens the files, is not owned. Returns NULL without
 * memory. */
struct mapped_files *mapped_files_new(struct opener *opener);

/* NULL is allowed. */
void mapped_files_free(struct mapped_files *files);

/* The path of an object that is known. */
const char *mapped_files_path(const struct mapped_files *files, uint32_t number);

/* Whether it was an ELF file, which could be read. */
bool mapped_files_is_elf(const struct mapped_files *files, uint32_t number);

/* As it was mapped; NULL: it is in no file. */
const struct object *mapped_files_object(const struct mapped_files *files, uint32_t number);

/* The process in which it was seen last. */
pid_t mapped_files_pid(const struct mapped_files *files, uint32_t number);

/* Finds the object of a process's mapping, or adds it, which mapped_files_tell() then tells of.
 * likely: the number that it may have. Returns its number; -ENOSPC: there are too many;
 * -ENOMEM. */
int mapped_files_find(struct mapped_files *files, pid_t pid, const struct map *map,
		      uint32_t likely);

/* Calls found for each object that was added. Returns 0 or what that returned. */
int mapped_files_tell(struct mapped_files *files, mapped_found *found, void *context);

/* True if it did not tell of all: nobody listens any more. */
bool mapped_files_are_untold(const struct mapped_files *files);

/* The object that the kernel calls so, if it is known and kept open: its inode is no other's.
 * Returns its number or -ENOENT. */
int mapped_files_known(const struct mapped_files *files, const struct mounted_file *file);

/* Whether an object can be this file. Overlay file systems show another device, that of a
 * layer. */
bool mapped_files_can_be(const struct mapped_files *files, uint32_t number,
			 const struct mounted_file *file);

/* Adds a file that has gone again from a process, by its path, and tells of it. Returns its number;
 * -ENOENT: it is not found; another -errno. */
int mapped_files_gone(struct mapped_files *files, pid_t pid, const struct mounted_file *file,
		      mapped_found *found, void *context);

/* Remembers what the kernel calls an object. That it cannot does not matter. */
void mapped_files_name(struct mapped_files *files, const struct mounted_file *file,
		       uint32_t number);

#endif
