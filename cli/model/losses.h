/* SPDX-License-Identifier: Apache-2.0 */
/* All reasons why data may be missing from a sample, once for all formats. */
#ifndef LOSSES_H
#define LOSSES_H

#include <stdint.h>

#include "bpf/kernel_delay.h"
#include "sample.h"

/* Losses counted in user space: LOSS(reason, member of struct sample, then as KD_LOSS_ROWS). what
 * NULL: see traces.failure. */
/* clang-format off */
#define SAMPLE_LOSSES(LOSS) \
	LOSS(LOSS_SKIPPED_RUNS, skipped_runs, "skipped_runs", "program run was", "program runs were", \
	     "skipped by the kernel (another BPF program was busy on that CPU), so counts and " \
	     "times may be too small; stop other tracing tools and take another sample.") \
	LOSS(LOSS_HIDDEN_THREADS, hidden, "hidden_threads", "thread is", "threads are", \
	     "missing (this kernel hides them from tracing).") \
	LOSS(LOSS_TORN_THREADS, torn, "torn_threads", "thread was", "threads were", \
	     "not read consistently (too many events meanwhile, or a start or end came late), so " \
	     "figures may not add up; take another sample.") \
	LOSS(LOSS_TRACES, traces.lost, "traces", "system call, wait or sample is", \
	     "system calls, waits or samples are", \
	     "missing from the lists (the buffer was full, or too many in one sample); raise " \
	     "--buffer-page-count, or the durations from which they are listed.") \
	LOSS(LOSS_STACKS, traces.beyond, "stacks", "stack is", "stacks are", \
	     "not shown (more different ones than are kept); raise --stack-trace-size.") \
	LOSS(LOSS_UNRESOLVED_STACKS, traces.failed, "unresolved_stacks", "user stack is", "user stacks are", \
	     NULL) \
	LOSS(LOSS_UNREAD_FILES, traces.unread, "unread_files", "user stack is", "user stacks are", \
	     "without names of some functions (code is mapped from more than 4,096 files, or at more " \
	     "than 16,384 places in a process); select fewer processes.")
/* clang-format on */

#define LOSS_REASON(reason, member, key, one, many, what) reason,
enum loss_reason { LOSSES_OF_KERNEL = KD_LOSSES - 1, SAMPLE_LOSSES(LOSS_REASON) LOSSES };
#undef LOSS_REASON

struct loss {
	size_t at;                           /* offset of the uint64_t counter in struct sample */
	const char *key, *one, *many, *what; /* as in these rows */
};

extern const struct loss losses[LOSSES];

/* Count of this loss, and its place in the sample. */
uint64_t loss_count(const struct sample *sample, const struct loss *loss);
uint64_t *loss_counter(struct sample *sample, const struct loss *loss);

/* Total of all losses, for --strict. */
uint64_t sample_lost(const struct sample *sample);

#endif
