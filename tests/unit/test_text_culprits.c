/* SPDX-License-Identifier: Apache-2.0 */
/* Who had the CPU in the text report, against golden files. */
#include "cli/text/text.h"
#include "tap.h"
#include "text_golden.h"

/* Each kind, and what can be said of a task; more of them than are shown. */
static void test_culprits(void)
{
	struct culprit some[] = {
		{ .tid = 812,
		  .pid = 811,
		  .name = "backup-agent",
		  .policy = 1,
		  .priority = 50,
		  .group = "/system.slice/\x1b[31m",
		  .preempted_ns = 500000000,
		  .longest_ns = 400000000 },
		{ .kind = CULPRIT_THROTTLED, .preempted_ns = 100000000, .longest_ns = 80000000 },
		{ .pid = 4000,
		  .name = "java",
		  .priority = 19,
		  .woken_ns = 10,
		  .preempted_ns = 20,
		  .longest_ns = 15 },
		{ .tid = 13,
		  .pid = 13,
		  .name = "ksoftirqd/0",
		  .kernel = true,
		  .ksoftirqd = true,
		  .woken_ns = 20,
		  .longest_ns = 20 },
		{ .kind = CULPRIT_IDLE, .rt_limit = true, .woken_ns = 19, .longest_ns = 19 },
		{ .kind = CULPRIT_HARDIRQ, .woken_ns = 5, .longest_ns = 3 },
		{ .kind = CULPRIT_OWN, .own = true, .woken_ns = 70, .longest_ns = 7 },
		{ .kind = CULPRIT_REST, .woken_ns = 900, .longest_ns = 300 },
		{ .kind = CULPRIT_UNKNOWN, .preempted_ns = 1000000, .longest_ns = 1000000 },
	};
	struct culprit others[] = {
		{ .tid = 3,
		  .pid = 1,
		  .name = "own\n",
		  .own = true,
		  .policy = 6,
		  .woken_ns = UINT64_MAX,
		  .preempted_ns = 1,
		  .longest_ns = UINT64_MAX },
		{ .tid = 9,
		  .pid = 9,
		  .name = "kworker",
		  .kernel = true,
		  .policy = 5,
		  .priority = -20,
		  .woken_ns = 4,
		  .longest_ns = 4 },
		{ .tid = 8,
		  .pid = 8,
		  .name = "batch",
		  .policy = 3,
		  .priority = 5,
		  .rt_limit = true,
		  .woken_ns = 3,
		  .longest_ns = 3 },
		{ .tid = 7,
		  .pid = 7,
		  .policy = CULPRIT_POLICY_UNKNOWN,
		  .woken_ns = 2,
		  .longest_ns = 2 },
	};
	struct culprit none = { .kind = CULPRIT_IDLE };
	struct thread_row rows[] = { thread(1, "kept"), thread(2, "large"), thread(3, "none") };
	struct sample sample = sample_begin();

	rows[0].culprits = some, rows[0].n_culprits = sizeof(some) / sizeof(*some);
	rows[1].culprits = others, rows[1].n_culprits = sizeof(others) / sizeof(*others);
	rows[2].culprits = &none, rows[2].n_culprits = 1;
	sample.quota = (struct cpu_quota){ "/batch", 20000000, 100000000 };
	sample.threads = rows;
	sample.n_threads = 3;
	is_golden(&sample, "culprits");
	sample.quota = (struct cpu_quota){ "", 1500000, 99999999 };
	sample.n_threads = 1;
	is_golden(&sample, "culprits_quota");
}

int main(void)
{
	test_culprits();
	return done_testing();
}
