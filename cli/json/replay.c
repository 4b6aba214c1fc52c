// SPDX-License-Identifier: Apache-2.0
#include "replay.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"
#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/model/verdict.h"
#include "json.h"
#include "json_fields.h"
#include "json_recorded.h"
#include "replay_reader.h"

/* --- Recordings: lines before their sample --- */

/* A recording still being read. All 0: none. */
struct replay_recording {
	struct recording *recording; /* NULL: none */
	uint64_t number;             /* of its sample */
	uint64_t rows[SPAN_LISTS];   /* still expected */
	uint64_t memory, memory_max; /* bytes used by rows, and their limit */
};

#define IRQ_NAMES 1024

/* Rows of a line being read. */
struct chunk {
	struct reader *reader;
	struct replay_recording *pending;
	const struct recorded_list *list;
	const json_t *kind, *after, *length, *value;
	struct span *kinds;
	size_t n, n_kinds;
};

/* --- Single facts --- */

static void order_check(struct reader *reader, const struct recording *recording)
{
	const struct recorded_thread *threads = recording->threads;
	const struct recorded_culprit *culprits = recording->culprits;

	for (size_t i = 1; i < recording->n_threads; i++)
		if (threads[i].tid <= threads[i - 1].tid)
			reader_fail(reader, "threads", "are not in the order of their TIDs");
	for (size_t i = 1; i < recording->n_culprits; i++)
		if (culprits[i].key <= culprits[i - 1].key)
			reader_fail(reader, "culprits", "are not in the order of their keys");
}

/* Begins a recording from its line of single facts. The caller clears it in either case. */
static void replay_recording_begin(struct replay_recording *pending, struct reader *reader,
				   const json_t *object)
{
	struct recording *recording;
	const json_t *rows;

	if (pending->recording) {
		reader_fail(reader, NULL, "the sample of the recording before is missing");
		return;
	}
	recording = pending->recording = reader_rows(reader, 1, sizeof(*recording));
	if (!recording)
		return;
	pending->memory = 0;
	pending->number = reader_u64(reader, object, "number");
	json_fields_read(reader, object, recording_fields, recording);
	rows = reader_enter(reader, object, "rows");
	for (size_t i = 0; i < SPAN_LISTS; i++)
		pending->rows[i] = reader_u64(reader, rows, recorded_lists[i].key);
	reader_leave(reader);
	if (recording->from > recording->to)
		reader_fail(reader, "start_ns", "is behind end_ns");
	order_check(reader, recording);
}

/* --- Kinds --- */

/* Stores each name once, for the recording's lifetime: the array never moves. */
static const char *name_keep(struct chunk *chunk, const char *name)
{
	struct recording *recording = chunk->pending->recording;
	struct recorded_name *names = recording->irq_names;

	if (!names)
		names = reader_rows(chunk->reader, IRQ_NAMES, sizeof(*names));
	recording->irq_names = names;
	if (!names)
		return NULL;
	for (size_t i = 0; i < recording->n_irq_names; i++)
		if (!strcmp(names[i].text, name))
			return names[i].text;
	if (recording->n_irq_names == IRQ_NAMES || strlen(name) >= sizeof(names->text)) {
		reader_fail(chunk->reader, "name", "is too long, or one too many");
		return NULL;
	}
	strcpy(names[recording->n_irq_names].text, name);
	return names[recording->n_irq_names++].text;
}

static void kinds_read(struct chunk *chunk, const json_t *object)
{
	struct reader *reader = chunk->reader;
	const json_t *array = reader_array(reader, object, "kinds", &chunk->n_kinds);

	if (chunk->n_kinds > RECORDED_ROWS) {
		reader_fail(reader, "kinds", "has more than %d of them", RECORDED_ROWS);
		return;
	}
	chunk->kinds = reader_memory(reader, chunk->n_kinds, sizeof(*chunk->kinds));
	for (size_t i = 0; i < chunk->n_kinds && !reader->failed; i++) {
		struct span *kind = &chunk->kinds[i];

		json_fields_read(reader, reader_element(reader, array, "kinds", i),
				 chunk->list->fields, kind);
		if (chunk->list == &recorded_lists[SPAN_IRQS] && !reader->failed)
			kind->name = name_keep(chunk, kind->name);
		reader_leave(reader);
	}
}

/* --- Rows --- */

/* Column with one number per row; NULL: all are 0. */
static const json_t *column_find(struct chunk *chunk, const json_t *object, const char *key)
{
	size_t n;
	const json_t *array = key ? reader_array(chunk->reader, object, key, &n) : NULL;

	if (array && n != chunk->n)
		reader_fail(chunk->reader, key, "has %zu numbers for %zu rows", n, chunk->n);
	return array;
}

