/* SPDX-License-Identifier: Apache-2.0 */
/* Durations of threads as histograms: they agree with the counters of the same labels,
 * and take no more room as samples come. */
#define _GNU_SOURCE
#include "cli/metrics/metrics.h"

#include <malloc.h>

#include "cli/metrics/metric_family.h"
#include "metrics_read.h"
#include "metrics_sample.h"
#include "sanitized.h"
#include "tap.h"
#include "cli/metrics/metric_sample.h"
#include "cli/metrics/metric_values.h"

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
/* Not every compiler comes with the header. */
size_t __sanitizer_get_current_allocated_bytes(void);
#endif

#define SAMPLES 360 /* one each ten seconds */
#define EARLY 60    /* more than the five minutes for which threads are kept that have ended */

/* Adds up to four buckets, up to a count of 0. */
static void times_of(struct distribution *times, const struct bucket *buckets)
{
	for (; buckets->count; buckets++)
		need(!distribution_append(times, buckets->le, buckets->count));
}

/* A bucket is counted where its limit belongs, or without limit. */
TEST(buckets)
{
	static const struct bucket ready[] = { { 15, 1 },           { 1000, 2 },        { 1001, 4 },
					       { 999999999999, 8 }, { UINT64_MAX, 16 }, { 0, 0 } };
	struct metrics *metrics = metrics_of((struct report_options){ 0 });

	for (int i = 0; i < 2; i++) {
		struct sample sample = metrics_begin(1);

		sample.threads[0] = metrics_thread(1, "t");
		sample.threads[0].ready = (struct kd_count){ 31, 12345, 10000, 0 };
		times_of(&sample.threads[0].ready_times, ready);
		/* One of them began before the window: it is not in the table. */
		thread_add_open(&sample.threads[0], &(struct open_item){ .kind = OPEN_READY,
									 .count = 1,
									 .inside = 1,
									 .length = 1000000,
									 .longest = 1000000,
									 .at_start = true });
		add_and_clear(metrics, sample);
	}
#define READY_LE(le)                                                                               \
	"thread_period_duration_seconds_bucket{thread=\"t\",state=\"ready\",le=\"" le "\"}"
	IS(READY_LE("1e-06"), "6");
	IS(READY_LE("2e-06"), "14");
	IS(READY_LE("500.0"), "14");
	IS(READY_LE("1000.0"), "30");
	IS(READY_LE("+Inf"), "62");
	IS("thread_period_duration_seconds_count{thread=\"t\",state=\"ready\"}", "62");
	IS("thread_period_duration_seconds_sum{thread=\"t\",state=\"ready\"}", "0.002024690");
	IS("thread_period_seconds_total{thread=\"t\",state=\"ready\"}", "0.000024690");
	IS("thread_max_seconds{thread=\"t\",state=\"ready\"}", "0.001000000");
	is_u64(count_of(metrics, "thread_period_duration_seconds_count"), 1,
	       "there is none of what is not distributed");
	is_u64(count_of(metrics, "thread_period_duration_seconds_bucket"), METRIC_BUCKETS + 1,
	       "every bucket has its series");
	metrics_free(metrics);
}

/* The labels of a line: a pointer to the brace; *length: to the other one, or 0. */
static const char *line_labels(const char *line, size_t *length)
{
	const char *end = strchr(line, '\n'), *brace = memchr(line, '{', (size_t)(end - line));
	const char *last = end;

	*length = 0;
	if (!brace)
		return NULL;
	while (*last != '}')
		last--;
	*length = (size_t)(last - brace);
	return brace;
}

/* Whether a histogram's series of these labels (without the last brace) has this value. */
static bool has_value(const char *text, const char *name, const char *labels, size_t length,
		      const char *more, const char *want)
{
	char series[512];
	int n = snprintf(series, sizeof(series), "%s%.*s%s}", name, (int)length, labels, more);

	return !strcmp(value_in(text, series, (size_t)n), want);
}

#define C "kernel_delay_"

/* Counts the series of a counter, and those which differ from a histogram's series of the
 * same labels. A counter of 0 may have none. */
static void series_compare(const char *text, const char *counter, const char *series,
			   const char *more, const char *part, size_t *n, size_t *wrong)
{
	size_t name = strlen(counter), length;
	char first[128];
	const char *end, *family;

	/* What is of one family stands together: to look through all for each takes long. */
	snprintf(first, sizeof(first), "\n" C "%s{", series);
	family = strstr(text, first);
	snprintf(first, sizeof(first), "\n%s{", counter);
	for (const char *at = strstr(text, first); family && at; at = end) {
		const char *labels = line_labels(++at, &length);
		char value[64];

		end = strncmp(at, first + 1, name + 1) ? NULL : strchr(at, '\n');
		if (!end || !labels || !memmem(labels, length, part, strlen(part)))
			continue;
		snprintf(value, sizeof(value), "%.*s", (int)strcspn(labels + length + 2, "\n"),
			 labels + length + 2);
		if (!strtod(value, NULL))
			continue;
		++*n;
		*wrong += !has_value(family + 1, series, labels, length, more, value);
	}
}

