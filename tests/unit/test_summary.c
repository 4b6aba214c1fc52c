// SPDX-License-Identifier: Apache-2.0
/* Statistics over samples, against the same figures from all values at once. */
#include <malloc.h>
#include <math.h>
#include <stdlib.h>

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

		values[i] = (double)figure;
		if (measure->known)
			*(bool *)((char *)row + measure->known) = true;
		if (!measure->of_verdict)
			memcpy((char *)row + measure->at, &figure, sizeof(figure));
	}
}

static double kept_of(const struct sample *sample, size_t row, double *busy, double *longest)
{
	const struct verdict_thread *thread = &judged(sample)->verdict->threads[row];

	*busy = (double)thread->busy;
	*longest = (double)thread->longest;
	return (double)thread->kept;
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

			row[MEASURE_KEPT] = kept_of(&sample, j, &row[MEASURE_BUSY],
						    &row[MEASURE_LONGEST]);
		}
		summary_add(summary, judged(&sample));
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
		double want = first[MEASURE_KEPT] / 1e9;

		if (p + 1 < SAMPLES)
			want = (want + second[MEASURE_KEPT] / (double)times / 1e9) / 2;
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
	got = summary_value(&summary->all, MEASURE_KEPT);
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
