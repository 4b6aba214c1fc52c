/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a recording as columns of JSON. What rows share is factored out as their kind. A
 * thread has few kinds, so a row is two or three small numbers. */
#ifndef JSON_RECORDED_H
#define JSON_RECORDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/model/field.h"
#include "cli/model/recording.h"
#include "json_fields.h"

/* --- Kinds: what rows have in common, each once --- */

struct recorded_kinds {
	struct span *of; /* in order of appearance */
	size_t n, most;
	uint32_t *slots; /* hash table: kind number + 1; 0: free */
	size_t mask;
};

/* Sets up a zeroed list of up to most kinds. Returns 0 or -ENOMEM; call recorded_kinds_free() in
 * either case. */
int recorded_kinds_begin(struct recorded_kinds *kinds, size_t most);

/* Number of a kind, from 0, whose times and value are 0. Adds it if it is new and fits; else
 * returns n. */
size_t recorded_kinds_number(struct recorded_kinds *kinds, const struct span *kind);

void recorded_kinds_free(struct recorded_kinds *kinds);

/* --- Rows of a recording as columns of JSON --- */

#define RECORDED_ROWS 16384 /* per line */

enum recorded_order { RECORDED_BY_TID, RECORDED_BY_CPU, RECORDED_BY_TIME };

struct recorded_list {
	const char *key;
	const struct field *fields; /* of its kinds */
	enum recorded_order order;
	const char *value; /* of the column of values; NULL: none */
	bool follow;       /* rows of a thread do not overlap */
};

extern const struct recorded_list recorded_lists[SPAN_LISTS];

extern const struct field recording_fields[];       /* struct recording, except for its lists */
extern const struct field recorded_thread_fields[]; /* struct recorded_thread */

#endif
