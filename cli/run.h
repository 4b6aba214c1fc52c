/* SPDX-License-Identifier: Apache-2.0 */
/* One run: the samples that the options ask for, each taken and printed. */
#ifndef RUN_H
#define RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/collect.h"
#include "capture/loop.h"
#include "capture/session.h"
#include "capture/tracer.h"
#include "exporter.h"
#include "fail_if.h"
#include "options.h"
#include "output/outputs.h"
#include "sample.h"
#include "target.h"
#include "trigger_set.h"

/* What a run needs; the session, the collector and the loop are its own. */
struct run {
	const struct options *options;
	const struct target *target;
	const struct trigger_set *triggers;
	struct session *session;
	struct collector *collector;
	struct loop *loop;
	struct session_tracing tracing; /* what is wanted of the tracer */
	struct tracer *tracer;
	struct stacks *stacks; /* of the user; NULL: not wanted */
	struct outputs *outputs;
	struct exporter *exporter; /* NULL: not wanted */
	struct fail_if *fail_if;   /* conditions */
	struct capture capture;
	uint64_t reported; /* samples */
	uint64_t deadline; /* of the whole run, CLOCK_MONOTONIC ns */
	bool lost;         /* something, in any sample, or part of one by a signal */
	bool expired;      /* the deadline ends the sample */
	bool overloaded;   /* the probes' cost does */
};

/* Takes and prints all samples. Returns 0 or, after printing why, an exit status. */
int run_all(const struct options *options, const struct target *target,
	    const struct trigger_set *triggers, struct fail_if *fail_if);

/* Prints the samples of --replay. Returns as above. */
int run_replay(const struct options *options, struct fail_if *fail_if);

/* For the kinds of runs. */

/* Samples of a given time. Returns an exit status. */
int run_timed(struct run *run);

/* Samples that triggers start or stop. Returns an exit status. */
int run_triggered(struct run *run);

/* What the samples say if nothing failed: 0, EX_EXCEEDED or EX_LOSSES. */
int run_verdict(const struct options *options, const struct fail_if *fail_if, bool lost);

int run_capture_failed(int error);

/* Accounts what has ended; a tick of the loop. context is the run. */
int run_drain(void *context);

/* Later by a duration, which may be UINT64_MAX. */
uint64_t run_deadline_after(uint64_t start, uint64_t duration);

/* Prints a line such as "# Start sampling" for an edge of a window (CLOCK_MONOTONIC
 * ns), with the wall clock's time of that edge; or of the hit, if a trigger set it. */
int run_mark(struct run *run, const char *what, uint64_t edge, bool triggered);

/* Reads a closed window into *sample, which the caller clears. Returns 0 or a negative
 * errno. */
int run_collect(struct run *run, const struct session_view *view, struct sample *sample);

/* Completes the sample with how it ended. */
void run_sample_ended(const struct run *run, struct sample *sample, enum loop_event event);

/* Completes the sample with its number and the time, and prints it. */
int run_print(struct run *run, struct sample *sample);

/* Waits for the last threads of a process that has ended. Returns 0 or -errno. */
int run_exit_await(struct run *run);

#endif
