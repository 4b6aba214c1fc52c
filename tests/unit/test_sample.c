/* SPDX-License-Identifier: Apache-2.0 */
/* Sums, folding and order of samples; and who kept threads from running: how that is added up, put
 * in order and named. */
#include <stdlib.h>
#include <string.h>

#include "cli/model/culprit.h"
#include "cli/model/losses.h"
#include "cli/model/rows.h"
#include "cli/model/sample.h"
#include "cli/model/verdict.h"
#include "tap.h"

static void *copy(const void *from, size_t size)
{
	void *to = malloc(size);

	need(to);
	return memcpy(to, from, size);
}

static void set_calls(struct thread_row *row, const struct call_row *calls, size_t n)
{
	row->calls = copy(calls, n * sizeof(*calls));
	row->n_calls = n;
}

/* Durations in one or two places, which grow. */
static struct distribution times(uint64_t le, uint64_t count, uint64_t next_le, uint64_t next_count)
{
	struct distribution distribution = { 0 };

	need(!distribution_append(&distribution, le, count) &&
	     !(next_count && distribution_append(&distribution, next_le, next_count)));
	return distribution;
}

/* Whether they are these; next_count 0: only the first. */
static bool are_times(const struct distribution *got, uint64_t le, uint64_t count, uint64_t next_le,
		      uint64_t next_count)
{
	return got->n == (next_count ? 2 : 1) && got->buckets[0].le == le &&
	       got->buckets[0].count == count &&
	       (!next_count ||
		(got->buckets[1].le == next_le && got->buckets[1].count == next_count));
}

static struct thread_row thread(pid_t tid, const char *name)
{
	struct thread_row row = { .tid = tid, .members = 1 };

	snprintf(row.name, sizeof(row.name), "%s", name);
	return row;
}

/* A thread that was in one state throughout. */
static struct thread_row silent(pid_t tid, const char *name, enum ledger_state state)
{
	struct thread_row row = thread(tid, name);

	row.ledger.life = 1000;
	row.ledger.ns[state] = 1000;
	return row;
}

/* A sample that owns a copy of the rows. */
static struct sample sample_of(const struct thread_row *rows, size_t n)
{
	struct sample sample = { .n_threads = n, .end = 1000 };

	sample.threads = copy(rows, n * sizeof(*rows));
	return sample;
}

TEST(ledger)
{
	struct ledger ledger = { .ns = { [LEDGER_USER] = 1,
					 [LEDGER_KERNEL] = 2,
					 [LEDGER_FAULT] = 4,
					 [LEDGER_RECLAIM] = 8,
					 [LEDGER_HARDIRQ] = 16,
					 [LEDGER_SOFTIRQ] = 32,
					 [LEDGER_READY_WOKEN] = 64,
					 [LEDGER_READY_PREEMPTED] = 128,
					 [LEDGER_BLOCKED] = 256,
					 [LEDGER_BLOCKED_UNINT] = 512,
					 [LEDGER_STOPPED] = 1024 } };

	is_u64(ledger_sum(&ledger), 2047, "the sum has every line");
	is_u64(ledger_running(&ledger), 63, "running is what the scheduler calls so");
	ledger.ns[LEDGER_USER] = UINT64_MAX - 3;
	is_u64(ledger_sum(&ledger), UINT64_MAX, "a sum does not wrap");
	is_u64(ledger_running(&ledger), UINT64_MAX, "nor does running");
}

TEST(lost)
{
	struct sample sample = { .traces = {
					 .limited = 5, .incomplete = 6, .kernel_hidden = true } };

	is_u64(sample_lost(&sample), 0, "nothing lost; what a limit leaves out is not");
	for (size_t i = 0; i < KD_LOSSES; i++)
		sample.losses[i] = 1;
	is_u64(sample_lost(&sample), KD_LOSSES, "every reason counts");
	sample.skipped_runs = 10;
	sample.torn = 100;
	is_u64(sample_lost(&sample), KD_LOSSES + 110, "and so do skipped runs and torn threads");
	sample.traces.lost = 1000;
	sample.traces.beyond = 20000;
	sample.traces.failed = 300000;
	is_u64(sample_lost(&sample), KD_LOSSES + 321110,
	       "records without room, stacks that were not kept, and those not resolved");
	sample.torn = UINT64_MAX;
	is_u64(sample_lost(&sample), UINT64_MAX, "losses do not wrap");
}

