/* SPDX-License-Identifier: Apache-2.0 */
/* What a record says but for its stacks. */
#ifndef RECORD_ROW_H
#define RECORD_ROW_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"
#include "cli/model/traces.h"
#include "session.h"

/* Fills a row; times of the record count from the epoch, ns of CLOCK_MONOTONIC. */
void record_row_fill(struct trace_row *row, const struct kd_trace *trace, uint64_t epoch);

/* Sets the path of a row's call, as struct kd_trace has it; row->path is the caller's to free().
 * Returns 0 or -ENOMEM. */
int record_row_path(struct trace_row *row, const char *path, int64_t size);

/* Adds to a row what another one of its call says of that: its lock, and its path, which stays the
 * other's. */
void record_row_join(struct trace_row *row, const struct trace_row *call);

/* --- The kernel stacks of records --- */

struct kernel_symbols;
struct programs;
struct stack;

/* Reads the kernel's symbols, unless that was done; room: how many stacks are kept. Reading
 * them takes a while: not before there is a stack. Where they cannot be read at all, they are
 * as good as hidden. Returns 0 or a negative errno. */
int record_symbols_open(struct kernel_symbols **symbols, const struct programs *programs,
			size_t room);

/* The stack of n frames, with what the kernel left out of it: that is among the n_words, see
 * struct kd_trace. NULL: there is no room for another. */
const struct stack *record_kernel_stack(struct kernel_symbols *symbols, const uint64_t *words,
					size_t n_words, const uint64_t *frames, size_t n);

/* --- Records of traces that user space could not keep, by the windows that would list them --- */

struct trace_losses {
	struct window_loss {
		uint64_t gen, n;
	} of[KD_MAX_BANKS]; /* the window that a bank has */
};

/* Counts a record in each window of the session in which it lies, calls also where they go
 * on. */
void trace_losses_add(struct trace_losses *losses, const struct session *session,
		      const struct kd_trace *trace);

/* How many of a window were counted. */
uint64_t trace_losses_of(const struct trace_losses *losses, const struct session_view *view);

/* --- Memory of a thread that is in a call now --- */

/* Copies the stack whose registers and bounds a trace has, up to that many bytes,
 * and sets its pages and sizes. Returns the bytes, which the caller frees; NULL if
 * the process's memory cannot be read (another user's, or it has gone) or there is
 * none to read into. The thread may have gone on meanwhile. */
uint8_t *open_call_copy(pid_t pid, struct kd_trace *trace, uint32_t limit);

/* Copies the path at that address. Returns its bytes with the NUL, KD_PATH_BYTES + 1 if it has been
 * cut, or -EFAULT. The thread may have gone on meanwhile. */
int64_t open_call_path(pid_t pid, uint64_t address, char path[static KD_PATH_BYTES + 1]);

#endif
