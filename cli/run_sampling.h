/* SPDX-License-Identifier: Apache-2.0 */
/* What runs of each kind share: what they have open, and the way of a sample from a
 * closed window to the outputs. */
#ifndef RUN_SAMPLING_H
#define RUN_SAMPLING_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/base/exit_status.h"
#include "cli/base/schedule.h"
#include "cli/base/signals.h"
#include "cli/capture/collect.h"
#include "cli/capture/interruptions.h"
#include "cli/capture/loop.h"
#include "cli/capture/memory.h"
#include "cli/capture/overhead.h"
#include "cli/capture/session.h"
#include "cli/capture/session_locks.h"
#include "cli/capture/tracer.h"
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

/* A moment, on both clocks, ns; 0: none. */
struct run_at {
	uint64_t wall, monotonic;
};

/* Waits until a few seconds before the first moment: programs that wait for hours would cost for
 * hours. Signals do what they do by default. Returns 0, or after printing that the one process that
 * was to be watched has ended meanwhile EX_UNAVAILABLE. */
exit_status run_at_approach(const struct run *run);

/* When the first window can open, CLOCK_MONOTONIC ns: now, or at the next moment. */
uint64_t run_at_first(const struct schedule *schedule);

/* Sets run->at to the next moment. Returns 0, or after printing that it is over an exit status. */
exit_status run_at_choose(struct run *run);

/* The same moment on CLOCK_MONOTONIC, as the clocks are now. */
void run_at_aim(struct run_at *at);

/* Whether that is still so: the clock was not set. */
bool run_at_holds(const struct run_at *at);

/* Waits until so many ns before run->at, or an event. If the clock is set meanwhile, a period has
 * another moment; a moment that is over is waited for no longer. */
enum loop_event run_at_await(struct run *run, uint64_t before);

/* Warns if a window that was to open at run->at has opened much later. */
void run_at_tell(const struct run *run, uint64_t start);

/* How long before its moment a window is announced, and before that threads are visited: more
 * than it takes. */
#define RUN_AT_LEAD_NS 2000000ULL
#define RUN_AT_VISIT_NS 50000000ULL

/* --- --record-on --- */

struct record_on {
	const char *text;
	struct fail_if *condition;
	uint64_t windows; /* looked at */
	uint64_t hold;    /* ns for which what is not over is waited for at most */
	uint64_t until;   /* it is waited for until then; 0: for nothing */
	struct fulfilled fulfilled;
};

/* The word for no condition: only what the operator asks for is reported. */
#define RECORD_ON_SIGNAL "signal"

/* Reads the condition, which has to outlive it. hold: for how many ns at most it waits for the end
 * of what made it true. Returns 0, or after printing what is wrong an exit status. The caller ends
 * it with record_on_close(), which NULL is allowed for. */
exit_status record_on_open(struct record_on **record_on, const char *text, uint64_t hold,
			   const struct fail_recorded *recorded);

/* Whether a window is to be reported: *wanted is true then, or if the caller says so; and the
 * sample gets which condition was true. A wait that made it true and goes on is waited for, if a
 * window follows. Returns 0, or after printing that nobody knows an exit status. */
exit_status record_on_look(struct record_on *record_on, struct sample *sample, bool next_follows,
			   bool *wanted);

void record_on_close(struct record_on *record_on);

/* --- Samples --- */

