/* SPDX-License-Identifier: Apache-2.0 */
/* Usage: render THREADS CALLS ROUNDS. Makes a report out of a sample of so many
 * threads with so many different system calls each, and prints for each round the
 * ns that sorting and writing it took. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../../cli/report/text.h"
#include "../../cli/sample.h"

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

static void thread_fill(struct thread_row *thread, unsigned int index, size_t calls)
{
	struct ledger *ledger = &thread->ledger;

	thread->tid = 1000 + (pid_t)index;
	thread->members = 1;
	snprintf(thread->name, sizeof(thread->name), "worker%u", index * 7919 % 100000);
	thread->n_calls = calls;
	thread->calls = must(calloc(calls, sizeof(*thread->calls)));
	for (size_t i = 0; i < calls; i++)
		thread->calls[i] = (struct call_row){ (uint32_t)(i * 37 % 300), i + 1,
						      i * 7919 % 1000 * 1000, 12345 };
	ledger->life = SECOND;
	ledger->exec = SECOND / 4;
	ledger->exec_known = true;
	ledger->ns[LEDGER_USER] = ledger->ns[LEDGER_KERNEL] = SECOND / 8;
	ledger->ns[LEDGER_BLOCKED] = SECOND / 4 * 3;
	thread->run = (struct kd_span){ 12, SECOND / 4, SECOND / 12, 1000 };
	thread->ready = (struct kd_count){ 12, 120000, 45678 };
	thread->voluntary = 10;
	thread->cpus[0] = 5;
}

/* Returns the ns it took, 0 if it failed. */
static unsigned long long render(unsigned int threads, size_t calls, FILE *out)
{
	struct sample sample = { .pid = 1000, .end = SECOND };
	unsigned long long begin, took;
	int error;

	sample.n_threads = threads;
	sample.threads = must(calloc(threads, sizeof(*sample.threads)));
	for (unsigned int i = 0; i < threads; i++)
		thread_fill(&sample.threads[i], i, calls);
	begin = now();
	error = sample_finish(&sample);
	if (!error)
		error = report_text(&sample, out);
	took = now() - begin;
	sample_clear(&sample);
	return error ? 0 : took;
}

int main(int argc, char **argv)
{
	FILE *out = fopen("/dev/null", "we");

	if (argc != 4 || !out)
		return 64;
	for (long round = strtol(argv[3], NULL, 10); round > 0; round--) {
		unsigned long long ns = render((unsigned int)strtoul(argv[1], NULL, 10),
					       strtoul(argv[2], NULL, 10), out);

		if (!ns)
			return 1;
		printf("%llu\n", ns);
	}
	fclose(out);
	return 0;
}
