/* SPDX-License-Identifier: Apache-2.0 */
/* Both text formats of metrics: the series of samples against golden files, and all else of the
 * texts as the list of families has it. tests/integration/metrics.t shows the whole texts to other
 * programs' parsers. UPDATE_GOLDEN=1 in the environment rewrites the golden files. */
#include "lines.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/base/escape.h"
#include "cli/metrics/metric_family.h"
#include "cli/metrics/metric_values.h"
#include "everything.h"
#include "golden.h"
#include "judged.h"
#include "metrics_report.h"
#include "metrics_sample.h"
#include "tap.h"
#include "cli/metrics/metric_sample.h"
#include "cli/metrics/metric_text.h"

static const struct report_options one_shot = { .per_thread = true };
static const struct report_options by_name = { .fold_names = true, .max_syscalls = 2 };
static const struct report_options timed = { .per_thread = true, .timestamps = true };

static char *list_of_families(void)
{
	FILE *out = tmpfile();

	is_i64(metrics_list(out), 0, "the list is written");
	return golden_text(out);
}

/* A family as the list has it. */
struct listed {
	char name[64], type[16], unit[16];
	const char *help;
};

/* Whether a line is a series of this family: its name may end only as those of its type do. */
static bool belongs(const char *line, const struct listed *family)
{
	static const struct {
		const char *type, *end;
	} ends[] = {
		{ "counter", "_total" },    { "info", "_info" },     { "gauge", "" },
		{ "histogram", "_bucket" }, { "histogram", "_sum" }, { "histogram", "_count" },
	};
	size_t name = strlen(family->name), length = strcspn(line, "{ ");

	if (length < name || memcmp(line, family->name, name))
		return false;
	for (size_t i = 0; i < COUNT(ends); i++)
		if (!strcmp(family->type, ends[i].type) && length - name == strlen(ends[i].end) &&
		    !memcmp(line + name, ends[i].end, length - name))
			return true;
	return false;
}

/* Prometheus, 0.0.4, has what ends the names of series in those of families, no units, no type of
 * infos, help first. */
static void heading_write(FILE *out, const struct listed *family, bool prometheus)
{
	const char *name = family->name, *help = family->help;
	bool info = !strcmp(family->type, "info"), counter = !strcmp(family->type, "counter");
	const char *end = info ? "_info" : counter ? "_total" : "";
	int length = (int)strcspn(help, "\n");

	if (prometheus) {
		fprintf(out, "# HELP %s%s %.*s\n", name, end, length, help);
		fprintf(out, "# TYPE %s%s %s\n", name, end, info ? "gauge" : family->type);
		return;
	}
	fprintf(out, "# TYPE %s %s\n", name, family->type);
	if (strcmp(family->unit, "-"))
		fprintf(out, "# UNIT %s %s\n", name, family->unit);
	fprintf(out, "# HELP %s %.*s\n", name, length, help);
}

/* Prometheus has times in milliseconds, and no point. */
static void series_write(FILE *out, const char *line, bool is_timed, bool prometheus)
{
	int length = (int)line_length(line);
	uint64_t seconds, ms;
	char *time = strndup(line, (size_t)length);

	if (!is_timed || !prometheus) {
		fprintf(out, "%.*s", length, line);
	} else if (sscanf(strrchr(time, ' '), " %" SCNu64 ".%" SCNu64, &seconds, &ms) == 2) {
		fprintf(out, "%.*s", (int)(strrchr(time, ' ') + 1 - time), line);
		fprintf(out, "%" PRIu64 "\n", seconds * 1000 + ms);
	}
	free(time);
}

/* What a format has to make of the series in a text: each family once, in the order of the list,
 * its series behind what is said of it. */
static char *composed(const char *text, const char *list, bool is_timed, bool prometheus)
{
	struct made made;
	FILE *out = made_begin(&made);

	for (const char *at = list + line_length(list); *at; at += line_length(at)) {
		struct listed family = { .help = at + line_length(at) + 4 };
		bool begun = false;

		need(sscanf(at, "%63s %15s %15s", family.name, family.type, family.unit) == 3);
		at += line_length(at);
		EACH_LINE(line, text)
		{
			if (!belongs(line, &family))
				continue;
			if (!begun)
				heading_write(out, &family, prometheus);
			begun = true;
			series_write(out, line, is_timed, prometheus);
		}
	}
	if (!prometheus)
		fputs("# EOF\n", out);
	return made_end(&made);
}

