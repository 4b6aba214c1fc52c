/* SPDX-License-Identifier: Apache-2.0 */
/* Executable mappings of processes. */
#ifndef MAPPED_H
#define MAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"
#include "probes/elf/objects.h"
#include "opener.h"
#include "resolver.h"

/* --- Files, each once --- */

#define MAPPED_VDSO "[vdso]" /* not in a file */

struct mapped_files;

/* Receives a new object with the next number, from 0. fd: the mapped file itself, or an image of
 * the vdso; -1 if it is no ELF file or unreadable. The caller keeps it. Nonzero: no more calls. */
typedef int mapped_found(void *context, uint32_t number, int fd, const char *path);

/* Starts empty. The opener, which opens the files, is not owned. Returns NULL without memory. */
struct mapped_files *mapped_files_new(struct opener *opener);

/* NULL is allowed. */
void mapped_files_free(struct mapped_files *files);

/* Path of a known object. */
const char *mapped_files_path(const struct mapped_files *files, uint32_t number);

/* True if it was a readable ELF file. */
bool mapped_files_is_elf(const struct mapped_files *files, uint32_t number);

/* As it was mapped; NULL: not in a file. */
const struct object *mapped_files_object(const struct mapped_files *files, uint32_t number);

/* Process last seen with it. */
pid_t mapped_files_pid(const struct mapped_files *files, uint32_t number);

/* --- Mappings of processes --- */

struct mapped;

/* Starts empty. Processes share the files, which must outlive them. Returns NULL without memory. */
struct mapped *mapped_new(struct mapped_files *files, pid_t pid);

/* Makes a child with its parent's current mappings. Returns NULL without memory. */
struct mapped *mapped_fork(const struct mapped *parent, pid_t pid);

/* NULL is allowed. */
void mapped_free(struct mapped *mapped);

/* Reads the current mappings, and calls found for each new object. Skips mappings without a
 * file, and files beyond the limit. Returns 1; 0 if nothing changed since the last read; -ESRCH
 * if the process has ended; the result of found; another -errno. */
int mapped_read(struct mapped *mapped, mapped_found *found, void *context);

/* Updates after the process mapped something at t (CLOCK_MONOTONIC ns), replacing only that
 * range. After an exec of a process that has ended, nothing is known. An unknown file that is no
 * longer mapped is looked up by the process's mounts. Without a file, or if it is not found, the
 * range becomes SPACE_NO_FILE. */
int mapped_change(struct mapped *mapped, uint64_t t, const struct kd_mapped *change,
		  mapped_found *found, void *context);

/* Known mappings by address, valid until the next of these calls. */
const struct mapping *mapped_mappings(const struct mapped *mapped, size_t *n);

/* Number of mappings it has memory for. */
size_t mapped_size(const struct mapped *mapped);

#endif
