// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "replay_reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "cli/base/texts.h"
#include "cli/base/wall_clock.h"

#define DECIMAL "0123456789"
#define HEXADECIMAL "0123456789abcdef"

void reader_fail(struct reader *reader, const char *key, const char *fmt, ...)
{
	char *error = reader->error;
	const size_t size = sizeof(reader->error);
	va_list args;
	size_t used;

	if (reader->failed)
		return;
	reader->failed = true;
	for (unsigned int i = 0; i < reader->depth; i++) {
		const struct reader_step *step = &reader->path[i];

		text_append(error, size, "%s%s", i ? "." : "", step->key);
		if (step->index != READER_MEMBER)
			text_append(error, size, "[%zu]", step->index);
	}
	if (key)
		text_append(error, size, "%s%s", *error ? "." : "", key);
	text_append(error, size, "%s", *error ? ": " : "");
	used = strlen(error);
	va_start(args, fmt);
	vsnprintf(error + used, size - used, fmt, args);
	va_end(args);
}

void reader_no_memory(struct reader *reader)
{
	reader->no_memory = true;
	reader_fail(reader, NULL, "no memory");
}

static bool own(struct reader *reader, void *memory)
{
	return !ARRAY_ADD(reader->owned, reader->n_owned, reader->capacity, memory);
}

bool reader_may_keep(struct reader *reader, size_t n, size_t size)
{
	uint64_t more;

	if (__builtin_mul_overflow(n, size, &more) ||
	    __builtin_add_overflow(reader->memory, more, &reader->memory))
		reader->memory = UINT64_MAX;
	if (!reader->memory_max || reader->memory <= reader->memory_max)
		return true;
	reader_fail(reader, NULL, "the sample is too large");
	return false;
}

void *reader_rows(struct reader *reader, size_t n, size_t size)
{
	void *rows;

	if (!n || !reader_may_keep(reader, n, size))
		return NULL;
	rows = calloc(n, size);
	if (!rows)
		reader_no_memory(reader);
	return rows;
}

void *reader_memory(struct reader *reader, size_t n, size_t size)
{
	void *memory = reader_rows(reader, n, size);

	if (!memory || own(reader, memory))
		return memory;
	free(memory);
	reader_no_memory(reader);
	return NULL;
}

void reader_clear(struct reader *reader)
{
	for (size_t i = 0; i < reader->n_owned; i++)
		free(reader->owned[i]);
	free(reader->owned);
	memset(reader, 0, sizeof(*reader));
}

/* Finds a member; NULL if missing. */
static const json_t *reader_find(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_null(value) ? NULL : value;
}

bool reader_has(const json_t *object, const char *key)
{
	return reader_find(object, key) != NULL;
}

void reader_require(struct reader *reader, const json_t *object, const char *key)
{
	if (!reader_has(object, key))
		reader_fail(reader, key, "is missing");
}

/* Parses digits of a base, nothing else. */
static bool digits_parse(const char *text, const char *digits, unsigned int base, uint64_t *number)
{
	if (!*text)
		return false;
	for (*number = 0; *text; text++) {
		const char *found = strchr(digits, *text);

		if (!found || __builtin_mul_overflow(*number, base, number) ||
		    __builtin_add_overflow(*number, (uint64_t)(found - digits), number))
			return false;
	}
	return true;
}

uint64_t reader_number(struct reader *reader, const json_t *object, const char *key, uint64_t most)
{
	const json_t *value = reader_find(object, key);
	uint64_t number = 0;

	if (!value)
		return 0;
	if (json_is_integer(value) && json_integer_value(value) >= 0) {
		number = (uint64_t)json_integer_value(value);
	} else if (!json_is_string(value) ||
		   !digits_parse(json_string_value(value), DECIMAL, 10, &number)) {
		reader_fail(reader, key, "a whole number, 0 or more, is expected");
		return 0;
	}
	if (number <= most)
		return number;
	reader_fail(reader, key, "is larger than %llu", (unsigned long long)most);
	return 0;
}

uint64_t reader_u64(struct reader *reader, const json_t *object, const char *key)
{
	return reader_number(reader, object, key, UINT64_MAX);
}

uint32_t reader_u32(struct reader *reader, const json_t *object, const char *key)
{
	return (uint32_t)reader_number(reader, object, key, UINT32_MAX);
}

int64_t reader_i64(struct reader *reader, const json_t *object, const char *key)
{
	const json_t *value = reader_find(object, key);

	if (value && !json_is_integer(value))
		reader_fail(reader, key, "a whole number is expected");
	return json_integer_value(value);
}

int32_t reader_i32(struct reader *reader, const json_t *object, const char *key)
{
	int64_t number = reader_i64(reader, object, key);

	if (number >= INT32_MIN && number <= INT32_MAX)
		return (int32_t)number;
	reader_fail(reader, key, "is out of range");
	return 0;
}

