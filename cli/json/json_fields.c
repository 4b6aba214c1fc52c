// SPDX-License-Identifier: Apache-2.0
#include "json_fields.h"

#include <string.h>

#include "cli/model/rows.h"

/* A form whose functions call one of the writer and one of the reader. By memcpy(3), as
 * types of one size differ: uint64_t and __u64. */
#define FORM(name, type, writer_call, reader_call)                                                 \
	static void name##_write(struct json_writer *writer, const struct json_scope *scope,       \
				 const struct field *field, const void *structure)                 \
	{                                                                                          \
		type value;                                                                        \
                                                                                                   \
		(void)scope;                                                                       \
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

static void name_write(struct json_writer *writer, const struct json_scope *scope,
		       const struct field *field, const void *structure)
{
	(void)scope;
	writer_text(writer, field->key, (const char *)structure + field->at, field->size);
}

static void name_read(struct reader *reader, const json_t *object, const struct field *field,
		      void *structure)
{
	reader_name(reader, object, field->key, (char *)structure + field->at, field->size);
}

static const struct json_form name_form = { name_write, name_read };

static void word_write(struct json_writer *writer, const struct json_scope *scope,
		       const struct field *field, const void *structure)
{
	uint32_t value;

	(void)scope;
	memcpy(&value, (const char *)structure + field->at, sizeof(value));
	writer_word(writer, field->key, field->words[value < field->of ? value : 0]);
}

static void word_read(struct reader *reader, const json_t *object, const struct field *field,
		      void *structure)
{
	const char *word = reader_text(reader, object, field->key);
	uint32_t value = 0;

	if (!word)
		return;
	while (value < field->of && strcmp(field->words[value], word) != 0)
		value++;
	if (value == field->of)
		reader_fail(reader, field->key, "one of the words of the manual is expected");
	else
		memcpy((char *)structure + field->at, &value, sizeof(value));
}

static const struct json_form word_form = { word_write, word_read };

static void object_write(struct json_writer *writer, const struct json_scope *scope,
			 const struct field *field, const void *structure)
{
	writer_object(writer, field->key);
	json_fields_write(writer, scope, field->fields, (const char *)structure + field->at);
	writer_object_end(writer);
}

static void object_read(struct reader *reader, const json_t *object, const struct field *field,
			void *structure)
{
	const json_t *member = reader_enter(reader, object, field->key);

	json_fields_read(reader, member, field->fields, (char *)structure + field->at);
	reader_leave(reader);
}

static const struct json_form object_form = { object_write, object_read };

static const struct field *row_fields(const struct field *field)
{
	return field->list ? field->list->fields : field->fields;
}

static void rows_write(struct json_writer *writer, const struct json_scope *scope,
		       const struct field *field, const void *structure)
{
	const struct json_scope inner = { scope->sample, structure };
	size_t n;
	const char *rows = row_list_of(field, structure, &n);

	writer_array(writer, field->key);
	for (size_t i = 0; i < n; i++) {
		writer_object(writer, NULL);
		json_fields_write(writer, &inner, row_fields(field), rows + i * field->size);
		writer_object_end(writer);
	}
	writer_array_end(writer);
}

static void rows_read(struct reader *reader, const json_t *object, const struct field *field,
		      void *structure)
{
	const json_t *array, *row;
	char *rows;
	size_t n;

	array = reader_array(reader, object, field->key, &n);
	rows = field->flags & FIELD_KEPT ? reader_memory(reader, n, field->size)
					 : reader_rows(reader, n, field->size);
	memcpy((char *)structure + field->at, &rows, sizeof(rows));
	for (size_t i = 0; i < n && !reader->failed; i++) {
		/* Now, as the row may have to be released after a fault. */
		*(size_t *)((char *)structure + field->n) = i + 1;
		row = reader_element(reader, array, field->key, i);
		json_fields_read(reader, row, row_fields(field), rows + i * field->size);
		reader_leave(reader);
	}
}

static const struct json_form rows_form = { rows_write, rows_read };

static const struct json_form *form_of(const struct field *field)
{
	static const struct json_form *const forms[FIELD_KINDS] = {
		[FIELD_U64] = &u64_form,          [FIELD_U32] = &u32_form,
		[FIELD_I32] = &i32_form,          [FIELD_I64] = &i64_form,
		[FIELD_BOOL] = &bool_form,        [FIELD_ADDRESS] = &address_form,
		[FIELD_NAME] = &name_form,        [FIELD_TEXT] = &text_form,
		[FIELD_PHRASE] = &phrase_form,    [FIELD_OBJECT] = &object_form,
		[FIELD_ROWS] = &rows_form,        [FIELD_CALL] = &json_form_call,
		[FIELD_WHOLE] = &json_form_whole, [FIELD_TIMES] = &json_form_times,
		[FIELD_CPUS] = &json_form_cpus,   [FIELD_OPEN] = &json_form_open,
		[FIELD_LOCK] = &json_form_lock,   [FIELD_SLEPT_IN] = &json_form_slept_in,
		[FIELD_WORD] = &word_form,
	};

	return field->form ? field->form : forms[field->kind];
}

static bool is_any(const struct field *field, const void *structure)
{
	const char *bytes = (const char *)structure + field->at;

	if (field->kind == FIELD_OBJECT)
		return json_fields_any(field->fields, bytes);
	if (field->kind == FIELD_ROWS) {
		size_t n;

		row_list_of(field, structure, &n);
		return n;
	}
	if (field->kind == FIELD_NAME)
		return bytes[0]; /* what is behind its end is not part of it */
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

void json_fields_write(struct json_writer *writer, const struct json_scope *scope,
		       const struct field *fields, const void *structure)
{
	for (const struct field *field = fields; field->key; field++)
		if ((!field->known || *(const bool *)((const char *)structure + field->known)) &&
		    (!(field->flags & FIELD_IF_ANY) || is_any(field, structure)))
			form_of(field)->write(writer, scope, field, structure);
}

void json_fields_read(struct reader *reader, const json_t *object, const struct field *fields,
		      void *structure)
{
	for (const struct field *field = fields; field->key; field++) {
		if (field->flags & FIELD_REQUIRED)
			reader_require(reader, object, field->key);
		if (field->known)
			*(bool *)((char *)structure + field->known) = reader_has(object,
										 field->key);
		if (form_of(field)->read)
			form_of(field)->read(reader, object, field, structure);
		if (field->flags & FIELD_ONE && !reader_has(object, field->key))
			*(uint32_t *)((char *)structure + field->at) = 1;
	}
}
