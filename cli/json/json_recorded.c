// SPDX-License-Identifier: Apache-2.0
#include "json_recorded.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/model/field.h"
#include "cli/model/words.h"
#include "json.h"
#include "json_fields.h"

/* Rows of a recording as columns of JSON. Keys are a promise: they are added to, never changed. */

/* --- Forms --- */

static void state_write(struct json_writer *writer, const struct field *field,
			const void *structure)
{
	const struct ledger_words *words = ledger_words_of(((const uint8_t *)structure)[field->at]);

	if (words)
		writer_word(writer, field->key, words->key);
}

/* Unknown states count as missing. */
static void state_read(struct reader *reader, const json_t *object, const struct field *field,
		       void *structure)
{
	const char *word = reader_text(reader, object, field->key);

	for (size_t i = 0; word && i < LEDGER_STATES; i++)
		if (!strcmp(word, ledger_words[i].key))
			((uint8_t *)structure)[field->at] = (uint8_t)ledger_words[i].of;
}

static const struct json_form state_form = { state_write, state_read };

static void cpu_write(struct json_writer *writer, const struct field *field, const void *structure)
{
	writer_u64(writer, field->key, ((const struct span *)structure)->cpu);
}

static void cpu_read(struct reader *reader, const json_t *object, const struct field *field,
		     void *structure)
{
	uint32_t cpu = reader_u32(reader, object, field->key);

	if (cpu > UINT16_MAX)
		reader_fail(reader, field->key, "there are no more than 65,536 CPUs");
	((struct span *)structure)->cpu = (uint16_t)cpu;
}

static const struct json_form cpu_form = { cpu_write, cpu_read };

/* --- Kinds of rows --- */

#define KIND(key, kind, member, ...) FIELD(key, kind, struct span, member, __VA_ARGS__)
#define KIND_IF(key, kind, member, ...) KIND(key, kind, member, .flags = FIELD_IF_ANY, __VA_ARGS__)
#define KIND_TID KIND("tid", FIELD_I32, tid, .flags = FIELD_REQUIRED)
#define KIND_CPU KIND("cpu", FIELD_FORM, cpu, .flags = FIELD_REQUIRED, .form = &cpu_form)
#define KIND_CALL KIND("call", FIELD_FORM, call, .form = &json_form_in_call)

static const struct field state_kind[] = {
	KIND_TID,
	KIND_CPU,
	KIND("state", FIELD_FORM, state, .form = &state_form),
	KIND_IF("awaited", FIELD_WORD, awaited, .words = awaited_keys, .of = KD_AWAITED_KINDS),
	KIND_CALL,
	KIND_IF("ended_by", FIELD_WORD, from, .words = from_keys, .of = KD_FROM_CONTEXTS),
	KIND_IF("waker", FIELD_I32, waker),
	KIND_IF("holder", FIELD_I32, holder),
	KIND_IF("own", FIELD_BOOL, of_target),
	KIND_IF("goes_on", FIELD_BOOL, goes_on),
	KIND_IF("early", FIELD_BOOL, early),
	FIELDS_END,
};

static const struct field run_kind[] = {
	KIND_CPU,
	KIND_IF("tid", FIELD_I32, tid),
	KIND("key", FIELD_U32, key),
	FIELDS_END,
};

static const struct field irq_kind[] = {
	KIND_CPU,
	KIND_IF("tid", FIELD_I32, tid),
	KIND_IF("hard", FIELD_BOOL, hard),
	KIND("name", FIELD_TEXT, name, .flags = FIELD_REQUIRED),
	KIND("hit", FIELD_FORM, state, .form = &state_form),
	FIELDS_END,
};

static const struct field call_kind[] = {
	KIND_TID,
	KIND_CALL,
	KIND_IF("early", FIELD_BOOL, early),
	KIND_IF("goes_on", FIELD_BOOL, goes_on),
	FIELDS_END,
};

static const struct field hit_kind[] = {
	KIND_TID,
	KIND("trigger", FIELD_WORD, role, .words = role_keys, .of = KD_ROLES),
	FIELDS_END,
};

static const struct field stolen_kind[] = { KIND_TID, FIELDS_END };

