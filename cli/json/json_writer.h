/* SPDX-License-Identifier: Apache-2.0 */
/* JSON as a stream: objects and arrays are opened and closed, members written in
 * between. jansson writes all text that is not ours. What else there is are mostly
 * numbers, in such an amount that building a tree of them, as jansson wants it, took
 * more than half of the time that a report may take. */
#ifndef JSON_WRITER_H
#define JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/base/columns.h"

struct json_writer {
	struct columns columns;
	bool comma; /* in front of the next value */
};

/* Begins a document on a stream, which stays the caller's. */
void writer_begin(struct json_writer *writer, FILE *out);

/* Ends it with a line feed and flushes the stream. Returns 0 or the first failure, a
 * negative errno. */
int writer_end(struct json_writer *writer);

/* In all that follow, key is a constant that needs no escapes; in arrays it is NULL. */

void writer_object(struct json_writer *writer, const char *key);
void writer_object_end(struct json_writer *writer);
void writer_array(struct json_writer *writer, const char *key);
void writer_array_end(struct json_writer *writer);

/* Above INT64_MAX, which readers' integers may end at, as a string of its digits. */
void writer_u64(struct json_writer *writer, const char *key, uint64_t number);
void writer_i64(struct json_writer *writer, const char *key, int64_t number);
/* With 12 significant digits; neither infinite nor NaN. */
void writer_real(struct json_writer *writer, const char *key, double number);
/* part / whole with four decimals, at most 1; 0 if whole is 0. */
void writer_share(struct json_writer *writer, const char *key, uint64_t part, uint64_t whole);
void writer_bool(struct json_writer *writer, const char *key, bool truth);

/* A string of hexadecimal digits after 0x. */
void writer_address(struct json_writer *writer, const char *key, uint64_t address);

/* A constant that needs no escapes. */
void writer_word(struct json_writer *writer, const char *key, const char *word);

/* Any text, which ends after so many bytes or at a NUL before that. All but ASCII is
 * escaped. What is no valid UTF-8 is replaced by U+FFFD; then a second member, its key
 * with "_hex" added, has all bytes in hexadecimal. */
void writer_text(struct json_writer *writer, const char *key, const char *text, size_t most);

#endif
