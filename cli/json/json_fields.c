// SPDX-License-Identifier: Apache-2.0
#include "json_fields.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/syscall_set.h"
#include "cli/base/texts.h"
#include "cli/model/rows.h"
#include "cli/model/thread_row.h"
#include "cli/model/words.h"
#include "json.h"

#define CPUS (KD_CPU_WORDS * 64U)

/* --- Single members --- */

/* Defines a form that calls one function of the writer and one of the reader. Uses memcpy(3),
 * because types of equal size differ: uint64_t and __u64. */
#define FORM(name, type, writer_call, reader_call)                                                 \
	static void name##_write(struct json_writer *writer, const struct field *field,            \
				 const void *structure)                                            \
	{                                                                                          \
		type value;                                                                        \
                                                                                                   \
		memcpy(&value, (const char *)structure + field->at, sizeof(value));                \
		writer_call(writer, field->key, value);                                            \
	}                                                                                          \
	static void name##_read(struct reader *reader, const json_t *object,                       \
				const struct field *field, void *structure)                        \
	{                                                                                          \
		type value = reader_call(reader, object, field->key);                              \
                                                                                                   \
		memcpy((char *)structure + field->at, &value, sizeof(value));                      \
	}                                                                                          \
	static const struct json_form name##_form = { name##_write, name##_read };

static void text_add(struct json_writer *writer, const char *key, const char *text)
{
	if (text)
		writer_text(writer, key, text, SIZE_MAX);
}

FORM(u64, uint64_t, writer_u64, reader_u64)
FORM(u32, uint32_t, writer_u64, reader_u32)
FORM(i32, int32_t, writer_i64, reader_i32)
FORM(i64, int64_t, writer_i64, reader_i64)
FORM(bool, bool, writer_bool, reader_bool)
FORM(address, uint64_t, writer_address, reader_address)
FORM(text, const char *, text_add, reader_text)
FORM(phrase, const char *, text_add, reader_phrase)

static void name_write(struct json_writer *writer, const struct field *field, const void *structure)
{
	writer_text(writer, field->key, (const char *)structure + field->at, field->size);
}

static void name_read(struct reader *reader, const json_t *object, const struct field *field,
		      void *structure)
{
	reader_name(reader, object, field->key, (char *)structure + field->at, field->size);
}

static const struct json_form name_form = { name_write, name_read };

static void own_read(struct reader *reader, const json_t *object, const struct field *field,
		     void *structure)
{
	const char *text = reader_text(reader, object, field->key);

	if (text && strlen(text) > field->of)
		reader_fail(reader, field->key, "is longer than %u bytes", field->of);
	else if (text && field_own((const char **)((char *)structure + field->at), text, field->of))
		reader_no_memory(reader);
}

static const struct json_form own_form = { text_write, own_read };

static void word_write(struct json_writer *writer, const struct field *field, const void *structure)
{
	const char *member = (const char *)structure + field->at;
	uint32_t value = *(const uint8_t *)member;

	if (field->size == sizeof(value))
		memcpy(&value, member, sizeof(value));
	writer_word(writer, field->key, field->words[value < field->of ? value : 0]);
}

static void word_read(struct reader *reader, const json_t *object, const struct field *field,
		      void *structure)
{
	const char *word = reader_text(reader, object, field->key);
	char *member = (char *)structure + field->at;
	uint32_t value = 0;

	if (!word)
		return;
	while (value < field->of && strcmp(field->words[value], word) != 0)
		value++;
	if (value == field->of)
		reader_fail(reader, field->key, "one of the words of the manual is expected");
	else if (field->size == sizeof(value))
		memcpy(member, &value, sizeof(value));
	else
		*(uint8_t *)member = (uint8_t)value;
}

static const struct json_form word_form = { word_write, word_read };

void writer_moment(struct json_writer *writer, const char *key, uint64_t moment)
{
	struct timespec when;

	if (moment && writer->sample && sample_wall_at(writer->sample, moment, &when))
		writer_time(writer, key, &when);
}

static void moment_write(struct json_writer *writer, const struct field *field,
			 const void *structure)
{
	uint64_t moment;

	memcpy(&moment, (const char *)structure + field->at, sizeof(moment));
	writer_moment(writer, field->key, moment);
}

/* Unknown without the window's wall clock, and if it is too far from the window. */
static void moment_read(struct reader *reader, const json_t *object, const struct field *field,
			void *structure)
{
	struct timespec when;
	uint64_t moment = reader_time(reader, object, field->key, &when) && reader->sample
				  ? sample_moment_of(reader->sample, &when)
				  : 0;

	memcpy((char *)structure + field->at, &moment, sizeof(moment));
}