const struct recorded_list recorded_lists[SPAN_LISTS] = {
	[SPAN_STATES] = { "states", state_kind, RECORDED_BY_TID, NULL, true },
	[SPAN_RUNS] = { "runs", run_kind, RECORDED_BY_CPU, NULL, false },
	[SPAN_IRQS] = { "irqs", irq_kind, RECORDED_BY_CPU, NULL, false },
	[SPAN_CALLS] = { "calls", call_kind, RECORDED_BY_TID, "result", false },
	[SPAN_HITS] = { "hits", hit_kind, RECORDED_BY_TIME, NULL, false },
	[SPAN_STOLEN] = { "stolen", stolen_kind, RECORDED_BY_TID, "stolen_ns", false },
};

/* --- The recording itself --- */

#define THREAD(key, kind, member, ...) FIELD(key, kind, struct recorded_thread, member, __VA_ARGS__)
const struct field recorded_thread_fields[] = {
	THREAD("tid", FIELD_I32, tid, .flags = FIELD_REQUIRED),
	THREAD("pid", FIELD_I32, pid),
	THREAD("name", FIELD_NAME, name),
	THREAD("own", FIELD_BOOL, of_target),
	THREAD("kernel", FIELD_BOOL, of_kernel, .flags = FIELD_IF_ANY),
	FIELDS_END,
};

static const struct field recorded_culprit_fields[] = {
	FIELD("key", FIELD_U32, struct recorded_culprit, key, .flags = FIELD_REQUIRED),
	FIELD("is", FIELD_OBJECT, struct recorded_culprit, is, .fields = culprit_fields),
	FIELDS_END,
};

static void rows_write(struct json_writer *writer, const struct field *field, const void *structure)
{
	writer_object(writer, field->key);
	for (size_t i = 0; i < SPAN_LISTS; i++)
		writer_u64(writer, recorded_lists[i].key,
			   ((const struct recording *)structure)->spans[i].n);
	writer_object_end(writer);
}

static const struct json_form rows_form = { rows_write, NULL };

#define RECORDING(key, kind, member, ...) FIELD(key, kind, struct recording, member, __VA_ARGS__)
const struct field recording_fields[] = {
	RECORDING("start_ns", FIELD_U64, from, .flags = FIELD_REQUIRED),
	RECORDING("end_ns", FIELD_U64, to, .flags = FIELD_REQUIRED),
	RECORDING("asked_ns", FIELD_U64, wanted),
	RECORDING("memory_bytes", FIELD_U64, memory),
	RECORDING("events", FIELD_U64, events),
	RECORDING("lost_events", FIELD_U64, lost),
	RECORDING("overwritten", FIELD_BOOL, overwritten),
	JSON_FORM("rows", rows_form),
	FIELD_LIST("threads", struct recording, threads, .fields = recorded_thread_fields),
	FIELD_LIST("culprits", struct recording, culprits, .fields = recorded_culprit_fields),
	FIELDS_END,
};

/* --- Kinds: what rows have in common, each once --- */

int recorded_kinds_begin(struct recorded_kinds *kinds, size_t most)
{
	size_t slots = 2;

	while (slots < 2 * most) /* at most half full */
		slots *= 2;
	kinds->of = calloc(most, sizeof(*kinds->of));
	kinds->slots = calloc(slots, sizeof(*kinds->slots));
	kinds->mask = slots - 1;
	kinds->most = most;
	return kinds->of && kinds->slots ? 0 : -ENOMEM;
}

static void recorded_kinds_reset(struct recorded_kinds *kinds)
{
	memset(kinds->slots, 0, (kinds->mask + 1) * sizeof(*kinds->slots));
	kinds->n = 0;
}

static size_t hash(const struct span *kind)
{
	uint64_t words[sizeof(*kind) / sizeof(uint64_t)], sum = 0;

	_Static_assert(sizeof(words) == sizeof(*kind), "whole words");
	memcpy(words, kind, sizeof(words));
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		sum = (sum ^ words[i]) * 0x9e3779b97f4a7c15;
	return (size_t)(sum >> 32);
}

size_t recorded_kinds_number(struct recorded_kinds *kinds, const struct span *kind)
{
	size_t slot = hash(kind) & kinds->mask;

	for (; kinds->slots[slot]; slot = (slot + 1) & kinds->mask)
		if (!memcmp(&kinds->of[kinds->slots[slot] - 1], kind, sizeof(*kind)))
			return kinds->slots[slot] - 1;
	if (kinds->n == kinds->most)
		return kinds->n;
	kinds->of[kinds->n] = *kind;
	kinds->slots[slot] = (uint32_t)++kinds->n;
	return kinds->n - 1;
}

