// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "field.h"

#define UNIT "_ns"

#define VERDICT(key, how, member) FIELD_FIGURE(key, how, struct verdict_thread, member)
static const struct field verdict_fields[] = {
	VERDICT("busy_ns", MERGE_SUM, busy),
	VERDICT("kept_ns", MERGE_SUM, delay),
	VERDICT("kept_longest_ns", MERGE_MAX, longest),
	FIELDS_END,
};

static bool has_unit(const char *key)
{
	size_t length = strlen(key), unit = sizeof(UNIT) - 1;

	return length > unit && !strcmp(key + length - unit, UNIT);
}

static bool is_figure(const struct field *field)
{
	return field->kind == FIELD_U64 && (field->merge == MERGE_SUM ||
					    field->merge == MERGE_MAX || field->merge == MERGE_MIN);
}

/* Adds the figures of a table. base: offset of its structure in the enclosing one, which like
 * describes. */
static int fields_add(struct measures *measures, const struct field *fields, size_t base,
		      const char *prefix, const struct measure *like)
{
	for (const struct field *field = fields; field->key; field++) {
		char key[MEASURE_KEY];
		int error = 0;

		snprintf(key, sizeof(key), "%s%s", prefix, field->key);
		if (is_figure(field)) {
			error = ARRAY_GROW(measures->all, measures->n, measures->capacity);
			if (error)
				return error;
			measures->all[measures->n] = (struct measure){
				.merge = field->merge,
				.is_time = has_unit(key),
				.of_verdict = like->of_verdict,
				.far = like->far,
				.at = base + field->at,
				.valid = field->valid ? base + field->valid : 0,
				.rate = field->merge == MERGE_SUM ? measures->rates++ : SIZE_MAX,
			};
			memcpy(measures->all[measures->n++].key, key, sizeof(key));
		} else if (field->kind == FIELD_OBJECT) {
			bool far = field->flags & FIELD_FAR;

			strncat(key, ".", sizeof(key) - strlen(key) - 1);
			error = fields_add(measures, field->fields, far ? 0 : base + field->at, key,
					   far ? &(const struct measure){ .far = field } : like);
		}
		if (error)
			return error;
	}
	return 0;
}

int measures_find(struct measures *measures)
{
	const struct measure of_verdict = { .of_verdict = true }, of_thread = { .far = NULL };

	return fields_add(measures, verdict_fields, 0, "", &of_verdict)
		       ?: fields_add(measures, thread_fields, 0, "", &of_thread);
}

void measures_clear(struct measures *measures)
{
	free(measures->all);
	memset(measures, 0, sizeof(*measures));
}

size_t measures_index(const struct measures *measures, const char *key)
{
	for (size_t i = 0; i < measures->n; i++)
		if (!strcmp(measures->all[i].key, key))
			return i;
	return SIZE_MAX;
}

bool measure_figure(const struct measure *measure, const struct verdict_thread *thread,
		    uint64_t *figure)
{
	const char *structure = measure->of_verdict ? (const char *)thread
						    : (const char *)thread->row;

	if (measure->far)
		structure = field_object(measure->far, structure);
	*figure = 0;
	if (!structure)
		return true;
	memcpy(figure, structure + measure->at, sizeof(*figure));
	return !measure->valid || *(const bool *)(structure + measure->valid);
}

void measures_read(const struct measures *measures, const struct verdict_thread *thread,
		   double *values)
{
	for (size_t i = 0; i < measures->n; i++) {
		uint64_t figure;
		bool valid = measure_figure(&measures->all[i], thread, &figure);

		values[i] = valid ? (double)figure : (double)NAN;
	}
}

void measures_merge(const struct measures *measures, double *into, const double *from)
{
	for (size_t i = 0; i < measures->n; i++) {
		if (from[i] == 0)
			continue;
		if (measures->all[i].merge == MERGE_SUM)
			into[i] += from[i];
		else if (measures->all[i].merge == MERGE_MAX)
			into[i] = from[i] > into[i] ? from[i] : into[i];
		else
			into[i] = into[i] == 0 || from[i] < into[i] ? from[i] : into[i];
	}
}

void measure_title(const struct measure *measure, char title[static MEASURE_KEY])
{
	memcpy(title, measure->key, MEASURE_KEY);
	if (measure->is_time)
		title[strlen(title) - (sizeof(UNIT) - 1)] = '\0';
}
