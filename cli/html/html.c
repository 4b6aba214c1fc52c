// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "html.h"

#include <errno.h>

#include "cli/json/json.h"
#include "cli/text/text.h"
#include "cli/text/text_comparison.h"
#include "cli/text/text_summary.h"
#include "cli/text/text_triggers.h"
#include "html_escape.h"
#include "html_page.h"
#include "html_reading.h"

/* What a record is about: one of these. */
struct record {
	const struct sample *sample;
	const struct summary *summary;
	const struct comparison *comparison;
	const struct trigger_stats *triggers;
	const struct report_options *options;
};

static int json_write(const struct record *record, FILE *out)
{
	return record->sample    ? report_json(record->sample, record->options, out)
	       : record->summary ? report_json_summary(record->summary, record->options, out)
	       : record->comparison
		       ? report_json_comparison(record->comparison, record->options, out)
		       : report_json_triggers(record->triggers, out);
}

static int text_write(const struct record *record, FILE *out)
{
	struct report_options plain = { 0 };

	if (record->options)
		plain = *record->options;
	plain.bold = false;
	return record->sample       ? report_text(record->sample, &plain, out)
	       : record->summary    ? report_text_summary(record->summary, &plain, out)
	       : record->comparison ? report_text_comparison(record->comparison, &plain, out)
				    : report_text_triggers(record->triggers, out);
}

static int reading_write(const struct record *record, FILE *out)
{
	return html_reading(record->sample, out);
}

static int words_write(const struct record *record, FILE *out)
{
	(void)record;
	return html_words(out);
}

/* Parts of a page: an element and what writes its text. */
struct part {
	const char *begin, *end;
	enum html_escape escape;
	int (*write)(const struct record *record, FILE *out);
};

#define DATA(name, writer)                                                                         \
	{                                                                                          \
		"<script type=\"application/json\" class=\"" name "\">", "</script>\n", HTML_JSON, \
			writer                                                                     \
	}
static const struct part words_part = DATA("words", words_write);
static const struct part json_part = DATA("record", json_write);
static const struct part reading_part = DATA("reading", reading_write);
static const struct part text_part = { "<pre class=\"text\" tabindex=\"0\">\n", "</pre>\n",
				       HTML_TEXT, text_write };

static int part_write(const struct part *part, const struct record *record, FILE *out)
{
	FILE *escaped = html_escape_open(out, part->escape);
	int error;

	if (!escaped)
		return -errno;
	fputs(part->begin, out);
	error = part->write(record, escaped);
	if (fclose(escaped) && !error)
		error = -(errno ?: EIO);
	fputs(part->end, out);
	return error;
}

static int record_write(const struct record *record, FILE *out)
{
	int error = part_write(&json_part, record, out);

	if (!error && record->sample)
		error = part_write(&reading_part, record, out);
	if (!error)
		error = part_write(&text_part, record, out);
	if (!error && fflush(out))
		error = -(errno ?: EIO);
	return error;
}

int html_begin(FILE *out)
{
	if (fputs(html_page, out) == EOF)
		return -(errno ?: EIO);
	return part_write(&words_part, NULL, out);
}

int report_html(const struct sample *sample, const struct report_options *options, FILE *out)
{
	return record_write(&(struct record){ .sample = sample, .options = options }, out);
}

int report_html_summary(const struct summary *summary, const struct report_options *options,
			FILE *out)
{
	return record_write(&(struct record){ .summary = summary, .options = options }, out);
}

int report_html_comparison(const struct comparison *comparison,
			   const struct report_options *options, FILE *out)
{
	return record_write(&(struct record){ .comparison = comparison, .options = options }, out);
}

int report_html_triggers(const struct trigger_stats *stats, FILE *out)
{
	return record_write(&(struct record){ .triggers = stats }, out);
}
