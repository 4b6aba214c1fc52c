/* SPDX-License-Identifier: Apache-2.0 */
/* Usage: summarise THREADS MEASURES SAMPLES ROUNDS. Adds up so many samples of so many threads, of
 * each of which so many measures are not 0, and prints for each round the ns of CPU time that it
 * took, and in a last line the bytes. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/model/summary.h"
#include "cli/model/verdict.h"

#define SECOND 1000000000ULL

static unsigned long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return time.tv_sec * SECOND + time.tv_nsec;
}

static void *must(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

static void fill(struct thread_row *row, const struct summary *summary, unsigned int measures)
{
	for (size_t i = 0; i < summary->measures.n && measures; i++) {
		const struct measure *measure = &summary->measures.all[i];
		uint64_t figure = (uint64_t)rand() + 1;

		if (measure->of_verdict || measure->far)
			continue;
		memcpy((char *)row + measure->at, &figure, sizeof(figure));
		measures--;
	}
}

/* ns for all samples; *bytes: what it kept. */
static unsigned long long round_take(const struct sample *sample, unsigned int samples,
				     size_t *bytes)
{
	size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
	struct summary *summary = must(summary_new(0.2));
	unsigned long long start = now(), took;

	for (unsigned int i = 0; i < samples; i++)
		if (summary_add(summary, sample))
			abort();
	took = now() - start;
	*bytes = mallinfo2().uordblks + mallinfo2().hblkhd - before;
	summary_free(summary);
	return took;
}

int main(int argc, char **argv)
{
	unsigned int size[4];
	struct sample sample = { .start = SECOND, .end = 2 * SECOND };
	struct summary *summary = must(summary_new(0.2));
	struct verdict verdict = { 0 };
	size_t bytes = 0;

	if (argc != 5)
		return 64;
	for (int i = 0; i < 4; i++)
		size[i] = (unsigned int)strtoul(argv[i + 1], NULL, 10);
	sample.n_threads = size[0];
	sample.threads = must(calloc(size[0], sizeof(*sample.threads)));
	for (unsigned int i = 0; i < size[0]; i++) {
		struct thread_row *row = &sample.threads[i];

		row->tid = (pid_t)i + 1;
		row->members = 1;
		snprintf(row->name, sizeof(row->name), "thread%u", i % 1000);
		fill(row, summary, size[1]);
	}
	if (verdict_find(&verdict, &sample))
		abort();
	for (unsigned int i = 0; i < size[3]; i++) {
		unsigned long long took = round_take(&sample, size[2], &bytes);

		printf("%llu\n", took);
	}
	printf("%zu\n", bytes);
	summary_free(summary);
	verdict_clear(&verdict);
	free(sample.threads);
	return 0;
}
