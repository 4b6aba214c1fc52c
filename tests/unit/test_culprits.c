// SPDX-License-Identifier: Apache-2.0
/* Who kept threads from running: how that is added up, put in order and named. */
#include <stdlib.h>
#include <string.h>

#include "cli/model/culprit.h"
#include "cli/model/fold.h"
#include "cli/model/sample.h"
#include "cli/model/verdict.h"
#include "tap.h"

TEST(culprits)
{
	struct culprit *rows = NULL;
	struct culprit task = { .tid = 5, .pid = 4, .name = "a", .woken_ns = 1, .longest_ns = 1 };
	struct culprit other = task;
	size_t n = 0;

	ok(!culprits_add(&rows, &n, &task) && n == 1, "the first");
	task.preempted_ns = 10, task.longest_ns = 7;
	ok(!culprits_add(&rows, &n, &task) && n == 1, "the same one");
	ok(rows[0].woken_ns == 2 && rows[0].preempted_ns == 10 && rows[0].longest_ns == 7,
	   "is added");
	other.name[0] = 'b';
	ok(!culprits_add(&rows, &n, &other) && n == 2, "another program of the same thread");
	other.priority = -5;
	ok(!culprits_add(&rows, &n, &other) && n == 3, "of another priority");
	other = (struct culprit){ .kind = CULPRIT_IDLE, .tid = 5, .woken_ns = UINT64_MAX };
	ok(!culprits_add(&rows, &n, &other) && n == 4, "no task");
	ok(!culprits_add(&rows, &n, &other) && n == 4 && rows[3].woken_ns == UINT64_MAX,
	   "sums stop at the largest number");
	free(rows);
}

TEST(culprit_order)
{
	struct culprit rows[] = {
		{ .kind = CULPRIT_UNKNOWN, .woken_ns = 900 },
		{ .kind = CULPRIT_TASK, .pid = 2, .woken_ns = 5 },
		{ .kind = CULPRIT_REST, .woken_ns = 1000 },
		{ .kind = CULPRIT_THROTTLED, .preempted_ns = 50 },
		{ .kind = CULPRIT_TASK, .pid = 1, .woken_ns = 2, .preempted_ns = 3 },
	};

	culprits_sort(rows, 5);
	ok(rows[0].kind == CULPRIT_THROTTLED, "the longest first");
	ok(rows[1].pid == 1 && rows[2].pid == 2, "of the same time by PID");
	ok(rows[3].kind == CULPRIT_REST && rows[4].kind == CULPRIT_UNKNOWN,
	   "what has no name is last");
	is_u64(culprits_shown(rows, 5), 3, "and not shown by itself");
	is_u64(culprits_sum(rows, 5, 0), 1960, "sum of all");
	is_u64(culprits_sum(rows, 5, 3), 1900, "sum of the rest");
	culprits_sort(NULL, 0);
	is_u64(culprits_shown(NULL, 0), 0, "none");
}