static const struct json_form moment_form = { moment_write, moment_read };

/* --- Nested structures --- */

static void object_write(struct json_writer *writer, const struct field *field,
			 const void *structure)
{
	const void *member = field_object(field, structure);

	writer_object(writer, field->key);
	if (member)
		json_fields_write(writer, field->fields, member);
	writer_object_end(writer);
}

static void object_read(struct reader *reader, const json_t *object, const struct field *field,
			void *structure)
{
	/* In an object that may be missing, no member is required then. */
	bool may_lack = field->flags & (FIELD_FAR | FIELD_IF_ANY);
	bool has = object && (!may_lack || reader_has(object, field->key));
	void *member = has ? field_object_make(field, structure) : NULL;

	if (has && !member)
		reader_no_memory(reader);
	if (!member)
		return;
	json_fields_read(reader, reader_enter(reader, object, field->key), field->fields, member);
	reader_leave(reader);
}

static const struct json_form object_form = { object_write, object_read };

static const struct field *row_fields(const struct field *field)
{
	return field->list ? field->list->fields : field->fields;
}

static void rows_write(struct json_writer *writer, const struct field *field, const void *structure)
{
	const void *outer = writer->parent;
	size_t n;
	const char *rows = row_list_of(field, structure, &n);

	writer->parent = structure;
	writer_array(writer, field->key);
	for (size_t i = 0; i < n; i++) {
		writer_object(writer, NULL);
		json_fields_write(writer, row_fields(field), rows + i * field->size);
		writer_object_end(writer);
	}
	writer_array_end(writer);
	writer->parent = outer;
}

static void rows_read(struct reader *reader, const json_t *object, const struct field *field,
		      void *structure)
{
	const json_t *array, *row;
	char *rows;
	size_t n;

	array = reader_array(reader, object, field->key, &n);
	rows = field->flags & FIELD_LENT ? reader_memory(reader, n, field->size)
					 : reader_rows(reader, n, field->size);
	memcpy((char *)structure + field->at, &rows, sizeof(rows));
	for (size_t i = 0; i < n && !reader->failed; i++) {
		/* Set now, because the row may have to be freed after a fault. */
		*(size_t *)((char *)structure + field->n) = i + 1;
		row = reader_element(reader, array, field->key, i);
		json_fields_read(reader, row, row_fields(field), rows + i * field->size);
		reader_leave(reader);
	}
}

static const struct json_form rows_form = { rows_write, rows_read };

/* --- System calls --- */

/* Members of a system call: "number"; "mode" if not native; "name" if known. */
static void json_syscall(struct json_writer *writer, uint32_t call)
{
	const char *name = writer->sample->foreign_calls ? NULL : syscall_name(call);
	const char *mode = syscall_mode_name(syscall_mode(call));

	writer_u64(writer, "number", syscall_plain(call));
	if (*mode)
		writer_word(writer, "mode", mode);
	if (name)
		writer_word(writer, "name", name);
}

/* System call of an object with its mode, up to most if native; KD_CALL_UNKNOWN without a
 * number. */
static int32_t replay_call(struct reader *reader, const json_t *object, uint32_t most)
{
	const char *name = reader_text(reader, object, "mode");
	enum syscall_mode mode = SYSCALL_NATIVE;
	uint64_t number;

	while (name && mode < SYSCALL_MODES && strcmp(syscall_mode_name(mode), name) != 0)
		mode++;
	if (mode == SYSCALL_MODES)
		reader_fail(reader, "mode", "\"32-bit\" or \"x32\" is expected");
	if (!reader_has(object, "number") || reader->failed)
		return KD_CALL_UNKNOWN;
	number = reader_number(reader, object, "number",
			       mode == SYSCALL_NATIVE ? most : KD_CALL_NUMBER);
	return (int32_t)syscall_in_mode(mode, (uint32_t)number);
}

static void call_write(struct json_writer *writer, const struct field *field, const void *structure)
{
	json_syscall(writer, *(const uint32_t *)((const char *)structure + field->at));
}

static void call_read(struct reader *reader, const json_t *object, const struct field *field,
		      void *structure)
{
	*(uint32_t *)((char *)structure + field->at) = (uint32_t)replay_call(reader, object,
									     UINT32_MAX);
}

static const struct json_form call_form = { call_write, call_read };

/* Missing: in no call; without a number: unknown. */
static void in_call_write(struct json_writer *writer, const struct field *field,
			  const void *structure)
{
	int32_t call = *(const int32_t *)((const char *)structure + field->at);

	if (call == KD_CALL_NONE)
		return;
	writer_object(writer, field->key);
	if (call >= 0)
		json_syscall(writer, (uint32_t)call);
	writer_object_end(writer);
}

