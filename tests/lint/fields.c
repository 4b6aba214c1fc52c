// SPDX-License-Identifier: Apache-2.0
/* Prints the tables of fields that JSON is made of, as JSON, for tests/lint/documents.py, and the
 * columns of their lists in the report, for tests/integration/kdreport.py. */
#include <jansson.h>
#include <stdio.h>

#include "cli/base/syscall_set.h"
#include "cli/json/json_fields.h"
#include "cli/json/json_recorded.h"
#include "cli/model/losses.h"
#include "cli/model/rows.h"
#include "cli/model/verdict.h"
#include "cli/model/words.h"

static json_t *fields_of(const struct field *fields);

static json_t *words_of(const char *const words[], size_t n)
{
	json_t *all = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(all, json_string(words[i]));
	return all;
}

static json_t *columns_of(const struct row_list *list)
{
	json_t *all = json_array();

	for (const struct column *column = list->columns; column->title; column++)
		json_array_append_new(all, json_string(column->title));
	return all;
}

/* always: written in every object. needed: the reader refuses objects without it. */
static json_t *field_of(const struct field *field)
{
	static const char *const kinds[FIELD_KINDS] = {
		[FIELD_U64] = "u64",        [FIELD_U32] = "u32",
		[FIELD_I32] = "i32",        [FIELD_I64] = "i64",
		[FIELD_BOOL] = "bool",      [FIELD_ADDRESS] = "address",
		[FIELD_MOMENT] = "time",    [FIELD_NAME] = "text",
		[FIELD_TEXT] = "text?",     [FIELD_PHRASE] = "plain?",
		[FIELD_OBJECT] = "object",  [FIELD_ROWS] = "rows",
		[FIELD_CALL] = "call",      [FIELD_COMPLETE] = "complete",
		[FIELD_TIMES] = "times",    [FIELD_CPUS] = "cpus",
		[FIELD_OPEN] = "open",      [FIELD_LOCK] = "word",
		[FIELD_SLEPT_IN] = "call?", [FIELD_WORD] = "word",
		[FIELD_OWN] = "text?",      [FIELD_FORM] = "form",
	};
	const struct field *inner = field->list ? field->list->fields : field->fields;
	bool always = !(field->flags & FIELD_IF_ANY) && !field->valid;
	json_t *row = json_pack("{s:s, s:s, s:b, s:b}", "key", field->key, "kind",
				kinds[field->kind], "always", always, "needed",
				field->flags & FIELD_REQUIRED);

	if (inner)
		json_object_set_new(row, "fields", fields_of(inner));
	if (field->list && field->list->title) {
		json_object_set_new(row, "title", json_string(field->list->title));
		json_object_set_new(row, "columns", columns_of(field->list));
	}
	if (field->kind == FIELD_COMPLETE || field->kind == FIELD_TIMES)
		json_object_set_new(row, "times", json_boolean(field->size));
	if (field->kind == FIELD_WORD)
		json_object_set_new(row, "words", words_of(field->words, field->of));
	if (field->kind == FIELD_LOCK)
		json_object_set_new(row, "words", words_of(lock_keys, KD_LOCK_KINDS));
	return row;
}

static json_t *fields_of(const struct field *fields)
{
	json_t *all = json_array();

	for (const struct field *field = fields; field->key; field++)
		json_array_append_new(all, field_of(field));
	return all;
}

static void number_add(json_t *rows, const char *key)
{
	json_array_append_new(rows, json_pack("{s:s, s:s, s:b, s:b}", "key", key, "kind", "u64",
					      "always", true, "needed", false));
}

/* What functions of cli/json write without a table: members of numbers, and words. */
static void others_add(json_t *all)
{
	json_t *lost = json_array(), *lists = json_array(), *kinds = json_array();
	json_t *shares = json_array(), *periods = json_array(), *causes = json_array();

	for (size_t i = 0; i < LOSSES; i++)
		number_add(lost, losses[i].key);
	for (size_t i = 0; i < SPAN_LISTS; i++) {
		json_t *fields = fields_of(recorded_lists[i].fields);

		number_add(lists, recorded_lists[i].key);
		json_array_extend(kinds, fields);
		json_decref(fields);
	}
	for (size_t i = 0; i < DISTRIBUTION_SHARES; i++)
		number_add(shares, distribution_shares[i].key);
	for (unsigned int i = OPEN_CALL + 1; i < OPEN_KINDS; i++)
		json_array_append_new(periods, json_string(period_words[i].key));
	for (unsigned int i = 0; i < CAUSES; i++)
		json_array_append_new(causes, json_string(cause_words[i].key));
	json_object_set_new(all, "losses", lost);
	json_object_set_new(all, "lists", lists);
	json_object_set_new(all, "kinds", kinds);
	json_object_set_new(all, "shares", shares);
	json_object_set_new(all, "periods", periods);
	json_object_set_new(all, "causes", causes);
	json_object_set_new(all, "modes",
			    json_pack("[s, s]", syscall_mode_name(SYSCALL_COMPAT),
				      syscall_mode_name(SYSCALL_X32)));
}

int main(void)
{
	static const struct {
		const char *name;
		const struct field *fields;
	} tables[] = {
		{ "sample", json_sample_fields },       { "triggers", json_trigger_fields },
		{ "recording", recording_fields },      { "traces", json_trace_fields },
		{ "trace_row", json_trace_row_fields }, { "stack", json_stack_fields },
		{ "open", json_open_fields },           { "process_sum", process_sum_fields },
	};
	json_t *all = json_object();
	int failed;

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		json_object_set_new(all, tables[i].name, fields_of(tables[i].fields));
	others_add(all);
	failed = json_dumpf(all, stdout, JSON_INDENT(1));
	json_decref(all);
	return failed ? 1 : 0;
}