static int64_t column_number(struct chunk *chunk, const json_t *array, const char *key, size_t i,
			     int64_t least)
{
	const json_t *number = array ? json_array_get(array, i) : NULL;

	if (!array)
		return 0;
	if (!json_is_integer(number) || json_integer_value(number) < least) {
		reader_fail(chunk->reader, key, "[%zu] is no number that it may have", i);
		return 0;
	}
	return json_integer_value(number);
}

/* last: end of the previous row. */
static void row_read(struct chunk *chunk, size_t i, uint64_t last, struct span *row)
{
	uint64_t kind = (uint64_t)column_number(chunk, chunk->kind, "kind", i, 0);
	int64_t after = column_number(chunk, chunk->after, "after_ns", i, INT64_MIN);
	int64_t length = column_number(chunk, chunk->length, "ns", i, 0);

	if (kind >= chunk->n_kinds)
		reader_fail(chunk->reader, "kind", "[%zu]: there is no such kind", i);
	else
		*row = chunk->kinds[kind];
	if (chunk->list->value)
		row->value = column_number(chunk, chunk->value, chunk->list->value, i, INT64_MIN);
	if (__builtin_add_overflow(last, after, &row->start) ||
	    __builtin_add_overflow(row->start, length, &row->end))
		reader_fail(chunk->reader, "after_ns", "[%zu]: there is no such time", i);
}

static bool is_behind(const struct recorded_list *list, const struct span *row,
		      const struct span *before)
{
	switch (list->order) {
	case RECORDED_BY_TID:
		return row->tid > before->tid ||
		       (row->tid == before->tid && (!list->follow || row->start >= before->end));
	case RECORDED_BY_CPU:
		return row->cpu >= before->cpu;
	case RECORDED_BY_TIME:
		return row->start >= before->start;
	}
	return false;
}

/* Makes space for the line's rows. Returns false after a fault. */
static bool spans_reserve(struct chunk *chunk, struct spans *spans)
{
	struct replay_recording *pending = chunk->pending;

	pending->memory += chunk->n * sizeof(*spans->all);
	if (pending->memory > pending->memory_max) {
		reader_fail(chunk->reader, NULL, "the recording is too large");
		return false;
	}
	if (array_reserve(&spans->all, spans->n + chunk->n, &spans->capacity,
			  sizeof(*spans->all))) {
		reader_no_memory(chunk->reader);
		return false;
	}
	return true;
}

static void rows_read(struct chunk *chunk, struct spans *spans, uint64_t start)
{
	for (size_t i = 0; i < chunk->n; i++) {
		struct span *row = &spans->all[spans->n];

		row_read(chunk, i, i ? row[-1].end : start, row);
		if (spans->n && !is_behind(chunk->list, row, row - 1))
			reader_fail(chunk->reader, NULL, "row %zu is out of order", i);
		if (chunk->reader->failed)
			return;
		spans->n++;
	}
}

/* Adds the rows of a line; skips unknown lists. */
static void replay_recording_add(struct replay_recording *pending, struct reader *reader,
				 const json_t *object)
{
	struct chunk chunk = { .reader = reader, .pending = pending };
	const char *key = reader_text(reader, object, "list");
	uint64_t start = reader_u64(reader, object, "start_ns"), *left = NULL;
	struct spans *spans = NULL;

	chunk.n = reader_number(reader, object, "rows", RECORDED_ROWS);
	if (!pending->recording || pending->number != reader_u64(reader, object, "number")) {
		reader_fail(reader, NULL, "the recording that these rows are of is missing");
		return;
	}
	for (size_t i = 0; i < SPAN_LISTS && key; i++) {
		if (!strcmp(recorded_lists[i].key, key)) {
			chunk.list = &recorded_lists[i];
			left = &pending->rows[i];
			spans = &pending->recording->spans[i];
		}
	}
	if (!left || reader->failed)
		return;
	if (chunk.n > *left) {
		reader_fail(reader, "rows", "is larger than what is left, %llu",
			    (unsigned long long)*left);
		return;
	}
	*left -= chunk.n;
	kinds_read(&chunk, object);
	chunk.kind = column_find(&chunk, object, "kind");
	chunk.after = column_find(&chunk, object, "after_ns");
	chunk.length = column_find(&chunk, object, "ns");
	chunk.value = column_find(&chunk, object, chunk.list->value);
	if (!reader->failed && spans_reserve(&chunk, spans))
		rows_read(&chunk, spans, start);
}

/* --- The end --- */

/* Recording of the sample with this number, which the caller now owns. NULL: none, or after a
 * fault: rows are missing. */
static struct recording *replay_recording_end(struct replay_recording *pending,
					      struct reader *reader, uint64_t number)
{
	struct recording *recording = pending->recording;

