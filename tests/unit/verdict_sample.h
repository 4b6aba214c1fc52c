/* SPDX-License-Identifier: Apache-2.0 */
/* Samples for tests of the verdict and of the first screen. */
#ifndef TESTS_UNIT_VERDICT_SAMPLE_H
#define TESTS_UNIT_VERDICT_SAMPLE_H

#include <string.h>

#include "cli/base/syscall_names.h"
#include "cli/model/sample.h"

#define SECOND 1000000000ULL
#define MILLI 1000000ULL

/* A second of a process. */
__attribute__((unused)) static struct sample verdict_sample(struct thread_row *threads, size_t n)
{
	static const struct capture capture = { .process = "staged" };

	return (struct sample){
		.capture = &capture,
		.pid = 4711,
		.start = 100 * SECOND,
		.end = 101 * SECOND,
		.wall_dump = { .tv_sec = 1795218874, .tv_nsec = 981958999 },
		.threads = threads,
		.n_threads = n,
	};
}

/* A thread that ran in user mode for all of its life but what the test then moves. */
__attribute__((unused)) static struct thread_row runner(pid_t tid, const char *name)
{
	struct thread_row row = { .tid = tid, .members = 1, .run = { .count = 100 } };

	memcpy(row.name, name, strlen(name) < sizeof(row.name) ? strlen(name) : sizeof(row.name));
	row.ledger.life = row.ledger.ns[LEDGER_USER] = SECOND;
	row.cpus[0] = 1;
	return row;
}

__attribute__((unused)) static void spend(struct thread_row *row, enum ledger_state state,
					  uint64_t ns)
{
	row->ledger.ns[LEDGER_USER] -= ns;
	row->ledger.ns[state] += ns;
}

/* So often, for so long in all and at once. */
__attribute__((unused)) static struct kd_count times(uint64_t count, uint64_t total, uint64_t max)
{
	return (struct kd_count){ .count = count, .total = total, .max = max };
}

#endif
