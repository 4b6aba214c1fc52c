/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics over samples, against the same figures from all values at once; and how two captures
 * differ, with the rank test, against every way to divide the values. */
#include <malloc.h>
#include <math.h>
#include <stdlib.h>

#include "cli/model/comparison.h"
#include "cli/model/summary.h"
#include "judged.h"
#include "random.h"
#include "tap.h"
#include "verdict_sample.h"

#define ALPHA 0.25
#define SAMPLES 41
#define ROWS 3

static bool near(double got, double want)
{
	double scale = fabs(want) > 1 ? fabs(want) : 1;

	return fabs(got - want) <= 1e-9 * scale;
}

/* What all values of a measure say at once. */
static void check_all(const struct statistic *got, const double *values, size_t n, const char *what)
{
	double sum = 0, squares = 0, min = values[0], max = values[0], steps = 0, ewma = values[0];
	uint64_t peak = 1;
	double mean;

	for (size_t i = 0; i < n; i++)
		sum += values[i];
	mean = sum / (double)n;
	for (size_t i = 0; i < n; i++) {
		squares += (values[i] - mean) * (values[i] - mean);
		min = fmin(min, values[i]);
		peak = values[i] > max ? i + 1 : peak;
		max = fmax(max, values[i]);
		steps += i ? fabs(values[i] - values[i - 1]) : 0;
		ewma = i ? ALPHA * values[i] + (1 - ALPHA) * ewma : ewma;
	}
	ok(near(got->mean, mean) && got->min == min && got->max == max &&
		   near(statistic_deviation(got, n), n > 1 ? sqrt(squares / (double)(n - 1)) : 0) &&
		   near(statistic_jitter(got, n), n > 1 ? steps / (double)(n - 1) : 0) &&
		   near(got->ewma, ewma) && (max == 0 || got->peak == peak),
	   "%s: mean %.3f, deviation %.3f, jitter %.3f, ewma %.3f, peak %" PRIu64, what, mean,
	   sqrt(squares / (double)(n - 1)), steps / (double)(n - 1), ewma, peak);
}

/* Any figure in any member of a measure, of which half are rare; one has none. */
static void row_fill(const struct measures *measures, struct thread_row *row, double *values)
{
	for (size_t i = 0; i < measures->n; i++) {
		const struct measure *measure = &measures->all[i];
		uint64_t figure = measure->of_verdict || i % 7 == 0 ? 0
				  : i % 2 && chance(4)              ? 0
								    : chance(1000000000);
		void *structure = measure->far ? field_object_make(measure->far, row) : row;

		values[i] = (double)figure;
		if (measure->valid)
			*(bool *)((char *)row + measure->valid) = true;
		if (!measure->of_verdict)
			memcpy((char *)structure + measure->at, &figure, sizeof(figure));
	}
}

static double kept_of(const struct sample *sample, size_t row, double *busy, double *longest)
{
	const struct verdict_thread *thread = &judged(sample)->verdict->threads[row];

	*busy = (double)thread->busy;
	*longest = (double)thread->longest;
	return (double)thread->delay;
}

