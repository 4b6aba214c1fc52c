// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "html.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "cli/json/json.h"
#include "cli/json/json_writer.h"
#include "cli/model/verdict.h"
#include "cli/model/words.h"
#include "cli/text/text.h"
#include "html_part.h"

/* --- Text streams --- */

/* In fopencookie(3), a write function returns 0 on error. */

struct text_stream {
	FILE *out;
	size_t left; /* bytes that still fit */
	bool cut;
};

static void escaped_write(FILE *out, const char *bytes, size_t size)
{
	size_t plain = 0;

	for (size_t i = 0; i < size; i++) {
		if (bytes[i] != '<' && bytes[i] != '&')
			continue;
		fwrite(bytes + plain, 1, i - plain, out);
		fputs(bytes[i] == '<' ? "&lt;" : "&amp;", out);
		plain = i + 1;
	}
	fwrite(bytes + plain, 1, size - plain, out);
}

static ssize_t text_stream_write(void *cookie, const char *bytes, size_t size)
{
	struct text_stream *stream = cookie;
	size_t taken = size;

	if (!stream->cut && size > stream->left) {
		const char *end = memchr(bytes + stream->left, '\n', size - stream->left);

		/* The line may continue in the next write. */
		stream->cut = end;
		taken = end ? (size_t)(end + 1 - bytes) : size;
	} else if (stream->cut) {
		taken = 0;
	}
	escaped_write(stream->out, bytes, taken);
	stream->left -= taken < stream->left ? taken : stream->left;
	return ferror(stream->out) ? 0 : (ssize_t)size;
}

static int text_stream_close(void *cookie)
{
	struct text_stream *stream = cookie;

	if (stream->cut)
		fputs("# NOTE: The rest of the text is left out of this page, but not of its data: "
		      "kernel_delay --replay makes it of the JSON that can be saved here.\n",
		      stream->out);
	free(stream);
	return 0;
}

FILE *html_text_open(FILE *out, size_t most)
{
	const cookie_io_functions_t functions = { .write = text_stream_write,
						  .close = text_stream_close };
	struct text_stream *stream = malloc(sizeof(*stream));
	FILE *file;

	if (!stream)
		return NULL;
	*stream = (struct text_stream){ .out = out, .left = most };
	file = fopencookie(stream, "w", functions);
	if (!file)
		free(stream);
	return file;
}

/* --- Packed streams --- */

#define LINE 57                      /* bytes, for 76 columns */
#define GZIP_WINDOW (MAX_WBITS + 16) /* the largest window, with a gzip header */

struct packed_stream {
	FILE *out;
	z_stream deflate;
	size_t used; /* bytes in the line */
	unsigned char line[LINE];
};

static void line_write(struct packed_stream *stream)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char text[LINE / 3 * 4];
	size_t length = 0;

	memset(stream->line + stream->used, 0, LINE - stream->used);
	for (size_t i = 0; i < stream->used; i += 3) {
		const unsigned char *at = stream->line + i;
		unsigned int bits = (unsigned int)at[0] << 16 | (unsigned int)at[1] << 8 | at[2];

		for (int shift = 18; shift >= 0; shift -= 6)
			text[length++] = digits[bits >> shift & 63];
	}
	for (size_t missing = (3 - stream->used % 3) % 3; missing; missing--)
		text[length - missing] = '=';
	fwrite(text, 1, length, stream->out);
	fputs("\n", stream->out);
	stream->used = 0;
}

static void bytes_add(struct packed_stream *stream, const unsigned char *bytes, size_t size)
{
	while (size) {
		size_t left = LINE - stream->used, n = size < left ? size : left;

		memcpy(stream->line + stream->used, bytes, n);
		stream->used += n;
		bytes += n;
		size -= n;
		if (stream->used == LINE)
			line_write(stream);
	}
}

/* Writes what deflate has so far, or all of it at the end. */
static void deflate_on(struct packed_stream *stream, int flush)
{
	unsigned char packed[1 << 12];

	do {
		stream->deflate.next_out = packed;
		stream->deflate.avail_out = sizeof(packed);
		deflate(&stream->deflate, flush);
		bytes_add(stream, packed, sizeof(packed) - stream->deflate.avail_out);
	} while (!stream->deflate.avail_out);
}

static ssize_t packed_write(void *cookie, const char *bytes, size_t size)
{
	struct packed_stream *stream = cookie;

	stream->deflate.next_in = (unsigned char *)bytes; /* only read */
	stream->deflate.avail_in = (unsigned int)size;    /* the size of a stream's buffer */
	deflate_on(stream, Z_NO_FLUSH);
	return ferror(stream->out) ? 0 : (ssize_t)size;
}

static int packed_close(void *cookie)
{
	struct packed_stream *stream = cookie;

	stream->deflate.avail_in = 0;
	deflate_on(stream, Z_FINISH);
	if (stream->used)
		line_write(stream);
	deflateEnd(&stream->deflate);
	free(stream);
	return 0;
}

