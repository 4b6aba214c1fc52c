// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/columns.h"
#include "cli/base/escape.h"
#include "cli/base/names.h"
#include "cli/model/comparison.h"
#include "cli/model/summary.h"

/* --- Statistics over samples --- */

#define SHORT_THREADS 10
#define SHORT_MEASURES 3 /* per thread */
#define MEASURE_WIDTH 26
#define CELL 9

struct section {
	const struct summary *summary;
	const struct report_options *options;
	double highest;         /* over all points drawn */
	size_t *order;          /* space for all measures */
	uint64_t measures_left; /* lines left out for the listed threads */
	struct columns columns;
};

#define VALUE_LEN 64

static void value_text(char text[static VALUE_LEN], double value)
{
	snprintf(text, VALUE_LEN, value < 100 ? "%.1f" : value < 1e9 ? "%.0f" : "%.3g", value);
}

static void cell_add(struct section *section, const struct measure *measure, double value)
{
	char text[VALUE_LEN];

	if (measure->is_time)
		number_time(text, value < 1.8e19 ? (uint64_t)(value + 0.5) : UINT64_MAX);
	else
		value_text(text, value);
	columns_right(&section->columns, text, CELL);
}

/* Adds a value per second; times become shares, in percent. */
static void rate_add(struct section *section, const struct measure *measure, double value)
{
	char text[VALUE_LEN];

	if (measure->is_time)
		snprintf(text, VALUE_LEN, "%.2f %%", value / 1e7);
	else
		value_text(text, value);
	columns_right(&section->columns, text, CELL + 1);
}

/* Adds a bar per point; the section's highest is full height. */
static void sparkline_add(struct section *section, const struct summary_thread *thread)
{
	static const char *const bars[] = { " ",      "\u2581", "\u2582", "\u2583", "\u2584",
					    "\u2585", "\u2586", "\u2587", "\u2588" };

	columns_add(&section->columns, "  |");
	for (size_t i = 0; i < summary_points(section->summary); i++) {
		double part = summary_point(section->summary, thread, i);
		/* Anything above 0 stays visible. */
		size_t height = part > 0 ? 1 + (size_t)(part / section->highest * 7.5) : 0;

		columns_add(&section->columns, bars[height > 8 ? 8 : height]);
	}
	columns_add(&section->columns, "|");
}

static void who_add(struct section *section, const struct summary_thread *thread, bool is_first)
{
	struct columns *columns = &section->columns;
	char name[ESCAPE_SIZE(KD_COMM_LEN)], number[32] = "";

	escape_text(name, sizeof(name), thread->name, KD_COMM_LEN);
	if (thread == &section->summary->all)
		snprintf(name, sizeof(name), "all threads");
	else
		snprintf(number, sizeof(number), thread->members > 1 ? "%ux" : "%u",
			 thread->members > 1 ? thread->members : (unsigned int)thread->tid);
	if (!is_first)
		number[0] = name[0] = '\0';
	columns_right(columns, number, 10);
	columns_add(columns, " ");
	columns_add(columns, name);
	columns_pad(columns, escape_width(name), 16);
	columns_add(columns, " ");
}

static void line_add(struct section *section, const struct summary_thread *thread, size_t index,
		     bool is_first)
{
	const struct measure *measure = &section->summary->measures.all[index];
	const struct statistic *value = summary_value(thread, index);
	struct columns *columns = &section->columns;
	char title[MEASURE_KEY];
	struct statistic rate;

	measure_title(measure, title);
	who_add(section, thread, is_first);
	columns_left(columns, title, MEASURE_WIDTH);
	cell_add(section, measure, value->min);
	cell_add(section, measure, value->mean);
	cell_add(section, measure, value->max);
	cell_add(section, measure, statistic_deviation(value, thread->n));
	cell_add(section, measure, statistic_jitter(value, thread->n));
	cell_add(section, measure, value->ewma);
	if (summary_rate(section->summary, thread, index, &rate)) {
		rate_add(section, measure, rate.mean);
		rate_add(section, measure, rate.max);
	} else {
		columns_right(columns, "-", CELL + 1);
		columns_right(columns, "-", CELL + 1);
	}
	if (index == MEASURE_DELAY)
		sparkline_add(section, thread);
	columns_add(columns, "\n");
}

/* True if a measure deserves a line besides the first one, on time kept from running. Busy time
 * says little then. */
static bool is_shown(const struct section *section, const struct summary_thread *thread,
		     size_t index)
{
	if (index == MEASURE_DELAY)
		return false;
	return section->options->extent == REPORT_FULL ||
	       (index != MEASURE_BUSY && summary_varies(section->summary, thread, index));
}