TEST(priority)
{
	static const struct {
		uint32_t policy, prio;
		const char *name;
		int32_t priority;
	} cases[] = {
		{ 0, 120, "SCHED_OTHER", 0 },
		{ 0, 139, "SCHED_OTHER", 19 },
		{ 3, 100, "SCHED_BATCH", -20 },
		{ 5, 120, "SCHED_IDLE", 0 },
		{ 1, 98, "SCHED_FIFO", 1 },
		{ 2, 0, "SCHED_RR", 99 },
		{ 6, (uint32_t)-1, "SCHED_DEADLINE", 0 },
		{ 7, 120, "SCHED_EXT", 0 },
		{ 0, 49, "SCHED_FIFO", 50 },              /* inherited */
		{ 0, (uint32_t)-1, "SCHED_DEADLINE", 0 }, /* so is this */
		{ 4, 120, "unknown", 0 },
		{ 1000, 120, "unknown", 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct culprit culprit = { 0 };

		culprit_set_priority(&culprit, cases[i].policy, cases[i].prio);
		is_str(culprit_policies[culprit.policy], cases[i].name, "policy %zu", i);
		is_i64(culprit.priority, cases[i].priority, "priority");
	}
	ok(culprit_prio_is_real_time(99) && !culprit_prio_is_real_time(100), "real time ends");
}

TEST(label)
{
	struct culprit task = { .tid = 5, .pid = 4, .name = "sixteen bytes..." };
	struct culprit idle = { .kind = CULPRIT_IDLE };
	char label[CULPRIT_LABEL_LEN];

	is_str(culprit_label(&task, label), "sixteen bytes...[5]", "a thread");
	task.tid = 0, task.pid = INT32_MAX;
	is_str(culprit_label(&task, label), "sixteen bytes...[2147483647]", "several");
	is_str(culprit_label(&idle, label), "idle CPU", "no task");
}

#define TASKS 5000

/* Of thousands of tasks those that had most keep their rows, and no time is lost. */
TEST(many)
{
	struct culprit *rows = NULL;
	uint64_t sum = 0;
	size_t n = 0, most = 0;
	int error = 0;

	for (int32_t i = 0; i < TASKS; i++) {
		struct culprit task = { .tid = i + 1, .pid = i + 1, .own = i % 2, .longest_ns = 1 };

		task.woken_ns = i % 100 ? 10 : 1000000 + (uint64_t)i;
		sum += task.woken_ns;
		error |= culprits_add(&rows, &n, &task);
		most = n > most ? n : most;
	}
	is_i64(error, 0, "%d tasks are added", TASKS);
	ok(most <= CULPRITS_MOST, "%zu rows at most", most);
	is_u64(culprits_sum(rows, n, 0), sum, "all of their time");
	culprits_sort(rows, n);
	for (size_t i = 0; i < TASKS / 100; i++)
		is_i64(rows[i].tid, TASKS - 100 * ((int32_t)i + 1) + 1, "number %zu", i);
	ok(rows[n - 2].kind == CULPRIT_OWN && rows[n - 2].own, "own ones");
	ok(rows[n - 1].kind == CULPRIT_REST && !rows[n - 1].own, "and others, apart");
	free(rows);
}

/* Of its tasks' rows, by whose they are; by a reading of its own. */
static uint64_t tasks_of(const struct thread_row *thread, bool own)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < thread->n_culprits; i++) {
		const struct culprit *row = &thread->culprits[i];
		bool is_task = row->kind == CULPRIT_TASK || row->kind == CULPRIT_OWN ||
			       row->kind == CULPRIT_REST;

		sum += is_task && row->own == own ? culprit_ns(row) : 0;
	}
	return sum;
}

/* What each task took of a thread: put into it, and into what is all that was put. */
static void task_take(struct thread_row *thread, int32_t tid, uint64_t taken[static 2])
{
	struct culprit task = { .tid = tid, .pid = tid, .own = tid % 3 == 0 };

	task.woken_ns = (uint64_t)(tid % 7), task.preempted_ns = 1000;
	task.rt_limit = tid % 11 == 0;
	taken[task.own] += culprit_ns(&task);
	if (culprits_add(&thread->culprits, &thread->n_culprits, &task))
		abort();
}

/* Sums of tasks, own ones and others, have all that was added, whoever is told apart: of two
 * threads, of a row of both, of a sample and of its processes. What no task took is in none. */
TEST(taken)
{
	struct thread_row *threads = calloc(2, sizeof(*threads));
	struct sample sample = { .pid = 1, .threads = threads, .n_threads = 2 };
	const struct culprit idle = { .kind = CULPRIT_IDLE, .woken_ns = 5 };
	uint64_t taken[2] = { 0 };
	struct verdict verdict = { 0 };

	for (int32_t i = 0; i < 2; i++)
		threads[i] = (struct thread_row){ .tid = i + 1, .pid = 1, .members = 1 };
	for (int32_t tid = 1; tid < TASKS; tid++)
		task_take(&threads[tid & 1], tid, taken);
	ok(!culprits_add(&threads[0].culprits, &threads[0].n_culprits, &idle), "and idle");
	is_i64(sample_finish(&sample), 0, "finished");
	for (size_t i = 0; i < 2; i++) {
		is_u64(threads[i].taken_by_others, tasks_of(&threads[i], false), "others");
		is_u64(threads[i].taken_by_own_threads, tasks_of(&threads[i], true), "own threads");
	}
	is_u64(threads[0].taken_by_others + threads[1].taken_by_others, taken[0], "all of others");
	ok(!verdict_find(&verdict, &sample), "a verdict");
	is_u64(verdict.taken_by_others, taken[0], "of the sample");
	is_u64(verdict.taken_by_own_threads, taken[1], "both");
	verdict_clear(&verdict);
	ok(!thread_merge(&threads[0], &threads[1]), "one row of both");
	is_u64(threads[0].taken_by_own_threads, taken[1], "has the sum");
	thread_times_sum(&threads[0]);
	is_u64(threads[0].taken_by_own_threads, taken[1], "which follows from its rows, too");
	is_u64(threads[0].taken_by_others, taken[0], "of others as well");
	sample_clear(&sample);
}

/* A word for each kind and policy. */
TEST(words)
{
	for (int kind = 0; kind < CULPRIT_KINDS; kind++)
		ok(culprit_kinds[kind], "kind %d", kind);
	for (int policy = 0; policy < CULPRIT_POLICIES; policy++)
		ok(culprit_policies[policy], "policy %d", policy);
}