TEST(lost_words)
{
	for (size_t i = 0; i < LOSSES; i++) {
		const struct loss *loss = &losses[i];
		const char *key = loss->key ? loss->key : "";

		ok(*key && loss->one && *loss->one && loss->many && *loss->many &&
			   (loss->what || i == LOSS_UNRESOLVED_STACKS),
		   "reason %zu, %s: has words", i, key);
		for (size_t j = 0; j < i; j++)
			if (!strcmp(losses[j].key, key) || losses[j].at == loss->at)
				ok(false, "%s: another one than %s", key, losses[j].key);
	}
}

static void not_silent(struct thread_row row, const char *why)
{
	enum ledger_state state;

	ok(!thread_is_silent(&row, &state), "not silent: %s", why);
}

TEST(silent)
{
	struct thread_row row, base = silent(1, "a", LEDGER_BLOCKED);
	enum ledger_state state = LEDGER_USER;
	struct call_row call = { .number = 1, .count = 1 };
	struct irq_row irq = { .count = 1 };

	ok(thread_is_silent(&base, &state), "blocked throughout is silent");
	is_u64(state, LEDGER_BLOCKED, "and its state is told");
	row = silent(1, "a", LEDGER_USER);
	ok(thread_is_silent(&row, &state) && state == LEDGER_USER, "so is a spinner");
	row = base;
	thread_add_open(&row, &(struct open_item){
				      .number = 7, .count = 1, .at_start = true, .at_end = true });
	ok(thread_is_silent(&row, &state), "a call open throughout is no event");
	row.open[0].at_start = false;
	not_silent(row, "a call that began");
	row.open[0].at_start = true;
	row.open[0].at_end = false;
	not_silent(row, "a call that ended");
	thread_clear(&row);

	not_silent(thread(1, "a"), "no life");
#define BUT(change, why)                                                                           \
	row = base;                                                                                \
	change;                                                                                    \
	not_silent(row, why)
	BUT(row.ledger.ns[LEDGER_USER] = 1, "two states");
	BUT(row.ledger.life++, "less than its life");
	BUT(row.ended = true, "it ended");
	BUT((row.calls = &call, row.n_calls = 1), "a call");
	BUT((row.hardirqs = &irq, row.n_hardirqs = 1), "a hard interrupt");
	BUT((row.softirqs = &irq, row.n_softirqs = 1), "a soft interrupt");
	BUT(row.run.count = 1, "it ran");
	BUT(row.ready.count = 1, "it waited");
	BUT(row.stopped.count = 1, "it stopped");
	BUT(row.voluntary = 1, "a voluntary switch");
	BUT(row.involuntary = 1, "an involuntary switch");
	BUT(row.migrations = 1, "a migration");
}

TEST(merge_times)
{
	const struct call_row some[] = { { 7, 1, 100, 100, times(103, 1, 0, 0), 0 },
					 { 1, 2, 30, 20, times(10, 1, 20, 1), 0 } };
	const struct call_row others[] = { { 1, 3, 50, 20, times(15, 1, 20, 2), 0 },
					   { 0, 1, 9, 9, times(9, 1, 0, 0), 0 },
					   { 202, 1, 5, 5, { 0 }, 0 } };
	struct thread_row a = thread(1, "a"), b = thread(2, "a"), sum = { 0 };

	set_calls(&a, some, 2);
	set_calls(&b, others, 3);
	a.run_times = times(31, 2, 0, 0);
	b.run_times = times(31, 1, 63, 4);
	b.ready_times = times(UINT64_MAX, 5, 0, 0);
	is_i64(thread_merge(&a, &b), 0, "merge");
	ok(are_times(&a.run_times, 31, 3, 63, 4), "durations of runs are added");
	ok(are_times(&a.ready_times, UINT64_MAX, 5, 0, 0), "and of waits that only one had");
	is_u64(a.n_calls, 4, "calls are united");
	ok(a.calls[1].number == 1 && a.calls[1].count == 5 && a.calls[1].total == 80 &&
		   a.calls[1].max == 20,
	   "the same call is added");
	ok(a.calls[2].number == 0 && are_times(&a.calls[2].times, 9, 1, 0, 0),
	   "durations of a call that only the second had");
	ok(a.calls[1].times.n == 3 && a.calls[1].times.buckets[0].le == 10 &&
		   a.calls[1].times.buckets[1].le == 15 && a.calls[1].times.buckets[2].le == 20 &&
		   a.calls[1].times.buckets[2].count == 3,
	   "of one that both had");
	ok(a.calls[0].number == 7 && are_times(&a.calls[0].times, 103, 1, 0, 0),
	   "of one that only the first had");
	ok(a.calls[3].number == 202 && !a.calls[3].times.n, "and one of which none are known");
	ok(are_times(&b.run_times, 31, 1, 63, 4) && are_times(&b.calls[0].times, 15, 1, 20, 2),
	   "the source keeps its own");
	is_i64(thread_merge(&sum, &b), 0, "into an empty row");
	thread_clear(&b);
	ok(!b.run_times.n && !b.ready_times.n && !b.calls && !b.n_calls && !b.members, "cleared");
	thread_clear(&b);
	ok(are_times(&sum.run_times, 31, 1, 63, 4) && are_times(&sum.calls[0].times, 15, 1, 20, 2),
	   "which has copies");
	thread_clear(&a);
	thread_clear(&sum);
}

