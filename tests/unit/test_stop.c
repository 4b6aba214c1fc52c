// SPDX-License-Identifier: Apache-2.0
/* Rows of who stopped a thread: how they are added up, the section of the report, the verdict;
 * and the section on time-outs. */
#include <stdlib.h>
#include <string.h>

#include "cli/model/sample.h"
#include "cli/model/verdict.h"
#include "cli/text/text.h"
#include "golden.h"
#include "tap.h"

#define SECOND 1000000000ULL

static struct stop_row stop(int32_t tid, uint64_t ns)
{
	return (struct stop_row){ .kind = KD_STOP_SIGNAL,
				  .signal = 19,
				  .tid = tid,
				  .pid = tid,
				  .name = "sh",
				  .stops = { 1, ns, ns } };
}

static void test_rows(void)
{
	struct thread_row a = { .members = 1 }, b = { .members = 1 };
	struct stop_row one = stop(5, 10), other = stop(6, 20);

	ok(!stops_add(&a.stops, &a.n_stops, &one) && !stops_add(&b.stops, &b.n_stops, &other) &&
		   !stops_add(&b.stops, &b.n_stops, &one) && !thread_merge(&a, &b),
	   "merged");
	is_u64(a.n_stops, 2, "one row for each");
	is_u64(a.stops[0].stops.total, 20, "their stops are added");
	is_u64(a.stops[0].stops.count, 2, "and counted");
	stops_sort(b.stops, b.n_stops);
	is_i64(b.stops[0].tid, 6, "the longest is the first");
	for (int32_t i = 0; i < 2 * STOPS_MOST; i++) {
		one = stop(100 + i, 1);
		if (stops_add(&a.stops, &a.n_stops, &one))
			abort();
	}
	is_u64(a.n_stops, STOPS_MOST + 1, "no more rows than there may be, and nobody's");
	is_u64(a.stops[STOPS_MOST].kind, KD_STOP_UNKNOWN, "which is of no one");
	is_u64(a.stops[STOPS_MOST].stops.total, STOPS_MOST + 2, "and has the rest");
	thread_clear(&a);
	thread_clear(&b);
}

static void test_text(void)
{
	struct stop_row stops[] = {
		{ KD_STOP_TRACER, 0, 2147483647, 4711, "sixteen letters!", { 1234, SECOND, 9 } },
		{ KD_STOP_SIGNAL, 19, 4711, 4711, "\033[2J", { 2, 30, 20 } },
		{ KD_STOP_SIGNAL, 21, 0, 0, "terminal", { 1, 20, 20 } },
		{ KD_STOP_SIGNAL, 19, 0, 0, "", { 1, 15, 15 } },
		{ KD_STOP_SIGNAL, 7, 12, 12, "", { 1, 15, 15 } },
		{ KD_STOP_SIGNAL, 2147483647, 0, 0, "", { 1, 15, 15 } },
		{ KD_STOP_UNKNOWN, 0, 0, 0, "", { 1, 10, 10 } },
	};
	struct thread_row row = {
		.tid = 9719,
		.name = "stopped",
		.members = 1,
		.ledger = { .life = 2 * SECOND, .ns = { [LEDGER_STOPPED] = 2 * SECOND } },
		.stopped = { 1237, SECOND, 20 },
		.overslept = { { 12345, 300000000, 123456789 },
			       { 1, 100000000, 100000000 },
			       1600000000,
			       10000000 },
		.stops = stops,
		.n_stops = sizeof(stops) / sizeof(*stops),
	};
	const struct sample sample = {
		.pid = 9719,
		.start = 100 * SECOND,
		.end = 102 * SECOND,
		.wall_dump = { .tv_sec = 1795218874, .tv_nsec = 981958999 },
		.threads = &row,
		.n_threads = 1,
	};
	struct verdict verdict = { 0 };
	FILE *out = tmpfile();

	is_i64(report_text(&sample, &(struct report_options){ 0 }, out), 0, "it is written");
	golden_compare(out, "stops");
	ok(!verdict_find(&verdict, &sample) && verdict.n_blamed == 1, "one of them is blamed");
	is_i64(verdict.rows[0].cause, CAUSE_STOPPED, "for stopping it");
	is_i64(verdict.rows[0].who.tid, 2147483647, "the tracer");
	is_u64(verdict.rows[0].ns, SECOND, "for its time");
	verdict_clear(&verdict);
}

int main(void)
{
	test_rows();
	test_text();
	return done_testing();
}