/* Windows: the second of two takes so many times as long. */
static void test_statistics(uint64_t times)
{
	struct summary *summary = summary_new(ALPHA);
	const size_t n = summary->measures.n;
	double *values = calloc(ROWS * SAMPLES * n, sizeof(*values));

	for (size_t i = 0; i < SAMPLES; i++) {
		struct thread_row rows[ROWS];
		struct sample sample = verdict_sample(rows, ROWS);

		sample.end = sample.start + (i % 2 ? times : 1) * SECOND;
		for (size_t j = 0; j < ROWS; j++) {
			double *row = &values[(j * SAMPLES + i) * n];

			rows[j] = runner((pid_t)(10 + j), "worker");
			row_fill(&summary->measures, &rows[j], row);
		}
		for (size_t j = 0; j < ROWS; j++) {
			double *row = &values[(j * SAMPLES + i) * n];

			row[MEASURE_DELAY] = kept_of(&sample, j, &row[MEASURE_BUSY],
						     &row[MEASURE_LONGEST]);
		}
		summary_add(summary, judged(&sample));
		for (size_t j = 0; j < ROWS; j++) {
			free(rows[j].interrupted);
			free(rows[j].io);
		}
	}
	is_u64(summary->n, ROWS, "so many threads");
	is_u64(summary->came + summary->went, 0, "none came or went");
	for (size_t j = 0; j < ROWS; j++) {
		for (size_t i = 0; i < n; i++) {
			const struct measure *measure = &summary->measures.all[i];
			double series[SAMPLES], rates[SAMPLES];
			struct statistic rate;

			for (size_t k = 0; k < SAMPLES; k++) {
				series[k] = values[(j * SAMPLES + k) * n + i];
				rates[k] = series[k] / (k % 2 ? (double)times : 1);
			}
			check_all(summary_value(&summary->threads[j], i), series, SAMPLES,
				  measure->key);
			if (!summary_rate(summary, &summary->threads[j], i, &rate))
				ok(measure->merge != MERGE_SUM, "%s has no rate", measure->key);
			else
				check_all(&rate, rates, SAMPLES, "its rate");
		}
	}
	/* Two samples a point, as there are more than 32. */
	is_u64(summary_points(summary), (SAMPLES + 1) / 2, "points of the course");
	for (size_t p = 0; p < SAMPLES; p += 2) {
		const double *first = &values[p * n], *second = &values[(p + 1) * n];
		double want = first[MEASURE_DELAY] / 1e9;

		if (p + 1 < SAMPLES)
			want = (want + second[MEASURE_DELAY] / (double)times / 1e9) / 2;
		ok(near(summary_point(summary, &summary->threads[0], p / 2), want),
		   "point %zu is %.3f", p / 2, want);
	}
	free(values);
	summary_free(summary);
}

static size_t index_of(const struct summary *summary, const char *key)
{
	size_t index = measures_index(&summary->measures, key);

	ok(index != SIZE_MAX, "there is a measure %s", key);
	return index;
}

TEST(all)
{
	struct thread_row rows[2] = { runner(1, "a"), runner(2, "b") };
	struct sample sample = verdict_sample(rows, 2);
	struct summary *summary = summary_new(ALPHA);
	const struct statistic *got;

	spend(&rows[0], LEDGER_READY_WOKEN, 100 * MILLI);
	spend(&rows[1], LEDGER_READY_WOKEN, 300 * MILLI);
	rows[0].run.min = 5;
	rows[0].run.max = 50;
	rows[1].run.max = 60;
	summary_add(summary, judged(&sample));
	got = summary_value(&summary->all, index_of(summary, "ledger.ready_woken_ns"));
	is_u64((uint64_t)got->mean, 400 * MILLI, "all threads: sums");
	got = summary_value(&summary->all, index_of(summary, "run.max_ns"));
	is_u64((uint64_t)got->mean, 60, "all threads: maxima");
	got = summary_value(&summary->all, index_of(summary, "run.min_ns"));
	is_u64((uint64_t)got->mean, 5, "all threads: minima, without zeros");
	got = summary_value(&summary->all, MEASURE_DELAY);
	is_u64((uint64_t)got->mean, 400 * MILLI, "all threads: kept");
	is_u64((uint64_t)statistic_deviation(got, 1), 0, "of one sample there is no deviation");
	ok(!summary_value(&summary->all, index_of(summary, "ledger.sum_exec_runtime_ns")),
	   "what is not known of any thread is not known of all");
	summary_free(summary);
}

static struct thread_row silent(pid_t tid, unsigned int members)
{
	struct thread_row row = { .tid = tid, .members = members, .name = "worker" };

	row.ledger.life = row.ledger.ns[LEDGER_BLOCKED] = members * SECOND;
	return row;
}

