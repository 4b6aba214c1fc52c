/* SPDX-License-Identifier: Apache-2.0 */
/* Mappings of a process. */
#ifndef MAPPED_H
#define MAPPED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"
#include "probes/elf/objects.h"
#include "opener.h"
#include "resolver.h"

struct mapped;

/* --- Files, each once --- */

#define MAPPED_VDSO "[vdso]" /* not in a file */

struct mapped_files;

/* Receives a new object with the next number, from 0. fd: the mapped file itself, or an image of
 * the vdso; -1 if it is no ELF file or unreadable. The caller keeps it. Nonzero: no more calls. */
typedef int mapped_found(void *context, uint32_t number, int fd, const char *path);

/* Files stay open in the other process, so that no other file gets the same device and inode. */
struct mapped_file {
	struct object object; /* as it was mapped */
	pid_t pid;            /* last process that mapped it */
	bool is_open;         /* it was a readable ELF file, which the other process has */
	uint8_t *image;       /* copy of a vdso, else NULL */
	size_t size;          /* of the image */
};

/* Starts empty. The opener, which opens the files, is not owned. The functions below call found for
 * each new object. Returns NULL without memory. */
struct mapped_files *mapped_files_new(struct opener *opener, mapped_found *found, void *context);

/* NULL is allowed. */
void mapped_files_free(struct mapped_files *files);

/* A known one; valid until the next one is found. */
const struct mapped_file *mapped_files_get(const struct mapped_files *files, uint32_t number);

/* Starts empty. Processes share the files, which must outlive them. Returns NULL without memory. */
struct mapped *mapped_new(struct mapped_files *files, pid_t pid);

/* Makes a child with its parent's current mappings. Returns NULL without memory. */
struct mapped *mapped_fork(const struct mapped *parent, pid_t pid);

/* NULL is allowed. */
void mapped_free(struct mapped *mapped);

/* Reads the current mappings. Files beyond the limit are SPACE_BEYOND. Returns 1; 0
 * if nothing changed since the last read; -ESRCH if the process has ended; the result of found;
 * another -errno. */
int mapped_read(struct mapped *mapped);

/* Updates after the process mapped something at t (CLOCK_MONOTONIC ns), replacing only that
 * range. After an exec of a process that has ended, nothing is known. An unknown file that is no
 * longer mapped is looked up by the process's mounts. Without a file, or if it is not found, the
 * range becomes SPACE_NO_FILE. */
int mapped_change(struct mapped *mapped, uint64_t t, const struct kd_mapped *change);

/* Known mappings by address, valid until the next of these calls. */
const struct mapping *mapped_mappings(const struct mapped *mapped, size_t *n);

/* Number of mappings it has memory for. */
size_t mapped_size(const struct mapped *mapped);

#endif
