/* SPDX-License-Identifier: Apache-2.0 */
/* Timed data of a sample by thread, to write events track by track. */
#ifndef TIMELINE_H
#define TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/model/sample.h"
#include "pftrace.h"

/* The sample owns texts and rows. */
struct timeline_thread {
	pid_t tid, pid;
	const char *name;             /* KD_COMM_LEN bytes, not escaped */
	const struct thread_row *row; /* NULL: none, or folded with others */
	const struct trace_row **rows;
	size_t n_rows;
	const struct interruption **interruptions;
	size_t n_interruptions;
	bool foreign; /* outside the target: only recorded data is known */
	/* Recorded states, calls, and interrupts by start and descending end. */
	const struct span *states, *calls, *stolen, *const *irqs;
	size_t n_states, n_calls, n_stolen, n_irqs;
};

/* A wakeup of one thread by another. */
struct wakeup {
	uint64_t at;
	pid_t from, to;
	const char *from_name, *to_name; /* KD_COMM_LEN bytes, not escaped */
	uint32_t context;                /* enum kd_from */
};

/* A thread without a known process: a kernel thread, or a waker. */
struct timeline_other {
	pid_t tid;
	const char *name;
	const struct span *states;
	size_t n_states;
};

struct timeline {
	struct timeline_thread *threads; /* by TID, no duplicates */
	size_t n_threads, capacity_threads;
	struct wakeup *wakeups; /* by time, no duplicates */
	size_t n_wakeups, capacity_wakeups;
	struct timeline_other *others; /* by TID, no duplicates */
	size_t n_others, capacity_others;
	const struct trace_row **rows;             /* by TID, start and descending end */
	const struct interruption **interruptions; /* by TID and start */
	const struct span **irqs;                  /* by TID, start and descending end */
};

/* Fills a zeroed timeline from a time to the window's end. Returns 0 or -ENOMEM; the caller
 * clears it in either case. */
int timeline_make(struct timeline *timeline, const struct sample *sample, uint64_t from);
void timeline_clear(struct timeline *timeline);

/* Thread with a TID; NULL: it has no track below a process. */
const struct timeline_thread *timeline_thread(const struct timeline *timeline, pid_t tid);

/* Track for a trigger hit: its thread's, or the track without a process. */
uint64_t hit_track(const struct timeline *timeline, pid_t tid);

/* --- Tracks of a trace: threads below processes, states and more below threads --- */

/* Tracks below a thread, in this order: ROW(track, title). */
#define THREAD_TRACKS(ROW)                                                                         \
	ROW(TRACK_STATES, "states")                                                                \
	ROW(TRACK_INTERRUPTIONS, "interruptions")                                                  \
	ROW(TRACK_STOLEN, "stolen by the hypervisor, at some time in")                             \
	ROW(TRACK_LEDGER, "sums of the window")                                                    \
	/* Recordings                                                                              \
	 * only: */                                                                                \
	ROW(TRACK_IRQS, "interrupts")                                                              \
	ROW(TRACK_WAITS, "waits without a state")

#define TRACK_ENUM(track, title) track,
enum track {
	TRACK_NONE,
	THREAD_TRACKS(TRACK_ENUM) TRACK_COUNTERS, /* one per counter, after those */
	TRACK_THREAD,                             /* system calls */
	TRACK_PROCESS,
	TRACK_ROOT, /* parent of all tracks without a target process: */
	TRACK_WINDOWS,
	TRACK_OTHERS,
	TRACK_OTHER, /* a thread without a known process */
	TRACK_CPUS,  /* all CPUs, */
	TRACK_CPU,   /* one CPU, */
	TRACK_CPU_IRQS,
	TRACK_PATH, /* critical path */
};
#undef TRACK_ENUM

/* Number of a track of a thread, process or CPU, the same in all traces; id 0: of none. */
uint64_t track_uuid(enum track track, pid_t id);
/* Number of a counter's track, by its index. */
uint64_t track_uuid_counter(pid_t tid, size_t counter);

/* Each declares a track once, before its events. */

/* Tracks without a process. */
void tracks_write_common(struct pftrace *trace);
/* name: a comm; title: a command line, or "". */
void tracks_write_process(struct pftrace *trace, pid_t pid, const char *name, const char *title);
/* A thread and all tracks below it, except counters. */
void tracks_write_thread(struct pftrace *trace, pid_t pid, pid_t tid, const char *name);
void tracks_write_counter(struct pftrace *trace, pid_t tid, size_t index, const char *name);
void tracks_write_other(struct pftrace *trace, pid_t tid, const char *name);
/* The track of critical paths. */
void tracks_write_path(struct pftrace *trace);
/* The parent of all CPUs, and one CPU with the tracks below it. */
void tracks_write_cpus(struct pftrace *trace);
void tracks_write_cpu(struct pftrace *trace, uint32_t cpu);

/* --- Stacks --- */

/* Number of the stack of a row of traces, which is written when first needed; not between the
 * beginning of an event and event_end(). 0: it has none, and none was asked for. */
uint64_t callstacks_number(struct pftrace *trace, const struct trace_row *row);

/* Frees what tells which stacks are written. */
void callstacks_clear(struct pftrace *trace);

/* --- Slices --- */

/* Events on one thread's tracks. Items that cross the window's edges are clipped, and note their
 * full length. Windows may follow each other in a file, and must not reach into each other. */

/* Writes all events, after tracks_write_thread() wrote the tracks. */
void slices_write(struct pftrace *trace, const struct timeline_thread *thread);

/* Writes an arrow for each wakeup, and the tracks of threads outside the target. */
void wakeups_write(struct pftrace *trace, const struct timeline *timeline);

/* Writes recorded trigger hits on the tracks of their threads. */
void recorded_write_hits(struct pftrace *trace, const struct timeline *timeline);

/* The interrupts of a recording in another order, which the caller frees. NULL: no memory. */
const struct span **irqs_sort(const struct recording *recording,
			      int (*compare)(const void *, const void *));

/* Writes the slice of an interrupt. */
void irq_write(struct pftrace *trace, const struct span *irq, uint64_t track);

#endif
