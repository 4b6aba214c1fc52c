/* SPDX-License-Identifier: Apache-2.0 */
/* Waits in vain in sigtimedwait, which hardly any program calls: waiter CALLS EVERY PAUSE_US
 *
 * On "go" it makes CALLS such calls, the first of each EVERY for 20 ms, the others for no
 * time (all of them, if EVERY is 0), with a pause after each, and prints a list of
 * [ns before, ns after, whether it was a long one], until "end". */
#include "workload.h"

static void wait_in_vain(long ms)
{
	struct timespec wait = { .tv_nsec = ms * 1000000 };
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR2);
	sigtimedwait(&signals, NULL, &wait);
}

int main(int argc, char **argv)
{
	long calls, every, pause;

	if (argc != 4)
		return 2;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	calls = strtol(argv[1], NULL, 10);
	every = strtol(argv[2], NULL, 10);
	pause = strtol(argv[3], NULL, 10);
	say("ready");
	for (;;) {
		wait_for("go");
		putchar('[');
		for (long i = 0; i < calls; i++) {
			bool is_long = every && i % every == 0;
			long long before = clock_ns(CLOCK_MONOTONIC);

			wait_in_vain(is_long ? 20 : 0);
			printf("%s[%lld, %lld, %s]", i ? ", " : "", before,
			       clock_ns(CLOCK_MONOTONIC), is_long ? "true" : "false");
			usleep(pause);
		}
		puts("]");
		fflush(stdout);
	}
}
