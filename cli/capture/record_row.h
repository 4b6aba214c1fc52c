/* SPDX-License-Identifier: Apache-2.0 */
/* A row of a record. */
#ifndef RECORD_ROW_H
#define RECORD_ROW_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect_row.h"

struct culprits;

/* Fills a row from a record, except for its stacks. Times in the record are relative to the epoch,
 * ns of CLOCK_MONOTONIC. */
void record_row_fill(struct trace_row *row, const struct kd_trace *trace, uint64_t epoch);

/* Names who had the CPU, while the tables still have it. */
void record_row_behind(struct trace_row *row, const struct kd_trace *trace,
		       const struct culprits *culprits);

/* Sets the path of a row's call, as in struct kd_trace; the caller frees row->path. Returns 0 or
 * -ENOMEM. */
int record_row_path(struct trace_row *row, const char *path, int64_t size);

/* Adds to a row the lock and the path from another row of the same call, which stays the owner of
 * the path. */
void record_row_join(struct trace_row *row, const struct trace_row *call);

/* Returns the stack of n frames, preceded by frames that the kernel left out: these are found in
 * the words, see struct kd_trace. NULL: too many stacks. */
const struct stack *record_kernel_stack(struct kernel_symbols *symbols, const uint64_t *words,
					size_t n_words, const uint64_t *frames, size_t n);

/* Counts a record that user space could not keep in each window that it lies in; a call that goes
 * on, in each window that it lies in so far. */
void record_row_lost(struct session *session, const struct kd_trace *trace);

/* Copies the stack whose registers and bounds a trace has, up to limit bytes, and sets its pages
 * and sizes. Returns the bytes, which the caller frees. NULL if the process's memory cannot be
 * read (another user's, or gone), or there is no memory to read into. The thread may have moved
 * on meanwhile. */
uint8_t *open_call_copy(pid_t pid, struct kd_trace *trace, uint32_t limit);

/* Copies the path at that address. Returns its size with the NUL, KD_PATH_BYTES + 1 if
 * truncated, or -EFAULT. The thread may have moved on meanwhile. */
int64_t open_call_path(pid_t pid, uint64_t address, char path[static KD_PATH_BYTES + 1]);

#endif
