// SPDX-License-Identifier: Apache-2.0
/* Processes of a sample: their order, folding of those that have ended, sums of their threads. */
#include <stdlib.h>

#include "cli/model/sample.h"
#include "cli/model/verdict.h"
#include "tap.h"
#include "verdict_sample.h"

static struct process_row process(pid_t pid, const char *name, const char *title, bool ended)
{
	struct process_row row = { .pid = pid, .ended = ended };

	snprintf(row.name, sizeof(row.name), "%s", name);
	snprintf(row.title, sizeof(row.title), "%s", title);
	return row;
}

static struct process_row begun(struct process_row row, uint64_t start)
{
	row.start = start;
	return row;
}

static struct thread_row thread(pid_t pid, pid_t tid, const char *name, uint64_t ready)
{
	struct thread_row row = runner(tid, name);

	row.pid = pid;
	spend(&row, LEDGER_READY_WOKEN, ready);
	row.ready = times(10, ready, ready / 5);
	return row;
}

static void *copy(const void *from, size_t size)
{
	void *to = malloc(size);

	need(to);
	return memcpy(to, from, size);
}

/* A sample that owns copies. */
static struct sample sample_of(const struct process_row *processes, size_t n_processes,
			       const struct thread_row *threads, size_t n_threads)
{
	struct sample sample = verdict_sample(NULL, n_threads);

	sample.processes = copy(processes, n_processes * sizeof(*processes));
	sample.n_processes = n_processes;
	sample.threads = copy(threads, n_threads * sizeof(*threads));
	return sample;
}

TEST(order)
{
	const struct process_row processes[] = { process(30, "c", "", false),
						 process(10, "a", "", false),
						 process(20, "b", "", false) };
	const struct thread_row threads[] = { thread(30, 30, "worker", 0),
					      thread(10, 11, "worker", 0),
					      thread(20, 20, "worker", 0),
					      thread(10, 10, "main", 0) };
	static const pid_t tids[] = { 10, 11, 20, 30 };
	struct sample sample = sample_of(processes, 3, threads, 4);

	is_i64(sample_finish(&sample), 0, "it is finished");
	is_u64(sample.n_processes, 3, "three processes");
	is_u64(processes_count(&sample), 3, "and as many in all rows");
	for (size_t i = 0; i < 3; i++)
		is_i64(sample.processes[i].pid, 10 * ((pid_t)i + 1), "by PID");
	for (size_t i = 0; i < 4; i++)
		is_i64(sample.threads[i].tid, tids[i], "threads by process, then by name");
	is_str(process_at(&sample, 20, UINT64_MAX)->name, "b", "one is found");
	ok(!process_at(&sample, 15, UINT64_MAX), "another one is not");
	sample_clear(&sample);
}

/* Threads of one name that have ended are one row in each process, not of several. */
TEST(threads_apart)
{
	const struct process_row processes[] = { process(10, "a", "", false),
						 process(20, "a", "", false) };
	struct thread_row threads[6];
	struct sample sample;

	for (size_t i = 0; i < 6; i++) {
		threads[i] = thread(i < 2 ? 10 : 20, (pid_t)(100 + i), "short", MILLI);
		threads[i].ended = true;
	}
	sample = sample_of(processes, 2, threads, 6);
	is_i64(sample_finish(&sample), 0, "it is finished");
	is_u64(sample.n_threads, 2, "a row for each process");
	is_u64(sample.threads[0].members, 2, "of two threads");
	is_i64(sample.threads[0].pid, 10, "of the one process");
	is_u64(sample.threads[1].members, 4, "and of four");
	is_i64(sample.threads[1].pid, 20, "of the other");
	sample_clear(&sample);
}

/* What was folded before is folded with those that have ended since, however few these are. */
TEST(again)
{
	struct process_row processes[] = { process(10, "sh", "", true), process(20, "sh", "", true),
					   process(30, "sh", "", false) };
	const struct thread_row threads[] = { thread(10, 10, "sh", MILLI),
					      thread(20, 20, "sh", MILLI),
					      thread(30, 30, "sh", MILLI) };
	struct sample sample;

	processes[0].members = SAMPLE_FOLD;
	sample = sample_of(processes, 3, threads, 3);
	is_i64(processes_fold_open(&sample), 0, "it is folded");
	is_u64(sample.n_processes, 2, "into two rows");
	is_u64(process_at(&sample, 10, UINT64_MAX)->members, SAMPLE_FOLD + 1, "of one more");
	is_i64(sample.threads[1].pid, 10, "whose thread is moved");
	is_i64(sample.threads[2].pid, 30, "another one is not");
	sample_clear(&sample);
}

/* With room for so many processes of one thread each. */
static struct sample sample_with_capacity(size_t n)
{
	struct sample sample = verdict_sample(calloc(n, sizeof(*sample.threads)), 0);

	sample.processes = calloc(n, sizeof(*sample.processes));
	need(sample.processes && sample.threads);
	return sample;
}

