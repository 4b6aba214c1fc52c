/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that no machine would have, by the description of their members. */
#ifndef TESTS_UNIT_RANDOM_THREAD_H
#define TESTS_UNIT_RANDOM_THREAD_H

#include <stdlib.h>
#include <string.h>

#include "cli/model/field.h"
#include "cli/model/rows.h"
#include "need.h"
#include "random_values.h"

static void random_fields(const struct field *fields, char *structure);

static void random_list(const struct field *field, char *structure)
{
	size_t n, size = field->list ? field->list->size : field->size;
	char *rows = random_rows(&n, 3, size);

	for (size_t i = 0; i < n; i++)
		random_fields(field->list ? field->list->fields : field->fields, rows + i * size);
	memcpy(structure + field->at, &rows, sizeof(rows));
	memcpy(structure + field->n, &n, sizeof(n));
}

/* A number of so many bytes, or of those that there are. */
static void random_integer(const struct field *field, char *at)
{
	uint64_t number = chance(3) ? random_number() : 0;

	if (field->kind == FIELD_WORD || field->kind == FIELD_LOCK || field->kind == FIELD_BOOL)
		number = chance(field->kind == FIELD_WORD   ? field->of
				: field->kind == FIELD_LOCK ? KD_LOCK_KINDS
							    : 2);
	else if (field->kind == FIELD_I32)
		number = chance(2) * chance(INT32_MAX);
	else if (field->kind == FIELD_CALL || field->kind == FIELD_SLEPT_IN)
		number = chance(2) ? chance(500)
				   : (uint32_t)KD_CALL_NONE * (field->kind == FIELD_SLEPT_IN);
	memcpy(at, &number, field->size);
}

/* Half of them are none. */
static void random_own(const struct field *field, char *structure)
{
	char text[300];

	random_name(text, sizeof(text) < field->of ? sizeof(text) : field->of);
	need(!field_own((const char **)(structure + field->at), text, chance(2) * field->of));
}

static void random_field(const struct field *field, char *structure)
{
	struct distribution *times = field_times(field, structure);

	if (times)
		*times = random_distribution();
	else if (field->kind == FIELD_OBJECT && chance(4))
		random_fields(field->fields, field_object_make(field, structure));
	else if (field->kind == FIELD_ROWS)
		random_list(field, structure);
	else if (field->kind == FIELD_OWN)
		random_own(field, structure);
	else if (field->kind == FIELD_NAME)
		random_name(structure + field->at, field->size);
	else if (field->kind == FIELD_CPUS)
		for (size_t i = 0; i < field->size; i += sizeof(uint64_t))
			memcpy(structure + field->at + i, &(uint64_t){ random_number() },
			       sizeof(uint64_t));
	else if (field->kind != FIELD_OBJECT && field->kind != FIELD_OPEN)
		random_integer(field, structure + field->at);
}

/* What is not known is 0. */
static void random_fields(const struct field *fields, char *structure)
{
	for (; fields->key; fields++) {
		bool known = !fields->valid || chance(2);

		if (known)
			random_field(fields, structure);
		if (fields->valid)
			structure[fields->valid] = known;
	}
}

static void random_open(struct thread_row *thread)
{
	thread->n_open = chance(4);
	thread->open = calloc(thread->n_open + 1, sizeof(*thread->open));
	for (size_t i = 0; thread->open && i < thread->n_open; i++) {
		unsigned int kind = i ? thread->open[i - 1].kind : OPEN_CALL;
		int32_t call = random_call();

		kind += chance(OPEN_KINDS - kind);
		if (kind != OPEN_CALL || call == KD_CALL_NONE)
			call = KD_CALL_UNKNOWN;
		thread->open[i] = (struct open_item){
			.kind = (enum open_kind)kind,
			.number = call,
			.count = (unsigned int)random_number(),
			.since = random_number(),
			.until = random_number(),
			.inside = random_number(),
			.length = random_number(),
			.longest = random_number(),
			.at_start = chance(2),
			.at_end = chance(2),
		};
	}
}

static void random_thread(struct thread_row *thread)
{
	random_fields(thread_fields, (char *)thread);
	/* One member says of these three whether they are known. */
	if (!thread->ledger.has_exec)
		thread->ledger.exec = thread->ledger.ticks_user = thread->ledger.ticks_system = 0;
	thread->members = chance(3) ? 1 : random_u32();
	if (chance(2))
		thread->ledger.life = ledger_sum(&thread->ledger);
	random_open(thread);
	thread_times_sum(thread);
}

#endif