static void in_call_read(struct reader *reader, const json_t *object, const struct field *field,
			 void *structure)
{
	const json_t *member = reader_enter(reader, object, field->key);

	*(int32_t *)((char *)structure + field->at) =
		member ? replay_call(reader, member, INT32_MAX) : KD_CALL_NONE;
	reader_leave(reader);
}

const struct json_form json_form_in_call = { in_call_write, in_call_read };

/* Missing, too, if unknown. */
static void slept_in_write(struct json_writer *writer, const struct field *field,
			   const void *structure)
{
	if (*(const int32_t *)((const char *)structure + field->at) >= 0)
		in_call_write(writer, field, structure);
}

static const struct json_form slept_in_form = { slept_in_write, in_call_read };

/* --- Locks --- */

static void lock_write(struct json_writer *writer, const struct field *field, const void *structure)
{
	writer_word(writer, field->key,
		    lock_keys[*(const enum kd_lock *)((const char *)structure + field->at)]);
}

/* Unknown kinds become locks without a known owner. */
static void lock_read(struct reader *reader, const json_t *object, const struct field *field,
		      void *structure)
{
	const char *word = reader_text(reader, object, field->key);
	enum kd_lock *kind = (enum kd_lock *)((char *)structure + field->at);

	*kind = KD_LOCK_NO_OWNER;
	for (unsigned int i = 0; word && i < KD_LOCK_KINDS; i++)
		if (!strcmp(word, lock_keys[i]))
			*kind = (enum kd_lock)i;
}

static const struct json_form lock_form = { lock_write, lock_read };

/* --- Distributions and full periods --- */

/* More than any resolution needs. Merging rows may take time for each bucket. */
#define BUCKETS_MAX 16384

void json_distribution(struct json_writer *writer, const struct durations *durations)
{
	const struct distribution *ended = durations->ended;

	if (!ended->n)
		return;
	for (size_t i = 0; i < DISTRIBUTION_SHARES; i++)
		writer_u64(writer, distribution_shares[i].key,
			   durations_permille(durations, distribution_shares[i].permille));
	writer_array(writer, "buckets");
	for (size_t i = 0; i < ended->n; i++) {
		writer_object(writer, NULL);
		writer_u64(writer, "le_ns", ended->buckets[i].le);
		writer_u64(writer, "count", ended->buckets[i].count);
		writer_object_end(writer);
	}
	writer_array_end(writer);
}

void replay_distribution(struct reader *reader, const json_t *object,
			 struct distribution *distribution)
{
	const json_t *array, *row;
	size_t n;

	array = reader_array(reader, object, "buckets", &n);
	if (n > BUCKETS_MAX)
		reader_fail(reader, "buckets", "has more than %d elements", BUCKETS_MAX);
	for (size_t i = 0; i < n && !reader->failed; i++) {
		uint64_t le;
		int error;

		row = reader_element(reader, array, "buckets", i);
		reader_require(reader, row, "le_ns");
		le = reader_u64(reader, row, "le_ns");
		error = distribution_append(distribution, le, reader_u64(reader, row, "count"));
		if (error == -EINVAL)
			reader_fail(reader, "le_ns", "is not above that of the bucket before");
		if (error == -ENOMEM)
			reader_no_memory(reader);
		reader_leave(reader);
	}
}

/* Writes what the tables lack. */
static void complete_write(struct json_writer *writer, const struct field *field,
			   const void *structure)
{
	const struct complete complete =
		field->of == OPEN_CALL ? complete_call(writer->parent, structure)
				       : complete_period(structure, (enum open_kind)field->of);

	writer_u64(writer, "longest_ns", complete.max);
	writer_moment(writer, "longest_at", complete.began);
	writer_bool(writer, "longest_open", complete.max_open);
	json_distribution(writer, &complete.times);
}

static void complete_read(struct reader *reader, const json_t *object, const struct field *field,
			  void *structure)
{
	if (field->size)
		replay_distribution(reader, object,
				    (struct distribution *)((char *)structure + field->at));
}

static const struct json_form complete_form = { complete_write, complete_read };

static void times_write(struct json_writer *writer, const struct field *field,
			const void *structure)
{
	const struct kd_count *count = structure;
	const struct durations times = {
		.ended = (const struct distribution *)((const char *)structure + field->at),
		.max = count->max,
	};

	json_distribution(writer, &times);
}

