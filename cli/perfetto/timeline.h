/* SPDX-License-Identifier: Apache-2.0 */
/* What a sample has of times, by threads: for events that are written track by track. */
#ifndef TIMELINE_H
#define TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/model/sample.h"
#include "pftrace.h"

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

/* --- The tracks of a trace: below a process its threads, below a thread its states and more --- */

/* What is below a thread, in this order: ROW(track, title). */
#define THREAD_TRACKS(ROW)                                                                         \
	ROW(TRACK_STATES, "states")                                                                \
	ROW(TRACK_INTERRUPTIONS, "interruptions")                                                  \
	ROW(TRACK_STOLEN, "stolen by the hypervisor, at some time in")                             \
	ROW(TRACK_LEDGER, "sums of the window")                                                    \
	/* Of a recording: */                                                                      \
	ROW(TRACK_IRQS, "interrupts")                                                              \
	ROW(TRACK_WAITS, "waits without a state")

#define TRACK_ENUM(track, title) track,
enum track {
	TRACK_NONE,
	THREAD_TRACKS(TRACK_ENUM) TRACK_COUNTERS, /* one for each, behind those */
	TRACK_THREAD,                             /* its system calls */
	TRACK_PROCESS,
	TRACK_ROOT, /* of all that belongs to no process of the target: */
	TRACK_WINDOWS,
	TRACK_OTHERS,
	TRACK_OTHER, /* a thread of no process of which more is known */
	TRACK_CPUS,  /* of all CPUs, */
	TRACK_CPU,   /* one of them, */
	TRACK_CPU_IRQS,
	TRACK_PATH, /* critical */
};
#undef TRACK_ENUM

/* The number that all traces have for a track of a thread, process or CPU; id 0 for those of none.
 */
uint64_t track_uuid(enum track track, pid_t id);
/* The same of a counter by its index. */
uint64_t track_uuid_counter(pid_t tid, size_t counter);

/* Each says once that a track is there, before its events. */

/* Of all that belongs to no process. */
void tracks_write_common(struct pftrace *trace);
/* name: a comm; title: a command line, or "". */
void tracks_write_process(struct pftrace *trace, pid_t pid, const char *name, const char *title);
/* A thread with all that is below it but counters. */
void tracks_write_thread(struct pftrace *trace, pid_t pid, pid_t tid, const char *name);
void tracks_write_counter(struct pftrace *trace, pid_t tid, size_t index, const char *name);
void tracks_write_other(struct pftrace *trace, pid_t tid, const char *name);
/* Of critical paths. */
void tracks_write_path(struct pftrace *trace);
/* What all CPUs are below, and one with what is below it. */
void tracks_write_cpus(struct pftrace *trace);
void tracks_write_cpu(struct pftrace *trace, uint32_t cpu);

#endif
