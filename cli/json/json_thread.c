// SPDX-License-Identifier: Apache-2.0
/* What of a thread is more than a member of JSON. */
#include <stdio.h>
#include <string.h>

#include "cli/base/syscall_set.h"
#include "cli/model/whole.h"
#include "cli/model/words.h"
#include "json_fields.h"
#include "json_names.h"
#include "json_parts.h"

#define CPUS (KD_CPU_WORDS * 64U)

void json_syscall(struct json_writer *writer, const struct sample *sample, uint32_t call)
{
	const char *name = sample->foreign_calls ? NULL : syscall_name(call);
	const char *mode = syscall_mode_name(syscall_mode(call));

	writer_u64(writer, "number", syscall_plain(call));
	if (*mode)
		writer_word(writer, "mode", mode);
	if (name)
		writer_word(writer, "name", name);
}

int32_t replay_call(struct reader *reader, const json_t *object, uint32_t most)
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

static void call_write(struct json_writer *writer, const struct json_scope *scope,
		       const struct field *field, const void *structure)
{
	json_syscall(writer, scope->sample,
		     *(const uint32_t *)((const char *)structure + field->at));
}

static void call_read(struct reader *reader, const json_t *object, const struct field *field,
		      void *structure)
{
	*(uint32_t *)((char *)structure + field->at) = (uint32_t)replay_call(reader, object,
									     UINT32_MAX);
}

const struct json_form json_form_call = { call_write, call_read };

static void slept_in_write(struct json_writer *writer, const struct json_scope *scope,
			   const struct field *field, const void *structure)
{
	int32_t call = *(const int32_t *)((const char *)structure + field->at);

	if (call < 0)
		return;
	writer_object(writer, field->key);
	json_syscall(writer, scope->sample, (uint32_t)call);
	writer_object_end(writer);
}

static void slept_in_read(struct reader *reader, const json_t *object, const struct field *field,
			  void *structure)
{
	int32_t *call = (int32_t *)((char *)structure + field->at);
	const json_t *member;

	*call = KD_CALL_NONE;
	if (!reader_has(object, field->key))
		return;
	member = reader_enter(reader, object, field->key);
	*call = replay_call(reader, member, INT32_MAX);
	reader_leave(reader);
}

const struct json_form json_form_slept_in = { slept_in_write, slept_in_read };

/* Missing: it is in none; without a number: it is not known which. */
static void in_call_write(struct json_writer *writer, const struct json_scope *scope,
			  const struct field *field, const void *structure)
{
	int32_t call = *(const int32_t *)((const char *)structure + field->at);

	if (call == KD_CALL_NONE)
		return;
	writer_object(writer, field->key);
	if (call >= 0)
		json_syscall(writer, scope->sample, (uint32_t)call);
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

static void lock_write(struct json_writer *writer, const struct json_scope *scope,
		       const struct field *field, const void *structure)
{
	(void)scope;
	writer_word(writer, field->key,
		    lock_keys[*(const enum kd_lock *)((const char *)structure + field->at)]);
}

/* Kinds that are not known here are locks whose owner is not. */
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

const struct json_form json_form_lock = { lock_write, lock_read };

/* What the tables do not have. */
static void whole_write(struct json_writer *writer, const struct json_scope *scope,
			const struct field *field, const void *structure)
{
	const struct whole whole = field->of == OPEN_CALL
					   ? whole_call(scope->parent, structure)
					   : whole_period(structure, (enum open_kind)field->of);

	writer_u64(writer, "longest_ns", whole.max);
	writer_bool(writer, "longest_open", whole.max_open);
	json_distribution(writer, &whole.times);
}

static void whole_read(struct reader *reader, const json_t *object, const struct field *field,
		       void *structure)
{
	if (field->size)
		replay_distribution(reader, object,
				    (struct distribution *)((char *)structure + field->at));
}

const struct json_form json_form_whole = { whole_write, whole_read };

static void times_write(struct json_writer *writer, const struct json_scope *scope,
			const struct field *field, const void *structure)
{
	const struct kd_count *count = structure;
	const struct durations times = {
		.ended = (const struct distribution *)((const char *)structure + field->at),
		.max = count->max,
	};

	(void)scope;
	json_distribution(writer, &times);
}

static void times_read(struct reader *reader, const json_t *object, const struct field *field,
		       void *structure)
{
	replay_distribution(reader, object, (struct distribution *)((char *)structure + field->at));
}

const struct json_form json_form_times = { times_write, times_read };

static bool cpu_used(const uint64_t cpus[static KD_CPU_WORDS], unsigned int cpu)
{
	return cpu < CPUS && cpus[cpu / 64] >> cpu % 64 & 1;
}

/* As the kernel writes lists of CPUs: "0-1,3". */
static void thread_cpus_write(struct json_writer *writer, const struct json_scope *scope,
			      const struct field *field, const void *structure)
{
	const uint64_t *cpus = (const uint64_t *)((const char *)structure + field->at);
	char list[4 * CPUS + 1] = "";
	size_t used = 0;

	(void)scope;
	for (unsigned int cpu = 0, last; cpu < CPUS; cpu = last + 1) {
		last = cpu;
		if (!(cpu & 63) && !cpus[cpu / 64]) {
			last = cpu + 63;
			continue;
		}
		if (!cpu_used(cpus, cpu))
			continue;
		while (cpu_used(cpus, last + 1))
			last++;
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%u", used ? "," : "",
					 cpu);
		if (last > cpu)
			used += (size_t)snprintf(list + used, sizeof(list) - used, "-%u", last);
	}
	writer_word(writer, field->key, list);
}

/* A CPU's number that text begins with; NULL: there is none, or it is too large. */
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

/* A list such as "0-1,3", in ascending order. */
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

const struct json_form json_form_cpus = { thread_cpus_write, thread_cpus_read };

#define OPEN(key, kind, member, ...) FIELD(key, kind, struct open_item, member, __VA_ARGS__)
static const struct field open_fields[] = {
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

/* Calls, or all else. */
static void open_items(struct json_writer *writer, const char *key, const struct json_scope *scope,
		       const struct thread_row *thread, bool calls)
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
			json_syscall(writer, scope->sample, (uint32_t)item->number);
		json_fields_write(writer, scope, open_fields, item);
		writer_object_end(writer);
	}
	writer_array_end(writer);
}

static void open_write(struct json_writer *writer, const struct json_scope *scope,
		       const struct field *field, const void *structure)
{
	open_items(writer, field->key, scope, structure, true);
	open_items(writer, "open_periods", scope, structure, false);
}

/* Kinds that are not known here are as good as missing: OPEN_CALL. */
static enum open_kind open_kind_read(struct reader *reader, const json_t *row)
{
	const char *word = reader_text(reader, row, "kind");

	for (unsigned int kind = OPEN_CALL + 1; word && kind < OPEN_KINDS; kind++)
		if (!strcmp(word, period_words[kind].key))
			return (enum open_kind)kind;
	return OPEN_CALL;
}

/* Files of before there was a count have calls that are everyone's, and no lengths. */
static void open_item_read(struct reader *reader, const json_t *row, struct open_item *item,
			   unsigned int members)
{
	item->number = replay_call(reader, row, INT32_MAX);
	json_fields_read(reader, row, open_fields, item);
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

const struct json_form json_form_open = { open_write, open_read };