	if (!recording)
		return NULL;
	for (size_t i = 0; i < SPAN_LISTS; i++)
		if (pending->rows[i])
			reader_fail(reader, NULL, "of the recording %s are missing",
				    recorded_lists[i].key);
	if (pending->number != number)
		reader_fail(reader, "number", "is not that of the recording before it");
	if (reader->failed)
		return NULL;
	pending->recording = NULL;
	return recording;
}

static void replay_recording_clear(struct replay_recording *pending)
{
	recording_clear(pending->recording);
	free(pending->recording);
	pending->recording = NULL;
}

/* --- Files --- */

/* Upper bounds on what jansson 2.14 and we allocate for a value, by the character that announces
 * it, including malloc(3) overhead and growing tables; and for a byte of text. */
static const uint16_t costs[UCHAR_MAX + 1] = {
	['{'] = 320, ['['] = 160, [':'] = 64, /* a member */
	[','] = 56,                           /* an element */
	['"'] = 36,                           /* half a string */
};
#define COST_BYTE 2
/* A capture takes some 20 times its text. What takes more than this, and is not small, was made to
 * take memory: a thread without figures is 10 bytes of text and some thousand here. */
#define COST_TIMES 48
#define COST_SMALL (64ULL << 20)

/* A file, and what has been read of it. */
struct stream {
	FILE *in;
	const struct replay_handlers *handlers;
	struct replay_error *error;
	unsigned long line;
	uint64_t cost, cost_max; /* of this document so far */
	uint64_t bytes;          /* of it */
	bool too_large;
	uint64_t samples;
	struct replay_recording pending; /* for the next sample */
};

__attribute__((format(printf, 4, 5))) static int fail(const struct stream *stream, int status,
						      unsigned long line, const char *fmt, ...)
{
	va_list args;

	stream->error->line = line;
	va_start(args, fmt);
	vsnprintf(stream->error->text, sizeof(stream->error->text), fmt, args);
	va_end(args);
	return status;
}

/* What the document may take, by its text so far. */
static uint64_t memory_most(const struct stream *stream)
{
	uint64_t most = u64_max(COST_SMALL, u64_times(stream->bytes, COST_TIMES));

	return u64_min(most, stream->cost_max);
}

/* Gives jansson one byte at a time, so that what follows the document stays in the file. */
static size_t stream_give(void *buffer, size_t size, void *data)
{
	struct stream *stream = data;
	int byte = size ? getc_unlocked(stream->in) : EOF;

	if (byte == EOF)
		return 0;
	stream->line += byte == '\n';
	stream->cost += costs[byte] ?: COST_BYTE;
	stream->bytes++;
	if (stream->cost > memory_most(stream)) {
		stream->too_large = true;
		return (size_t)-1;
	}
	*(char *)buffer = (char)byte;
	return 1;
}

/* Skips to the next document. False at the end of the file. */
static bool stream_seek(struct stream *stream)
{
	int byte;

	while ((byte = getc_unlocked(stream->in)) != EOF) {
		stream->line += byte == '\n';
		if (byte != ' ' && byte != '\t' && byte != '\r' && byte != '\n')
			return ungetc(byte, stream->in) != EOF;
	}
	return false;
}

/* Out of memory, jansson may report missing text, invalid text, or nothing: errno tells. */
static exit_status parse_failed(const struct stream *stream, unsigned long first,
				const json_error_t *parse)
{
	bool out_of_memory = errno == ENOMEM;
	unsigned long line = first + (parse->line > 1 ? (unsigned long)parse->line - 1 : 0);

	if (out_of_memory)
		return fail(stream, EX_OSERR, 0, "no memory");
	if (ferror(stream->in))
		return fail(stream, EX_IOERR, 0, "%s", strerror(errno));
	if (stream->too_large)
		return fail(stream, EX_DATAERR, first, "the sample is too large");
	return fail(stream, EX_DATAERR, line, "%s",
		    json_error_code(parse) == json_error_premature_end_of_input
			    ? "the file ends in the middle of a sample"
			    : parse->text);
}

/* Fails unless the version is supported: the major one, and any minor one. */
static void schema_check(struct reader *reader, const json_t *root)
{
	static const char name[] = JSON_SCHEMA_NAME "/", supported[] = JSON_SCHEMA;
	const size_t length = sizeof(supported) - 1;
	const char *text;

	reader_require(reader, root, "schema");
	text = reader_text(reader, root, "schema");
	if (!text)
		return;
	if (strncmp(text, name, sizeof(name) - 1) != 0)
		reader_fail(reader, "schema", "is %s, not one of " JSON_SCHEMA_NAME, text);
	else if (strncmp(text, supported, length) != 0 || (text[length] && text[length] != '.'))
		reader_fail(reader, "schema", "is %s, this version reads " JSON_SCHEMA, text);
}

