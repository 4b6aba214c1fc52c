// SPDX-License-Identifier: Apache-2.0
#include "replay.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <string.h>

#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "json_names.h"
#include "json_parts.h"
#include "replay_recording.h"

/* What jansson 2.14 and we allocate for a value, at most, by the characters that tell
 * of it (malloc(3) and growing tables included), and for a byte of text. */
enum cost {
	COST_OBJECT = 320,
	COST_ARRAY = 160,
	COST_MEMBER = 64,
	COST_ELEMENT = 56,
	COST_QUOTE = 36, /* half a string */
	COST_BYTE = 2,
};

struct source {
	FILE *in;
	unsigned long line;
	uint64_t cost, cost_max; /* of this document so far */
	bool too_large;
};

__attribute__((format(printf, 4, 5))) static int fail(struct replay_error *error, int status,
						      unsigned long line, const char *fmt, ...)
{
	va_list args;

	error->line = line;
	va_start(args, fmt);
	vsnprintf(error->text, sizeof(error->text), fmt, args);
	va_end(args);
	return status;
}

static enum cost cost_of(int byte)
{
	switch (byte) {
	case '{':
		return COST_OBJECT;
	case '[':
		return COST_ARRAY;
	case ':':
		return COST_MEMBER;
	case ',':
		return COST_ELEMENT;
	case '"':
		return COST_QUOTE;
	default:
		return COST_BYTE;
	}
}

/* Gives jansson a byte at a time: what is behind the document stays in the stream. */
static size_t source_give(void *buffer, size_t size, void *data)
{
	struct source *source = data;
	int byte = size ? getc_unlocked(source->in) : EOF;

	if (byte == EOF)
		return 0;
	source->line += byte == '\n';
	source->cost += cost_of(byte);
	if (source->cost > source->cost_max) {
		source->too_large = true;
		return (size_t)-1;
	}
	*(char *)buffer = (char)byte;
	return 1;
}

/* Goes to the next document. False at the end of the stream. */
static bool source_seek(struct source *source)
{
	int byte;

	while ((byte = getc_unlocked(source->in)) != EOF) {
		source->line += byte == '\n';
		if (byte != ' ' && byte != '\t' && byte != '\r' && byte != '\n')
			return ungetc(byte, source->in) != EOF;
	}
	return false;
}

/* Where jansson has no memory it says that there is no text, that the text is invalid, or nothing:
 * errno tells. */
static exit_status parse_failed(const struct source *source, unsigned long first,
				const json_error_t *parse, struct replay_error *error)
{
	bool out_of_memory = errno == ENOMEM;
	unsigned long line = first + (parse->line > 1 ? (unsigned long)parse->line - 1 : 0);

	if (out_of_memory)
		return fail(error, EX_OSERR, 0, "no memory");
	if (ferror(source->in))
		return fail(error, EX_IOERR, 0, "%s", strerror(errno));
	if (source->too_large)
		return fail(error, EX_DATAERR, first, "the sample is too large");
	switch (json_error_code(parse)) {
	case json_error_premature_end_of_input:
		return fail(error, EX_DATAERR, line, "the file ends in the middle of a sample");
	default:
		return fail(error, EX_DATAERR, line, "%s", parse->text);
	}
}

/* Whether it is of a version that we know; if not it is a fault. */
static void schema_check(struct reader *reader, const json_t *root)
{
	static const char name[] = JSON_SCHEMA_NAME "/";
	const char *text, *version;
	unsigned long major = 0;

	reader_require(reader, root, "schema");
	text = reader_text(reader, root, "schema");
	if (!text)
		return;
	if (strncmp(text, name, sizeof(name) - 1) != 0) {
		reader_fail(reader, "schema", "is %s, not one of " JSON_SCHEMA_NAME, text);
		return;
	}
	version = text + sizeof(name) - 1;
	while (*version >= '0' && *version <= '9' && major < 1000000)
		major = major * 10 + (unsigned long)(*version++ - '0');
	if (major != JSON_SCHEMA_MAJOR || (*version && *version != '.'))
		reader_fail(reader, "schema", "is %s, this version reads " JSON_SCHEMA, text);
}

