// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "text_comparison.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/columns.h"
#include "cli/base/escape.h"

#define SHORT_LINES 20
#define WHO_WIDTH 24
#define MEASURE_WIDTH 32
#define CELL 12

/* A time, per second if it is a sum; or a number. */
static void cell_add(struct columns *columns, const struct difference *difference, double value)
{
	const struct measure *measure = difference->measure;
	char text[64];
	size_t length;

	if (!measure || measure->is_time)
		length = number_time(text, value < 1.8e19 ? (uint64_t)(value + 0.5) : UINT64_MAX);
	else
		length = (size_t)snprintf(text, sizeof(text), value < 100 ? "%.1f" : "%.3g", value);
	if (!measure || measure->merge == MERGE_SUM)
		strcpy(text + length, "/s");
	columns_right(columns, text, CELL);
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
	columns_right(columns, text, CELL);
}

static void line_add(struct columns *columns, const struct difference *difference)
{
	const struct course_subject *subject = difference->subject;
	char name[ESCAPE_SIZE(COURSE_NAME)], title[MEASURE_KEY];

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
	columns_left(columns, title, MEASURE_WIDTH);
	cell_add(columns, difference, difference->before.mean);
	cell_add(columns, difference, difference->now.mean);
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
		line_add(&columns, &comparison->all[i]);
	if (comparison->before->left_out + comparison->now->left_out)
		columns_print(&columns, "  left out, as there are too many: %zu\n",
			      (size_t)(comparison->before->left_out + comparison->now->left_out));
	if (shown < comparison->n)
		columns_print(&columns, "  and %zu more: --full lists them\n",
			      comparison->n - shown);
	return columns_end(&columns);
}
