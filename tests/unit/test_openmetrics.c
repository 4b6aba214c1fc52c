/* SPDX-License-Identifier: Apache-2.0 */
/* Both text formats of metrics against golden files, which tests/integration/metrics.t
 * shows to other programs' parsers; and against rules of the formats that those do not
 * look at. UPDATE_GOLDEN=1 in the environment rewrites the files. */
#include "cli/metrics/openmetrics.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "cli/metrics/prometheus.h"
#include "golden.h"
#include "metrics_sample.h"
#include "tap.h"

static const struct report_options one_shot = { .per_thread = true };
static const struct report_options by_name = { .fold_names = true, .max_syscalls = 2 };
static const struct report_options timed = { .per_thread = true, .timestamps = true };

static int by_text(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

/* Behind the labels of a line; figures have no brace. */
static char *series_end(char *line)
{
	char *brace = strrchr(line, '}');

	return brace ? brace + 1 : strchr(line, ' ');
}

/* Counts lines that the formats do not allow: empty ones, series that are there twice,
 * families that are. Cuts the text. */
static unsigned int faults(char *text)
{
	char **lines = calloc(strlen(text) + 1, sizeof(*lines)), *rest = text, *line;
	unsigned int wrong = 0;
	size_t n = 0;

	if (!lines)
		abort();
	while ((line = strsep(&rest, "\n")) && rest) {
		wrong += !*line ||
			 (*line == '#' && strncmp(line, "# TYPE kernel_delay_", 20) &&
			  strncmp(line, "# HELP kernel_delay_", 20) &&
			  strncmp(line, "# UNIT kernel_delay_", 20) && strcmp(line, "# EOF"));
		if (*line != '#')
			series_end(line)[0] = '\0';
		else if (strcmp(line, "# EOF"))
			strchr(line + 7, ' ')[0] = '\0';
		lines[n++] = line;
	}
	wrong += line && *line;
	qsort(lines, n, sizeof(*lines), by_text);
	for (size_t i = 1; i < n; i++) {
		if (strcmp(lines[i - 1], lines[i]))
			continue;
		tap_print_string("twice", lines[i]);
		wrong++;
	}
	free(lines);
	return wrong;
}

static void is_well_formed(const struct sample *sample, const struct report_options *options,
			   const char *name)
{
	int (*const reports[])(const struct sample *, const struct report_options *,
			       FILE *) = { report_openmetrics, report_prometheus };
	const char *const formats[] = { "openmetrics", "prometheus" };
	char path[64];

	for (size_t i = 0; i < 2; i++) {
		FILE *out = tmpfile();
		size_t length;
		char *text;

		is_i64(reports[i](sample, options, out), 0, "%s %s is written", formats[i], name);
		text = golden_read(out, &length);
		is_u64(strlen(text), length, "without NULs");
		is_u64(faults(text), 0, "every line is allowed, none is there twice");
		free(text);
		snprintf(path, sizeof(path), "%s_%s", formats[i], name);
		rewind(out);
		golden_compare(out, path);
	}
}

/* System calls have one architecture's numbers. */
static void test_golden(void)
{
	struct sample full = metrics_full(), hostile = metrics_hostile_names();
	struct sample empty = metrics_begin(0), nothing = { 0 };

	is_well_formed(&empty, &one_shot, "empty");
	is_well_formed(&nothing, &timed, "nothing");
#ifdef __x86_64__
	is_well_formed(&full, &one_shot, "full");
	is_well_formed(&full, &by_name, "by_name");
	is_well_formed(&full, &timed, "timed");
	is_well_formed(&hostile, &one_shot, "hostile");
	is_well_formed(&hostile, &by_name, "hostile_by_name");
#else
	tap.run++;
	printf("ok %u - metrics with system calls # SKIP they have x86-64's numbers\n", tap.run);
#endif
	sample_clear(&full);
	sample_clear(&hostile);
	sample_clear(&empty);
}

static void test_triggers(void)
{
	static struct trigger_stats stats = { .names = { "u:x:start", "u:x:stop" },
					      .cost = { 1000, 2000 },
					      .skipped = 3,
					      .from = 1000,
					      .to = 2000001000,
					      .payer = { 7, "x", 3000, 40000 },
					      .duty = { 5000, 3, 1, 70, 80 } };
	struct metrics *metrics = metrics_new(&by_name);
	struct sample sample = metrics_begin(0);
	FILE *out = tmpfile();

	stats.tally.hits[KD_START] = 1201;
	stats.tally.hits[KD_STOP] = 1200;
	for (unsigned int role = 0; role < KD_ROLES; role++)
		for (unsigned int i = 0; i < KD_OUTCOMES; i++)
			stats.tally.outcome[role][i] = 100 * role + i + 1;
	stats.tally.foreign = 5;
	stats.tally.outside = 7;
	stats.tally.nested = 6;
	stats.tally.total = 1234567890;
	stats.tally.durations[7] = 600;
	stats.tally.durations[500] = 10;
	stats.tally.durations[KD_WINDOW_BUCKETS - 1] = 1;
	is_i64(trigger_stats_distribute(&stats), 0, "how long windows were");
	for (int i = 0; i < 2; i++) {
		is_i64(metrics_add(metrics, &sample), 0, "a sample");
		is_i64(metrics_add_triggers(metrics, &stats), 0, "what triggers did so far");
	}
	is_i64(metrics_add(metrics, &sample), 0, "another sample does not change it");
	is_i64(metrics_write_openmetrics(metrics, out), 0, "is written");
	golden_compare(out, "openmetrics_triggers");
	metrics_free(metrics);
	sample_clear(&sample);
	trigger_stats_clear(&stats);
}

/* What an exporter has before its first sample. */
static void test_expected(void)
{
	struct metrics *metrics = metrics_new(&by_name);
	FILE *openmetrics = tmpfile(), *prometheus = tmpfile();

	is_i64(metrics_expect(metrics, &metrics_capture, 4711), 0, "samples are expected");
	is_i64(metrics_write_openmetrics(metrics, openmetrics), 0, "is written");
	is_i64(metrics_write_prometheus(metrics, prometheus), 0, "0.0.4, too");
	golden_compare(openmetrics, "openmetrics_expected");
	golden_compare(prometheus, "prometheus_expected");
	metrics_free(metrics);
}

static void test_full_disk(void)
{
	struct sample sample = metrics_full();
	FILE *full = fopen("/dev/full", "w");

	is_i64(report_openmetrics(&sample, &one_shot, full), -ENOSPC, "no room for OpenMetrics");
	fclose(full);
	full = fopen("/dev/full", "w");
	is_i64(report_prometheus(&sample, &one_shot, full), -ENOSPC, "nor for 0.0.4");
	fclose(full);
	sample_clear(&sample);
}

int main(void)
{
	test_golden();
	test_triggers();
	test_expected();
	test_full_disk();
	return done_testing();
}