TEST(merge_empty)
{
	struct thread_row sum = { .members = 0 }, a = silent(9, "a", LEDGER_USER);

	a.ended = true;
	a.ledger.exec = 5;
	a.ledger.has_exec = true;
	thread_add_open(&a, &(struct open_item){ .number = 7, .count = 1, .at_start = true });
	thread_merge(&sum, &a);
	ok(sum.members == 1 && sum.tid == 9 && !strcmp(sum.name, "a") && sum.ended &&
		   sum.ledger.has_exec && sum.ledger.exec == 5 && sum.n_open == 1,
	   "an empty row becomes what is added to it");
	thread_clear(&sum);
	thread_clear(&a);
}

static struct thread_row in_call(pid_t tid, int32_t number, uint64_t since, bool at_end)
{
	struct thread_row row = silent(tid, "a", LEDGER_BLOCKED);

	thread_add_open(&row, &(struct open_item){ .number = number,
						   .count = 1,
						   .since = since,
						   .inside = 1000,
						   .at_start = true,
						   .at_end = at_end });
	return row;
}

/* Adds a row and releases it. */
static void merge(struct thread_row *into, struct thread_row from)
{
	thread_merge(into, &from);
	thread_clear(&from);
}

TEST(merge_open)
{
	struct thread_row a = in_call(1, 7, 50, true);

	merge(&a, in_call(2, 7, 20, true));
	is_u64(a.n_open, 1, "the same call of two is one row");
	ok(a.open[0].count == 2 && a.open[0].inside == 2000 && a.open[0].since == 20,
	   "its time added, its first entry kept");
	merge(&a, in_call(3, 7, 0, true));
	is_u64(a.open[0].since, 0, "one unknown entry makes it unknown");
	merge(&a, in_call(4, 202, 1, true));
	ok(a.n_open == 2 && a.open[1].number == 202 && a.open[1].count == 1,
	   "a different call has its own");
	merge(&a, in_call(5, 7, 1, false));
	ok(a.n_open == 3 && !a.open[2].at_end && a.open[0].count == 3,
	   "so has one at another edge");
	merge(&a, in_call(6, KD_CALL_UNKNOWN, 1, true));
	is_u64(a.n_open, 4, "and one without a number");
	merge(&a, silent(7, "a", LEDGER_BLOCKED));
	ok(a.n_open == 4 && a.open[0].count == 3, "a thread in no call changes nothing");
	a.open[0].count = UINT32_MAX;
	a.open[0].inside = UINT64_MAX - 1;
	merge(&a, in_call(8, 7, 1, true));
	ok(a.open[0].count == UINT32_MAX && a.open[0].inside == UINT64_MAX, "sums do not wrap");
	thread_clear(&a);
}

