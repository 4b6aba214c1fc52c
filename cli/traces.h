/* SPDX-License-Identifier: Apache-2.0 */
/* Slow system calls, long waits and samples of running code: the part of a sample
 * that has stacks. Filled by capture/, read by the reports.
 *
 * Times are nanoseconds; points in time are CLOCK_MONOTONIC. */
#ifndef TRACES_H
#define TRACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../bpf/kernel_delay.h"
#include "stack/stack.h"

enum trace_kind {
	TRACE_CALL,   /* a slow system call */
	TRACE_WAIT,   /* a long wait, asleep or for a CPU */
	TRACE_SAMPLE, /* where a thread was running */
	TRACE_KINDS,
};

struct trace_row {
	enum trace_kind kind;
	pid_t tid;
	char name[KD_COMM_LEN]; /* of the thread, not escaped */
	uint64_t start, end;    /* call: end 0: unfinished; sample: its time, twice */
	uint64_t waited;        /* call: its longest wait, which kernel is of; 0: it never slept */
	uint64_t since;         /* of the system call it belongs to, as in struct kd_trace */
	uint32_t cpu;
	int32_t call;   /* number, or KD_CALL_* */
	int64_t result; /* of a finished call */
	/* Wait: KD_BLOCKED, KD_BLOCKED_UNINT, KD_STOPPED, KD_READY_WOKEN or
	 * KD_READY_PREEMPTED; sample: KD_USER or KD_KERNEL. */
	uint32_t state;
	/* Wait: the thread that woke it. TID 0: none did; then the name may say
	 * what it was ("interrupt"), and is "" if that is not known. */
	pid_t ended_by;
	char ended_by_name[KD_COMM_LEN];   /* not escaped */
	uint64_t user_ip;                  /* 0: not known */
	const struct stack *kernel, *user; /* the run's; NULL: none */
	const char *no_user;   /* why there is no user stack, if more is known than limited says */
	const char *no_kernel; /* why there is no kernel stack; NULL: not known */
	bool limited;          /* no user stack: --stack-rate */
	bool cut;              /* the user stack is larger than what may be copied */
	bool earlier;          /* it began before start, when that was not watched */
};

struct trace_list {
	struct trace_row *rows;
	size_t n, room;

	/* What was asked for. */
	bool calls_asked, waits_asked;
	uint64_t call_threshold, wait_threshold;
	unsigned int profile_hz; /* 0: no samples */
	bool kernel_stacks_asked, user_stacks_asked;
	uint64_t stack_rate; /* 0: no limit */

	/* What is missing. */
	uint64_t lost;       /* records that found no room in the ring */
	uint64_t beyond;     /* stacks, of either kind: more different ones than are kept */
	uint64_t failed;     /* user stacks that were copied and could not be resolved */
	const char *failure; /* why; NULL: not known */
	uint64_t limited;    /* user stacks that --stack-rate did not allow */
	uint64_t incomplete; /* user stacks with a reason to stop */
	bool kernel_hidden;  /* kallsyms hides addresses */
};

/* Adds a copy of a row. Returns 0 or -ENOMEM. */
int traces_add(struct trace_list *list, const struct trace_row *row);

/* Sorts the rows: by kind, then by their end; unfinished calls last, by their start. */
void traces_finish(struct trace_list *list);

/* Releases the rows, not the stacks, and clears the list; safe on a zeroed one. */
void traces_clear(struct trace_list *list);

/* How many of what was asked for are missing, or lack a stack that was asked for.
 * Stacks that a limit has left out, or that are incomplete, are not lost. */
uint64_t traces_lost(const struct trace_list *list);

/* How long a row stands for: the call or wait, an unfinished call up to the window's
 * end; a sample one period. */
uint64_t trace_duration(const struct trace_list *list, const struct trace_row *row,
			uint64_t window_end);

/* Rows that are alike: of one kind, thread (TID and name), call and state, with the
 * same stacks; samples with stacks in the same functions. */
struct trace_sum {
	const struct trace_row *longest; /* of them, the first of those that last as long */
	uint64_t count;
	uint64_t total, max; /* durations */
	uint64_t of_thread;  /* count of all rows of its kind and thread */
	bool same_end;       /* all ended by the same */
	bool same_ip;        /* all with the same user_ip */
};

/* Merges the rows of a kind. *sums, *n of them by descending total, becomes the
 * caller's to free() and points into the list; NULL if there are none. Returns 0 or
 * -ENOMEM. */
int traces_merge(const struct trace_list *list, enum trace_kind kind, uint64_t window_end,
		 struct trace_sum **sums, size_t *n);

#endif
