/* SPDX-License-Identifier: Apache-2.0 */
/* The tracks of a trace: below a process its threads, below a thread its states and more. */
#ifndef TRACKS_H
#define TRACKS_H

#include <stdint.h>
#include <sys/types.h>

#include "pftrace.h"

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
