/* SPDX-License-Identifier: Apache-2.0 */
/* What a process has mapped to execute. */
#ifndef MAPPED_H
#define MAPPED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"
#include "mapped_files.h"
#include "resolver.h"

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
