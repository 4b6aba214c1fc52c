// SPDX-License-Identifier: Apache-2.0
/* The critical path as JSON, both ways. */
#include "cli/model/critical_path.h"
#include "cli/model/words.h"
#include "json_fields.h"

/* Keys are a promise: they are added to, never changed. */

/* The row in words: written only, as it follows from the others. */
static void text_write(struct json_writer *writer, const struct json_scope *scope,
		       const struct field *field, const void *structure)
{
	char text[PATH_TEXT_LEN];

	writer_text(writer, field->key,
		    path_row_text(structure, scope->sample->foreign_calls, text), sizeof(text));
}

static const struct json_form text_form = { text_write, NULL };

#define THREAD(key, kind, member, ...) FIELD(key, kind, struct path_thread, member, __VA_ARGS__)
static const struct field thread_fields_of_path[] = {
	THREAD("tid", FIELD_I32, tid),
	THREAD("pid", FIELD_I32, pid),
	THREAD("name", FIELD_NAME, name),
	THREAD("own", FIELD_BOOL, of_target),
	THREAD("kernel", FIELD_BOOL, of_kernel, .flags = FIELD_IF_ANY),
	FIELDS_END,
};

#define WHO(key, kind, member, ...) FIELD(key, kind, struct path_who, member, __VA_ARGS__)
static const struct field who_fields[] = {
	WHO("kind", FIELD_WORD, kind, .words = culprit_kinds, .of = CULPRIT_KINDS),
	WHO("tid", FIELD_I32, tid, .flags = FIELD_IF_ANY),
	WHO("pid", FIELD_I32, pid, .flags = FIELD_IF_ANY),
	WHO("name", FIELD_NAME, name, .flags = FIELD_IF_ANY),
	FIELDS_END,
};

#define ROW(key, kind, member, ...) FIELD(key, kind, struct path_row, member, __VA_ARGS__)
#define PART(key, state) ROW(key, FIELD_U64, parts[state], .flags = FIELD_IF_ANY),
#define LEDGER_PART(state, key, ...) PART(key, state)
static const struct field part_fields[] = {
	LEDGER_WORDS(LEDGER_PART)     /* "user" and so on */
	PART("running", PATH_RUNNING) /* */
	PART("unknown", PATH_UNKNOWN) /* */
	FIELDS_END,
};

static const struct field row_fields[] = {
	ROW("start_ns", FIELD_U64, start, .flags = FIELD_REQUIRED),
	ROW("end_ns", FIELD_U64, end, .flags = FIELD_REQUIRED),
	ROW("legs", FIELD_U64, legs),
	{ .key = "states_ns", .kind = FIELD_OBJECT, .fields = part_fields },
	ROW("several_threads", FIELD_BOOL, several_threads, .flags = FIELD_IF_ANY),
	ROW("mostly_ns", FIELD_U64, mostly),
	ROW("thread", FIELD_OBJECT, thread, .fields = thread_fields_of_path),
	ROW("state", FIELD_WORD, state, .words = path_state_keys, .of = PATH_STATES),
	ROW("awaited", FIELD_WORD, awaited, .words = awaited_keys, .of = KD_AWAITED_KINDS,
	    .flags = FIELD_IF_ANY),
	ROW("ended_by", FIELD_WORD, ended_by, .words = from_keys, .of = KD_FROM_CONTEXTS,
	    .flags = FIELD_IF_ANY),
	ROW("reason", FIELD_WORD, reason, .words = path_reason_keys, .of = PATH_REASONS,
	    .flags = FIELD_IF_ANY),
	ROW("call", FIELD_SLEPT_IN, call),
	ROW("by", FIELD_OBJECT, by, .fields = who_fields, .flags = FIELD_IF_ANY),
	JSON_FORM("text", text_form),
	FIELDS_END,
};

#define PATH(key, kind, member, ...) FIELD(key, kind, struct critical_path, member, __VA_ARGS__)
const struct field json_path_fields[] = {
	PATH("thread", FIELD_OBJECT, thread, .fields = thread_fields_of_path),
	PATH("chosen", FIELD_WORD, chosen, .words = path_choice_keys, .of = PATH_CHOICES),
	PATH("start_ns", FIELD_U64, start),
	PATH("end_ns", FIELD_U64, end),
	PATH("legs", FIELD_U64, legs),
	PATH("lost_events", FIELD_U64, lost),
	FIELD_LIST("rows", struct critical_path, rows, .fields = row_fields),
	FIELDS_END,
};