FILE *html_packed_open(FILE *out)
{
	const cookie_io_functions_t functions = { .write = packed_write, .close = packed_close };
	struct packed_stream *stream = calloc(1, sizeof(*stream));
	FILE *file;

	if (!stream)
		return NULL;
	stream->out = out;
	if (deflateInit2(&stream->deflate, Z_BEST_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		free(stream);
		errno = ENOMEM;
		return NULL;
	}
	file = fopencookie(stream, "w", functions);
	if (!file) {
		deflateEnd(&stream->deflate);
		free(stream);
	}
	return file;
}

/* --- Data for scripts besides the JSON --- */

/* Subject of a record: one of these. */
struct record {
	const struct sample *sample;
	const struct html_part *part; /* of the sample */
	const struct summary *summary;
	const struct comparison *comparison;
	const struct trigger_stats *triggers;
	const struct report_options *options;
};

/* Sentences and words, which only the text report defines, and derived figures. The format is
 * private to the page, not a promise. */

/* Writes and flushes the words for states, causes, losses and the like as JSON. Returns 0 or a
 * negative errno. */
static int words_write(const struct record *record, FILE *out)
{
	struct json_writer writer;

	(void)record;
	writer_begin(&writer, out);
	writer_object(&writer, NULL);
	writer_object(&writer, "states");
	for (size_t i = 0; i < LEDGER_STATES; i++)
		writer_word(&writer, ledger_words[i].key, ledger_words[i].title);
	writer_object_end(&writer);
	writer_object(&writer, "causes");
	for (size_t i = 0; i < CAUSES; i++)
		writer_word(&writer, cause_words[i].key, cause_words[i].title);
	writer_object_end(&writer);
	writer_object(&writer, "awaited");
	for (size_t i = 0; i < KD_AWAITED_KINDS; i++)
		writer_word(&writer, awaited_keys[i], awaited_titles[i]);
	writer_object_end(&writer);
	writer_object_end(&writer);
	return writer_end(&writer);
}

/* Writes lines as an array. */
static void lines_write(struct json_writer *writer, const char *key, char *text)
{
	char *line;

	writer_array(writer, key);
	while ((line = strsep(&text, "\n")))
		if (*line)
			writer_text(writer, NULL, line, SIZE_MAX);
	writer_array_end(writer);
}

typedef int (*sentences_writer)(const struct sample *sample, FILE *out);

static int sentences_write(struct json_writer *writer, const char *key, sentences_writer write,
			   const struct sample *sample)
{
	char *text = NULL;
	size_t length;
	FILE *lines = open_memstream(&text, &length);
	int error = lines ? write(sample, lines) : -errno;

	if (lines && fclose(lines) && !error)
		error = -ENOMEM;
	if (!error)
		lines_write(writer, key, text);
	free(text);
	return error;
}

static void threads_write(struct json_writer *writer, const struct verdict *verdict)
{
	writer_array(writer, "threads");
	for (size_t i = 0; i < verdict->n_threads; i++) {
		const struct verdict_thread *thread = &verdict->threads[i];

		writer_array(writer, NULL);
		writer_u64(writer, NULL, thread->busy);
		writer_u64(writer, NULL, thread->delay);
		writer_u64(writer, NULL, thread->longest);
		writer_array_end(writer);
	}
	writer_array_end(writer);
}

static void left_out_write(struct json_writer *writer, const struct html_part *part)
{
	writer_object(writer, "left_out");
	for (size_t kind = 0; kind < TRACE_KINDS; kind++)
		writer_u64(writer, json_trace_keys[kind], part->lists[kind].left_out);
	writer_u64(writer, "interruptions", part->interruptions_left_out);
	writer_object_end(writer);
}

static void stack_write(struct json_writer *writer, int64_t row, uint64_t total, uint64_t count)
{
	writer_array(writer, NULL);
	writer_i64(writer, NULL, row);
	writer_u64(writer, NULL, total);
	writer_u64(writer, NULL, count);
	writer_array_end(writer);
}

static void stacks_write(struct json_writer *writer, const struct html_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		stack_write(writer, (int64_t)list->stacks[i].row, list->stacks[i].total,
			    list->stacks[i].count);
	if (list->others.count)
		stack_write(writer, -1, list->others.total, list->others.count);
}

static void lists_write(struct json_writer *writer, const struct html_part *part)
{
	writer_object(writer, "stacks");
	for (size_t kind = 0; kind < TRACE_KINDS; kind++) {
		writer_array(writer, json_trace_keys[kind]);
		stacks_write(writer, &part->lists[kind]);
		writer_array_end(writer);
	}
	writer_object_end(writer);
}

/* Writes and flushes a sample's sentences as JSON. Adds [busy_ns, kept_ns, longest_ns] of the
 * verdict for each thread in sample order, and the number of rows left out of each list. Lists
 * with stacks get [row, ns, count] for merged rows; row is an index in the part's list, -1 for
 * rows left out. Returns as above. */
static int reading_write(const struct record *record, FILE *out)
{
	const struct sample *full = record->sample;
	struct json_writer writer;
	int error, failed;

	writer_begin(&writer, out);
	writer_object(&writer, NULL);
	error = sentences_write(&writer, "verdict", report_text_verdict, full);
	error = error ?: sentences_write(&writer, "next", report_text_advice, full);
	error = error ?: sentences_write(&writer, "notes", report_text_notes, full);
	threads_write(&writer, full->verdict);
	left_out_write(&writer, record->part);
	lists_write(&writer, record->part);
	writer_object_end(&writer);
	failed = writer_end(&writer);
	return error ?: failed;
}

/* --- Records, and the start of a page --- */

/* Start of every page: cli/html/page/, combined by page.sh at build time. What follows is in the
 * body. */
static const char page[] =
#include "html_page.inc"
	;

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

static int recorded_data_write(const struct record *record, FILE *out)
{
	return html_recorded(record->sample, out);
}

/* Data elements, and the functions that fill them. */
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

/* For browsers without scripts, and for reading, copying and searching. */
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
	if (fputs(page, out) == EOF)
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