static void times_read(struct reader *reader, const json_t *object, const struct field *field,
		       void *structure)
{
	replay_distribution(reader, object, (struct distribution *)((char *)structure + field->at));
}

static const struct json_form times_form = { times_write, times_read };

/* --- CPUs --- */

/* List of CPUs as the kernel writes it: "0-1,3". */
static void thread_cpus_write(struct json_writer *writer, const struct field *field,
			      const void *structure)
{
	const uint64_t *cpus = (const uint64_t *)((const char *)structure + field->at);
	char list[4 * CPUS + 1];

	cpu_list_text(list, sizeof(list), cpus, CPUS, false);
	writer_word(writer, field->key, list);
}

/* Parses a leading CPU number; NULL: none, or too large. */
static const char *cpu_parse(const char *text, unsigned int *cpu)
{
	const char *start = text;

	for (*cpu = 0; *text >= '0' && *text <= '9'; text++) {
		*cpu = *cpu * 10 + (unsigned int)(*text - '0');
		if (*cpu >= CPUS)
			return NULL;
	}
	return text == start ? NULL : text;
}

/* Parses a list such as "0-1,3", in ascending order. */
static bool cpus_parse(const char *text, uint64_t cpus[KD_CPU_WORDS])
{
	unsigned int next = 0, first, last;

	while (*text) {
		text = cpu_parse(text, &first);
		last = first;
		if (text && *text == '-')
			text = cpu_parse(text + 1, &last);
		if (!text || first < next || last < first || (*text && *text != ',') ||
		    (*text && !text[1]))
			return false;
		for (unsigned int cpu = first; cpu <= last; cpu++)
			cpus[cpu / 64] |= 1ULL << cpu % 64;
		next = last + 1;
		text += *text == ',';
	}
	return true;
}

static void thread_cpus_read(struct reader *reader, const json_t *object, const struct field *field,
			     void *structure)
{
	const char *cpus = reader_text(reader, object, field->key);

	if (cpus && !cpus_parse(cpus, (uint64_t *)((char *)structure + field->at)))
		reader_fail(reader, field->key, "a list such as \"0-1,3\" is expected, below %u",
			    CPUS);
}

static const struct json_form cpus_form = { thread_cpus_write, thread_cpus_read };

/* --- Open items --- */

#define OPEN(key, kind, member, ...) FIELD(key, kind, struct open_item, member, __VA_ARGS__)
const struct field json_open_fields[] = {
	OPEN("count", FIELD_U32, count),
	OPEN("inside_ns", FIELD_U64, inside),
	OPEN("length_ns", FIELD_U64, length),
	OPEN("longest_ns", FIELD_U64, longest),
	OPEN("at_start", FIELD_BOOL, at_start),
	OPEN("at_end", FIELD_BOOL, at_end),
	OPEN("since_ns", FIELD_U64, since, .flags = FIELD_IF_ANY),
	OPEN("until_ns", FIELD_U64, until, .flags = FIELD_IF_ANY),
	FIELDS_END,
};

/* Writes calls, or all other items. */
static void open_items(struct json_writer *writer, const char *key, const struct thread_row *thread,
		       bool calls)
{
	writer_array(writer, key);
	for (size_t i = 0; i < thread->n_open; i++) {
		const struct open_item *item = &thread->open[i];

		if ((item->kind == OPEN_CALL) != calls)
			continue;
		writer_object(writer, NULL);
		if (item->kind != OPEN_CALL)
			writer_word(writer, "kind", period_words[item->kind].key);
		else if (item->number >= 0)
			json_syscall(writer, (uint32_t)item->number);
		json_fields_write(writer, json_open_fields, item);
		writer_object_end(writer);
	}
	writer_array_end(writer);
}

static void open_write(struct json_writer *writer, const struct field *field, const void *structure)
{
	open_items(writer, field->key, structure, true);
	open_items(writer, "open_periods", structure, false);
}

/* Unknown kinds count as missing: OPEN_CALL. */
static enum open_kind open_kind_read(struct reader *reader, const json_t *row)
{
	const char *word = reader_text(reader, row, "kind");

	for (unsigned int kind = OPEN_CALL + 1; word && kind < OPEN_KINDS; kind++)
		if (!strcmp(word, period_words[kind].key))
			return (enum open_kind)kind;
	return OPEN_CALL;
}

/* Files without counts have calls that hold for all members, and no lengths. */
static void open_item_read(struct reader *reader, const json_t *row, struct open_item *item,
			   unsigned int members)
{
	item->number = replay_call(reader, row, INT32_MAX);
	json_fields_read(reader, row, json_open_fields, item);
	if (!reader_has(row, "count"))
		item->count = members;
	if (!reader_has(row, "length_ns"))
		item->length = item->inside;
	if (!reader_has(row, "longest_ns"))
		item->longest = item->inside;
}

