/* SPDX-License-Identifier: Apache-2.0 */
/* USDT probes of <sys/sdt.h>, with semaphores (sdt_plain.c: without): a probe at
 * one site, one at three sites, and a pair around a piece of work.
 *
 *   -> ready
 *   <- one N        hits kdtest:one N times
 *   <- many N       hits kdtest:many N times at each of its three sites
 *   <- pair N US    hits kdtest:begin and kdtest:end N times, US microseconds apart
 *   <- counts       {"one": ..., "many": ..., "pair": ..., "semaphores": [one, many, begin,
 *                   end], "pairs": [[before, begin, end, after], ...]} so far
 *
 * Each command but counts is answered with "done". A program of its own for its sections. */
#include "workload.h"

#if defined(__has_include)
#if __has_include(<sys/sdt.h>)
#define HAVE_SDT
#endif
#endif

#ifdef HAVE_SDT
#ifndef PLAIN
#define _SDT_HAS_SEMAPHORES 1
#endif
#include <sys/sdt.h>

#ifndef PLAIN
#define SEMAPHORE(name)                                                                            \
	unsigned short kdtest_##name##_semaphore __attribute__((section(".probes"), used))
#define ENABLED(name) (*(volatile unsigned short *)&kdtest_##name##_semaphore)
#else
#define SEMAPHORE(name) struct kdtest_##name
#define ENABLED(name) 0
#endif

SEMAPHORE(one);
SEMAPHORE(many);
SEMAPHORE(begin);
SEMAPHORE(end);

#define LOG_ROOM 1000

static long n_one, n_many, n_pair;
static long long pairs[LOG_ROOM][4];

__attribute__((noinline)) static void site_first(void)
{
	DTRACE_PROBE1(kdtest, many, 1);
}

__attribute__((noinline)) static void site_second(void)
{
	DTRACE_PROBE1(kdtest, many, 2);
}

__attribute__((noinline)) static void site_third(void)
{
	DTRACE_PROBE1(kdtest, many, 3);
}

static void hit_one(long count)
{
	for (long i = 0; i < count; i++, n_one++)
		DTRACE_PROBE2(kdtest, one, i, count);
}

static void hit_many(long count)
{
	for (long i = 0; i < count; i++, n_many++) {
		site_first();
		site_second();
		site_third();
	}
}

static void hit_pair(long count, long us)
{
	for (long i = 0; i < count; i++, n_pair++) {
		long long *pair = pairs[n_pair % LOG_ROOM];

		pair[0] = now_ns();
		DTRACE_PROBE(kdtest, begin);
		pair[1] = now_ns();
		spin_until(pair[1] + us * 1000);
		pair[2] = now_ns();
		DTRACE_PROBE(kdtest, end);
		pair[3] = now_ns();
	}
}

static void counts_print(void)
{
	printf("{\"one\": %ld, \"many\": %ld, \"pair\": %ld, \"semaphores\": [%d, %d, %d, %d], "
	       "\"pairs\": ",
	       n_one, n_many, n_pair, ENABLED(one), ENABLED(many), ENABLED(begin), ENABLED(end));
	rows_print(*pairs, n_pair < LOG_ROOM ? n_pair : LOG_ROOM, 4);
	say("}");
}

int main(void)
{
	long count, us;

	say_ready();
	for (;;) {
		const char *line = command();

		if (!strcmp(line, "counts")) {
			counts_print();
			continue;
		}
		if (sscanf(line, "one %ld", &count) == 1)
			hit_one(count);
		else if (sscanf(line, "many %ld", &count) == 1)
			hit_many(count);
		else if (sscanf(line, "pair %ld %ld", &count, &us) == 2)
			hit_pair(count, us);
		else
			unknown(line);
		say("done");
	}
}
#else
int main(void)
{
	say("ready without sys/sdt.h");
	wait_for("end");
	return 0;
}
#endif