void recorded_kinds_free(struct recorded_kinds *kinds)
{
	free(kinds->of);
	free(kinds->slots);
	*kinds = (struct recorded_kinds){ 0 };
}

/* --- A recording as lines of JSON, before its sample --- */

/* Rows of a list in one line. */
struct chunk {
	const struct recorded_list *list;
	const struct sample *sample;
	struct recorded_kinds kinds;
	size_t n;
	int64_t kind[RECORDED_ROWS], after[RECORDED_ROWS], length[RECORDED_ROWS],
		value[RECORDED_ROWS];
};

static void chunk_fill(struct chunk *chunk, const struct span *rows, size_t n)
{
	chunk->n = n;
	recorded_kinds_reset(&chunk->kinds);
	for (size_t i = 0; i < n; i++) {
		struct span kind = rows[i];

		kind.start = kind.end = 0;
		if (chunk->list->value)
			kind.value = 0;
		chunk->kind[i] = (int64_t)recorded_kinds_number(&chunk->kinds, &kind);
		chunk->after[i] = i ? (int64_t)(rows[i].start - rows[i - 1].end) : 0;
		chunk->length[i] = (int64_t)(rows[i].end - rows[i].start);
		chunk->value[i] = rows[i].value;
	}
}

/* Writes nothing if all are 0. */
static void column_write(struct json_writer *writer, const char *key, const int64_t *numbers,
			 size_t n)
{
	size_t i = 0;

	while (i < n && !numbers[i])
		i++;
	if (i == n)
		return;
	writer_array(writer, key);
	for (i = 0; i < n; i++)
		writer_i64(writer, NULL, numbers[i]);
	writer_array_end(writer);
}

static void line_begin(struct json_writer *writer, const struct sample *sample, const char *type,
		       FILE *out)
{
	json_document(writer, type, out);
	writer->sample = sample;
	writer_u64(writer, "number", sample->number);
}

static int chunk_write(const struct chunk *chunk, uint64_t start, FILE *out)
{
	const struct recorded_list *list = chunk->list;
	struct json_writer writer;

	line_begin(&writer, chunk->sample, JSON_RECORDED, out);
	writer_word(&writer, "list", list->key);
	writer_u64(&writer, "rows", chunk->n);
	writer_u64(&writer, "start_ns", start);
	writer_array(&writer, "kinds");
	for (size_t i = 0; i < chunk->kinds.n; i++) {
		writer_object(&writer, NULL);
		json_fields_write(&writer, list->fields, &chunk->kinds.of[i]);
		writer_object_end(&writer);
	}
	writer_array_end(&writer);
	column_write(&writer, "kind", chunk->kind, chunk->n);
	column_write(&writer, "after_ns", chunk->after, chunk->n);
	column_write(&writer, "ns", chunk->length, chunk->n);
	if (list->value)
		column_write(&writer, list->value, chunk->value, chunk->n);
	writer_object_end(&writer);
	return writer_end(&writer);
}

static int spans_write(struct chunk *chunk, const struct spans *spans, FILE *out)
{
	int error = 0;

	for (size_t i = 0, part; i < spans->n && !error; i += part) {
		part = spans->n - i < RECORDED_ROWS ? spans->n - i : RECORDED_ROWS;
		chunk_fill(chunk, spans->all + i, part);
		error = chunk_write(chunk, spans->all[i].start, out);
	}
	return error;
}

int json_recording(const struct sample *sample, FILE *out)
{
	struct chunk *chunk = calloc(1, sizeof(*chunk));
	struct json_writer writer;
	int error = chunk ? recorded_kinds_begin(&chunk->kinds, RECORDED_ROWS) : -ENOMEM;

	if (!error) {
		line_begin(&writer, sample, JSON_RECORDING, out);
		json_fields_write(&writer, recording_fields, sample->recording);
		writer_object_end(&writer);
		error = writer_end(&writer);
		chunk->sample = sample;
	}
	for (size_t i = 0; i < SPAN_LISTS && !error; i++) {
		chunk->list = &recorded_lists[i];
		error = spans_write(chunk, &sample->recording->spans[i], out);
	}
	if (chunk)
		recorded_kinds_free(&chunk->kinds);
	free(chunk);
	return error;
}
