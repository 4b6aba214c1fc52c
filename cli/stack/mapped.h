/* SPDX-License-Identifier: Apache-2.0 */
/* What a process has mapped to execute. */
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

/* --- The files, each once --- */

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

/* --- What processes have mapped --- */

struct mapped;

/* Nothing is known yet. Processes share the files, which must outlive them. Returns NULL without
 * memory. */
struct mapped *mapped_new(struct mapped_files *files, pid_t pid);

/* Of a child: what its parent has mapped now. Returns NULL without memory. */
struct mapped *mapped_fork(const struct mapped *parent, pid_t pid);

/* NULL is allowed. */
void mapped_free(struct mapped *mapped);

/* Reads what the process has mapped now, and calls found for each new object.
 * Mappings without a file are left out, and those of files that are too many.
 * Returns 1; 0 if all is as it was when it was read last; -ESRCH if the process has
 * gone; what found returned; another -errno. */
int mapped_read(struct mapped *mapped, mapped_found *found, void *context);

/* The same after the process has mapped something at t (CLOCK_MONOTONIC ns): only what
 * it has mapped is replaced. If it has replaced its program and gone, nothing is known. A file that
 * is not known and has gone again is looked for by the process's mounts. If it is not found, or
 * what was mapped is of no file, there is SPACE_NO_FILE. */
int mapped_change(struct mapped *mapped, uint64_t t, const struct kd_mapped *change,
		  mapped_found *found, void *context);

/* What is known, by address; it stays until the next of these calls. */
const struct mapping *mapped_mappings(const struct mapped *mapped, size_t *n);

/* For how many mappings it has memory. */
size_t mapped_size(const struct mapped *mapped);

#endif