/* As 'ls &' ends in each shell: two threads of a name ended, in calls of their own. */
TEST(fold_open)
{
	struct thread_row rows[] = { in_call(1, 7, 50, false), in_call(2, 202, 20, false),
				     in_call(3, 202, 10, false) };
	struct sample sample;

	for (size_t i = 0; i < 3; i++)
		rows[i].ended = true;
	sample = sample_of(rows, 3);
	sample_finish(&sample);
	is_u64(sample.n_threads, 1, "ended threads of a name are one row");
	ok(sample.threads[0].n_open == 2 && sample.threads[0].open[0].number == 202 &&
		   sample.threads[0].open[0].count == 2 && sample.threads[0].open[1].number == 7 &&
		   sample.threads[0].open[1].count == 1,
	   "with the calls of all, the longest first");
	sample_clear(&sample);
}

TEST(order)
{
	const struct call_row calls[] = { { 3, 1, 5, 5, { 0 }, 0 },
					  { 2, 1, 9, 9, { 0 }, 0 },
					  { 1, 1, 5, 5, { 0 }, 0 } };
	const struct irq_row irqs[] = {
		{ .name = "b", .total = 1 },
		{ .name = "c", .total = 7 },
		{ .name = "a", .total = 1 },
	};
	struct thread_row rows[] = {
		thread(30, "b"), thread(9, "b"), thread(5, ""), thread(7, "a"), thread(2, "\xff"),
	};
	struct sample sample;

	set_calls(&rows[3], calls, 3);
	rows[3].hardirqs = copy(irqs, sizeof(irqs));
	rows[3].softirqs = copy(irqs, sizeof(irqs));
	rows[3].n_hardirqs = rows[3].n_softirqs = 3;
	sample = sample_of(rows, 5);
	is_i64(sample_finish(&sample), 0, "finish");
	is_u64(sample.n_threads, 5, "nothing to fold");
	ok(sample.threads[0].tid == 5 && sample.threads[1].tid == 7 && sample.threads[2].tid == 9 &&
		   sample.threads[3].tid == 30 && sample.threads[4].tid == 2,
	   "sorted by name, then TID");
	ok(sample.threads[1].calls[0].number == 2 && sample.threads[1].calls[1].number == 1 &&
		   sample.threads[1].calls[2].number == 3,
	   "calls by total, then number");
	ok(sample.threads[1].hardirqs[0].name[0] == 'c' &&
		   sample.threads[1].hardirqs[1].name[0] == 'a' &&
		   sample.threads[1].softirqs[2].name[0] == 'b',
	   "interrupts by total, then name");
	sample_clear(&sample);
	ok(!sample.threads && !sample.n_threads, "cleared");
	sample_clear(&sample);
	is_i64(sample_finish(&sample), 0, "an empty sample is fine");
}

TEST(fold_ended)
{
	const struct call_row call = { 1, 2, 3, 3, { 0 }, 0 };
	struct thread_row rows[] = {
		silent(11, "a", LEDGER_USER),
		thread(12, "a"),
		thread(13, "b"),
		thread(14, "a"),
		thread(15, ""),
		thread(16, ""),
		silent(17, "a", LEDGER_USER),
	};
	struct sample sample;

	rows[0].ended = rows[2].ended = rows[3].ended = rows[4].ended = rows[5].ended = true;
	rows[6].ended = true;
	rows[6].members = 20;
	for (size_t i = 0; i < 4; i += 3) {
		set_calls(&rows[i], &call, 1);
		rows[i].calls[0].times = times(2, 2, 0, 0);
		rows[i].ready_times = times(7, 1, 100 * (i + 1), 1);
	}
	rows[2].run_times = times(5, 5, 0, 0);
	sample = sample_of(rows, 7);
	sample_finish(&sample);
	is_u64(sample.n_threads, 4, "ended threads fold by name");
	ok(sample.threads[0].tid == 15 && sample.threads[0].members == 2, "unknown names as well");
	ok(sample.threads[1].tid == 11 && sample.threads[1].members == 22 &&
		   sample.threads[1].ended,
	   "members are counted");
	ok(sample.threads[1].n_calls == 1 && sample.threads[1].calls[0].count == 4, "calls added");
	ok(are_times(&sample.threads[1].calls[0].times, 2, 4, 0, 0) &&
		   sample.threads[1].ready_times.n == 3 &&
		   distribution_count(&sample.threads[1].ready_times) == 4,
	   "and durations");
	ok(sample.threads[2].tid == 12 && !sample.threads[2].ended, "the living stay alone");
	ok(sample.threads[3].tid == 13 && sample.threads[3].members == 1 &&
		   are_times(&sample.threads[3].run_times, 5, 5, 0, 0),
	   "and so do others' names");
	sample_clear(&sample);
}

