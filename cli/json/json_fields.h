/* SPDX-License-Identifier: Apache-2.0 */
/* Structures that cli/model/field.h describes, as members of JSON objects, both ways. */
#ifndef JSON_FIELDS_H
#define JSON_FIELDS_H

#include "cli/model/field.h"
#include "cli/model/sample.h"
#include "json_writer.h"
#include "replay_reader.h"

/* What a structure is part of. */
struct json_scope {
	const struct sample *sample; /* NULL: of none */
	const void *parent;          /* that has it as a row; NULL: it is no row */
};

/* Writes a structure's members into the object that is open. */
void json_fields_write(struct json_writer *writer, const struct json_scope *scope,
		       const struct field *fields, const void *structure);

/* Fills a zeroed structure with the members of an object. */
void json_fields_read(struct reader *reader, const json_t *object, const struct field *fields,
		      void *structure);

/* Whether any of a structure's fields is not 0. */
bool json_fields_any(const struct field *fields, const void *structure);

/* How a kind of field is written and read; structure is what has it. read is NULL if it
 * follows from others. */
struct json_form {
	void (*write)(struct json_writer *writer, const struct json_scope *scope,
		      const struct field *field, const void *structure);
	void (*read)(struct reader *reader, const json_t *object, const struct field *field,
		     void *structure);
};

/* A row that is of a form and no single member. */
#define JSON_FORM(text, of)                                                                        \
	{                                                                                          \
		.key = (text), .kind = FIELD_FORM, .form = &(of)                                   \
	}

/* Those that are more than a member. */
extern const struct json_form json_form_in_call; /* of an int32_t: a call, or KD_CALL_* */
extern const struct json_form json_form_traces;

#endif