static void thread_add(struct section *section, const struct summary_thread *thread)
{
	bool full = section->options->extent == REPORT_FULL;
	size_t n = summary_rank_measures(section->summary, thread, section->order), lines = 0;
	const struct statistic *delay = summary_value(thread, MEASURE_DELAY);

	if (delay && (delay->max > 0 || full || thread == &section->summary->all))
		line_add(section, thread, MEASURE_DELAY, !lines++);
	if (section->options->extent == REPORT_SUMMARY)
		return;
	for (size_t i = 0; i < n; i++)
		if (!is_shown(section, thread, section->order[i]))
			continue;
		else if (full || lines < SHORT_MEASURES)
			line_add(section, thread, section->order[i], !lines++);
		else
			section->measures_left++;
	if (full && thread->n < section->summary->samples)
		columns_print(&section->columns,
			      "%27s in %llu of %llu samples, the first of them number %llu\n", "",
			      (unsigned long long)thread->n,
			      (unsigned long long)section->summary->samples,
			      (unsigned long long)thread->first);
}

/* Adds a line for threads without one that lost time: their number, and mean loss per sample. */
static void others_add(struct section *section, const struct summary_thread *const *threads,
		       size_t n)
{
	struct columns *columns = &section->columns;
	const struct measure *measure = &section->summary->measures.all[MEASURE_DELAY];
	char title[MEASURE_KEY];
	uint64_t others = 0;
	double delay = 0;

	for (size_t i = 0; i < n; i++) {
		const struct statistic *value = summary_value(threads[i], MEASURE_DELAY);

		if (!value || value->max <= 0)
			continue;
		others += threads[i]->members;
		delay += value->mean * (double)threads[i]->n / (double)section->summary->samples *
			 threads[i]->members;
	}
	if (!others)
		return;
	snprintf(title, sizeof(title), "and %s others", GROUPED(others));
	columns_right(columns, "", 10);
	columns_add(columns, " ");
	columns_left(columns, title, 17);
	measure_title(measure, title);
	columns_left(columns, title, MEASURE_WIDTH);
	columns_right(columns, "-", CELL);
	cell_add(section, measure, delay);
	columns_add(columns, "\n");
}

/* Units differ, so there is no sum. */
static void measures_left_add(struct section *section)
{
	if (section->measures_left)
		columns_print(&section->columns,
			      "  and %s more measures of these threads: --full lists them\n",
			      GROUPED(section->measures_left));
}

static void header_add(struct section *section)
{
	const struct summary *summary = section->summary;
	struct columns *columns = &section->columns;

	columns_print(columns, "# Summary of %llu samples, %s",
		      (unsigned long long)summary->samples, AS_TIME(summary->ns));
	if (summary->came || summary->went)
		columns_print(columns, "; %llu threads came, %llu went",
			      (unsigned long long)summary->came, (unsigned long long)summary->went);
	if (summary->left_out)
		columns_print(columns, "; only %d threads are told apart", SUMMARY_THREADS);
	columns_add(columns,
		    "\n       TID THREAD           MEASURE                         MIN     MEAN"
		    "      MAX   STDDEV   JITTER     EWMA     MEAN/s     PEAK/s  KEPT IN ");
	if (summary->span > 1)
		columns_print(columns, "EACH %llu SAMPLES\n", (unsigned long long)summary->span);
	else
		columns_add(columns, "EACH SAMPLE\n");
}

static double highest_of(const struct section *section, const struct summary_thread *thread)
{
	double highest = section->highest;

	for (size_t i = 0; i < summary_points(section->summary); i++) {
		double part = summary_point(section->summary, thread, i);

		highest = part > highest ? part : highest;
	}
	return highest;
}

/* Moves the matching threads to the start of order. Returns how many are listed. */
static size_t threads_choose(const struct section *section, const struct summary_thread **order,
			     size_t *wanted)
{
	size_t most = section->options->top < SHORT_THREADS ? section->options->top : SHORT_THREADS;
	const char *names = section->options->threads;

	*wanted = 0;
	for (size_t i = 0; i < section->summary->n; i++)
		if (!names || names_match_comm(names, order[i]->name))
			order[(*wanted)++] = order[i];
	return section->options->extent == REPORT_FULL || *wanted <= most ? *wanted : most;
}