TEST(silent)
{
	struct summary *summary = summary_new(ALPHA);
	struct thread_row first[2] = { runner(1, "worker"), silent(2, 9) };
	struct thread_row second[2] = { runner(5, "worker"), silent(1, 9) };
	struct thread_row third[3] = { runner(1, "worker"), runner(5, "worker"), silent(2, 8) };
	struct sample samples[3] = { verdict_sample(first, 2), verdict_sample(second, 2),
				     verdict_sample(third, 3) };
	const struct statistic *got;
	size_t user, blocked;

	for (size_t i = 0; i < 3; i++)
		summary_add(summary, judged(&samples[i]));
	user = index_of(summary, "ledger.user_ns");
	blocked = index_of(summary, "ledger.blocked_ns");
	is_u64(summary->n, 3, "two threads that ran, and those that did not");
	is_u64(summary->came, 0, "who did not run in the first sample has not come");
	is_u64(summary->went, 0, "nor has gone who does not run in a later one");
	is_u64(summary->threads[0].n, 3, "the first was in all samples");
	got = summary_value(&summary->threads[0], user);
	ok(near(got->mean, 2e9 / 3) && got->min == 0, "it ran in two of them");
	got = summary_value(&summary->threads[0], blocked);
	ok(near(got->mean, 1e9 / 3) && got->max == 1e9, "and waited in one, as one of nine");
	is_u64(summary->threads[1].members, 8, "eight did not run in the last one");
	is_u64((uint64_t)summary_value(&summary->threads[1], blocked)->mean, SECOND,
	       "each of them waited all the time");
	is_u64(summary->threads[2].n, 3, "who ran from the second on was there in the first");
	got = summary_value(&summary->threads[2], blocked);
	ok(near(got->mean, 1e9 / 3), "where it waited");
	summary_free(summary);
}

TEST(come_and_go)
{
	struct summary *summary = summary_new(ALPHA);
	struct thread_row first[3] = { runner(1, "a"), runner(2, "b"), runner(9, "c") };
	struct thread_row second[3] = { runner(1, "a"), runner(2, "b"), runner(3, "d") };
	struct thread_row third[3] = { runner(1, "a"), runner(2, "new"), silent(50, 7) };
	struct sample samples[3] = { verdict_sample(first, 3), verdict_sample(second, 3),
				     verdict_sample(third, 3) };

	second[1].ended = true; /* and another one gets its TID */
	third[2].ended = true;
	for (size_t i = 0; i < 3; i++)
		summary_add(summary, judged(&samples[i]));
	is_u64(summary->n, 5, "five threads");
	is_u64(summary->came, 2, "d and the second 2 came");
	is_u64(summary->went, 1 + 1 + 1 + 7, "c, the first 2, d, and seven that ended");
	is_u64(summary->threads[1].n, 2, "the first 2 was in two samples");
	is_u64(summary->threads[4].n, 1, "the second in one");
	is_str(summary->threads[4].name, "new", "under its own name");
	summary_free(summary);
}

TEST(limit)
{
	struct summary *summary = summary_new(ALPHA);
	struct thread_row *rows = calloc(SUMMARY_THREADS + 5, sizeof(*rows));
	struct sample sample = verdict_sample(rows, SUMMARY_THREADS + 5);

	for (size_t i = 0; i < SUMMARY_THREADS + 5; i++)
		rows[i] = runner((pid_t)i + 1, "many");
	is_i64(summary_add(summary, judged(&sample)), 0, "more threads than are told apart");
	is_u64(summary->n, SUMMARY_THREADS, "so many are");
	is_u64(summary->left_out, 5, "the others are counted");
	is_u64((uint64_t)summary_value(&summary->all, index_of(summary, "ledger.user_ns"))->mean,
	       (SUMMARY_THREADS + 5) * SECOND, "and are in the sum");
	free(rows);
	summary_free(summary);
}

#define THREADS 1000
#define DENSE 50
#define ROUNDS 100

/* What it takes: 50 measures that are never 0 of 1,000 threads, in 100 samples. */
TEST(memory)
{
	struct thread_row *rows = calloc(THREADS, sizeof(*rows));
	struct sample sample = verdict_sample(rows, THREADS);
	size_t before = mallinfo2().uordblks + mallinfo2().hblkhd, used;
	struct summary *summary = summary_new(ALPHA);

	for (size_t i = 0; i < THREADS; i++) {
		rows[i] = runner((pid_t)i + 1, "worker");
		for (size_t j = 3; j < 3 + DENSE; j++) {
			uint64_t figure = chance(1000000);

			need(!summary->measures.all[j].far);
			memcpy((char *)&rows[i] + summary->measures.all[j].at, &figure,
			       sizeof(figure));
		}
	}
	for (size_t i = 0; i < ROUNDS; i++)
		summary_add(summary, judged(&sample));
	used = mallinfo2().uordblks + mallinfo2().hblkhd - before;
	ok(used < 20000000, "it takes less than 20 MB: %.1f", (double)used / 1e6);
	free(rows);
	summary_free(summary);
}