static void row_add(struct sample *sample, struct process_row row, uint64_t ready)
{
	struct thread_row of = thread(row.pid, row.pid, row.name, ready);

	of.process_start = row.start;
	of.ended = row.ended;
	sample->processes[sample->n_processes++] = row;
	sample->threads[sample->n_threads++] = of;
}

/* PIDs of rows of a window that is open are used again: by one that goes on, by one that ends and
 * is folded, too, and by none. */
TEST(pids_again)
{
	struct sample sample = sample_with_capacity(2 * SAMPLE_FOLD + 6);
	struct process_sum *sums = NULL;
	struct verdict verdict = { 0 };

	for (pid_t i = 0; i < SAMPLE_FOLD + 1; i++) {
		row_add(&sample, process(10 + i, "sh", "", true), MILLI);
		row_add(&sample, process(30 + i, "cc1", "", true), MILLI);
	}
	row_add(&sample, process(20, "make", "", true), MILLI);
	is_i64(processes_fold_open(&sample), 0, "they are folded");
	is_u64(sample.n_processes, 3, "into three rows");
	for (size_t i = 0; i < sample.n_threads; i++)
		ok(process_of(&sample, &sample.threads[i]), "their threads find them");

	row_add(&sample, begun(process(20, "ld", "", true), 500), 10 * MILLI);
	row_add(&sample, begun(process(31, "cc1", "", true), 600), MILLI);
	is_i64(processes_fold_open(&sample), 0, "they are folded again");
	is_u64(sample.n_processes, 4, "those of the old name with the others");

	row_add(&sample, begun(process(10, "postgres", "", false), 700), 100 * MILLI);
	is_i64(sample_finish(&sample), 0, "the window is closed");
	is_u64(sample.n_processes, 5, "and has one more");
	is_str(process_at(&sample, 10, UINT64_MAX)->name, "postgres", "the newest of its PID");
	is_str(process_at(&sample, 10, 700)->name, "postgres", "from its start on");
	is_str(process_at(&sample, 10, 699)->name, "sh", "the older ones until then");
	is_str(process_at(&sample, 20, 499)->name, "make", "as of another PID");
	is_str(process_at(&sample, 20, 500)->name, "ld", "whose it is later");
	ok(!process_at(&sample, 11, 600), "none had one that was folded");
	is_u64(process_at(&sample, 30, 0)->members, SAMPLE_FOLD + 2, "all are in one");
	ok(!verdict_find(&verdict, &sample) && !processes_sum(&sample, &sums), "sums");
	is_str(sums[0].process->name, "postgres", "each has what its threads had");
	is_u64(sums[0].ready, 100 * MILLI, "the living one");
	is_str(sums[1].process->name, "ld", "then one of two with a PID");
	is_u64(sums[1].ready, 10 * MILLI, "has no more than its own");
	is_str(sums[2].process->name, "cc1", "then");
	is_u64(sums[2].threads, SAMPLE_FOLD + 2, "those of a name");
	is_str(sums[3].process->name, "sh", "and those whose PID is another's");
	is_u64(sums[3].threads, SAMPLE_FOLD + 1, "with their threads");
	is_str(sums[4].process->name, "make", "and the other of two");
	is_u64(sums[4].ready, MILLI, "with no more than its own");
	free(sums);
	verdict_clear(&verdict);
	sample_clear(&sample);
}

/* Each process has a name of its own, but for a few: memory is bounded anyway. */
TEST(names)
{
	struct sample sample = sample_with_capacity(PROCESS_ROWS + 300 + SAMPLE_FOLD + 1);
	const struct process_row *others = NULL;
	char name[32];
	uint64_t members = 0;

	for (pid_t i = 0; i < PROCESS_ROWS + 200; i++) {
		snprintf(name, sizeof(name), "job-%d", i);
		row_add(&sample, process(1000 + i, name, "", true), MILLI);
	}
	for (pid_t i = 0; i < SAMPLE_FOLD + 1; i++)
		row_add(&sample, process(500000 + i, "sh", "", true), MILLI);
	is_i64(processes_fold_open(&sample), 0, "they are folded");
	is_u64(sample.n_processes, PROCESS_ROWS + 1, "into so many rows and one");
	for (pid_t i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "more-%d", i);
		row_add(&sample, process(1000 + i, name, "", true), MILLI);
	}
	is_i64(processes_fold_open(&sample), 0, "they are folded again");
	is_u64(sample.n_processes, PROCESS_ROWS, "into as many, with that one");
	is_i64(sample_finish(&sample), 0, "the window is closed");
	is_u64(sample.n_processes, PROCESS_ROWS, "with these rows");
	is_u64(processes_count(&sample), PROCESS_ROWS + 300 + SAMPLE_FOLD + 1, "none is lost");
	for (size_t i = 0; i < sample.n_processes; i++)
		if (!strcmp(sample.processes[i].name, PROCESS_OTHERS))
			others = &sample.processes[i];
	ok(others, "one is that of all others");
	is_u64(process_at(&sample, 500000, UINT64_MAX)->members, SAMPLE_FOLD + 1,
	       "a name of many is kept");
	is_u64(sample.n_threads, sample.n_processes, "a row of threads for each");
	for (size_t i = 0; others && i < sample.n_threads; i++)
		if (sample.threads[i].pid == others->pid)
			members += sample.threads[i].members;
	is_u64(members, others ? others->members : 0, "the others have all of theirs");
	sample_clear(&sample);
}

