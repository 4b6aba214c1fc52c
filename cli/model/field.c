// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "field.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "distribution.h"

/* Uses memcpy(3) because some members are uint64_t and others __u64. */
static uint64_t figure_of(const void *structure, size_t at)
{
	uint64_t figure;

	memcpy(&figure, (const char *)structure + at, sizeof(figure));
	return figure;
}

static void figure_set(void *structure, size_t at, uint64_t figure)
{
	memcpy((char *)structure + at, &figure, sizeof(figure));
}

static uint64_t sum_of(const struct field *field, void *into, const void *from)
{
	bool *valid = (bool *)((char *)into + field->valid);

	if (field->valid)
		*valid = *valid && *(const bool *)((const char *)from + field->valid);
	if (field->valid && !*valid)
		return 0;
	return u64_add(figure_of(into, field->at), figure_of(from, field->at));
}

static uint64_t min_of(const struct field *field, const void *into, const void *from)
{
	uint64_t min = figure_of(into, field->at), other = figure_of(from, field->at);

	if (!figure_of(from, field->count))
		return min;
	return figure_of(into, field->count) ? u64_min(min, other) : other;
}

static void any_merge(const struct field *field, void *into, const void *from)
{
	unsigned char *bytes = (unsigned char *)into + field->at;

	for (size_t i = 0; i < field->size; i++)
		bytes[i] |= ((const unsigned char *)from + field->at)[i];
}

static void member_merge(const struct field *field, void *into, const void *from)
{
	switch (field->merge) {
	case MERGE_SUM:
		figure_set(into, field->at, sum_of(field, into, from));
		break;
	case MERGE_MAX:
		figure_set(into, field->at,
			   u64_max(figure_of(into, field->at), figure_of(from, field->at)));
		break;
	case MERGE_OF_MAX:
		if (figure_of(from, field->count) > figure_of(into, field->count))
			figure_set(into, field->at, figure_of(from, field->at));
		break;
	case MERGE_MIN:
		figure_set(into, field->at, min_of(field, into, from));
		break;
	case MERGE_ANY:
		any_merge(field, into, from);
		break;
	case MERGE_KEEP:
		break;
	}
}

struct distribution *field_times(const struct field *field, void *structure)
{
	bool has = (field->kind == FIELD_COMPLETE || field->kind == FIELD_TIMES) && field->size;

	return has ? (struct distribution *)((char *)structure + field->at) : NULL;
}

int field_own(const char **member, const char *text, size_t most)
{
	*member = *text && most ? strndup(text, most) : NULL;
	return *text && most && !*member ? -ENOMEM : 0;
}

const void *field_object(const struct field *field, const void *structure)
{
	const void *member = (const char *)structure + field->at, *object = member;

	if (field->flags & FIELD_FAR)
		memcpy(&object, member, sizeof(object));
	return object;
}

void *field_object_make(const struct field *field, void *structure)
{
	void *object = (void *)field_object(field, structure);

	if (object || !(field->flags & FIELD_FAR))
		return object;
	object = calloc(1, field->size);
	memcpy((char *)structure + field->at, &object, sizeof(object));
	return object;
}

static int object_merge(const struct field *field, void *into, const void *from)
{
	const void *object = field_object(field, from);
	void *sum = object ? field_object_make(field, into) : NULL;

	if (!object)
		return 0;
	return sum ? fields_merge(field->fields, sum, object) : -ENOMEM;
}

static int field_merge(const struct field *field, void *into, const void *from)
{
	struct distribution *times = field_times(field, into);

	if (field->kind == FIELD_OBJECT)
		return object_merge(field, into, from);
	if (times)
		return distribution_merge(
			times, (const struct distribution *)((const char *)from + field->at));
	member_merge(field, into, from);
	return 0;
}

/* Goes from last to first, so that what depends on a count or maximum is merged before it. */
int fields_merge(const struct field *fields, void *into, const void *from)
{
	size_t n = 0;
	int error = 0;

	while (fields[n].key)
		n++;
	while (n && !error)
		error = field_merge(&fields[--n], into, from);
	return error;
}

/* memcpy(3) of a constant size costs nothing; memcmp(3) of a variable one would be slow. */
#define COMPARE(type)                                                                              \
	({                                                                                         \
		type x, y;                                                                         \
                                                                                                   \
		memcpy(&x, (const char *)a + field->at, sizeof(x));                                \
		memcpy(&y, (const char *)b + field->at, sizeof(y));                                \
		ORDER(x, y);                                                                       \
	})

int field_compare(const struct field *field, const void *a, const void *b)
{
	switch (field->kind) {
	case FIELD_NAME:
		return strncmp((const char *)a + field->at, (const char *)b + field->at,
			       field->size);
	case FIELD_I32:
	case FIELD_SLEPT_IN:
		return COMPARE(int32_t);
	case FIELD_U32:
	case FIELD_LOCK:
		return COMPARE(uint32_t);
	case FIELD_WORD:
		return field->size == 1 ? COMPARE(uint8_t) : COMPARE(uint32_t);
	case FIELD_BOOL:
		return COMPARE(unsigned char);
	case FIELD_I64:
		return COMPARE(int64_t);
	default:
		return COMPARE(uint64_t);
	}
}
