// SPDX-License-Identifier: Apache-2.0
/* Rows of who moved a thread: how they are added up, the section of the report. */
#include <stdlib.h>
#include <string.h>

#include "cli/model/verdict.h"
#include "cli/text/text.h"
#include "golden.h"
#include "tap.h"
#include "verdict_sample.h"

static void test_rows(void)
{
	struct thread_row a = { .members = 1 }, b = { .members = 1 };
	struct mover_row one = { 5, 5, "taskset", 3 }, other = { 6, 5, "taskset", 4 };

	ok(!movers_add(&a.movers, &a.n_movers, &one) && !movers_add(&b.movers, &b.n_movers, &one) &&
		   !movers_add(&b.movers, &b.n_movers, &other) && !thread_merge(&a, &b),
	   "merged");
	is_u64(a.n_movers, 2, "one row for each");
	is_u64(a.movers[0].count, 6, "their counts are added");
	movers_sort(b.movers, b.n_movers);
	is_i64(b.movers[0].tid, 6, "the largest is the first");
	for (int32_t i = 0; i < 2 * MOVERS_MOST; i++) {
		one.tid = 100 + i;
		if (movers_add(&a.movers, &a.n_movers, &one))
			abort();
	}
	is_u64(a.n_movers, MOVERS_MOST + 1, "no more rows than there may be, and the others'");
	is_i64(a.movers[MOVERS_MOST].tid, 0, "which is of no one");
	is_u64(a.movers[MOVERS_MOST].count, 3 * (MOVERS_MOST + 2), "and has the rest");
	thread_clear(&a);
	thread_clear(&b);
}

static void test_text(void)
{
	struct mover_row movers[] = {
		{ 2147483647, 4711, "sixteen letters!", UINT64_MAX },
		{ 4711, 4711, "\033[2J", 2 },
		{ 0, 0, "", 1 },
	};
	struct thread_row row = {
		.tid = 9719,
		.name = "moved",
		.members = 1,
		.ledger = { .life = 2 * SECOND, .ns = { [LEDGER_USER] = 2 * SECOND } },
		.voluntary = 1,
		.migrations = 5,
		.affinity_migrations = 5,
		.movers = movers,
		.n_movers = sizeof(movers) / sizeof(*movers),
	};
	const struct sample sample = {
		.pid = 9719,
		.start = 100 * SECOND,
		.end = 102 * SECOND,
		.wall_dump = { .tv_sec = 1795218874, .tv_nsec = 981958999 },
		.threads = &row,
		.n_threads = 1,
	};
	FILE *out = tmpfile();

	is_i64(report_text(&sample, &(struct report_options){ 0 }, out), 0, "it is written");
	golden_compare(out, "movers");
}

/* The verdict on one thread; the caller clears it. */
static struct verdict judge(struct thread_row *row)
{
	struct sample sample = verdict_sample(row, 1);
	struct verdict verdict = { 0 };

	is_i64(verdict_find(&verdict, &sample), 0, "there is memory");
	return verdict;
}

/* Others that move the target's threads: those of a name together, if it was often. */
static void test_mover(void)
{
	struct mover_row movers[] = { { 4711, 4711, "self", 900 },
				      { 811, 811, "taskset", 6 },
				      { 812, 812, "taskset", 5 },
				      { 813, 813, "balancer", 10 },
				      { 0, 0, "", 900 } };
	struct thread_row row = runner(4712, "worker");
	struct verdict verdict;

	row.movers = movers, row.n_movers = sizeof(movers) / sizeof(*movers);
	verdict = judge(&row);
	is_u64(verdict.moves, 11, "so often in a second");
	is_str(verdict.mover.comm, "taskset", "by name");
	is_i64(verdict.mover.tid, 0, "of several processes");
	verdict_clear(&verdict);
	movers[3].count = 12;
	verdict = judge(&row);
	is_str(verdict.mover.comm, "balancer", "who did it most often");
	is_i64(verdict.mover.tid, 813, "which is one");
	verdict_clear(&verdict);
	movers[1].count = movers[3].count = 4;
	verdict = judge(&row);
	is_u64(verdict.moves, 0, "less than ten times a second is not often");
	verdict_clear(&verdict);
}

int main(void)
{
	test_rows();
	test_text();
	test_mover();
	return done_testing();
}
