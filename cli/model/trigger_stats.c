// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "trigger_stats.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"
#include "cli/base/names.h"
#include "cli/base/parse.h"

int trigger_stats_distribute(struct trigger_stats *stats)
{
	int error = 0;

	distribution_clear(&stats->windows);
	for (unsigned int i = 0; i < KD_WINDOW_BUCKETS && !error; i++)
		error = distribution_append(&stats->windows, distribution_limit(i, KD_WINDOW_BITS),
					    stats->tally.durations[i]);
	return error;
}

static int by_start(const void *a, const void *b)
{
	const struct nested_pair *left = a, *right = b;

	return ORDER(left->start, right->start);
}

void trigger_stats_finish(struct trigger_stats *stats)
{
	ARRAY_SORT(stats->nested, stats->n_nested, by_start);
	for (int role = 0; role < KD_ROLES; role++) {
		__u64 *outcome = stats->tally.outcome[role], undecided = stats->tally.hits[role];

		for (int i = 0; i < KD_OUTCOMES; i++)
			undecided = u64_sub(undecided, outcome[i]);
		outcome[KD_HIT_UNMATCHED] += undecided;
	}
}

unsigned int trigger_stats_coverage(const struct trigger_stats *stats)
{
	const struct probe_duty *duty = &stats->duty;
	/* For other processes, only the time is known. */
	double covered = (double)duty->worked_on, all = covered + (double)duty->worked_off;

	if (!duty->off || duty->off >= stats->lasted)
		return duty->off ? 0 : 1000;
	if (all == 0) {
		covered = (double)(stats->lasted - duty->off);
		all = (double)stats->lasted;
	}
	return (unsigned int)(covered * 1000 / all);
}

uint64_t tally_looked_at(const struct kd_tally *tally, enum kd_role role)
{
	return tally->hits[role] + tally->unmet[role] + tally->unread[role];
}

void trigger_stats_clear(struct trigger_stats *stats)
{
	free(stats->nested);
	distribution_clear(&stats->windows);
	memset(stats, 0, sizeof(*stats));
}

/* --- Deltas --- */

/* A text being parsed, and its current token. */
struct token {
	const char *text;
	size_t at, length;
	struct deltas_error *error;
};

static int wrong(const struct token *token, const char *why)
{
	*token->error = (struct deltas_error){ .at = token->at, .why = why };
	return -EINVAL;
}

static int duration_read(const struct token *token, uint64_t max, uint64_t *ns)
{
	char text[64];

	if (token->length < sizeof(text)) {
		snprintf(text, sizeof(text), "%.*s", (int)token->length, token->text + token->at);
		switch (parse_duration(text, 1, max, ns)) {
		case 0:
			return 0;
		case -ERANGE:
			return wrong(token, "this is too long");
		}
	}
	return wrong(token, "this is not a duration, as 50us or 1ms");
}

static int names_read(const struct token *token, char names[DELTA_NAMES])
{
	struct kd_names compiled;

	if (!token->length)
		return wrong(token, "the name of threads before the : is empty");
	if (token->length >= DELTA_NAMES)
		return wrong(token, "the pattern of names is too long");
	memcpy(names, token->text + token->at, token->length);
	names[token->length] = '\0';
	if (!names_compile(&compiled, names))
		return wrong(token, "the pattern of names is too long");
	return 0;
}

/* "50us", or "pmd*:50us"; names may contain colons. */
static int item_read(struct deltas *deltas, const struct token *item, uint64_t max)
{
	const char *start = item->text + item->at, *colon = memrchr(start, ':', item->length);
	struct token names = *item, duration = *item;

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
	struct token item = { .text = text, .error = error };

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

/* --- The longest samples --- */

int worst_init(struct worst *worst, size_t capacity)
{
	*worst = (struct worst){ .capacity = capacity };
	worst->samples = capacity ? calloc(capacity, sizeof(*worst->samples)) : NULL;
	return capacity && !worst->samples ? -ENOMEM : 0;
}

static uint64_t length(const struct sample *sample)
{
	return sample->end - sample->start;
}

void worst_offer(struct worst *worst, struct sample *sample)
{
	size_t at = worst->n;

	while (at && length(sample) > length(&worst->samples[at - 1]))
		at--;
	if (at == worst->capacity)
		return;
	if (worst->n == worst->capacity)
		sample_clear(&worst->samples[--worst->n]);
	memmove(&worst->samples[at + 1], &worst->samples[at],
		(worst->n - at) * sizeof(*worst->samples));
	worst->samples[at] = *sample;
	worst->n++;
	memset(sample, 0, sizeof(*sample));
}

void worst_clear(struct worst *worst)
{
	for (size_t i = 0; i < worst->n; i++)
		sample_clear(&worst->samples[i]);
	free(worst->samples);
	*worst = (struct worst){ 0 };
}
