/* SPDX-License-Identifier: Apache-2.0 */
/* Streaming JSON writer: opens and closes objects and arrays, and writes members in between.
 * jansson encodes all foreign text. Most of the rest is numbers: building jansson's tree of them
 * took more than half of the time that a report may take. */
#ifndef JSON_WRITER_H
#define JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "cli/base/columns.h"

struct sample;

struct json_writer {
	struct columns columns;
	bool comma; /* before the next value */
	/* For json_fields.h: the sample that is written, and the structure with the row; or NULL.
	 */
	const struct sample *sample;
	const void *parent;
};

/* Begins a document on a stream, which the caller keeps. */
void writer_begin(struct json_writer *writer, FILE *out);

/* Ends the document with a line feed and flushes the stream. Returns 0 or the first failure, a
 * negative errno. */
int writer_end(struct json_writer *writer);

/* Below, key is a constant without need for escapes; NULL in arrays. */

void writer_object(struct json_writer *writer, const char *key);
void writer_object_end(struct json_writer *writer);
void writer_array(struct json_writer *writer, const char *key);
void writer_array_end(struct json_writer *writer);

/* Numbers above INT64_MAX become strings of digits, because readers' integers may end there. */
void writer_u64(struct json_writer *writer, const char *key, uint64_t number);
void writer_i64(struct json_writer *writer, const char *key, int64_t number);
/* 12 significant digits; neither infinite nor NaN. */
void writer_real(struct json_writer *writer, const char *key, double number);
/* part / total with four decimals, at most 1; 0 if total is 0. */
void writer_share(struct json_writer *writer, const char *key, uint64_t part, uint64_t total);
void writer_bool(struct json_writer *writer, const char *key, bool truth);

/* A string: 0x and hexadecimal digits. */
void writer_address(struct json_writer *writer, const char *key, uint64_t address);

/* RFC 3339, in UTC. */
void writer_time(struct json_writer *writer, const char *key, const struct timespec *when);

/* A constant without need for escapes. */
void writer_word(struct json_writer *writer, const char *key, const char *word);

/* Any text, up to most bytes or a NUL. Non-ASCII characters are escaped. Invalid UTF-8 is
 * replaced by U+FFFD; a second member, the key with "_hex" appended, then has all bytes in
 * hexadecimal. */
void writer_text(struct json_writer *writer, const char *key, const char *text, size_t most);

#endif
