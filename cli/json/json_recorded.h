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

/* --- Kinds: shared parts of rows, each once --- */

/* Union of the members of all lists; the others are 0. No padding: kinds are compared as bytes. */
struct recorded_kind {
	const char *name;
	pid_t tid;
	uint32_t cpu;
	uint32_t state, awaited, from, role;
	uint32_t key;
	int32_t call;
	pid_t waker, holder;
	bool own, goes_on, early, hard;
	uint32_t none;
};
_Static_assert(sizeof(struct recorded_kind) == sizeof(char *) + 12 * sizeof(uint32_t),
	       "no padding");

struct recorded_kinds {
	struct recorded_kind *of; /* in order of appearance */
	size_t n, most;
	uint32_t *slots; /* hash table: kind number + 1; 0: free */
	size_t mask;
};

/* Sets up a zeroed list of up to most kinds. Returns 0 or -ENOMEM; call recorded_kinds_free() in
 * either case. */
int recorded_kinds_begin(struct recorded_kinds *kinds, size_t most);

/* Number of a kind, from 0. Adds it if it is new and fits; else returns n. */
size_t recorded_kinds_number(struct recorded_kinds *kinds, const struct recorded_kind *kind);

void recorded_kinds_free(struct recorded_kinds *kinds);

/* --- Rows of a recording as columns of JSON --- */

#define RECORDED_ROWS 16384 /* per line */

struct recorded_row {
	struct recorded_kind kind;
	uint64_t start, end;
	int64_t value;
};

enum recorded_order { RECORDED_BY_TID, RECORDED_BY_CPU, RECORDED_BY_TIME };

struct recorded_list {
	const char *key, *value;    /* key: of the list; value: of the column of values, NULL:
				     * none */
	const struct field *fields; /* of its kinds */
	enum recorded_order order;
	bool follow;     /* rows of a thread do not overlap */
	size_t at, n;    /* offsets in struct recording: array, and its number n_... */
	size_t capacity; /* offset of the array's capacity */
	size_t row_size; /* bytes of an element */
	void (*pack)(const void *element, struct recorded_row *row); /* row is zeroed */
	void (*unpack)(const struct recorded_row *row, void *element);
};

#define RECORDED_LISTS 6
extern const struct recorded_list recorded_lists[RECORDED_LISTS];

/* Array of a list, and the number of its elements. */
const char *recorded_elements(const struct recorded_list *list, const struct recording *recording,
			      size_t *n);

extern const struct field recording_fields[]; /* struct recording, except for its lists */

#endif
