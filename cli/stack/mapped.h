/* SPDX-License-Identifier: Apache-2.0 */
/* What a process has mapped to execute, and the files of it. */
#ifndef MAPPED_H
#define MAPPED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../bpf/kernel_delay.h"
#include "resolver.h"

struct mapped;

/* An object that was not known before, with the next number, from 0 on. fd: the very
 * file that is mapped, or an image of the vdso; -1 if it is not an ELF file, or
 * cannot be read. It remains the caller's. Not 0: no further ones. */
typedef int mapped_found(void *context, uint32_t number, int fd, const char *path);

/* Nothing is known yet. Returns NULL without memory. */
struct mapped *mapped_new(pid_t pid);

/* NULL is allowed. */
void mapped_free(struct mapped *mapped);

/* Reads what the process has mapped now, and calls found for each new object.
 * Mappings without a file are left out, and those of files that are too many.
 * Returns 1; 0 if all is as it was when it was read last; -ESRCH if the process has
 * gone; what found returned; another -errno. */
int mapped_read(struct mapped *mapped, mapped_found *found, void *context);

/* The same after the process has mapped something at t (CLOCK_MONOTONIC ns): only what
 * it has mapped is replaced. A file that is not known and has gone again is looked for
 * by the process's mounts. If it is not found, or what was mapped is of no file, there
 * is SPACE_NO_FILE. */
int mapped_change(struct mapped *mapped, uint64_t t, const struct kd_mapped *change,
		  mapped_found *found, void *context);

/* What is known, by address; it stays until the next of these calls. */
const struct mapping *mapped_mappings(const struct mapped *mapped, size_t *n);

/* The path of an object that is known. */
const char *mapped_path(const struct mapped *mapped, uint32_t number);

#endif
