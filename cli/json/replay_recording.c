// SPDX-License-Identifier: Apache-2.0
#include "replay_recording.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"

#define IRQ_NAMES 1024

/* Rows of a line, as they are read. */
struct chunk {
	struct reader *reader;
	struct replay_recording *pending;
	const struct recorded_list *list;
	const json_t *kind, *after, *length, *value;
	struct recorded_kind *kinds;
	size_t n, n_kinds;
};

/* --- What there is once --- */

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

void replay_recording_begin(struct replay_recording *pending, struct reader *reader,
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
	for (size_t i = 0; i < RECORDED_LISTS; i++)
		pending->rows[i] = reader_u64(reader, rows, recorded_lists[i].key);
	reader_leave(reader);
	if (recording->from > recording->to)
		reader_fail(reader, "start_ns", "is behind end_ns");
	order_check(reader, recording);
}

/* --- Kinds --- */

/* Each name once, for as long as the recording lives: the array does not move. */
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
		struct recorded_kind *kind = &chunk->kinds[i];

		json_fields_read(reader, reader_element(reader, array, "kinds", i),
				 chunk->list->fields, kind);
		if (kind->name && !reader->failed)
			kind->name = name_keep(chunk, kind->name);
		reader_leave(reader);
	}
}

/* --- Rows --- */

/* A column with as many numbers as there are rows; NULL: all are 0. */
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

/* last: of the row before. */
static void row_read(struct chunk *chunk, size_t i, uint64_t last, struct recorded_row *row)
{
	uint64_t kind = (uint64_t)column_number(chunk, chunk->kind, "kind", i, 0);
	int64_t after = column_number(chunk, chunk->after, "after_ns", i, INT64_MIN);
	int64_t length = column_number(chunk, chunk->length, "ns", i, 0);

	row->value = column_number(chunk, chunk->value, chunk->list->value, i, INT64_MIN);
	if (kind >= chunk->n_kinds)
		reader_fail(chunk->reader, "kind", "[%zu]: there is no such kind", i);
	else
		row->kind = chunk->kinds[kind];
	if (__builtin_add_overflow(last, after, &row->start) ||
	    __builtin_add_overflow(row->start, length, &row->end))
		reader_fail(chunk->reader, "after_ns", "[%zu]: there is no such time", i);
}

static bool is_behind(const struct recorded_list *list, const struct recorded_row *row,
		      const struct recorded_row *before)
{
	switch (list->order) {
	case RECORDED_BY_TID:
		return row->kind.tid > before->kind.tid ||
		       (row->kind.tid == before->kind.tid &&
			(!list->follow || row->start >= before->end));
	case RECORDED_BY_CPU:
		return row->kind.cpu >= before->kind.cpu;
	case RECORDED_BY_TIME:
		return row->start >= before->start;
	}
	return false;
}

/* Room for the line's rows; NULL after a fault. *before: the last row that there is; *n: how many
 * there are. */
static char *room_make(struct chunk *chunk, struct recorded_row *before, size_t *n)
{
	struct replay_recording *pending = chunk->pending;
	const struct recorded_list *list = chunk->list;
	char *recording = (char *)pending->recording, *elements;
	size_t room;

	recorded_elements(list, pending->recording, n);
	memcpy(&room, recording + list->room, sizeof(room));
	pending->memory += chunk->n * list->row_size;
	if (pending->memory > pending->memory_max) {
		reader_fail(chunk->reader, NULL, "the recording is too large");
		return NULL;
	}
	if (array_reserve(recording + list->at, *n + chunk->n, &room, list->row_size)) {
		reader_no_memory(chunk->reader);
		return NULL;
	}
	memcpy(recording + list->room, &room, sizeof(room));
	memcpy(&elements, recording + list->at, sizeof(elements));
	if (*n)
		list->pack(elements + (*n - 1) * list->row_size, before);
	return elements;
}

static void rows_read(struct chunk *chunk, uint64_t start)
{
	const struct recorded_list *list = chunk->list;
	struct recorded_row before = { 0 }, row = { .end = start };
	size_t n;
	char *elements = room_make(chunk, &before, &n);
	bool is_first = !n;

	for (size_t i = 0; i < chunk->n && elements; i++) {
		row_read(chunk, i, row.end, &row);
		if (!is_first && !is_behind(list, &row, &before))
			reader_fail(chunk->reader, NULL, "row %zu is out of order", i);
		if (chunk->reader->failed)
			return;
		list->unpack(&row, elements + n++ * list->row_size);
		before = row;
		is_first = false;
	}
	memcpy((char *)chunk->pending->recording + list->n, &n, sizeof(n));
}

/* Nothing of lists that are not known here. */
void replay_recording_add(struct replay_recording *pending, struct reader *reader,
			  const json_t *object)
{
	struct chunk chunk = { .reader = reader, .pending = pending };
	const char *key = reader_text(reader, object, "list");
	uint64_t start = reader_u64(reader, object, "start_ns"), *left = NULL;

	chunk.n = reader_number(reader, object, "rows", RECORDED_ROWS);
	if (!pending->recording || pending->number != reader_u64(reader, object, "number")) {
		reader_fail(reader, NULL, "the recording that these rows are of is missing");
		return;
	}
	for (size_t i = 0; i < RECORDED_LISTS && key; i++) {
		if (!strcmp(recorded_lists[i].key, key)) {
			chunk.list = &recorded_lists[i];
			left = &pending->rows[i];
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
	if (!reader->failed)
		rows_read(&chunk, start);
}

/* --- The end --- */

struct recording *replay_recording_end(struct replay_recording *pending, struct reader *reader,
				       uint64_t number)
{
	struct recording *recording = pending->recording;

	if (!recording)
		return NULL;
	for (size_t i = 0; i < RECORDED_LISTS; i++)
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

void replay_recording_clear(struct replay_recording *pending)
{
	recording_clear(pending->recording);
	free(pending->recording);
	pending->recording = NULL;
}
