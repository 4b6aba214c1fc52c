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
#include "cli/capture/session.h"
#include "cli/capture/session_locks.h"
#include "cli/live/live.h"
#include "cli/model/sample.h"
#include "cli/options/options.h"
#include "cli/output/fail_if.h"
#include "cli/output/outputs.h"
#include "cli/output/terminal.h"
#include "cli/process/command.h"
#include "cli/process/pids.h"
#include "cli/process/processes.h"
#include "cli/process/target.h"
#include "cli/process/trigger_set.h"

/* --- --at --- */

struct run;

/* A moment on both clocks, ns; 0: none. */
struct run_at {
	uint64_t wall, monotonic;
};

/* Sleeps until a few seconds before the first moment, as attached programs cost something.
 * Signals take their default action. Returns 0. Returns EX_UNAVAILABLE after printing that the
 * single process to watch has ended. */
exit_status run_at_approach(const struct run *run);

/* Returns when the first window can open, CLOCK_MONOTONIC ns: now, or at the next moment. */
uint64_t run_at_first(const struct schedule *schedule);

/* --- --record-on --- */

struct record_on {
	const char *text;
	struct fail_if *condition;
	uint64_t windows; /* looked at */
	uint64_t hold;    /* longest wait for the end of a long wait, ns */
	uint64_t until;   /* when that ends; 0: not waiting */
	struct fulfilled fulfilled;
};

/* Stands for no condition: only samples requested by the operator are reported. */
#define RECORD_ON_SIGNAL "signal"

/* Parses the condition; its text must outlive the result. hold: longest wait, in ns, for the end
 * of what made the condition true. Returns 0, or an exit status after printing what is wrong.
 * The caller ends it with record_on_close(), which allows NULL. */
exit_status record_on_open(struct record_on **record_on, const char *text, uint64_t hold,
			   const struct fail_recorded *recorded);

/* Decides whether to report a window: sets *wanted if so, or leaves it set. The sample gets the
 * condition that was true. Holds the report while a wait that made it true goes on, if a window
 * follows. Returns 0, or an exit status after printing that the result is unknown. */
exit_status record_on_look(struct record_on *record_on, struct sample *sample, bool next_follows,
			   bool *wanted);

void record_on_close(struct record_on *record_on);

/* --- Samples --- */

/* State of a run; it owns the session, the collector and the loop. */
struct run {
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
	struct kernel_symbols *symbols;
	struct interruptions *interruptions; /* NULL: not wanted */
	struct lock_locations *lock_locations;
	struct stacks *lock_stacks; /* of waits for locks; NULL: none */
	uint64_t lock_stacks_until; /* CLOCK_MONOTONIC ns: later, mappings may be out of date */
	struct stacks *stacks;      /* user stacks; NULL: not wanted */
	struct outputs *outputs;
	struct fail_if *fail_if;     /* conditions */
	struct record_on *record_on; /* NULL: every sample is reported */
	struct report_signal
		report_signal; /* asks for a report of what is recorded; only with --record */
	struct live *live;     /* --live; NULL: not begun */
	struct progress progress;
	struct own_cost_meter own;
	struct memory_log memory; /* --resources */
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
bool run_is_cut(const struct run *run);

/* Warns that samples are left out, and counts that as a loss. */
void run_cut_tell(struct run *run);

/* Prints that reading failed with a negative errno. Returns the exit status. */
exit_status run_capture_failed(int error);

/* Sets the children that resolve stacks, open files and serve metrics; 0: none. */
void run_children(const struct run *run, pid_t children[OWN_CHILDREN]);

/* Accounts finished waits; called by the loop on each tick. context is the run. */
int run_drain(void *context);

/* Prints a line such as "# Start sampling" for an edge of a window (CLOCK_MONOTONIC ns). Its
 * time is the wall clock at the edge; or at the hit, if triggered. */
exit_status run_mark(struct run *run, const char *what, uint64_t edge, bool triggered);

/* Reads a closed window into *sample, which the caller clears. Returns 0 or a negative errno.
 * With --record-on, run_record() adds recorded data later. */
int run_collect(struct run *run, const struct session_view *view, struct sample *sample);

int run_record(struct run *run, const struct session_view *view, struct sample *sample);

/* Adds recorded data to a sample of the live view; context is the run. */
int run_record_shown(void *context, struct sample *sample);

/* Returns how many samples of a run without triggers count. */
uint64_t run_samples(const struct run *run);

/* Returns when a sample for a SIGUSR1 now should end, by the start of its window: at once if it
 * is long enough to be useful. CLOCK_MONOTONIC ns. */
uint64_t run_pressed_end(uint64_t start);

/* Sets how the sample ended. */
void run_sample_ended(const struct run *run, struct sample *sample, enum loop_event event);

/* Sets the sample's number and time, and prints it. */
exit_status run_print(struct run *run, struct sample *sample);

/* Returns how many threads the report should have now; 0: unknown, as threads are filtered, or
 * processes may join. */
unsigned int run_threads(const struct run *run);

/* Prints that no thread's name matches. Returns the exit status. */
exit_status run_threads_absent(const char *glob);

/* Call it after the first visit of the target. Returns 0, or an exit status after printing that
 * tracing shows nothing of the target. */
exit_status run_visible_check(const struct run *run);

/* Waits for the last threads of an ended process. Returns 0 or -errno. */
int run_exit_await(struct run *run);

/* Waits for the successor of the ended target, and makes it the target. *found is false if the
 * run ends before. Returns 0 or an exit status. */
exit_status run_successor_await(struct run *run, bool *found);

/* Kinds of runs. */

/* Takes samples of a given length. Returns an exit status. */
exit_status run_timed(struct run *run);

/* Takes samples that triggers start or stop. Returns an exit status. */
exit_status run_triggered(struct run *run);

/* --- Programs that several processes execute after triggers were looked up --- */

struct newcomer {
	pid_t pid;
	uint64_t due_at;    /* CLOCK_MONOTONIC ns */
	unsigned int looks; /* looks before this one */
	bool was_searched;  /* if it ends before, nothing may be missing */
};

/* Processes that have just run a program; starts as zeros. */
struct newcomers {
	struct newcomer *all;
	size_t n, capacity;
	uint64_t missed; /* ended before a look, or too many to look at */
};

/* Call it when hits begin to count: processes may have called execve since they were searched. */
void newcomers_begin(struct newcomers *newcomers, const struct run *run);

/* Adds a process that called execve at that time (CLOCK_MONOTONIC ns). */
void newcomers_add(struct newcomers *newcomers, pid_t pid, uint64_t at);

/* Looks for the triggers in the files of due processes and of those that joined the target, and
 * attaches probes there. Returns 0 or an exit status. */
exit_status newcomers_look(struct newcomers *newcomers, struct run *run);

/* Reports how many were missed. */
void newcomers_tell(const struct newcomers *newcomers);

void newcomers_clear(struct newcomers *newcomers);

#endif
