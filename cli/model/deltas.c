// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "deltas.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/names.h"
#include "cli/base/parse.h"

/* A text being parsed, and its current part. */
struct part {
	const char *text;
	size_t at, length;
	struct deltas_error *error;
};

static int wrong(const struct part *part, const char *why)
{
	*part->error = (struct deltas_error){ .at = part->at, .why = why };
	return -EINVAL;
}

static int duration_read(const struct part *part, uint64_t max, uint64_t *ns)
{
	char text[64];

	if (part->length < sizeof(text)) {
		snprintf(text, sizeof(text), "%.*s", (int)part->length, part->text + part->at);
		switch (parse_duration(text, 1, max, ns)) {
		case 0:
			return 0;
		case -ERANGE:
			return wrong(part, "this is too long");
		}
	}
	return wrong(part, "this is not a duration, as 50us or 1ms");
}

static int names_read(const struct part *part, char names[DELTA_NAMES])
{
	struct kd_names compiled;

	if (!part->length)
		return wrong(part, "the name of threads before the : is empty");
	if (part->length >= DELTA_NAMES)
		return wrong(part, "the pattern of names is too long");
	memcpy(names, part->text + part->at, part->length);
	names[part->length] = '\0';
	if (!names_compile(&compiled, names))
		return wrong(part, "the pattern of names is too long");
	return 0;
}

/* "50us", or "pmd*:50us"; names may contain colons. */
static int item_read(struct deltas *deltas, const struct part *item, uint64_t max)
{
	const char *start = item->text + item->at, *colon = memrchr(start, ':', item->length);
	struct part names = *item, duration = *item;

	if (!colon && item->length && deltas->has_others)
		return wrong(item, "there are two for all other threads");
	if (!colon) {
		deltas->has_others = true;
		return duration_read(&duration, max, &deltas->others);
	}
	if (deltas->n == KD_NAMED_DELTAS)
		return wrong(item, "there are more than eight with a name");
	names.length = (size_t)(colon - start);
	duration.at += names.length + 1;
	duration.length -= names.length + 1;
	if (names_read(&names, deltas->named[deltas->n].names) ||
	    duration_read(&duration, max, &deltas->named[deltas->n].ns))
		return -EINVAL;
	deltas->n++;
	return 0;
}

int deltas_parse(struct deltas *deltas, const char *text, uint64_t max, struct deltas_error *error)
{
	struct part item = { .text = text, .error = error };

	memset(deltas, 0, sizeof(*deltas));
	for (;; item.at += item.length + 1) {
		item.length = strcspn(text + item.at, ",");
		if (item_read(deltas, &item, max))
			return -EINVAL;
		if (!text[item.at + item.length])
			return 0;
	}
}

uint64_t deltas_of(const struct deltas *deltas, const char *name)
{
	for (size_t i = 0; i < deltas->n; i++)
		if (names_match(deltas->named[i].names, name))
			return deltas->named[i].ns;
	return deltas->others;
}

uint64_t deltas_least(const struct deltas *deltas)
{
	uint64_t least = deltas->others;

	for (size_t i = 0; i < deltas->n; i++)
		if (deltas->named[i].ns < least)
			least = deltas->named[i].ns;
	return least;
}