/* Counts series that are there twice: lines that are the same up to their value. */
static unsigned int twice(const char *text)
{
	unsigned int wrong = 0;

	EACH_LINE(line, text)
	{
		const char *next = line + line_length(line);
		char *series = strndup(line, line_length(line)), *end = strrchr(series, '}');

		(end ? end + 2 : strchr(series, ' ') + 1)[0] = '\0';
		if (*line != '#' && strstr(next, series)) {
			tap_print_string("twice", series);
			wrong++;
		}
		free(series);
	}
	return wrong;
}

/* The series alone; the buckets of a histogram, which end with +Inf, in one line. */
static char *series_of(const char *text)
{
	struct made made;
	FILE *out = made_begin(&made);
	bool begun = false;

	EACH_LINE(line, text)
	{
		size_t length = line_length(line);
		const char *le = memmem(line, length, "le=\"", 4), *end;

		if (*line == '#')
			continue;
		if (!le) {
			fprintf(out, "%.*s", (int)length, line);
			continue;
		}
		if (!begun)
			fprintf(out, "%.*sle}", (int)(le - line), line);
		le += 4;
		end = strchr(le, '"');
		fprintf(out, " %.*s:%.*s", (int)(end - le), le, (int)strcspn(end + 3, "\n"),
			end + 3);
		begun = *le != '+';
		if (!begun)
			putc('\n', out);
	}
	return made_end(&made);
}

/* Looks at both formats of the same metrics. Returns their series, which are the caller's. */
static char *series_checked(FILE *open, FILE *older, bool is_timed, const char *name)
{
	char path[64], *list = list_of_families(), *wanted, *series;
	char *text = golden_text(open), *other = golden_text(older);

	snprintf(path, sizeof(path), "openmetrics_%s", name);
	golden_keep(path, text);
	snprintf(path, sizeof(path), "prometheus_%s", name);
	golden_keep(path, other);
	wanted = composed(text, list, is_timed, false);
	is_text(text, wanted, "OpenMetrics has its families as they are listed");
	free(wanted);
	wanted = composed(text, list, is_timed, true);
	is_text(other, wanted, "0.0.4 has the same series in its own way");
	free(wanted);
	is_u64(twice(text), 0, "no series is there twice");
	series = series_of(text);
	free(text);
	free(other);
	free(list);
	return series;
}

static char *series_reported(const struct sample *sample, const struct report_options *options,
			     const char *name)
{
	FILE *open = tmpfile(), *older = tmpfile();

	is_i64(report_openmetrics(judged(sample), options, open), 0, "%s is written", name);
	is_i64(report_prometheus(judged(sample), options, older), 0, "as 0.0.4, too");
	return series_checked(open, older, options->timestamps, name);
}

static char *series_written(struct metrics *metrics, const char *name)
{
	FILE *open = tmpfile(), *older = tmpfile();

	is_i64(metrics_write_openmetrics(metrics, open), 0, "%s is written", name);
	is_i64(metrics_write_prometheus(metrics, older), 0, "as 0.0.4, too");
	metrics_free(metrics);
	return series_checked(open, older, false, name);
}

/* The golden file has what differs from other series. */
static void golden_differs(char *series, const char *other, const char *name)
{
	golden_is(lines_differing(series, other), name);
	free(series);
}

/* With timestamps every series has this one, and all else is the same. */
static void is_stamped(const struct sample *sample, const char *stamp, const char *name)
{
	FILE *without = tmpfile(), *with = tmpfile();
	char *text, *got;
	struct made made;

	is_i64(report_openmetrics(judged(sample), &one_shot, without), 0, "%s: without times",
	       name);
	is_i64(report_openmetrics(judged(sample), &timed, with), 0, "%s: with times", name);
	text = golden_text(without);
	made_begin(&made);
	EACH_LINE(line, text)
	{
		fprintf(made.out, "%.*s", (int)line_length(line) - 1, line);
		fprintf(made.out, "%s\n", *line == '#' ? "" : stamp);
	}
	free(text);
	text = made_end(&made);
	got = golden_text(with);
	is_text(got, text, "the time is behind every value");
	free(got);
	free(text);
	free(series_reported(sample, &timed, name));
}

/* System calls have one architecture's numbers. */
#ifdef __x86_64__
/* The series with these labels, without labels and values. */
static char *series_with(const char *series, const char *labels, size_t length)
{
	struct made made;

	made_begin(&made);
	EACH_LINE(line, series)
	{
		size_t name = strcspn(line, "{\n");

		if (line[name] == '{' && !strncmp(line + name + 1, labels, length))
			fprintf(made.out, "%.*s%.*s\n", (int)name, line,
				(int)strcspn(line + name + 1 + length, "}"),
				line + name + 1 + length);
	}
	return made_end(&made);
}

