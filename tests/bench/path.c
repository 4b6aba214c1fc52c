/* SPDX-License-Identifier: Apache-2.0 */
/* Usage: path ROWS ROUNDS. Makes a recording of about so many rows, in which threads, also of other
 * processes, hand work to one another, wait for CPUs and are interrupted, and prints for each round
 * the ns of CPU time that the critical path of its whole time takes; in a last line the rows and
 * the legs. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cli/base/array.h"
#include "cli/model/critical_path.h"
#include "cli/model/recording.h"

#define SECOND 1000000000ULL
#define THREADS 16
#define PER_TURN 8 /* rows of all kinds in a turn of a thread */

static unsigned long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return time.tv_sec * SECOND + time.tv_nsec;
}

static struct span *span(struct recording *recording, enum span_list list, struct span span)
{
	struct spans *spans = &recording->spans[list];

	if (spans_add(spans, &span))
		abort();
	return &spans->all[spans->n - 1];
}

static struct span *state(struct recording *recording, size_t thread, enum kd_state is,
			  uint64_t start, uint64_t end)
{
	return span(recording, SPAN_STATES,
		    (struct span){
			    .start = start,
			    .end = end,
			    .tid = (pid_t)thread + 1,
			    .cpu = (uint32_t)thread % 2,
			    .call = is == KD_USER ? KD_CALL_NONE : 1,
			    .state = (uint8_t)is,
			    .of_target = thread % 4 > 0,
		    });
}

/* One after the other has the work for 10 us, of which it waits 4 us for a CPU; the rest of the
 * time it waits for the one before it. */
static void thread_make(struct recording *recording, size_t thread, uint64_t turns)
{
	uint64_t at = 0;

	if (ARRAY_GROW(recording->threads, recording->n_threads, recording->capacity_threads))
		abort();
	recording->threads[recording->n_threads++] = (struct recorded_thread){
		.tid = (pid_t)thread + 1, .pid = 1, .name = "thread", .of_target = thread % 4 > 0
	};
	for (uint64_t turn = 0; turn < turns; turn++) {
		uint64_t wake = (turn * THREADS + thread) * 10000;

		if (at < wake) {
			struct span *wait = state(recording, thread, KD_BLOCKED, at, wake);

			wait->from = KD_FROM_TASK;
			wait->waker = (pid_t)((thread + THREADS - 1) % THREADS) + 1;
			at = wake;
		}
		state(recording, thread, KD_READY_WOKEN, at, wake + 4000);
		state(recording, thread, KD_KERNEL, wake + 4000, wake + 6000);
		state(recording, thread, KD_USER, wake + 6000, wake + 8000);
		state(recording, thread, KD_KERNEL, wake + 8000, wake + 10001);
		at = wake + 10001;
	}
}

static void cpu_make(struct recording *recording, uint32_t cpu, uint64_t turns)
{
	for (uint64_t wake = 0; wake < turns * THREADS * 10000; wake += 10000) {
		if (wake / 10000 % 2 != cpu)
			continue;
		span(recording, SPAN_RUNS,
		     (struct span){ wake, wake + 1500, .cpu = cpu, .tid = 99 });
		span(recording, SPAN_RUNS,
		     (struct span){ wake + 1500, wake + 4000, .cpu = cpu, .tid = 98 });
		span(recording, SPAN_IRQS,
		     (struct span){ wake + 7000, wake + 7300, .cpu = cpu, .name = "timer" });
	}
}

int main(int argc, char **argv)
{
	struct recording recording = { 0 };
	struct critical_path path;
	uint64_t turns;

	if (argc != 3)
		return 64;
	turns = strtoull(argv[1], NULL, 10) / THREADS / PER_TURN;
	for (size_t thread = 0; thread < THREADS; thread++)
		thread_make(&recording, thread, turns);
	for (uint32_t cpu = 0; cpu < 2; cpu++)
		cpu_make(&recording, cpu, turns);
	recording.to = turns * THREADS * 10000;
	for (unsigned long round = strtoul(argv[2], NULL, 10); round; round--) {
		unsigned long long start = now();

		path = (struct critical_path){ .thread = { .tid = THREADS }, .end = recording.to };
		if (critical_path_find(&path, &recording))
			abort();
		printf("%lld\n", (long long)(now() - start));
		turns = path.legs;
		critical_path_clear(&path);
	}
	printf("%zu %llu\n",
	       recording.spans[SPAN_STATES].n + recording.spans[SPAN_RUNS].n +
		       recording.spans[SPAN_IRQS].n,
	       (unsigned long long)turns);
	recording_clear(&recording);
	return 0;
}