void tests_begin(void)
{
	test_statistics(1);
	test_statistics(2);
}

/* --- Two captures --- */

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
static struct series *captured(size_t samples, uint64_t kept, uint64_t spread, bool hog)
{
	struct series *series = series_new();

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
		need(!series_add(series, judged(&sample)));
	}
	return series;
}

static void check(const char *what, struct series *before, struct series *now, size_t least,
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
	series_free(before);
	series_free(now);
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
static void steady_add(struct series *series, const char names[][KD_COMM_LEN], size_t n)
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
	need(!series_add(series, judged(&sample)));
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
		struct series *half[2] = { series_new(), series_new() };
		struct comparison comparison = { 0 };

		for (unsigned int j = 0; j < 2 * (8 + i % 5); j++)
			steady_add(half[j % 2], names, COUNT(names));
		comparison_find(&comparison, half[0], half[1]);
		differ += comparison.n > 0;
		tested = comparison.tested;
		comparison_clear(&comparison);
		series_free(half[0]);
		series_free(half[1]);
	}
	ok(tested > 300, "%zu measures are tested", tested);
	ok(differ <= tries / 100, "in %u of %u tries halves differ", differ, tries);
}

/* What cannot be compared: other sample times, other windows, and what one has only. */
TEST(unlike)
{
	struct thread_row row = runner(1, "worker");
	struct sample sample = verdict_sample(&row, 1), longer = sample, other = sample;
	struct series *one = series_new(), *two = series_new();

	longer.end += (sample.end - sample.start) / 2;
	other.start_triggered = true;
	series_add(one, judged(&sample));
	series_add(two, judged(&longer));
	series_add(two, judged(&other));
	other = (struct sample){ .start = sample.start, .end = sample.start + 5, .expired = true };
	series_add(two, judged(&other));
	is_u64(two->samples, 1, "windows of triggers and cut ones are left out");
	is_u64(two->unusable, 2, "and counted");
	ok(!comparison_is_fair(one, two), "half as long again is something else");
	ok(comparison_is_fair(one, one), "the same is not");
	series_add(two, judged(&sample));
	ok(comparison_is_fair(one, two), "unless only some took longer");
	sample.has_resources = true;
	series_add(one, judged(&sample));
	ok(!series_is_held(one, one, "io.file.read_bytes"), "one sample has no resources");
	ok(series_is_held(one, two, "ready.max_ns"), "all have waits");
	series_free(one);
	series_free(two);
}

/* Groups that differ in the end of long paths only. */
TEST(groups)
{
	static const char *const paths[] = {
		"/kubepods.slice/kubepods-burstable.slice/pod-one/web",
		"/kubepods.slice/kubepods-burstable.slice/pod-two/web"
	};
	struct thread_row rows[] = { runner(1, "worker"), runner(2, "worker") };
	struct culprit quotas[2] = { { .kind = CULPRIT_THROTTLED }, { .kind = CULPRIT_THROTTLED } };
	struct sample sample = verdict_sample(rows, COUNT(rows));
	struct series *series = series_new();
	size_t found = 0;

	for (size_t i = 0; i < COUNT(rows); i++) {
		strcpy(quotas[i].group, paths[i]);
		quotas[i].preempted_ns = 300 * MILLI;
		spend(&rows[i], LEDGER_THROTTLED, 300 * MILLI);
		rows[i].culprits = &quotas[i];
		rows[i].n_culprits = 1;
	}
	need(!series_add(series, judged(&sample)));
	for (size_t i = 0; i < series->n; i++)
		for (size_t j = 0; j < COUNT(paths); j++)
			found += series->subjects[i].is_cause &&
				 !strcmp(series->subjects[i].name, paths[j]);
	is_u64(found, 2, "each has a series of its own");
	series_free(series);
}

TEST(comparison)
{
	struct comparison comparison = { 0 };
	struct series *same = captured(8, 100, 30, false);

	comparison_find(&comparison, same, same);
	is_u64(comparison.n, 0, "a capture does not differ from itself");
	ok(comparison.tested > 5, "but there was something to test");
	comparison_clear(&comparison);
	series_free(same);
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