int report_text_summary(const struct summary *summary, const struct report_options *options,
			FILE *out)
{
	struct section section = { .summary = summary, .options = options };
	const struct summary_thread **threads = calloc(summary->n + 1, sizeof(*threads));
	size_t n, wanted;

	section.order = calloc(summary->measures.n, sizeof(*section.order));
	columns_begin(&section.columns, out);
	if (threads && section.order) {
		summary_rank_threads(summary, threads);
		n = threads_choose(&section, threads, &wanted);
		section.highest = highest_of(&section, &summary->all);
		for (size_t i = 0; i < n; i++)
			section.highest = highest_of(&section, threads[i]);
		header_add(&section);
		thread_add(&section, &summary->all);
		for (size_t i = 0; i < n; i++)
			thread_add(&section, threads[i]);
		others_add(&section, threads + n, wanted - n);
		measures_left_add(&section);
	} else {
		section.columns.err = -ENOMEM;
	}
	free(threads);
	free(section.order);
	return columns_end(&section.columns);
}

/* --- Differences from an earlier capture --- */

#define SHORT_LINES 20
#define WHO_WIDTH 24
#define CHANGED_WIDTH 32
#define DIFFERENCE_CELL 12

/* Adds a time, per second for sums, or a number. */
static void difference_cell_add(struct columns *columns, const struct difference *difference,
				double value)
{
	const struct measure *measure = difference->measure;
	char text[VALUE_LEN];

	if (!measure || measure->is_time)
		number_time(text, value < 1.8e19 ? (uint64_t)(value + 0.5) : UINT64_MAX);
	else
		snprintf(text, VALUE_LEN, value < 100 ? "%.1f" : "%.3g", value);
	if (!measure || measure->merge == MERGE_SUM)
		strcat(text, "/s");
	columns_right(columns, text, DIFFERENCE_CELL);
}

/* Change in percent of the value before, negative if it fell. A value of 0 counts as 1. */
static double difference_percent(const struct difference *difference)
{
	double before = difference->before.mean;

	return 100 * (difference->now.mean - before) / (before > 0 ? before : 1);
}

/* "+35 %", "x 12", "new", "gone". */
static void change_add(struct columns *columns, const struct difference *difference)
{
	double before = difference->before.mean, now = difference->now.mean;
	char text[32];

	if (before <= 0)
		strcpy(text, "new");
	else if (now <= 0)
		strcpy(text, "gone");
	else if (now < 10 * before)
		snprintf(text, sizeof(text), "%+.0f %%", difference_percent(difference));
	else
		snprintf(text, sizeof(text), "x %.3g", now / before);
	columns_right(columns, text, DIFFERENCE_CELL);
}

static void difference_line_add(struct columns *columns, const struct difference *difference)
{
	const struct series_subject *subject = difference->subject;
	char name[ESCAPE_SIZE(SERIES_NAME)], title[MEASURE_KEY];

	if (difference->measure)
		measure_title(difference->measure, title);
	else
		snprintf(title, sizeof(title), "%s", cause_words[subject->cause].title);
	escape_text(name, sizeof(name), subject->name, sizeof(subject->name));
	columns_add(columns, difference->measure ? "  thread " : "  kept by ");
	columns_pad(columns, difference->measure ? 9 : 10, 10);
	columns_add(columns, *name ? name : "-");
	columns_pad(columns, *name ? escape_width(name) : 1, WHO_WIDTH);
	columns_add(columns, " ");
	columns_left(columns, title, CHANGED_WIDTH);
	difference_cell_add(columns, difference, difference->before.mean);
	difference_cell_add(columns, difference, difference->now.mean);
	change_add(columns, difference);
	columns_print(columns, "  %.2g\n", difference->p);
}

int report_text_comparison(const struct comparison *comparison,
			   const struct report_options *options, FILE *out)
{
	size_t shown = options->extent == REPORT_FULL || comparison->n < SHORT_LINES ? comparison->n
										     : SHORT_LINES;
	struct columns columns;

	columns_begin(&columns, out);
	columns_print(&columns, "# Comparison of %zu samples before with %zu now: ",
		      comparison->before->samples, comparison->now->samples);
	if (comparison->few)
		columns_add(&columns, "too few to tell; 8 of each are enough\n");
	else if (!comparison->n)
		columns_add(&columns, "nothing differs beyond the spread of the samples\n");
	else
		columns_print(&columns,
			      "%zu measures of %zu differ beyond their spread (Mann-Whitney U, p "
			      "<= %.2g)\n",
			      comparison->n, comparison->tested, comparison->limit);
	if (comparison->n)
		columns_add(&columns,
			    "          WHO                      MEASURE                           "
			    "      BEFORE         NOW      CHANGE  P\n");
	for (size_t i = 0; i < shown; i++)
		difference_line_add(&columns, &comparison->all[i]);
	if (comparison->before->left_out + comparison->now->left_out)
		columns_print(&columns, "  left out, as there are too many: %zu\n",
			      (size_t)(comparison->before->left_out + comparison->now->left_out));
	if (shown < comparison->n)
		columns_print(&columns, "  and %zu more: --full lists them\n",
			      comparison->n - shown);
	return columns_end(&columns);
}
