// SPDX-License-Identifier: Apache-2.0
/* The rank test, against every way to divide values; and what two captures differ in. */
#include <math.h>
#include <stdlib.h>

#include "cli/model/comparison.h"
#include "judged.h"
#include "random.h"
#include "tap.h"
#include "verdict_sample.h"

#define MOST 24

/* By pairs, not by ranks: twice how often one of a is larger than one of b, equal ones once. */
static long pairs_of(const double *values, size_t n, unsigned int chosen)
{
	long u = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n && chosen >> i & 1; j++)
			if (!(chosen >> j & 1))
				u += values[i] > values[j] ? 2 : values[i] == values[j];
	return u;
}

/* Every way to choose n of all that is as far from the mean. */
static double counted(const double *a, size_t n, const double *b, size_t m)
{
	double values[MOST], far = 0, total = 0;
	long mean = (long)(n * m), got;

	memcpy(values, a, n * sizeof(*a));
	memcpy(values + n, b, m * sizeof(*b));
	got = labs(pairs_of(values, n + m, (1U << n) - 1) - mean);
	for (unsigned int chosen = 0; chosen < 1U << (n + m); chosen++) {
		if ((size_t)__builtin_popcount(chosen) != n)
			continue;
		total++;
		far += labs(pairs_of(values, n + m, chosen) - mean) >= got;
	}
	return far / total;
}

TEST(exact)
{
	static const double low[] = { 1, 2, 3, 4, 5 }, high[] = { 6, 7, 8, 9, 10 };
	double a[MOST], b[MOST];

	ok(fabs(rank_test(low, 5, high, 5) - 2 / 252.0) < 1e-12, "5 below 5: 2 of 252 ways");
	ok(rank_test(low, 5, low, 5) == 1, "the same values: 1");
	ok(rank_test(low, 5, high, 0) == 1 && rank_test(low, 0, high, 5) == 1, "none: 1");
	for (unsigned int round = 0; round < 40; round++) {
		size_t n = 1 + chance(7), m = 1 + chance(7);
		double got, want;

		/* Few different values: many are equal. */
		for (size_t i = 0; i < n; i++)
			a[i] = (double)chance(round % 2 ? 5 : 1000);
		for (size_t i = 0; i < m; i++)
			b[i] = (double)chance(round % 2 ? 5 : 1000) + (double)chance(3);
		got = rank_test(a, n, b, m);
		want = counted(a, n, b, m);
		ok(fabs(got - want) < 1e-9, "%zu and %zu: %.6f", n, m, want);
	}
}

/* Beyond 20 values it is close to what counting says, with and without equal ones. */
TEST(normal)
{
	double a[MOST], b[MOST];

	for (unsigned int round = 0; round < 4; round++) {
		size_t n = 6, m = 15;
		double got, want;

		for (size_t i = 0; i < n; i++)
			a[i] = (double)chance(round % 2 ? 6 : 1000);
		for (size_t i = 0; i < m; i++)
			b[i] = (double)chance(round % 2 ? 6 : 1000) + (round > 1 ? 3 : 0);
		got = rank_test(a, n, b, m);
		want = counted(a, n, b, m);
		ok(fabs(got - want) < 0.015, "%zu and %zu: %.4f, counted %.4f", n, m, got, want);
	}
}

/* Samples of three threads, one kept by so many ms in each, and the spread of that. */
static struct course *captured(size_t samples, uint64_t kept, uint64_t spread, bool hog)
{
	struct course *course = course_new();

	for (size_t i = 0; i < samples; i++) {
		struct thread_row rows[3] = { runner(1, "worker"), runner(2, "worker"),
					      runner(3, "other") };
		struct culprit culprit = { .kind = CULPRIT_TASK, .tid = 99, .name = "hog" };
		struct sample sample = verdict_sample(rows, 3);
		uint64_t ns = (kept + chance(spread + 1)) * MILLI;

		spend(&rows[0], LEDGER_READY_PREEMPTED, ns);
		spend(&rows[1], LEDGER_READY_PREEMPTED, ns / 2);
		spend(&rows[2], LEDGER_SOFTIRQ, (20 + chance(5)) * MILLI);
		culprit.preempted_ns = ns;
		if (hog) {
			rows[0].culprits = &culprit;
			rows[0].n_culprits = 1;
		}
		if (course_add(course, judged(&sample)))
			abort();
	}
	return course;
}

static void check(const char *what, struct course *before, struct course *now, size_t least,
		  const char *cause)
{
	struct comparison comparison = { 0 };

	is_i64(comparison_find(&comparison, before, now), 0, "%s: compared", what);
	ok(least ? comparison.n >= least : !comparison.n, "%s: %zu differences of %zu measures",
	   what, comparison.n, comparison.tested);
	if (cause && comparison.n) {
		is_str(comparison.all[0].subject->name, cause, "%s: the culprit comes first", what);
		ok(!comparison.all[0].measure, "%s: as a cause", what);
	} else if (least && comparison.n) {
		const struct difference *first = comparison.all;

		while (!first->measure) /* causes, of nobody known */
			first++;
		is_str(first->measure->key, "kept_ns", "%s: first what was kept", what);
		is_str(first->subject->name, "worker", "%s: of whom", what);
		ok(fabs(first->now.mean - first->before.mean - 0.3e9) < 0.05e9,
		   "%s: the change is that of both workers", what);
	}
	comparison_clear(&comparison);
	course_free(before);
	course_free(now);
}

