/* SPDX-License-Identifier: Apache-2.0 */
/* A process that works from its beginning to its end, and logs both: lifetime MS [STATUS].
 * It prints the times of CLOCK_MONOTONIC, and its own CPU time, when main() begins and just
 * before the process ends with the status. CPU time counts from the fork. */
#include "workload.h"

int main(int argc, char **argv)
{
	long long began = clock_ns(CLOCK_MONOTONIC), before = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	long long ms = argc > 1 ? strtol(argv[1], NULL, 10) : 1, after;

	do {
		for (volatile int i = 0; i < 10000; i++)
			;
		after = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	} while (after - before < ms * 1000000);
	printf("{\"pid\": %d, \"began\": %lld, \"before\": %lld, \"after\": %lld, ", getpid(),
	       began, before, after);
	printf("\"ended\": %lld}\n", clock_ns(CLOCK_MONOTONIC));
	fflush(stdout);
	_exit(argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0);
}
