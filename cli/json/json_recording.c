// SPDX-License-Identifier: Apache-2.0
/* A recording as lines of JSON, in front of its sample. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "json_names.h"
#include "json_parts.h"
#include "json_recorded.h"

/* Rows of a list that are in one line. */
struct chunk {
	const struct recorded_list *list;
	struct json_scope scope;
	struct recorded_kinds kinds;
	size_t n;
	struct recorded_row rows[RECORDED_ROWS];
	uint32_t kind[RECORDED_ROWS]; /* of each row */
};

static void chunk_fill(struct chunk *chunk, const char *elements, size_t n)
{
	chunk->n = n;
	memset(chunk->rows, 0, n * sizeof(*chunk->rows));
	recorded_kinds_reset(&chunk->kinds);
	for (size_t i = 0; i < n; i++) {
		chunk->list->pack(elements + i * chunk->list->row_size, &chunk->rows[i]);
		chunk->kind[i] = (uint32_t)recorded_kinds_number(&chunk->kinds,
								 &chunk->rows[i].kind);
	}
}

static int64_t kind_column(const struct chunk *chunk, size_t i)
{
	return chunk->kind[i];
}

static int64_t after_column(const struct chunk *chunk, size_t i)
{
	return i ? (int64_t)(chunk->rows[i].start - chunk->rows[i - 1].end) : 0;
}

static int64_t length_column(const struct chunk *chunk, size_t i)
{
	return (int64_t)(chunk->rows[i].end - chunk->rows[i].start);
}

static int64_t value_column(const struct chunk *chunk, size_t i)
{
	return chunk->rows[i].value;
}

/* Nothing if all of it is 0. */
static void column_write(struct json_writer *writer, const char *key, const struct chunk *chunk,
			 int64_t (*column)(const struct chunk *chunk, size_t i))
{
	size_t i = 0;

	while (i < chunk->n && !column(chunk, i))
		i++;
	if (i == chunk->n)
		return;
	writer_array(writer, key);
	for (i = 0; i < chunk->n; i++)
		writer_i64(writer, NULL, column(chunk, i));
	writer_array_end(writer);
}

static void line_begin(struct json_writer *writer, const struct sample *sample, const char *type,
		       FILE *out)
{
	writer_begin(writer, out);
	writer_object(writer, NULL);
	writer_word(writer, "schema", JSON_SCHEMA);
	writer_word(writer, "type", type);
	writer_u64(writer, "number", sample->number);
}

static int chunk_write(const struct chunk *chunk, FILE *out)
{
	const struct recorded_list *list = chunk->list;
	struct json_writer writer;

	line_begin(&writer, chunk->scope.sample, JSON_RECORDED, out);
	writer_word(&writer, "list", list->key);
	writer_u64(&writer, "rows", chunk->n);
	writer_u64(&writer, "start_ns", chunk->rows[0].start);
	writer_array(&writer, "kinds");
	for (size_t i = 0; i < chunk->kinds.n; i++) {
		writer_object(&writer, NULL);
		json_fields_write(&writer, &chunk->scope, list->fields, &chunk->kinds.of[i]);
		writer_object_end(&writer);
	}
	writer_array_end(&writer);
	column_write(&writer, "kind", chunk, kind_column);
	column_write(&writer, "after_ns", chunk, after_column);
	column_write(&writer, "ns", chunk, length_column);
	if (list->value)
		column_write(&writer, list->value, chunk, value_column);
	writer_object_end(&writer);
	return writer_end(&writer);
}

static int list_write(struct chunk *chunk, FILE *out)
{
	const struct recorded_list *list = chunk->list;
	size_t n, part;
	const char *elements = recorded_elements(list, chunk->scope.sample->recording, &n);
	int error = 0;

	for (size_t i = 0; i < n && !error; i += part) {
		part = n - i < RECORDED_ROWS ? n - i : RECORDED_ROWS;
		chunk_fill(chunk, elements + i * list->row_size, part);
		error = chunk_write(chunk, out);
	}
	return error;
}

int json_recording(const struct sample *sample, FILE *out)
{
	const struct json_scope scope = { .sample = sample };
	struct chunk *chunk = calloc(1, sizeof(*chunk));
	struct json_writer writer;
	int error = chunk ? recorded_kinds_begin(&chunk->kinds, RECORDED_ROWS) : -ENOMEM;

	if (!error) {
		line_begin(&writer, sample, JSON_RECORDING, out);
		json_fields_write(&writer, &scope, recording_fields, sample->recording);
		writer_object_end(&writer);
		error = writer_end(&writer);
		chunk->scope = scope;
	}
	for (size_t i = 0; i < RECORDED_LISTS && !error; i++) {
		chunk->list = &recorded_lists[i];
		error = list_write(chunk, out);
	}
	if (chunk)
		recorded_kinds_free(&chunk->kinds);
	free(chunk);
	return error;
}
