/* SPDX-License-Identifier: Apache-2.0 */
/* Samples for tests of the verdict and of the first screen. */
#ifndef TESTS_UNIT_VERDICT_SAMPLE_H
#define TESTS_UNIT_VERDICT_SAMPLE_H

#include <string.h>

#include "cli/base/syscall_set.h"
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

/* A culprit that had the CPU for so long, half of it at once. */
__attribute__((unused)) static struct culprit by(enum culprit_kind kind, const char *name,
						 pid_t tid, uint64_t ns)
{
	struct culprit culprit = { .kind = kind,
				   .tid = tid,
				   .pid = tid,
				   .woken_ns = ns,
				   .longest_ns = ns / 2,
				   .policy = 1,
				   .priority = 50 };

	memcpy(culprit.name, name, strlen(name));
	return culprit;
}

#define HOSTILE 8

/* Threads with names as wide as they can be and worse, and figures as large. */
__attribute__((unused)) static struct sample hostile_sample(struct thread_row rows[static HOSTILE])
{
	static const char *const names[HOSTILE] = { "\033[2J\033]0;x\007\n\n\n\n\n",
						    "中中中中中",
						    "a b  c   d    ",
						    "exactly15bytes_",
						    "",
						    "\xff\xff\xff\xff\xff\xff\xff\xff\xff",
						    "16bytes_unended_",
						    "\xe2\x80\xae\xe2\x80\xae\xe2\x80\xae" };
	static const struct capture capture = { .process = "\033\033\033\033\033\033\033\033" };
	struct sample sample = verdict_sample(rows, HOSTILE);

	sample.capture = &capture;
	sample.pid = INT32_MAX;
	memset(sample.losses, 0xff, sizeof(sample.losses));
	for (size_t i = 0; i < HOSTILE; i++) {
		rows[i] = runner(INT32_MAX - (pid_t)i, names[i]);
		memset(rows[i].cpus, 0x55, sizeof(rows[i].cpus));
		rows[i].ledger.life = UINT64_MAX;
		rows[i].ready = times(UINT64_MAX, UINT64_MAX, UINT64_MAX);
		for (size_t state = 0; state < LEDGER_STATES; state++)
			rows[i].ledger.ns[state] = UINT64_MAX / 9 - i;
	}
	rows[0].members = UINT32_MAX;
	return sample;
}

#endif
