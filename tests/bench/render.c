/* SPDX-License-Identifier: Apache-2.0 */
/* Usage: render FORMAT THREADS CALLS BUCKETS ROUNDS. Makes a report out of a sample of so
 * many threads with so many different system calls each, each of whose durations and
 * of the threads' are distributed over so many buckets, and prints for each round the
 * ns that sorting and writing it took. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/json/json.h"
#include "cli/model/sample.h"
#include "cli/text/text.h"
#include "tests/unit/judged.h"
#include "tests/unit/metrics_report.h"

#define SECOND 1000000000ULL

static unsigned long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * SECOND + time.tv_nsec;
}

static void *must(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

/* So much of everything. */
struct size {
	unsigned int threads;
	size_t calls, buckets;
};

static int text(const struct sample *sample, const struct report_options *options, FILE *out)
{
	(void)options;
	return report_text(sample, &(struct report_options){ 0 }, out);
}

static const struct format {
	const char *name;
	int (*report)(const struct sample *sample, const struct report_options *options, FILE *out);
} formats[] = {
	{ "text", text },
	{ "json", report_json },
	{ "openmetrics", report_openmetrics },
	{ "prometheus", report_prometheus },
};

static const struct format *format_of(const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	return NULL;
}

/* Of a 16th of a power of two each, from 1 us on. */
static void times_fill(struct distribution *times, size_t buckets)
{
	for (unsigned int i = 0; i < buckets; i++)
		if (distribution_append(times, distribution_limit(16 * 7 + i, 4), 1 + i % 7))
			abort();
}

static void thread_fill(struct thread_row *thread, unsigned int index, const struct size *size)
{
	const size_t calls = size->calls;
	struct ledger *ledger = &thread->ledger;

	thread->tid = 1000 + (pid_t)index;
	thread->members = 1;
	snprintf(thread->name, sizeof(thread->name), "worker%u", index * 7919 % 100000);
	thread->n_calls = calls;
	thread->calls = must(calloc(calls, sizeof(*thread->calls)));
	for (size_t i = 0; i < calls; i++) {
		thread->calls[i] = (struct call_row){ .number = (uint32_t)(i * 37 % 300),
						      .count = i + 1,
						      .total = i * 7919 % 1000 * 1000,
						      .max = 12345 };
		times_fill(&thread->calls[i].times, size->buckets);
	}
	times_fill(&thread->run_times, size->buckets);
	times_fill(&thread->ready_times, size->buckets);
	ledger->life = SECOND;
	ledger->exec = SECOND / 4;
	ledger->has_exec = true;
	ledger->ns[LEDGER_USER] = ledger->ns[LEDGER_KERNEL] = SECOND / 8;
	ledger->ns[LEDGER_BLOCKED] = SECOND / 4 * 3;
	thread->run = (struct kd_span){ 12, SECOND / 4, SECOND / 12, 1000, 0 };
	thread->ready = (struct kd_count){ 12, 120000, 45678, 0 };
	thread->voluntary = 10;
	thread->cpus[0] = 5;
}

/* Returns the ns it took, 0 if it failed. */
static unsigned long long render(const struct format *format, const struct size *size, FILE *out)
{
	static const struct report_options options = { .per_thread = true };
	struct sample sample = { .pid = 1000, .end = SECOND };
	unsigned long long begin, took;
	int error;

	sample.n_threads = size->threads;
	sample.threads = must(calloc(size->threads, sizeof(*sample.threads)));
	for (unsigned int i = 0; i < size->threads; i++)
		thread_fill(&sample.threads[i], i, size);
	begin = now();
	error = sample_finish(&sample);
	if (!error)
		error = format->report(judged(&sample), &options, out);
	took = now() - begin;
	sample_clear(&sample);
	return error ? 0 : took;
}

int main(int argc, char **argv)
{
	const struct format *format = argc == 6 ? format_of(argv[1]) : NULL;
	FILE *out = fopen("/dev/null", "we");
	struct size size;

	if (!format || !out)
		return 64;
	size.threads = (unsigned int)strtoul(argv[2], NULL, 10);
	size.calls = strtoul(argv[3], NULL, 10);
	size.buckets = strtoul(argv[4], NULL, 10);
	for (long round = strtol(argv[5], NULL, 10); round > 0; round--) {
		unsigned long long ns = render(format, &size, out);

		if (!ns)
			return 1;
		printf("%llu\n", ns);
	}
	fclose(out);
	return 0;
}