/* A figure whose spread differs from one to the next: as for most, a few are much larger. */
static uint64_t skewed(unsigned int spread)
{
	double product = 1;

	for (unsigned int i = 0; i < 3; i++)
		product *= 1 + (double)chance(100 * spread) / 100;
	return (uint64_t)(MILLI * product);
}

/* One of many samples of a process whose threads do what they always do. */
static void steady_add(struct course *course, const char names[][KD_COMM_LEN], size_t n)
{
	struct thread_row rows[16];
	struct sample sample;

	for (size_t i = 0; i < n; i++) {
		struct thread_row *row = &rows[i];
		void *counts[] = {
			&row->voluntary,     &row->involuntary,        &row->migrations,
			&row->minor_faults,  &row->run.count,          &row->ready.count,
			&row->run.total,     &row->ready.total,        &row->run.max,
			&row->ready.max,     &row->long_poll.count,    &row->long_poll.total,
			&row->long_poll.max, &row->overslept.by.count, &row->overslept.by.total
		};

		*row = runner((int)i + 1, names[i]);
		for (unsigned int state = LEDGER_KERNEL; state <= LEDGER_BLOCKED_UNINT; state++)
			spend(row, state, skewed(1 + state % 3) % (50 * MILLI));
		for (size_t j = 0; j < COUNT(counts); j++)
			memcpy(counts[j], &(uint64_t){ skewed(1 + (unsigned int)j % 4) },
			       sizeof(uint64_t));
	}
	sample = verdict_sample(rows, n);
	if (course_add(course, judged(&sample)))
		abort();
}

/* Halves of one capture differ in at most one of a hundred tries. */
TEST(halves)
{
	char names[16][KD_COMM_LEN];
	const unsigned int tries = 300;
	unsigned int differ = 0;
	size_t tested = 0;

	for (size_t i = 0; i < COUNT(names); i++)
		snprintf(names[i], sizeof(names[i]), "thread%zu", i);
	for (unsigned int i = 0; i < tries; i++) {
		struct course *half[2] = { course_new(), course_new() };
		struct comparison comparison = { 0 };

		for (unsigned int j = 0; j < 2 * (8 + i % 5); j++)
			steady_add(half[j % 2], names, COUNT(names));
		comparison_find(&comparison, half[0], half[1]);
		differ += comparison.n > 0;
		tested = comparison.tested;
		comparison_clear(&comparison);
		course_free(half[0]);
		course_free(half[1]);
	}
	ok(tested > 300, "%zu measures are tested", tested);
	ok(differ <= tries / 100, "in %u of %u tries halves differ", differ, tries);
}

/* What cannot be compared: other sample times, other windows, and what one has only. */
TEST(unlike)
{
	struct thread_row row = runner(1, "worker");
	struct sample sample = verdict_sample(&row, 1), longer = sample, other = sample;
	struct course *one = course_new(), *two = course_new();

	longer.end += (sample.end - sample.start) / 2;
	other.start_triggered = true;
	course_add(one, judged(&sample));
	course_add(two, judged(&longer));
	course_add(two, judged(&other));
	other = (struct sample){ .start = sample.start, .end = sample.start + 5, .expired = true };
	course_add(two, judged(&other));
	is_u64(two->samples, 1, "windows of triggers and cut ones are left out");
	is_u64(two->unusable, 2, "and counted");
	ok(!comparison_is_fair(one, two), "half as long again is something else");
	ok(comparison_is_fair(one, one), "the same is not");
	course_add(two, judged(&sample));
	ok(comparison_is_fair(one, two), "unless only some took longer");
	sample.resources_known = true;
	course_add(one, judged(&sample));
	ok(!course_is_held(one, one, "io.file.read_bytes"), "one sample has no resources");
	ok(course_is_held(one, two, "ready.max_ns"), "all have waits");
	course_free(one);
	course_free(two);
}

TEST(comparison)
{
	struct comparison comparison = { 0 };
	struct course *same = captured(8, 100, 30, false);

	comparison_find(&comparison, same, same);
	is_u64(comparison.n, 0, "a capture does not differ from itself");
	ok(comparison.tested > 5, "but there was something to test");
	comparison_clear(&comparison);
	course_free(same);
	check("alike", captured(8, 100, 30, false), captured(9, 100, 30, false), 0, NULL);
	check("many alike", captured(40, 100, 30, false), captured(40, 100, 30, false), 0, NULL);
	check("more", captured(8, 100, 30, false), captured(8, 300, 30, false), 2, NULL);
	check("less than the spread", captured(8, 100, 90, false), captured(8, 110, 90, false), 0,
	      NULL);
	check("less than 1 % of busy time", captured(8, 100, 1, false), captured(8, 108, 1, false),
	      0, NULL);
	check("few", captured(7, 100, 30, false), captured(9, 300, 30, false), 0, NULL);
	check("just enough", captured(8, 100, 30, false), captured(8, 300, 30, false), 2, NULL);
	check("hog", captured(8, 10, 5, false), captured(8, 300, 30, true), 2, "hog");
	check("no hog", captured(8, 300, 30, true), captured(8, 10, 5, false), 2, "hog");
	check("nothing before", captured(0, 0, 0, false), captured(8, 10, 5, false), 0, NULL);
}
