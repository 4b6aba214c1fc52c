/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a thread's row for one window from the maps. */
#ifndef COLLECT_ROW_H
#define COLLECT_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"
#include "cli/model/sample.h"
#include "cli/model/traces.h"
#include "cli/process/group.h"
#include "session.h"

/* Reads a slot's thread into a zeroed row, which owns what it gets. Adds one to *torn if no
 * consistent read was possible. Returns 1; 0 if the thread did not live in the window; or a
 * negative errno. */
int collect_row(struct session *session, const struct session_view *view, uint32_t slot,
		struct thread_row *row, uint64_t *torn);

/* Names a hardirq by its index in the thread's record. The thread may be NULL for indexes in
 * enum kd_vector. */
void collect_hardirq_name(struct session *session, int index, const struct kd_thread *thread,
			  struct irq_row *row);

/* Names a softirq by its vector. */
void collect_softirq_name(uint32_t vector, struct irq_row *row);

/* --- Whether cgroup I/O limits kept the target's threads waiting --- */

#define DISK_LIMITS 32 /* cgroup and disk pairs to look at */

struct disk_limits {
	struct disk_count counts[DISK_LIMITS];
	size_t n;
	uint64_t looked, due;      /* last and next read, CLOCK_MONOTONIC ns */
	struct disk_limit reached; /* limit reached last */
	uint64_t reached_at;       /* the time, since the epoch; 0: none */
};

/* Checks, a few times a second, how much of their I/O limits the cgroups of uninterruptibly
 * sleeping threads use. */
void disk_limits_look(struct disk_limits *limits, const struct session_view *view);

/* Gives the sample the limits its threads may have waited for. */
void disk_limits_take(struct disk_limits *limits, const struct session_view *view,
		      struct sample *sample);

/* --- Rows of traces --- */

/* Fills a row from a record, except for its stacks. Times in the record are relative to the epoch,
 * ns of CLOCK_MONOTONIC. */
void record_row_fill(struct trace_row *row, const struct kd_trace *trace, uint64_t epoch);

/* Sets the path of a row's call, as in struct kd_trace; the caller frees row->path. Returns 0 or
 * -ENOMEM. */
int record_row_path(struct trace_row *row, const char *path, int64_t size);

/* Adds to a row the lock and the path from another row of the same call, which stays the owner of
 * the path. */
void record_row_join(struct trace_row *row, const struct trace_row *call);

/* --- Kernel stacks of records --- */

struct kernel_symbols;
struct stack;

/* Returns the stack of n frames, preceded by frames that the kernel left out: these are found in
 * the words, see struct kd_trace. NULL: too many stacks. */
const struct stack *record_kernel_stack(struct kernel_symbols *symbols, const uint64_t *words,
					size_t n_words, const uint64_t *frames, size_t n);

/* Counts a record that user space could not keep in each window that it lies in; a call that goes
 * on, in each window that it lies in so far. */
void record_row_lost(struct session *session, const struct kd_trace *trace);

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