bool reader_bool(struct reader *reader, const json_t *object, const char *key)
{
	const json_t *value = reader_find(object, key);

	if (value && !json_is_boolean(value))
		reader_fail(reader, key, "true or false is expected");
	return json_is_true(value);
}

uint64_t reader_address(struct reader *reader, const json_t *object, const char *key)
{
	const json_t *value = reader_find(object, key);
	const char *text = json_string_value(value);
	uint64_t address = 0;

	if (!value)
		return 0;
	if (!text || strncmp(text, "0x", 2) != 0 ||
	    !digits_parse(text + 2, HEXADECIMAL, 16, &address)) {
		reader_fail(reader, key, "an address such as \"0x1f\" is expected");
		return 0;
	}
	return address;
}

static int hex_digit(char digit)
{
	const char *found = digit ? strchr(HEXADECIMAL, digit) : NULL;

	return found ? (int)(found - HEXADECIMAL) : -1;
}

/* NULL after a fault. */
static const char *bytes_restore(struct reader *reader, const char *key, const json_t *value)
{
	const char *hex = json_string_value(value);
	size_t length = json_string_length(value) / 2;
	char *text;

	if (!hex || json_string_length(value) % 2) {
		reader_fail(reader, key, "hexadecimal bytes are expected");
		return NULL;
	}
	text = reader_memory(reader, length + 1, 1);
	for (size_t i = 0; text && i < length; i++) {
		int high = hex_digit(hex[2 * i]), low = hex_digit(hex[2 * i + 1]);

		if (high < 0 || low < 0 || high + low == 0) {
			reader_fail(reader, key, "hexadecimal bytes other than 00 are expected");
			return NULL;
		}
		text[i] = (char)(high << 4 | low);
	}
	return text;
}

const char *reader_text(struct reader *reader, const json_t *object, const char *key)
{
	const json_t *value = reader_find(object, key), *bytes;
	char hex_key[48];

	if (value && !json_is_string(value)) {
		reader_fail(reader, key, "a string is expected");
		return NULL;
	}
	snprintf(hex_key, sizeof(hex_key), "%s_hex", key);
	bytes = reader_find(object, hex_key);
	return bytes ? bytes_restore(reader, hex_key, bytes) : json_string_value(value);
}

void reader_name(struct reader *reader, const json_t *object, const char *key, char *name,
		 size_t size)
{
	const char *text = reader_text(reader, object, key);
	size_t length = text ? strlen(text) : 0;

	memset(name, 0, size);
	if (length > size)
		reader_fail(reader, key, "is longer than %zu bytes", size);
	else if (length)
		memcpy(name, text, length);
}

const char *reader_phrase(struct reader *reader, const json_t *object, const char *key)
{
	const char *text = reader_text(reader, object, key);

	for (const char *at = text; at && *at; at++) {
		if (*at < ' ' || *at > '~') {
			reader_fail(reader, key, "has characters other than printable ASCII");
			return NULL;
		}
	}
	return text;
}

static void enter(struct reader *reader, const char *key, size_t index)
{
	if (reader->depth < READER_DEPTH)
		reader->path[reader->depth] = (struct reader_step){ key, index };
	reader->depth++;
}

/* Returns the value if it is an object. */
static const json_t *entered(struct reader *reader, const json_t *value)
{
	if (!value || json_is_object(value))
		return value;
	reader_fail(reader, NULL, "an object is expected");
	return NULL;
}

const json_t *reader_enter(struct reader *reader, const json_t *object, const char *key)
{
	enter(reader, key, READER_MEMBER);
	return entered(reader, reader_find(object, key));
}

const json_t *reader_array(struct reader *reader, const json_t *object, const char *key, size_t *n)
{
	const json_t *value = reader_find(object, key);

	if (value && !json_is_array(value))
		reader_fail(reader, key, "an array is expected");
	*n = json_array_size(value);
	return value;
}

const json_t *reader_element(struct reader *reader, const json_t *array, const char *key,
			     size_t index)
{
	enter(reader, key, index);
	return entered(reader, json_array_get(array, index));
}

void reader_leave(struct reader *reader)
{
	reader->depth--;
}

static bool time_parse(const char *text, struct timespec *when)
{
	struct tm tm = { 0 };
	long ns = 0;

	if (!timestamp_date(&text, &tm) || *text++ != 'T' || !timestamp_clock(&text, &tm, &ns) ||
	    strcmp(text, "Z") != 0)
		return false;
	when->tv_sec = timegm(&tm);
	when->tv_nsec = ns;
	return true;
}

bool reader_time(struct reader *reader, const json_t *object, const char *key,
		 struct timespec *when)
{
	const char *text = reader_text(reader, object, key);

	if (!text)
		return false;
	if (time_parse(text, when))
		return true;
	reader_fail(reader, key, "a time such as \"2026-11-21T15:04:05Z\" is expected");
	return false;
}
