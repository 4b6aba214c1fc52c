/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a recording as columns of JSON. What rows have in common is their kind: those of a
 * thread have few, so that a row is two or three small numbers. */
#ifndef JSON_RECORDED_H
#define JSON_RECORDED_H

#include "cli/model/field.h"
#include "cli/model/recording.h"
#include "json_fields.h"
#include "recorded_kinds.h"

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