/* Whether buckets ascend within each histogram, in the order in which they are written. */
static size_t falling_buckets(const char *text)
{
	unsigned long before = 0;
	size_t wrong = 0, i = 0, length;

	EACH_SERIES(line, text)
	{
		const char *labels = line_labels(line, &length);
		unsigned long value;

		if (!labels || strncmp(labels - strlen("_bucket"), "_bucket", strlen("_bucket")))
			continue;
		value = strtoul(labels + length + 2, NULL, 10);
		if (i++ % (METRIC_BUCKETS + 1))
			wrong += value < before;
		before = value;
	}
	return wrong + i % (METRIC_BUCKETS + 1);
}

static void agrees(const struct metrics *metrics, const char *what)
{
	static const struct {
		const char *counter, *series, *more, *part;
	} pairs[] = {
		{ C "syscalls_total", "syscall_duration_seconds_count", "", "" },
		{ C "syscalls_total", "syscall_duration_seconds_bucket", ",le=\"+Inf\"", "" },
		{ C "syscall_seconds_total", "syscall_duration_seconds_sum", "", "" },
		{ C "thread_periods_total", "thread_period_duration_seconds_count", "", "ready" },
		{ C "thread_periods_total", "thread_period_duration_seconds_count", "", "running" },
		{ C "thread_period_seconds_total", "thread_period_duration_seconds_sum", "",
		  "ready" },
		{ C "thread_period_seconds_total", "thread_period_duration_seconds_sum", "",
		  "running" },
	};
	char *text = metrics_text(metrics);

	for (size_t i = 0; i < COUNT(pairs); i++) {
		size_t n = 0, wrong = 0;

		series_compare(text, pairs[i].counter, pairs[i].series, pairs[i].more,
			       pairs[i].part, &n, &wrong);
		ok(n && !wrong, "%s: %zu of %zu series of %s{%s} differ from %s%s", what, wrong, n,
		   pairs[i].counter, pairs[i].part, pairs[i].series, pairs[i].more);
	}
	is_u64(falling_buckets(text), 0, "%s: buckets are cumulative", what);
	free(text);
}

/* All that was in it began in it. */
static struct sample whole_inside(struct sample sample)
{
	for (size_t i = 0; i < sample.n_threads; i++)
		sample.threads[i].n_open = 0;
	return sample;
}

/* Whatever the labels are, and over several samples. */
TEST(agrees)
{
	static const struct report_options options[] = {
		{ 0 },
		{ .per_thread = true },
		{ .fold_names = true },
		{ .max_syscalls = 1 },
		{ .max_syscalls = 3, .per_thread = true, .fold_names = true },
	};
	static const char *const names[] = { "by name", "--per-thread", "--fold-names",
					     "--max-syscalls=1", "all" };

	for (size_t i = 0; i < COUNT(options); i++) {
		struct metrics *metrics = metrics_of(options[i]);

		add_and_clear(metrics, whole_inside(metrics_full()));
		agrees(metrics, names[i]);
		add_and_clear(metrics, whole_inside(metrics_full()));
		add_and_clear(metrics, metrics_begin(0));
		agrees(metrics, names[i]);
		metrics_free(metrics);
	}
}

/* What is known of one thread and not of the other is neither in count nor in sum. */
TEST(unknown)
{
	struct metrics *metrics = metrics_of((struct report_options){ 0 });
	struct sample sample = metrics_begin(2);

	for (size_t i = 0; i < 2; i++) {
		sample.threads[i] = metrics_thread((pid_t)i + 1, "t");
		sample.threads[i].run = (struct kd_span){ 10, 1000 + i, 500, 1, 0 };
		metrics_calls(&sample.threads[i], 0x80000000U, 1);
	}
	metrics_histograms(&sample.threads[1]);
	sample.losses[KD_LOSS_DURATIONS] = 11;
	add_and_clear(metrics, sample);
	IS("thread_periods_total{thread=\"t\",state=\"running\"}", "20");
	IS("thread_period_duration_seconds_count{thread=\"t\",state=\"running\"}", "10");
	IS("thread_period_duration_seconds_sum{thread=\"t\",state=\"running\"}", "0.000001001");
	IS("syscalls_total{thread=\"t\",syscall=\"[unknown: 2147483648]\"}", "2");
	IS("syscall_duration_seconds_count{thread=\"t\",syscall=\"[unknown: 2147483648]\"}", "1");
	IS("syscall_duration_seconds_sum{thread=\"t\",syscall=\"[unknown: 2147483648]\"}",
	   "0.000001000");
	IS("lost_events_total{reason=\"durations\"}", "11");
	metrics_free(metrics);
}