/* Whatever threads are called, they have the same series. The golden file has their names. */
static void is_hostile_golden(const struct sample *sample, const struct report_options *options,
			      const char *name)
{
	static const char family[] = "kernel_delay_threads{";
	char *series = series_reported(sample, options, name), *first = NULL;
	unsigned int wrong = 0, n = 0;
	struct made made;
	char path[64];

	made_begin(&made);
	EACH_LINE(line, series)
	{
		const char *labels = line + strlen(family);
		char *of_thread;

		if (strncmp(line, family, strlen(family)))
			continue;
		fprintf(made.out, "%.*s", (int)line_length(line), line);
		of_thread = series_with(series, labels, line_length(labels) - strlen("} 1\n"));
		wrong += first && strcmp(first, of_thread);
		n++;
		if (!first)
			first = of_thread;
		else
			free(of_thread);
	}
	is_u64(wrong, 0, "each of %u names has the same series", n);
	fputs(first, made.out);
	free(first);
	free(series);
	snprintf(path, sizeof(path), "openmetrics_%s", name);
	golden_is(made_end(&made), path);
}

TEST(full)
{
	struct sample full = metrics_full(), hostile = metrics_hostile_names();
	struct thread_row rows[2];
	struct sample all = everything(rows);
	char *series = series_reported(&full, &one_shot, "full");
	char *nameless = text_without(series, ",tid=\"", '"');
	char *others = lines_without(nameless, "revalidator"); /* several, of one name here */

	golden_is(series, "openmetrics_full");
	golden_is(series_reported(&all, &one_shot, "everything"), "openmetrics_everything");
	golden_differs(series_reported(&full, &by_name, "by_name"), others, "openmetrics_by_name");
	free(nameless);
	free(others);
	is_stamped(&full, " 1795218874.981", "timed");
	is_hostile_golden(&hostile, &one_shot, "hostile");
	is_hostile_golden(&hostile, &by_name, "hostile_by_name");
	sample_clear(&full);
	sample_clear(&hostile);
	everything_clear(&all);
}
#else
TEST(full)
{
	skip("they have x86-64's numbers", "metrics with system calls");
}
#endif

static struct metrics *triggers_added(const struct sample *sample)
{
	static struct trigger_stats stats = { .names = { "u:x:start", "u:x:stop" },
					      .cost = { 1000, 2000 },
					      .skipped = 3,
					      .from = 1000,
					      .to = 2000001000,
					      .payer = { 7, "x", 3000, 40000 },
					      .duty = { 5000, 3, 1, 70, 80 } };
	struct metrics *metrics = metrics_new(&by_name);

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
		is_i64(metrics_add(metrics, judged(sample)), 0, "a sample");
		is_i64(metrics_add_triggers(metrics, &stats), 0, "what triggers did so far");
	}
	is_i64(metrics_add(metrics, judged(sample)), 0, "another sample does not change it");
	trigger_stats_clear(&stats);
	return metrics;
}

/* Samples without threads; without anything; what an exporter has before its first sample; what
 * triggers did. All but the first as differences from it. */
TEST(empty)
{
	struct sample empty = metrics_begin(0), nothing = { 0 };
	struct metrics *expected = metrics_new(&by_name);
	char *series = series_reported(&empty, &one_shot, "empty");

	golden_differs(series_reported(&nothing, &one_shot, "none"), series, "openmetrics_nothing");
	is_stamped(&nothing, " 0.000", "nothing");
	is_i64(metrics_expect(expected, &metrics_capture, 4711), 0, "samples are expected");
	golden_differs(series_written(expected, "expected"), series, "openmetrics_expected");
	golden_differs(series_written(triggers_added(&empty), "triggers"), series,
		       "openmetrics_triggers");
	golden_is(series, "openmetrics_empty");
	sample_clear(&empty);
}

TEST(list)
{
	golden_is(list_of_families(), "metrics_list");
}

TEST(buckets)
{
	for (size_t i = 0; i < METRIC_BUCKETS; i++) {
		double ns = strtod(metric_buckets[i].le, NULL) * 1e9;

		ok(ns > (double)metric_buckets[i].ns - 0.1 &&
			   ns < (double)metric_buckets[i].ns + 0.1,
		   "bucket %s", metric_buckets[i].le);
		ok(!i || metric_buckets[i].ns > metric_buckets[i - 1].ns, "ascends");
	}
}