/* What a run needs; the session, the collector and the loop are its own. */
struct run {
	const struct options *options;
	const struct processes *processes;
	const struct target *target; /* the first of them */
	struct trigger_set *triggers;
	struct command *command; /* the target, if this program has started it */
	struct session *session;
	struct collector *collector;
	struct signals *signals;
	struct loop *loop;
	struct tracing_config tracing; /* what is wanted of the tracer */
	struct tracer *tracer;
	struct interruptions *interruptions; /* NULL: not wanted */
	struct lock_places *lock_places;
	struct stacks *lock_stacks; /* of who waited for locks; NULL: none */
	uint64_t lock_stacks_until; /* CLOCK_MONOTONIC ns: what was mapped may be out of date */
	struct stacks *stacks;      /* of the user; NULL: not wanted */
	struct outputs *outputs;
	struct fail_if *fail_if;     /* conditions */
	struct record_on *record_on; /* NULL: each sample is reported */
	struct button button;        /* reports what is recorded; only with --record */
	struct live *live;           /* --live; NULL: not begun */
	struct progress progress;
	struct own_cost_meter own;
	struct memory_log memory; /* --resources */
	struct capture capture;
	bool matched;             /* any sample has a thread */
	uint64_t begun;           /* samples, of runs that are not triggered */
	uint64_t reported;        /* samples */
	struct run_at at;         /* when the next window is to open; only with --at */
	uint64_t deadline;        /* of the whole run, CLOCK_MONOTONIC ns */
	enum loop_event ended;    /* why the samples of the target did */
	struct identity identity; /* of the target; only with --follow-restart */
	struct target successor;  /* which then is the target */
	uint64_t restarts;        /* since the last sample */
	pid_t predecessor;        /* the first of those that ended since; 0: none did */
	bool lost;                /* something, in any sample, or part of one by a signal */
	bool expired;             /* the deadline ends the sample */
	bool overloaded;          /* the probes' cost does */
};

/* What the samples say if nothing failed: 0, EX_EXCEEDED or EX_LOSSES. */
exit_status run_conclude(const struct options *options, const struct fail_if *fail_if, bool lost);

/* True if a signal has come while an output could not be written, and all was detached: what was
 * sampled since then is none. */
bool run_is_cut(const struct run *run);

/* Says that something is left out, as that is true. */
void run_cut_tell(struct run *run);

/* Prints that reading failed with a negative errno. Returns an exit status. */
exit_status run_capture_failed(int error);

/* Those that resolve stacks, open files and serve metrics; 0: there is none. */
void run_children(const struct run *run, pid_t children[OWN_CHILDREN]);

/* Accounts what has ended; a tick of the loop, see there. context is the run. */
int run_drain(void *context);

/* Prints a line such as "# Start sampling" for an edge of a window (CLOCK_MONOTONIC
 * ns), with the wall clock's time of that edge; or of the hit, if a trigger set it. */
exit_status run_mark(struct run *run, const char *what, uint64_t edge, bool triggered);

/* Reads a closed window into *sample, which the caller clears. Returns 0 or a negative
 * errno. With --record-on it lacks what was recorded, which run_record() adds. */
int run_collect(struct run *run, const struct session_view *view, struct sample *sample);

int run_record(struct run *run, const struct session_view *view, struct sample *sample);

/* The same later, when it has been read: for the live view, whose run the context is. */
int run_record_shown(void *context, struct sample *sample);

/* How many samples of a run without triggers count. */
uint64_t run_samples(const struct run *run);

/* When the sample ends that SIGUSR1 asks for now, by the start of its window: at once, if that is
 * long enough to tell something. CLOCK_MONOTONIC ns. */
uint64_t run_pressed_end(uint64_t start);

/* Completes the sample with how it ended. */
void run_sample_ended(const struct run *run, struct sample *sample, enum loop_event event);

/* Completes the sample with its number and the time, and prints it. */
exit_status run_print(struct run *run, struct sample *sample);

/* How many threads the report should have now; 0: nobody knows, as they are filtered, or more
 * processes may have come. */
unsigned int run_threads(const struct run *run);

/* Says that no thread's name has matched; returns the exit status. */
exit_status run_threads_absent(const char *glob);

/* Returns 0, or an exit status after printing that tracing shows nothing of the target, which was
 * visited for the first time. */
exit_status run_visible_check(const struct run *run);

/* Waits for the last threads of a process that has ended. Returns 0 or -errno. */
int run_exit_await(struct run *run);

/* Waits for the successor of the target, which has ended, and makes it the target. *found is
 * false if the run ends before. Returns 0 or an exit status. */
exit_status run_successor_await(struct run *run, bool *found);

/* The kinds. */

/* Samples of a given time. Returns an exit status. */
exit_status run_timed(struct run *run);

/* Samples that triggers start or stop. Returns an exit status. */
exit_status run_triggered(struct run *run);

#endif
