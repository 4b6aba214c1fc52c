/* SPDX-License-Identifier: Apache-2.0 */
/* Usage: timeline WAITS ROUNDS. Makes a timeline out of a sample of so many waits of a hundred
 * threads, each of which another one ended: four events each. Prints for each round the ns that
 * writing it took. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cli/perfetto/perfetto.h"
#include "tests/unit/traces_sample.h"

#define THREADS 100

static unsigned long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (unsigned long long)time.tv_sec * SECOND + (unsigned long long)time.tv_nsec;
}

static void waits_add(struct sample *sample, unsigned long waits)
{
	for (unsigned long i = 0; i < waits; i++) {
		struct trace_row row = trace(TRACE_WAIT, 1000 + (pid_t)(i % THREADS), "worker",
					     "futex");

		row.state = i % 3 ? KD_BLOCKED : KD_READY_WOKEN;
		row.start = sample->start + i * 1000;
		row.end = row.start + 900;
		row.user = i % 5 ? &user_main : &user_cpp;
		row.kernel = i % 7 ? &kernel_futex : &kernel_module;
		row.wakers[0] = (struct waker){ .at = row.end,
						.tid = 1000 + (pid_t)(i * 7 % THREADS),
						.from = KD_FROM_TASK,
						.name = "worker" };
		trace_add(sample, row);
	}
	sample->end = sample->start + waits * 1000;
}

int main(int argc, char **argv)
{
	static const struct report_options options;
	struct sample sample = traces_begin();
	FILE *out = fopen("/dev/null", "we");
	int error = 0;

	if (argc != 3 || !out)
		return 64;
	waits_add(&sample, strtoul(argv[1], NULL, 10));
	for (long round = strtol(argv[2], NULL, 10); round > 0 && !error; round--) {
		unsigned long long begin = now();

		error = report_perfetto(&sample, &options, out);
		printf("%llu\n", now() - begin);
	}
	sample_clear(&sample);
	fclose(out);
	return error ? 1 : 0;
}
