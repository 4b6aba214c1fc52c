/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a recording as columns of JSON. What rows have in common is their kind: those of a
 * thread have few, so that a row is two or three small numbers. */
#ifndef JSON_RECORDED_H
#define JSON_RECORDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/model/field.h"
#include "cli/model/recording.h"
#include "json_fields.h"

/* --- What rows of a recording have in common, each once --- */

/* All that any list has, the rest is 0. No padding: kinds are compared as bytes. */
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
	struct recorded_kind *of; /* in the order in which they came */
	size_t n, most;
	uint32_t *slots; /* of a table: the number of one, from 1 on; 0: none */
	size_t mask;
};

/* Begins a zeroed list of so many at most. Returns 0 or -ENOMEM; recorded_kinds_free() in any case.
 */
int recorded_kinds_begin(struct recorded_kinds *kinds, size_t most);

/* The number of a kind, from 0 on, which is added if it is not there and there is room; n if there
 * is none. */
size_t recorded_kinds_number(struct recorded_kinds *kinds, const struct recorded_kind *kind);

void recorded_kinds_free(struct recorded_kinds *kinds);

/* --- Rows of a recording as columns of JSON --- */

/* What rows have in common is their kind: those of a thread have few, so that a row is two or three
 * small numbers. */

#define RECORDED_ROWS 16384 /* in a line, at most */

struct recorded_row {
	struct recorded_kind kind;
	uint64_t start, end;
	int64_t value;
};

enum recorded_order { RECORDED_BY_TID, RECORDED_BY_CPU, RECORDED_BY_TIME };

struct recorded_list {
	const char *key, *value;    /* of the list; of the column of values, NULL: it has none */
	const struct field *fields; /* of its kinds */
	enum recorded_order order;
	bool follow;     /* rows of a thread do not overlap */
	size_t at, n;    /* in struct recording, where n_... is the number */
	size_t room;     /* the same */
	size_t row_size; /* of an element */
	void (*pack)(const void *element, struct recorded_row *row); /* into a zeroed one */
	void (*unpack)(const struct recorded_row *row, void *element);
};

#define RECORDED_LISTS 6
extern const struct recorded_list recorded_lists[RECORDED_LISTS];

/* The list's array and the number of its elements. */
const char *recorded_elements(const struct recorded_list *list, const struct recording *recording,
			      size_t *n);

extern const struct field recording_fields[]; /* of struct recording, but for those lists */

#endif
