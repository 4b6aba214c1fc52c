// SPDX-License-Identifier: Apache-2.0
#include "json_writer.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/base/clock.h"
#include "cli/base/escape.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */
#define REPLACEMENT_LEN 3

void writer_begin(struct json_writer *writer, FILE *out)
{
	columns_begin(&writer->columns, out);
	writer->comma = false;
	writer->sample = NULL;
	writer->parent = NULL;
}

int writer_end(struct json_writer *writer)
{
	columns_add(&writer->columns, "\n");
	return columns_end(&writer->columns);
}

static inline void key_add(struct json_writer *writer, const char *key)
{
	if (writer->comma)
		columns_add(&writer->columns, ",");
	writer->comma = true;
	if (!key)
		return;
	columns_add(&writer->columns, "\"");
	columns_add(&writer->columns, key);
	columns_add(&writer->columns, "\":");
}

static void open_with(struct json_writer *writer, const char *key, const char *bracket)
{
	key_add(writer, key);
	columns_add(&writer->columns, bracket);
	writer->comma = false;
}

static void close_with(struct json_writer *writer, const char *bracket)
{
	columns_add(&writer->columns, bracket);
	writer->comma = true;
}

void writer_object(struct json_writer *writer, const char *key)
{
	open_with(writer, key, "{");
}

void writer_object_end(struct json_writer *writer)
{
	close_with(writer, "}");
}

void writer_array(struct json_writer *writer, const char *key)
{
	open_with(writer, key, "[");
}

void writer_array_end(struct json_writer *writer)
{
	close_with(writer, "]");
}

void writer_u64(struct json_writer *writer, const char *key, uint64_t number)
{
	const char *quote = number > INT64_MAX ? "\"" : "";

	key_add(writer, key);
	columns_add(&writer->columns, quote);
	columns_count(&writer->columns, number, 0);
	columns_add(&writer->columns, quote);
}

void writer_i64(struct json_writer *writer, const char *key, int64_t number)
{
	key_add(writer, key);
	if (number < 0)
		columns_add(&writer->columns, "-");
	columns_count(&writer->columns, number < 0 ? -(uint64_t)number : (uint64_t)number, 0);
}

void writer_real(struct json_writer *writer, const char *key, double number)
{
	key_add(writer, key);
	columns_print(&writer->columns, "%.12g", number);
}

void writer_share(struct json_writer *writer, const char *key, uint64_t part, uint64_t total)
{
	unsigned __int128 wide = total ? ((unsigned __int128)part * 10000 + total / 2) / total : 0;
	unsigned int shown = wide > 10000 ? 10000 : (unsigned int)wide;

	key_add(writer, key);
	columns_print(&writer->columns, "%u.%04u", shown / 10000, shown % 10000);
}

void writer_bool(struct json_writer *writer, const char *key, bool truth)
{
	key_add(writer, key);
	columns_add(&writer->columns, truth ? "true" : "false");
}

void writer_address(struct json_writer *writer, const char *key, uint64_t address)
{
	key_add(writer, key);
	columns_add(&writer->columns, "\"");
	columns_hex(&writer->columns, address);
	columns_add(&writer->columns, "\"");
}

void writer_word(struct json_writer *writer, const char *key, const char *word)
{
	key_add(writer, key);
	columns_add(&writer->columns, "\"");
	columns_add(&writer->columns, word);
	columns_add(&writer->columns, "\"");
}

static int take(const char *bytes, size_t length, void *columns)
{
	columns_bytes(columns, bytes, length);
	return 0;
}

/* Writes the string and releases it; NULL: out of memory. */
static void string_add(struct json_writer *writer, json_t *string)
{
	const size_t flags = JSON_ENCODE_ANY | JSON_ENSURE_ASCII;

	if (!string || json_dump_callback(string, take, &writer->columns, flags)) {
		columns_add(&writer->columns, "null");
		if (!writer->columns.err)
			writer->columns.err = -ENOMEM;
	}
	json_decref(string);
}

static bool is_utf8(const char *text, size_t length)
{
	uint32_t code;

	for (size_t i = 0, step; i < length; i += step) {
		step = utf8_decode(text + i, length - i, &code);
		if (!step)
			return false;
	}
	return true;
}

static void replaced_add(struct json_writer *writer, const char *text, size_t length)
{
	char *replaced = malloc(REPLACEMENT_LEN * length);
	size_t used = 0;
	uint32_t code;

	for (size_t i = 0; replaced && i < length;) {
		size_t step = utf8_decode(text + i, length - i, &code);

		if (step)
			memcpy(replaced + used, text + i, step);
		else
			memcpy(replaced + used, REPLACEMENT, REPLACEMENT_LEN);
		used += step ? step : REPLACEMENT_LEN;
		i += step ? step : 1;
	}
	string_add(writer, replaced ? json_stringn(replaced, used) : NULL);
	free(replaced);
}

static void hex_add(struct json_writer *writer, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)text[i];
		char digits[2] = { "0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15] };

		columns_bytes(&writer->columns, digits, sizeof(digits));
	}
}

void writer_text(struct json_writer *writer, const char *key, const char *text, size_t most)
{
	size_t length = strnlen(text, most);

	key_add(writer, key);
	if (is_utf8(text, length)) {
		string_add(writer, json_stringn(text, length));
		return;
	}
	replaced_add(writer, text, length);
	if (!key) /* in a list there is no place for its bytes */
		return;
	columns_add(&writer->columns, ",\"");
	columns_add(&writer->columns, key);
	columns_add(&writer->columns, "_hex\":\"");
	hex_add(writer, text, length);
	columns_add(&writer->columns, "\"");
}

/* 0000-01-01 and 9999-12-31T23:59:59: the range of RFC 3339. */
#define FIRST_SECOND -62167219200
#define LAST_SECOND 253402300799

void writer_time(struct json_writer *writer, const char *key, const struct timespec *when)
{
	time_t seconds = when->tv_sec;
	long ns = when->tv_nsec;
	char text[64];
	struct tm tm;

	seconds = seconds < FIRST_SECOND ? FIRST_SECOND : seconds;
	seconds = seconds > LAST_SECOND ? LAST_SECOND : seconds;
	ns = ns < 0 ? 0 : ns >= (long)NSEC_PER_SEC ? (long)NSEC_PER_SEC - 1 : ns;
	if (!gmtime_r(&seconds, &tm))
		return;
	snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02d.%09ldZ", tm.tm_year + 1900,
		 tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, ns);
	writer_word(writer, key, text);
}