static int sample_read(struct stream *stream, struct reader *reader, const json_t *root)
{
	const struct replay_handlers *handlers = stream->handlers;
	struct sample sample = { 0 };
	struct verdict verdict = { 0 };
	int status = 0;

	replay_sample(reader, root, &sample);
	sample.recording = replay_recording_end(&stream->pending, reader, sample.number);
	if (!reader->failed && verdict_find(&verdict, &sample))
		reader_no_memory(reader);
	if (!reader->failed && handlers->sample)
		status = handlers->sample(&sample, handlers->context);
	verdict_clear(&verdict);
	sample_clear(&sample);
	return status;
}

static int triggers_read(const struct replay_handlers *handlers, struct reader *reader,
			 const json_t *root)
{
	struct trigger_stats stats = { 0 };
	int status = 0;

	replay_triggers(reader, root, &stats);
	if (!reader->failed && handlers->triggers)
		status = handlers->triggers(&stats, handlers->context);
	trigger_stats_clear(&stats);
	return status;
}

/* Handles a document by type; unknown ones are skipped. */
static int typed_read(struct stream *stream, struct reader *reader, const json_t *root,
		      const char *type)
{
	if (!strcmp(type, JSON_SAMPLE)) {
		stream->samples++;
		return sample_read(stream, reader, root);
	}
	if (!strcmp(type, JSON_TRIGGERS)) {
		stream->samples++;
		return triggers_read(stream->handlers, reader, root);
	}
	if (stream->handlers->recordings && !strcmp(type, JSON_RECORDING))
		replay_recording_begin(&stream->pending, reader, root);
	else if (stream->handlers->recordings && !strcmp(type, JSON_RECORDED))
		replay_recording_add(&stream->pending, reader, root);
	return 0;
}

static int document_read(struct stream *stream, const json_t *root, unsigned long line)
{
	struct reader reader = { .memory = stream->cost, .memory_max = memory_most(stream) };
	const char *type = NULL;
	int status = 0;

	if (json_is_object(root)) {
		schema_check(&reader, root);
		reader_require(&reader, root, "type");
		type = reader_text(&reader, root, "type");
	} else {
		reader_fail(&reader, NULL, "an object is expected");
	}
	if (!reader.failed)
		status = typed_read(stream, &reader, root, type);
	if (reader.failed)
		status = fail(stream, reader.no_memory ? EX_OSERR : EX_DATAERR, line, "%s",
			      reader.error);
	reader_clear(&reader);
	return status;
}

static exit_status end_check(const struct stream *stream)
{
	if (ferror(stream->in))
		return fail(stream, EX_IOERR, 0, "%s", strerror(errno));
	if (stream->pending.recording)
		return fail(stream, EX_DATAERR, 0,
			    "the file ends before the sample of a recording");
	return stream->samples ? 0 : fail(stream, EX_DATAERR, 0, "there is no sample in it");
}

exit_status replay_stream(FILE *in, const struct replay_handlers *handlers,
			  struct replay_error *error)
{
	const size_t flags = JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES;
	uint64_t most = handlers->memory_max ?: REPLAY_MEMORY_MAX;
	struct stream stream = {
		.in = in,
		.handlers = handlers,
		.error = error,
		.line = 1,
		.cost_max = most,
		.pending.memory_max = most,
	};
	int status = 0;

	memset(error, 0, sizeof(*error));
	while (!status && stream_seek(&stream)) {
		unsigned long first = stream.line;
		json_error_t parse;
		json_t *root;

		stream.cost = stream.bytes = 0;
		errno = 0;
		root = json_load_callback(stream_give, &stream, flags, &parse);
		status = root ? document_read(&stream, root, first)
			      : parse_failed(&stream, first, &parse);
		json_decref(root);
	}
	if (!status)
		status = end_check(&stream);
	replay_recording_clear(&stream.pending);
	return status;
}

exit_status replay_open(FILE **in, const char *path)
{
	*in = strcmp(path, "-") ? fopen(path, "re") : stdin;
	if (*in)
		return 0;
	log_error("cannot open %s: %s", path, strerror(errno));
	return EX_NOINPUT;
}

exit_status replay_read(FILE *in, const char *path, const struct replay_handlers *handlers)
{
	const char *name = in == stdin ? "standard input" : path;
	struct replay_error error = { 0 };
	int status = replay_stream(in, handlers, &error);

	if (error.line)
		log_error("%s:%lu: %s", name, error.line, error.text);
	else if (*error.text)
		log_error("%s: %s", name, error.text);
	if (status == EX_DATAERR && *error.text)
		log_hint("--replay takes what \"-o json:FILE\" has written");
	replay_close(in);
	return status;
}

void replay_close(FILE *in)
{
	if (in && in != stdin)
		fclose(in);
}