/* Threads of a sample, with figures and histograms; the window ends so many seconds after
 * the first one's. */
static struct sample later(uint64_t seconds, size_t threads)
{
	struct sample sample = metrics_begin(threads);

	sample.start += seconds * SECOND;
	sample.end += seconds * SECOND;
	return sample;
}

static void thread_make(struct thread_row *row, pid_t tid, const char *name, size_t calls)
{
	*row = metrics_thread(tid, name);
	row->run = (struct kd_span){ 10, 12345, 5000, 1, 0 };
	row->ready = (struct kd_count){ 12, 54321, 9000, 0 };
	metrics_calls(row, 0x80000000U, calls);
	metrics_histograms(row);
}

/* Half of the room is for what is no histogram. */
TEST(limit)
{
	struct metrics *metrics = metrics_of((struct report_options){ .per_thread = true });
	struct sample sample = later(0, 100);

	for (pid_t i = 0; i < 100; i++)
		thread_make(&sample.threads[i], i + 1, "t", 5);
	metrics_limit(metrics, 11000);
	add_and_clear(metrics, sample);
	ok(metrics_series(metrics) <= 11000, "no more than 11000 series: %zu",
	   metrics_series(metrics));
	is_u64(count_of(metrics, "threads"), 100, "every thread is there");
	is_u64(count_of(metrics, "syscalls_total"), 500, "with all its system calls");
	ok(count_of(metrics, "syscall_duration_seconds_count") > 50,
	   "and some of these have histograms");
	ok(strtoul(value_of(metrics, "lost_events_total{reason=\"series\"}"), NULL, 10) > 10000,
	   "what was left out is counted");
	metrics_free(metrics);
}

/* GROWS: by how many percent what is allocated in the same way again and again may grow. The
 * sanitizer counts what was asked for. glibc counts a piece that it gives whole, too, which depends
 * on what was allocated before: 2 to 25 % were seen. A series that stayed for each thread that came
 * would be several hundred percent. */
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define GROWS 2
#else
#define GROWS 100
#endif

/* Bytes that are allocated now. */
static size_t allocated(void)
{
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
	return __sanitizer_get_current_allocated_bytes();
#else
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
#endif
}

/* A sample of an hour in which threads come and go: one each, which ends in the third that it is
 * in. */
static struct sample churning(unsigned int number)
{
	struct sample sample = later(10 * number, 4 + 3);
	char name[16];

	for (pid_t i = 0; i < 4; i++)
		thread_make(&sample.threads[i], i + 1, "stays", 3);
	for (unsigned int i = 0; i < 3; i++) {
		struct thread_row *row = &sample.threads[4 + i];

		snprintf(name, sizeof(name), "conn-%u", (number - i) % 100000);
		thread_make(row, (pid_t)(1000 + number - i), name, 3);
		row->ended = i == 2;
	}
	return sample;
}

/* An hour of samples, of which an answer is made now and then. */
static void test_hour(struct report_options options, const char *what)
{
	size_t start = allocated(), early = 0, most = 0, series = 0;
	struct metrics *metrics = metrics_of(options);

	for (unsigned int number = 10; number < 10 + SAMPLES; number++) {
		struct sample sample = churning(number);

		need(!metrics_add(metrics, judged(&sample)));
		sample_clear(&sample);
		if (number % 6 == 0)
			free(metrics_text(metrics));
		if (number < EARLY)
			early = allocated() > early ? allocated() : early;
		most = allocated() > most ? allocated() : most;
		series = metrics_series(metrics) > series ? metrics_series(metrics) : series;
	}
	ok(early > start + 10000, "%s: %zu bytes are taken", what, early - start);
	ok(most - start <= (early - start) * (100 + GROWS) / 100,
	   "%s: after an hour it is what it was after ten minutes: %zu bytes", what, most - start);
	ok(series < METRICS_SERIES, "%s: %zu series", what, series);
	IS("captures_total{result=\"complete\"}", "360");
	IS("lost_events_total{reason=\"series\"}", "0");
	metrics_free(metrics);
	/* What malloc() keeps for the next one is among it. */
	ok(allocated() < start + 32768, "%s: %zu bytes are not released", what,
	   allocated() - start);
}

void tests_end(void)
{
	test_hour((struct report_options){ .fold_names = true }, "--fold-names");
	test_hour((struct report_options){ .per_thread = true, .fold_names = true },
		  "--per-thread");
}