static void open_read(struct reader *reader, const json_t *object, const struct field *field,
		      void *structure)
{
	struct thread_row *thread = structure;
	const json_t *calls, *periods, *row;
	size_t n_calls, n_periods;

	calls = reader_array(reader, object, field->key, &n_calls);
	periods = reader_array(reader, object, "open_periods", &n_periods);
	thread->open = reader_rows(reader, n_calls + n_periods, sizeof(*thread->open));
	for (size_t i = 0; i < n_calls && !reader->failed; i++) {
		row = reader_element(reader, calls, field->key, i);
		open_item_read(reader, row, &thread->open[thread->n_open++], thread->members);
		reader_leave(reader);
	}
	for (size_t i = 0; i < n_periods && !reader->failed; i++) {
		struct open_item *item = &thread->open[thread->n_open];

		row = reader_element(reader, periods, "open_periods", i);
		open_item_read(reader, row, item, thread->members);
		item->kind = open_kind_read(reader, row);
		item->number = KD_CALL_UNKNOWN;
		thread->n_open += item->kind != OPEN_CALL;
		reader_leave(reader);
	}
}

static const struct json_form open_form = { open_write, open_read };

/* --- Documents --- */

void json_document(struct json_writer *writer, const char *type, FILE *out)
{
	writer_begin(writer, out);
	writer_object(writer, NULL);
	writer_word(writer, "schema", JSON_SCHEMA);
	writer_word(writer, "type", type);
}

/* --- Field tables --- */

static const struct json_form *form_of(const struct field *field)
{
	static const struct json_form *const forms[FIELD_KINDS] = {
		[FIELD_U64] = &u64_form,           [FIELD_U32] = &u32_form,
		[FIELD_I32] = &i32_form,           [FIELD_I64] = &i64_form,
		[FIELD_BOOL] = &bool_form,         [FIELD_ADDRESS] = &address_form,
		[FIELD_NAME] = &name_form,         [FIELD_TEXT] = &text_form,
		[FIELD_PHRASE] = &phrase_form,     [FIELD_OBJECT] = &object_form,
		[FIELD_ROWS] = &rows_form,         [FIELD_CALL] = &call_form,
		[FIELD_COMPLETE] = &complete_form, [FIELD_TIMES] = &times_form,
		[FIELD_CPUS] = &cpus_form,         [FIELD_OPEN] = &open_form,
		[FIELD_LOCK] = &lock_form,         [FIELD_SLEPT_IN] = &slept_in_form,
		[FIELD_WORD] = &word_form,         [FIELD_OWN] = &own_form,
		[FIELD_MOMENT] = &moment_form,
	};

	return field->form ? field->form : forms[field->kind];
}

static bool is_any(const struct field *field, const void *structure)
{
	const char *bytes = (const char *)structure + field->at;

	if (field->kind == FIELD_OBJECT)
		return field_object(field, structure) &&
		       json_fields_any(field->fields, field_object(field, structure));
	if (field->kind == FIELD_ROWS) {
		size_t n;

		row_list_of(field, structure, &n);
		return n;
	}
	if (field->kind == FIELD_NAME)
		return bytes[0]; /* bytes past the field are not part of it */
	for (size_t i = 0; i < field->size; i++)
		if (bytes[i])
			return true;
	return false;
}

bool json_fields_any(const struct field *fields, const void *structure)
{
	for (const struct field *field = fields; field->key; field++)
		if (is_any(field, structure))
			return true;
	return false;
}

void json_fields_write(struct json_writer *writer, const struct field *fields,
		       const void *structure)
{
	for (const struct field *field = fields; field->key; field++)
		if ((!field->valid || *(const bool *)((const char *)structure + field->valid)) &&
		    (!(field->flags & FIELD_IF_ANY) || is_any(field, structure)))
			form_of(field)->write(writer, field, structure);
}

void json_fields_read(struct reader *reader, const json_t *object, const struct field *fields,
		      void *structure)
{
	for (const struct field *field = fields; field->key; field++) {
		if (field->flags & FIELD_REQUIRED)
			reader_require(reader, object, field->key);
		if (field->valid)
			*(bool *)((char *)structure + field->valid) = reader_has(object,
										 field->key);
		if (form_of(field)->read)
			form_of(field)->read(reader, object, field, structure);
		if (field->flags & FIELD_ONE && !reader_has(object, field->key))
			*(uint32_t *)((char *)structure + field->at) = 1;
	}
}
