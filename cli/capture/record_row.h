/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a row from a record, except for its stacks. */
#ifndef RECORD_ROW_H
#define RECORD_ROW_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"
#include "cli/model/traces.h"
#include "session.h"

/* Fills a row. Times in the record are relative to the epoch, ns of CLOCK_MONOTONIC. */
void record_row_fill(struct trace_row *row, const struct kd_trace *trace, uint64_t epoch);

/* Sets the path of a row's call, as in struct kd_trace; the caller frees row->path. Returns 0 or
 * -ENOMEM. */
int record_row_path(struct trace_row *row, const char *path, int64_t size);

/* Adds to a row what another one of its call says of that: its lock, and its path, which stays the
 * other's. */
void record_row_join(struct trace_row *row, const struct trace_row *call);

/* --- Kernel stacks of records --- */

struct kernel_symbols;
struct programs;
struct stack;

/* Reads the kernel's symbols unless done before; capacity: the most stacks to keep. Reading takes a
 * while, so is not done before there is a stack. Unreadable symbols count as hidden. Returns 0
 * or a negative errno. */
int record_symbols_open(struct kernel_symbols **symbols, const struct programs *programs,
			size_t capacity);

/* The stack of n frames, with what the kernel left out of it: that is among the n_words, see
 * struct kd_trace. NULL: there is no room for another. */
const struct stack *record_kernel_stack(struct kernel_symbols *symbols, const uint64_t *words,
					size_t n_words, const uint64_t *frames, size_t n);

/* --- Records that user space could not keep, by window --- */

struct trace_losses {
	struct window_loss {
		uint64_t gen, n;
	} of[KD_MAX_BANKS]; /* the window in that bank */
};

/* Counts a record in each window of the session that it lies in; calls also where they go on. */
void trace_losses_add(struct trace_losses *losses, const struct session *session,
		      const struct kd_trace *trace);

/* Returns how many were counted in a window. */
uint64_t trace_losses_of(const struct trace_losses *losses, const struct session_view *view);

/* --- Memory of a thread in a call --- */

/* Copies the stack whose registers and bounds a trace has, up to limit bytes, and sets its pages
 * and sizes. Returns the bytes, which the caller frees. NULL if the process's memory cannot be
 * read (another user's, or gone), or there is no memory to read into. The thread may have moved
 * on meanwhile. */
uint8_t *open_call_copy(pid_t pid, struct kd_trace *trace, uint32_t limit);

/* Copies the path at that address. Returns its size with the NUL, KD_PATH_BYTES + 1 if
 * truncated, or -EFAULT. The thread may have moved on meanwhile. */
int64_t open_call_path(pid_t pid, uint64_t address, char path[static KD_PATH_BYTES + 1]);

#endif