/* Those that wait for something that has to come do not share a row with those that are idle. */
TEST(fold_losses)
{
	static const char *const wchans[] = { "do_epoll_wait", "wait_for_partner" };
	struct thread_row rows[2 * (SAMPLE_FOLD + 1)];
	const size_t n = sizeof(rows) / sizeof(*rows);
	struct sample sample;

	for (size_t i = 0; i < n; i++) {
		struct descriptor_row sleep = { .is.fd = -1, .waits = { 1, 1000, 1000, 0 } };

		rows[i] = silent((pid_t)(100 + i), "pool", LEDGER_BLOCKED);
		snprintf(sleep.wchan, sizeof(sleep.wchan), "%s", wchans[i % 2]);
		row_list_add(&descriptor_list, &rows[i].descriptors, &rows[i].n_descriptors,
			     &sleep);
	}
	sample = sample_of(rows, n);
	sample_finish(&sample);
	is_u64(sample.n_threads, 2, "two rows");
	ok(sample.threads[0].members == SAMPLE_FOLD + 1 &&
		   sample.threads[1].members == SAMPLE_FOLD + 1 &&
		   sample.threads[0].n_descriptors == 1,
	   "each of those that slept there");
	sample_clear(&sample);
}

TEST(fold_silent)
{
	struct thread_row rows[20];
	struct sample sample;
	size_t n = 0;

	for (pid_t i = 0; i < SAMPLE_FOLD; i++)
		rows[n++] = silent(100 + i, "few", LEDGER_BLOCKED);
	rows[n++] = silent(110, "few", LEDGER_USER);
	for (pid_t i = 0; i < SAMPLE_FOLD + 1; i++)
		rows[n++] = in_call(204 - i, 7, 1, true);
	rows[n++] = silent(210, "a", LEDGER_USER);
	rows[n] = silent(211, "a", LEDGER_BLOCKED);
	rows[n++].voluntary = 1;
	rows[n] = silent(212, "a", LEDGER_BLOCKED);
	rows[n++].ended = true;
	sample = sample_of(rows, n);
	sample_finish(&sample);
	is_u64(sample.n_threads, 4 + SAMPLE_FOLD + 1, "more than %d silent ones fold", SAMPLE_FOLD);
	ok(sample.threads[0].tid == 200 && sample.threads[0].members == SAMPLE_FOLD + 1,
	   "by name, the first one's TID shown");
	ok(sample.threads[0].ledger.life == 5000 && sample.threads[0].n_open == 1 &&
		   sample.threads[0].open[0].inside == 5000,
	   "with their time and their call");
	ok(sample.threads[1].tid == 210 && sample.threads[1].members == 1, "and by state");
	ok(sample.threads[2].tid == 211 && sample.threads[2].members == 1, "active ones do not");
	ok(sample.threads[3].tid == 212 && sample.threads[3].members == 1, "nor those that ended");
	sample_finish(&sample);
	is_u64(sample.n_threads, 4 + SAMPLE_FOLD + 1, "finishing again changes nothing");
	sample_clear(&sample);
}

TEST(many)
{
	enum { THREADS = 20000, CALLS = 30 };
	struct thread_row sum = thread(1, "worker"), one = thread(2, "worker");
	struct call_row calls[CALLS];

	for (uint32_t i = 0; i < CALLS; i++)
		calls[i] = (struct call_row){
			.number = i * 37 % 400, .count = 1, .total = i, .max = i
		};
	set_calls(&one, calls, CALLS);
	for (unsigned int i = 0; i < THREADS; i++)
		thread_merge(&sum, &one);
	is_u64(sum.members, THREADS + 1, "many threads are merged");
	is_u64(sum.n_calls, CALLS, "into as many calls as there are");
	is_u64(sum.calls[5].count, THREADS, "each counted");
	thread_clear(&sum);
	thread_clear(&one);
}

/* --- Culprits --- */

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

	for (size_t i = 0; i < COUNT(cases); i++) {
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
TEST(many_culprits)
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
	need(!culprits_add(&thread->culprits, &thread->n_culprits, &task));
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