static int sample_read(struct reader *reader, const json_t *root,
		       const struct replay_handlers *handlers, struct replay_recording *pending)
{
	struct sample sample = { 0 };
	int status = 0;

	replay_sample(reader, root, &sample);
	sample.recording = replay_recording_end(pending, reader, sample.number);
	if (!reader->failed && handlers->sample)
		status = handlers->sample(&sample, handlers->context);
	sample_clear(&sample);
	return status;
}

static int triggers_read(struct reader *reader, const json_t *root,
			 const struct replay_handlers *handlers)
{
	struct trigger_stats stats = { 0 };
	int status = 0;

	replay_triggers(reader, root, &stats);
	if (!reader->failed && handlers->triggers)
		status = handlers->triggers(&stats, handlers->context);
	trigger_stats_clear(&stats);
	return status;
}

/* What has been read of a stream. */
struct replay_progress {
	uint64_t samples;
	struct replay_recording pending; /* of the next sample */
};

/* A document of a type; those that are not known are skipped. */
static int typed_read(struct reader *reader, const json_t *root, const char *type,
		      const struct replay_handlers *handlers, struct replay_progress *progress)
{
	if (!strcmp(type, JSON_SAMPLE)) {
		progress->samples++;
		return sample_read(reader, root, handlers, &progress->pending);
	}
	if (!strcmp(type, JSON_TRIGGERS)) {
		progress->samples++;
		return triggers_read(reader, root, handlers);
	}
	if (handlers->recordings && !strcmp(type, JSON_RECORDING))
		replay_recording_begin(&progress->pending, reader, root);
	else if (handlers->recordings && !strcmp(type, JSON_RECORDED))
		replay_recording_add(&progress->pending, reader, root);
	return 0;
}

static int document_read(const json_t *root, const struct source *source, unsigned long line,
			 const struct replay_handlers *handlers, struct replay_progress *progress,
			 struct replay_error *error)
{
	struct reader reader = { .memory = source->cost, .memory_max = source->cost_max };
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
		status = typed_read(&reader, root, type, handlers, progress);
	if (reader.failed)
		status = fail(error, reader.no_memory ? EX_OSERR : EX_DATAERR, line, "%s",
			      reader.error);
	reader_clear(&reader);
	return status;
}

static exit_status end_check(const struct source *source, const struct replay_progress *progress,
			     struct replay_error *error)
{
	if (ferror(source->in))
		return fail(error, EX_IOERR, 0, "%s", strerror(errno));
	if (progress->pending.recording)
		return fail(error, EX_DATAERR, 0, "the file ends before the sample of a recording");
	return progress->samples ? 0 : fail(error, EX_DATAERR, 0, "there is no sample in it");
}

exit_status replay_stream(FILE *in, const struct replay_handlers *handlers,
			  struct replay_error *error)
{
	const size_t flags = JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES;
	struct source source = {
		.in = in,
		.line = 1,
		.cost_max = handlers->memory_max ? handlers->memory_max : REPLAY_MEMORY_MAX,
	};
	struct replay_progress progress = { .pending.memory_max = source.cost_max };
	int status = 0;

	memset(error, 0, sizeof(*error));
	while (!status && source_seek(&source)) {
		unsigned long first = source.line;
		json_error_t parse;
		json_t *root;

		source.cost = 0;
		errno = 0;
		root = json_load_callback(source_give, &source, flags, &parse);
		if (!root) {
			status = parse_failed(&source, first, &parse, error);
			break;
		}
		status = document_read(root, &source, first, handlers, &progress, error);
		json_decref(root);
	}
	if (!status)
		status = end_check(&source, &progress, error);
	replay_recording_clear(&progress.pending);
	return status;
}

exit_status replay_read(const char *path, const struct replay_handlers *handlers)
{
	bool is_stdin = !strcmp(path, "-");
	const char *name = is_stdin ? "standard input" : path;
	FILE *in = is_stdin ? stdin : fopen(path, "re");
	struct replay_error error = { 0 };
	int status;

	if (!in) {
		log_error("cannot open %s: %s", path, strerror(errno));
		return EX_NOINPUT;
	}
	status = replay_stream(in, handlers, &error);
	if (error.line)
		log_error("%s:%lu: %s", name, error.line, error.text);
	else if (*error.text)
		log_error("%s: %s", name, error.text);
	if (status == EX_DATAERR && *error.text)
		log_hint("--replay takes what \"-o json:FILE\" has written");
	if (!is_stdin)
		fclose(in);
	return status;
}
