// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "run_at.h"

#include <poll.h>
#include <time.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "cli/base/log.h"
#include "cli/base/parse.h"
#include "cli/process/pids.h"
#include "run_sampling.h"

#define APPROACH_NS (10 * NSEC_PER_SEC)
#define LOOK_NS (100 * NSEC_PER_MSEC)
/* Reading both clocks is not exact: a window opens so much later, so that it never is before. */
#define MARGIN_NS (10 * NSEC_PER_USEC)
#define LATE_NS NSEC_PER_MSEC

static uint64_t wall_now(void)
{
	const struct timespec wall = clock_wall_at(clock_monotonic());

	return clock_ns(&wall);
}

/* Sleeps until that time of the wall clock, which may be set meanwhile, or a signal. */
static void run_at_sleep(const struct run *run, uint64_t until)
{
	for (uint64_t now = wall_now(); now < until && !signals_ask(run->signals);
	     now = wall_now()) {
		const struct timespec part = clock_timespec(u64_min(until - now, NSEC_PER_SEC));
		struct pollfd signals = { signals_fd(run->signals), POLLIN, 0 };

		ppoll(&signals, 1, &part, NULL);
	}
}

exit_status run_at_approach(const struct run *run)
{
	uint64_t now = wall_now(), next = schedule_next(&run->options->at, now);
	const struct timespec when = clock_timespec(next);
	struct identity target;
	char text[TIMESTAMP_LEN];
	bool is_one;

	if (next < now + APPROACH_NS)
		return 0;
	timestamp_format(text, &when);
	log_note("waiting for %s", text);
	is_one = processes_is_one(run->processes) && identity_read(&target, run->target->pid);
	run_at_sleep(run, next - APPROACH_NS);
	if (signals_ask(run->signals))
		return 0;
	/* Its PID may be another one's. */
	if (!is_one || identity_is_alive(&target))
		return 0;
	log_error("process %d has ended before %s", (int)target.pid, text);
	log_hint("--comm NAME --wait waits for another one");
	return EX_UNAVAILABLE;
}

void run_at_aim(struct run_at *at)
{
	uint64_t now = clock_monotonic();
	const struct timespec wall = clock_wall_at(now);

	/* The clock may have been set ahead by more than this machine has been up. */
	at->monotonic = u64_sub(now + MARGIN_NS + at->wall, clock_ns(&wall));
}

uint64_t run_at_first(const struct schedule *schedule)
{
	struct run_at at = { .wall = schedule->ns ? schedule_next(schedule, wall_now()) : 0 };

	if (at.wall)
		run_at_aim(&at);
	return u64_max(clock_monotonic(), at.monotonic);
}

bool run_at_holds(const struct run_at *at)
{
	struct run_at now = *at;

	run_at_aim(&now);
	return now.monotonic - at->monotonic + RUN_AT_LEAD_NS / 2 < RUN_AT_LEAD_NS;
}

exit_status run_at_choose(struct run *run)
{
	const struct schedule *schedule = &run->options->at;
	const struct timespec when = clock_timespec(schedule->ns);
	char text[TIMESTAMP_LEN];

	run->at.wall = schedule_next(schedule, wall_now());
	if (run->at.wall) {
		run_at_aim(&run->at);
		return 0;
	}
	timestamp_format(text, &when);
	log_error("option --at: %s was over when the programs were attached", text);
	log_hint("give a later time, or start earlier: attaching takes up to a few seconds");
	return EX_TEMPFAIL;
}

/* Whether there is another moment now: the clock was set, or this program came too late. */
static bool is_missed(const struct run *run)
{
	const struct schedule *schedule = &run->options->at;
	uint64_t wall = wall_now();

	return schedule->periodic && (wall >= run->at.wall || run->at.wall - wall > schedule->ns);
}

enum loop_event run_at_await(struct run *run, uint64_t before)
{
	enum loop_event event = LOOP_DEADLINE;

	while (event == LOOP_DEADLINE) {
		uint64_t now = clock_monotonic();
		uint64_t until = u64_min(u64_sub(run->at.monotonic, before), run->deadline);

		if (now >= until)
			break;
		event = loop_wait(run->loop, u64_min(until, now + LOOK_NS), run_drain, run);
		if (is_missed(run))
			run->at.wall = schedule_next(&run->options->at, wall_now());
		run_at_aim(&run->at);
	}
	return event;
}

void run_at_tell(const struct run *run, uint64_t start)
{
	const struct timespec when = clock_timespec(run->at.wall);
	uint64_t late = u64_sub(start, run->at.monotonic);
	char text[TIMESTAMP_LEN], length[NUMBER_LEN];

	if (late < LATE_NS)
		return;
	timestamp_format(text, &when);
	number_time(length, late);
	log_warn("the sample begins %s after %s: this program was held up", length, text);
}
