/* SPDX-License-Identifier: Apache-2.0 */
/* Structures described by cli/model/field.h as members of JSON objects, both ways. */
#ifndef JSON_FIELDS_H
#define JSON_FIELDS_H

#include "cli/model/field.h"
#include "cli/model/sample.h"
#include "json_writer.h"
#include "replay_reader.h"

/* Context of a structure. */
struct json_scope {
	const struct sample *sample; /* NULL: none */
	const void *parent;          /* structure with this row; NULL: not a row */
};

/* Writes a structure's members into the open object. */
void json_fields_write(struct json_writer *writer, const struct json_scope *scope,
		       const struct field *fields, const void *structure);

/* Fills a zeroed structure with the members of an object. */
void json_fields_read(struct reader *reader, const json_t *object, const struct field *fields,
		      void *structure);

/* True if any field of a structure is nonzero. */
bool json_fields_any(const struct field *fields, const void *structure);

/* Writes and reads one kind of field of structure. read is NULL for derived data. */
struct json_form {
	void (*write)(struct json_writer *writer, const struct json_scope *scope,
		      const struct field *field, const void *structure);
	void (*read)(struct reader *reader, const json_t *object, const struct field *field,
		     void *structure);
};

/* A row with a form instead of a single member. */
#define JSON_FORM(text, of)                                                                        \
	{                                                                                          \
		.key = (text), .kind = FIELD_FORM, .form = &(of)                                   \
	}

/* Forms with several members. */
extern const struct json_form json_form_in_call; /* an int32_t: a call, or KD_CALL_* */
extern const struct json_form json_form_traces;

#endif