#define STORM 5000

TEST(storm)
{
	struct process_row *processes = calloc(STORM + 5, sizeof(*processes));
	struct thread_row *threads = calloc(STORM + 5, sizeof(*threads));
	struct sample sample = verdict_sample(threads, STORM + 5);
	struct process_sum *sums = NULL;
	struct verdict verdict = { 0 };
	uint64_t begun = 0;

	need(processes && threads);
	sample.processes = processes;
	sample.n_processes = STORM + 5;
	for (size_t i = 0; i < STORM + 5; i++) {
		pid_t pid = (pid_t)(100000 - i);
		bool storm = i < STORM;

		processes[i] = process(pid, storm ? "sh" : "sleep", "sh -c true", true);
		processes[i].began = i < STORM / 2;
		threads[i] = thread(pid, pid, storm ? "sh" : "sleep", storm ? MILLI : 0);
		threads[i].ended = true;
	}
	strcpy(processes[4].title, "another");
	processes[STORM].ended = false; /* and four that have ended: they stay */
	is_i64(sample_finish(&sample), 0, "5,000 processes");
	is_u64(sample.n_processes, 7,
	       "a row of those that have ended, one of those that began, too");
	is_u64(processes_count(&sample), STORM + 5, "and none is lost");
	is_u64(sample.n_threads, 7, "their threads, too");
	is_u64(process_at(&sample, 100000 - STORM, UINT64_MAX)->members, 1,
	       "one that goes on is not of them");
	for (size_t i = 0; i < sample.n_processes; i++) {
		const struct process_row *row = &sample.processes[i];

		if (strcmp(row->name, "sh"))
			continue;
		is_u64(row->members, STORM / 2, "so many");
		is_i64(row->pid, 100000 - (row->began ? STORM / 2 : STORM) + 1,
		       "it has the first's PID");
		is_str(row->title, row->began ? "" : "sh -c true", "the title if all have it");
		begun += row->began ? row->members : 0;
	}
	is_u64(begun, STORM / 2, "no more have begun than did");
	ok(!verdict_find(&verdict, &sample) && !processes_sum(&sample, &sums), "sums");
	is_str(sums[0].process->name, "sh", "those first that lost most");
	is_u64(sums[0].threads, STORM / 2, "all threads");
	is_u64(sums[0].ready, STORM / 2 * MILLI, "all waits");
	is_u64(sums[0].delay, STORM / 2 * MILLI, "which kept them from running");
	free(sums);
	verdict_clear(&verdict);
	sample_clear(&sample);
}

TEST(sums)
{
	const struct process_row processes[] = { process(10, "a", "", false),
						 process(20, "b", "", false),
						 process(30, "none", "", false) };
	struct thread_row threads[] = { thread(10, 10, "main", 100 * MILLI),
					thread(20, 20, "main", 50 * MILLI),
					thread(20, 21, "worker", 200 * MILLI),
					thread(40, 40, "stranger", 500 * MILLI) };
	struct process_sum *sums = NULL;
	struct verdict verdict = { 0 };
	struct sample sample;

	spend(&threads[2], LEDGER_STOPPED, 10 * MILLI);
	threads[2].stopped = times(1, 10 * MILLI, 10 * MILLI);
	spend(&threads[1], LEDGER_THROTTLED, 30 * MILLI);
	spend(&threads[1], LEDGER_FROZEN, 20 * MILLI);
	sample = sample_of(processes, 3, threads, 4);
	is_i64(sample_finish(&sample), 0, "it is finished");
	ok(!verdict_find(&verdict, &sample) && !processes_sum(&sample, &sums), "sums");
	is_i64(sums[0].process->pid, 20, "first the one that was kept from running for longest");
	is_u64(sums[0].threads, 2, "with two threads");
	is_u64(sums[0].life, 2 * SECOND, "their lives");
	is_u64(sums[0].ready, 250 * MILLI, "ready");
	is_u64(sums[0].throttled, 30 * MILLI, "throttled");
	is_u64(sums[0].stopped, 10 * MILLI, "stopped");
	is_u64(sums[0].frozen, 20 * MILLI, "frozen");
	is_u64(sums[0].running, 2 * SECOND - 310 * MILLI, "running");
	is_u64(sums[0].delay, 310 * MILLI, "kept from running");
	is_i64(sums[0].worst->tid, 21, "the thread with most of it");
	is_i64(sums[1].process->pid, 10, "then the other");
	is_i64(sums[2].process->pid, 30, "then one without threads");
	is_u64(sums[2].threads, 0, "which has no sums");
	ok(!sums[2].worst, "and no worst thread");
	free(sums);
	verdict_clear(&verdict);
	sample_clear(&sample);
}
