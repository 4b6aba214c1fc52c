/* SPDX-License-Identifier: Apache-2.0 */
/* What a sample has of times, by threads: for events that are written track by track. */
#ifndef TIMELINE_H
#define TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/model/sample.h"

/* Texts and rows are the sample's. */
struct timeline_thread {
	pid_t tid, pid;
	const char *name;             /* of KD_COMM_LEN bytes, not escaped */
	const struct thread_row *row; /* NULL: none, or one that it shares with others */
	const struct trace_row **rows;
	size_t n_rows;
	const struct interruption **interruptions;
	size_t n_interruptions;
	bool foreign; /* not the target's: of what it has only what was recorded is known */
	/* Recorded: what it was in; what it called; what hit it, by start and descending end. */
	const struct recorded_state *states;
	size_t n_states;
	const struct recorded_call *calls;
	size_t n_calls;
	const struct recorded_irq **irqs;
	size_t n_irqs;
	const struct recorded_stolen *stolen;
	size_t n_stolen;
};

/* A thread is woken by another one. */
struct wakeup {
	uint64_t at;
	pid_t from, to;
	const char *from_name, *to_name; /* as above */
	uint32_t context;                /* enum kd_from */
};

/* One that belongs to no process of which more is known: of the kernel, or who woke threads. */
struct timeline_other {
	pid_t tid;
	const char *name;
	const struct recorded_state *states;
	size_t n_states;
};

struct timeline {
	struct timeline_thread *threads; /* by TID, each once */
	size_t n_threads, room_threads;
	struct wakeup *wakeups; /* by time, each once */
	size_t n_wakeups, room_wakeups;
	struct timeline_other *others; /* by TID, each once */
	size_t n_others, room_others;
	const struct trace_row **rows;             /* by TID, start and descending end */
	const struct interruption **interruptions; /* by TID and start */
	const struct recorded_irq **irqs;          /* by TID, start and descending end */
};

/* Fills a zeroed timeline that begins at a time and ends with the window. Returns 0 or -ENOMEM; the
 * caller clears it in any case. */
int timeline_make(struct timeline *timeline, const struct sample *sample, uint64_t from);
void timeline_clear(struct timeline *timeline);

/* The thread of a TID; NULL: it has no track below a process. */
const struct timeline_thread *timeline_thread(const struct timeline *timeline, pid_t tid);

#endif
