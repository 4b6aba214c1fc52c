/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that take samples of a given length, also at times of day. */
#ifndef RUN_TIMED_H
#define RUN_TIMED_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/base/exit_status.h"
#include "cli/base/wall_clock.h"

struct run_state;

/* Sleeps until a few seconds before the first moment, as attached programs cost something.
 * Signals take their default action. Returns 0. Returns EX_UNAVAILABLE after printing that the
 * single process to watch has ended. */
exit_status run_at_approach(const struct run_state *run);

/* Returns when the first window can open, CLOCK_MONOTONIC ns: now, or at the next moment. */
uint64_t run_at_first(const struct schedule *schedule);

/* Waits for the successor of the ended target, and makes it the target. *found is false if the
 * run ends before. Returns 0 or an exit status. */
exit_status run_successor_await(struct run_state *run, bool *found);

/* Takes samples of a given length. Returns an exit status. */
exit_status run_timed(struct run_state *run);

#endif
