// SPDX-License-Identifier: Apache-2.0
/* --- computes: a thread that computes, four fifths of the time in much() ---
 *
 * Without system calls, and without calls of libraries in these functions.
 *
 *   <- log  -> {"much": ns, "little": ns}: CPU time in each so far */
#include "workload.h"

#include <poll.h>

#define PIECE 200000

static volatile unsigned long sink;

FRAME void much(long n)
{
	for (long i = 0; i < n; i++)
		sink += (unsigned long)i * 3;
}

FRAME void little(long n)
{
	for (long i = 0; i < n; i++)
		sink += (unsigned long)i * 5;
}

static long long timed(void (*compute)(long), long n)
{
	long long before = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	compute(n);
	return clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
}

VERB(computes, 0, 0, "")
{
	struct pollfd told = { .fd = STDIN_FILENO, .events = POLLIN };
	long long in_much = 0, in_little = 0;

	say_ready();
	for (;;) {
		if (poll(&told, 1, 0) == 1) {
			wait_for("log");
			say("{\"much\": %lld, \"little\": %lld}", in_much, in_little);
		}
		for (int i = 0; i < 100; i++) {
			in_much += timed(much, 4 * PIECE);
			in_little += timed(little, PIECE);
		}
	}
	return 0;
}
