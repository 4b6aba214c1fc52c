/* SPDX-License-Identifier: Apache-2.0 */
/* Usage: timeline WAITS ROUNDS [recorded]. Makes a timeline out of a sample of so many waits of a
 * hundred threads, each of which another one ended: four events each; or of a recording with a run
 * before each of them, on two CPUs: eight. Prints for each round the ns that writing it took. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cli/model/verdict.h"
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

static void recording_add(struct sample *sample, unsigned long waits)
{
	struct recording *recording = calloc(1, sizeof(*recording));
	struct spans *states = &recording->spans[SPAN_STATES];
	unsigned long each = waits / THREADS;
	uint64_t first = sample->start - SECOND;

	if (!recording)
		abort();
	sample->recording = recording;
	recording->from = first;
	recording->threads = calloc(THREADS, sizeof(*recording->threads));
	if (!recording->threads)
		abort();
	for (unsigned long i = 0; i < each * THREADS; i++) {
		pid_t tid = 1000 + (pid_t)(i / each);
		struct span run = { .start = first + i % each * 1000,
				    .tid = tid,
				    .cpu = (uint32_t)(tid % 2),
				    .state = KD_USER,
				    .of_target = true,
				    .call = KD_CALL_NONE };
		struct span wait = run;

		run.end = wait.start = run.start + 10;
		wait.end = run.start + 1000;
		wait.state = KD_BLOCKED;
		wait.awaited = KD_AWAITED_LOCK;
		wait.from = KD_FROM_TASK;
		wait.waker = 1000 + (pid_t)(i * 7 % THREADS);
		if (spans_add(states, &run) || spans_add(states, &wait))
			abort();
	}
	for (pid_t i = 0; i < THREADS; i++)
		recording->threads[recording->n_threads++] = (struct recorded_thread){
			.tid = 1000 + i, .pid = 1000, .name = "worker", .of_target = true
		};
	sample->end = first + (each + 1) * 1000 + SECOND;
}

int main(int argc, char **argv)
{
	static const struct report_options options;
	struct sample sample = traces_begin();
	FILE *out = fopen("/dev/null", "we");
	struct verdict verdict = { 0 };
	int error = 0;

	if (argc < 3 || !out)
		return 64;
	if (argc > 3)
		recording_add(&sample, strtoul(argv[1], NULL, 10));
	else
		waits_add(&sample, strtoul(argv[1], NULL, 10));
	if (verdict_find(&verdict, &sample))
		abort();
	for (long round = strtol(argv[2], NULL, 10); round > 0 && !error; round--) {
		unsigned long long begin = now();

		error = report_perfetto(&sample, &options, out);
		printf("%llu\n", now() - begin);
	}
	verdict_clear(&verdict);
	sample_clear(&sample);
	fclose(out);
	return error ? 1 : 0;
}
