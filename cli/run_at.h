/* SPDX-License-Identifier: Apache-2.0 */
/* --at: windows that open at a time of the wall clock. It may be set at any moment, so it is read
 * again and again until then. */
#ifndef RUN_AT_H
#define RUN_AT_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/base/exit_status.h"
#include "cli/base/schedule.h"
#include "cli/capture/loop.h"

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

#endif
