// SPDX-License-Identifier: Apache-2.0
/* A signal while this program writes: is it blocked, or only slow? */
#include "cli/base/signals.h"

#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "cli/base/blocking.h"
#include "cli/base/clock.h"
#include "tap.h"

static atomic_int stuck_times;

static void stuck(int unblocked)
{
	(void)unblocked;
	atomic_fetch_add(&stuck_times, 1);
}

/* Nobody else gets the signal: it is blocked in all threads. */
TEST(stuck)
{
	struct signals *signals;
	uint64_t until;

	is_u64((uint64_t)signals_open(&signals), 0, "signals are taken over");
	signals_when_stuck(signals, stuck);
	kill(getpid(), SIGINT);
	blocking_begin();
	for (until = clock_monotonic() + SIGNALS_PATIENCE_NS / 2 * 5; clock_monotonic() < until;)
		;
	is_u64((uint64_t)atomic_load(&stuck_times), 0, "who runs, or waits for a CPU, is slow");
	for (int i = 0; i < 600 && !atomic_load(&stuck_times); i++)
		usleep(100000);
	is_u64((uint64_t)atomic_load(&stuck_times), 1, "who sleeps is blocked");
	blocking_end();
	ok(signals_was_stuck(signals), "and that stays so");
	is_u64((uint64_t)signals_number(signals), SIGINT, "after that signal");
	signals_close(signals);
}