/* How many labels a text has; 0 if it is no list of labels. */
static unsigned int labels_count(const char *at, const char *end)
{
	for (unsigned int n = 1;; n++) {
		while (at < end && *at >= 'a' && *at <= 'z')
			at++;
		if (end - at < 3 || *at++ != '=' || *at++ != '"')
			return 0;
		while (at < end && *at != '"')
			at += *at == '\\' ? strchr("\\n\"", at[1]) ? 2 : end - at : 1;
		if (at >= end || *at++ != '"')
			return 0;
		if (at == end)
			return n;
		if (*at++ != ',')
			return 0;
	}
}

/* Whether escape_text() finds anything but backslashes, tabs and printable text. */
static bool is_hostile(const char *text, size_t length)
{
	static char shown[ESCAPE_SIZE(METRIC_LABELS_LEN)];
	const char *at = shown;

	escape_text(shown, sizeof(shown), text, length);
	for (; (at = strchr(at, '\\')); at += 2)
		if (at[1] != '\\' && at[1] != 't')
			return true;
	return false;
}

/* Whatever is in the values, and if there is no room for all of them. */
TEST(labels)
{
	static struct metric_labels labels;
	static char value[3000];
	unsigned int wrong = 0, cut = 0;
	size_t longest = 0;

	srand(1);
	for (unsigned int round = 0; round < 4000; round++) {
		unsigned int n = 1 + (unsigned int)rand() % 12, count;

		labels.length = 0;
		for (unsigned int i = 0; i < n; i++) {
			size_t length = (size_t)rand() % (round % 2 ? 20 : sizeof(value));

			for (size_t j = 0; j < length; j++)
				value[j] = (char)(rand() % 3 ? rand()
							     : "\"\\\n\xe2\x80\xaf"[rand() % 6]);
			metric_labels_foreign(&labels, "name", value, length, i ? "" : " [mark]");
		}
		count = labels_count(labels.text, labels.text + labels.length);
		cut += count < n;
		wrong += !count || count > n || labels.length > sizeof(labels.text) ||
			 is_hostile(labels.text, labels.length);
		longest = labels.length > longest ? labels.length : longest;
	}
	is_u64(wrong, 0, "labels are labels, of UTF-8 without control characters");
	ok(cut && longest > METRIC_LABELS_LEN - 8, "and do not outgrow their room");
}

/* A unit is the end of its family's name; help needs no escapes; points do not repeat. */
TEST(families)
{
	unsigned int wrong = 0;

	for (size_t i = 0; i < metric_n_families; i++) {
		const struct metric_family *family = &metric_families[i];
		const char *text = metric_family_name(family), *help = metric_family_help(family);
		size_t name = strlen(text), unit = strlen(family->unit);
		bool good = !strncmp(text, "kernel_delay_", 13) &&
			    name == strspn(text, "abcdefghijklmnopqrstuvwxyz_") &&
			    (!unit || (!strcmp(text + name - unit, family->unit) &&
				       text[name - unit - 1] == '_')) &&
			    (family->type != METRIC_INFO || !unit) && !strpbrk(help, "\\\"\n") &&
			    *help && family->n_points;

		for (size_t j = 0; j < i; j++)
			good = good && strcmp(metric_family_name(&metric_families[j]), text);
		for (size_t j = 0; j < family->n_points; j++)
			good = good && family->points[j].column < metric_columns[family->kind].n;
		for (size_t j = 1; j < family->n_points; j++)
			good = good &&
			       strcmp(family->points[j].labels, family->points[j - 1].labels);
		if (!good)
			tap_print_string("wrong", text);
		wrong += !good;
	}
	is_u64(wrong, 0, "families follow the rules");
}

/* Those of each list are there, in their order, and no others. */
TEST(families_of_lists)
{
	for (const struct field *field = thread_fields; field->key; field++) {
		const struct row_list *list = field->list;
		unsigned int named = 0, found = 0;

		if (!list)
			continue;
		for (size_t i = 0; i < LIST_FIGURES; i++)
			named |= list->metrics[i].name ? 1U << i : 0;
		for (size_t i = 0; i < metric_n_families; i++)
			if (metric_families[i].list == list)
				found |= 1U << metric_families[i].figure;
		is_u64(found, named, "%s: families", field->key);
	}
}
