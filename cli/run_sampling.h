/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by all kinds of runs: their open state, and a sample's way from a closed window to the
 * outputs. */
#ifndef RUN_SAMPLING_H
#define RUN_SAMPLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/base/exit_status.h"
#include "cli/base/signals.h"
#include "cli/base/wall_clock.h"
#include "cli/capture/collect.h"
#include "cli/capture/loop.h"
#include "cli/capture/overhead.h"
#include "cli/capture/parts/locks.h"
#include "cli/capture/parts/resources.h"
#include "cli/capture/session/config.h"
#include "cli/capture/session/types.h"
#include "cli/live/live.h"
#include "cli/model/sample.h"
#include "cli/options/options.h"
#include "cli/output/fail_if.h"
#include "cli/output/outputs.h"
#include "cli/output/terminal.h"
#include "cli/process/command.h"
#include "cli/process/pids.h"
#include "cli/process/processes.h"
#include "cli/process/psi.h"
#include "cli/process/target.h"
#include "cli/process/trigger_set.h"
#include "run_selection.h"

/* A moment on both clocks, ns; 0: none. */
struct run_at {
	uint64_t wall, monotonic;
};

/* State of a run; it owns the session, the collector and the loop. */
struct run_state {
	const struct options *options;
	const struct processes *processes;
	const struct target *target; /* the first process */
	struct trigger_set *triggers;
	struct command *command; /* the target, if this program started it */
	struct session *session;
	struct collector *collector;
	struct signals *signals;
	struct loop *loop;
	struct tracing_config tracing; /* what the tracer should do */
	struct tracer *tracer;
	struct kernel_symbols *symbols;      /* the kernel's functions, */
	struct kernel_symbols *variables;    /* and its variables */
	struct interruptions *interruptions; /* NULL: not wanted */
	struct lock_locations *lock_locations;
	struct stacks *lock_stacks;    /* of sleeps and waits for locks; NULL: none */
	struct cpu_quota quota;        /* of the target, for samples */
	struct user_waits *user_waits; /* where threads sleep; NULL: not wanted */
	uint64_t lock_stacks_until;    /* CLOCK_MONOTONIC ns: later, mappings may be out of date */
	struct stacks *stacks;         /* user stacks; NULL: not wanted */
	struct outputs *outputs;
	struct fail_if *fail_if;     /* conditions */
	struct selection *selection; /* of windows that are reported */
	struct report_signal
		report_signal; /* asks for a report of what is recorded; only with --record */
	struct live *live;     /* --live; NULL: not begun */
	struct progress progress;
	struct own_cost_meter own;
	struct memory_log memory; /* --resources */
	struct psi_watch psi;
	struct capture capture;
	bool matched;             /* some sample has a thread */
	uint64_t begun;           /* samples of runs without triggers */
	uint64_t reported;        /* samples */
	struct run_at at;         /* when the next window opens; only with --at */
	uint64_t deadline;        /* of the run, CLOCK_MONOTONIC ns */
	enum loop_event ended;    /* why the target's samples ended */
	struct identity identity; /* of the target; only with --follow-restart */
	struct target successor;  /* the next target */
	uint64_t restarts;        /* since the last sample */
	pid_t predecessor;        /* the first one that ended since then; 0: none */
	bool lost;                /* any sample lost something, or a signal cut it short */
	bool expired;             /* the deadline ends the sample */
	bool overloaded;          /* the probes' cost ends it */
};

/* Returns the status of the samples if nothing failed: 0, EX_EXCEEDED or EX_LOSSES. */
exit_status run_conclude(const struct options *options, const struct fail_if *fail_if, bool lost);

/* True if a signal came while an output was blocked, and all was detached: nothing was sampled
 * after that. */
bool run_is_cut(const struct run_state *run);

/* Warns that samples are left out, and counts that as a loss. */
void run_cut_tell(struct run_state *run);

/* Prints that reading failed with a negative errno. Returns the exit status. */
exit_status run_capture_failed(int error);

/* Sets the children that resolve stacks, open files and serve metrics; 0: none. */
void run_children(const struct run_state *run, pid_t children[OWN_CHILDREN]);

/* What unwinds the stacks of sleeps and of waits for locks, which is started if need be; NULL:
 * none. context is the run. */
struct stacks *run_wait_stacks(void *context);

/* Accounts finished waits; called by the loop on each tick. context is the run. */
int run_drain(void *context);

/* Prints a line such as "# Start sampling" for an edge of a window (CLOCK_MONOTONIC ns). Its
 * time is the wall clock at the edge; or at the hit, if triggered. */
exit_status run_mark(struct run_state *run, const char *what, uint64_t edge, bool triggered);

/* Reads a closed window into *sample, which the caller clears. Returns 0 or a negative errno.
 * If not each window is reported, run_record() adds recorded data later. */
int run_collect(struct run_state *run, const struct session_view *view, struct sample *sample);

int run_record(struct run_state *run, const struct session_view *view, struct sample *sample);

/* Adds recorded data to a sample of the live view; context is the run. */
int run_record_shown(void *context, struct sample *sample);

/* Returns how many samples of a run without triggers count. */
uint64_t run_samples(const struct run_state *run);

/* Returns when a sample for a SIGUSR1 now should end, by the start of its window: at once if it
 * is long enough to be useful. CLOCK_MONOTONIC ns. */
uint64_t run_pressed_end(uint64_t start);

/* Sets how the sample ended. */
void run_sample_ended(const struct run_state *run, struct sample *sample, enum loop_event event);

/* Sets the sample's number and time, and prints it. */
exit_status run_print(struct run_state *run, struct sample *sample);

/* Returns how many threads the report should have now; 0: unknown, as threads are filtered, or
 * processes may join. */
unsigned int run_threads(const struct run_state *run);

/* Different names of threads, as many as fit on a line or two. */
#define THREAD_NAMES 24
struct thread_names {
	char all[THREAD_NAMES][KD_COMM_LEN];
	size_t n;
	bool more;
};

void thread_names_add(struct thread_names *names, const char name[static KD_COMM_LEN]);

/* Adds those that the target's threads have now. */
void thread_names_read(struct thread_names *names, const struct run_state *run);

/* Prints that no thread's name matches, and which there are. Returns the exit status. */
exit_status run_threads_absent(const char *glob, const struct thread_names *names);

/* Call it after the first visit of the target. Returns 0, or an exit status after printing that
 * tracing shows nothing of the target. */
exit_status run_visible_check(const struct run_state *run);

/* Waits for the last threads of an ended process. Returns 0 or -errno. */
int run_exit_await(struct run_state *run);

#endif
