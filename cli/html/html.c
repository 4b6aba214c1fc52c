// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "html.h"

#include <errno.h>

#include "cli/json/json.h"
#include "cli/json/json_names.h"
#include "cli/text/text.h"
#include "cli/text/text_comparison.h"
#include "cli/text/text_summary.h"
#include "cli/text/text_triggers.h"
#include "html_page.h"
#include "html_reading.h"
#include "html_recorded.h"
#include "html_streams.h"

/* What a record is about: one of these. */
struct record {
	const struct sample *sample;
	const struct html_part *part; /* of the sample */
	const struct summary *summary;
	const struct comparison *comparison;
	const struct trigger_stats *triggers;
	const struct report_options *options;
};

static int json_write(const struct record *record, FILE *out)
{
	return record->part      ? report_json(&record->part->sample, record->options, out)
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
	return html_reading(record->sample, record->part, out);
}

static int recorded_data_write(const struct record *record, FILE *out)
{
	return html_recorded(record->sample, out);
}

static int words_write(const struct record *record, FILE *out)
{
	(void)record;
	return html_words(out);
}

/* Elements of data, and what writes what is in them. */
static int data_write(const struct record *record, const char *class,
		      int (*write)(const struct record *record, FILE *out), FILE *out)
{
	FILE *packed = html_packed_open(out);
	int error;

	if (!packed)
		return -errno;
	fprintf(out, "<script type=\"application/gzip\" class=\"%s\">\n", class);
	error = write(record, packed);
	if (fclose(packed) && !error)
		error = -(errno ?: EIO);
	fputs("</script>\n", out);
	return error;
}

/* For those without a script; and to be read, copied and searched. */
#define TEXT_MOST (256 << 10)

static int pre_write(const struct record *record, FILE *out)
{
	FILE *text = html_text_open(out, TEXT_MOST);
	int error;

	if (!text)
		return -errno;
	fputs("<pre class=\"text\" tabindex=\"0\">\n", out);
	error = text_write(record, text);
	if (fclose(text) && !error)
		error = -(errno ?: EIO);
	fputs("</pre>\n", out);
	return error;
}

static int record_write(const struct record *record, const char *kind, FILE *out)
{
	char class[32];
	int error;

	snprintf(class, sizeof(class), "record %s%s", kind,
		 record->part && html_part_is_shorter(record->part) ? " shorter" : "");
	error = data_write(record, class, json_write, out);
	if (!error && record->sample)
		error = data_write(record, "reading", reading_write, out);
	if (!error && record->sample && record->sample->recording)
		error = data_write(record, "recorded", recorded_data_write, out);
	error = error ?: pre_write(record, out);
	if (!error && fflush(out))
		error = -(errno ?: EIO);
	return error;
}

int html_begin(FILE *out)
{
	if (fputs(html_page, out) == EOF)
		return -(errno ?: EIO);
	return data_write(NULL, "words", words_write, out);
}

int report_html(const struct sample *sample, const struct report_options *options, FILE *out)
{
	struct html_part part;
	const struct record record = { .sample = sample, .part = &part, .options = options };
	int error = html_part_make(&part, sample);

	if (error)
		return error;
	error = record_write(&record, JSON_SAMPLE, out);
	html_part_clear(&part);
	return error;
}

int report_html_summary(const struct summary *summary, const struct report_options *options,
			FILE *out)
{
	return record_write(&(struct record){ .summary = summary, .options = options },
			    JSON_SUMMARY, out);
}

int report_html_comparison(const struct comparison *comparison,
			   const struct report_options *options, FILE *out)
{
	return record_write(&(struct record){ .comparison = comparison, .options = options },
			    JSON_COMPARISON, out);
}

int report_html_triggers(const struct trigger_stats *stats, FILE *out)
{
	return record_write(&(struct record){ .triggers = stats }, JSON_TRIGGERS, out);
}
