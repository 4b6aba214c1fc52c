// SPDX-License-Identifier: Apache-2.0
#include "recorded_kinds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int recorded_kinds_begin(struct recorded_kinds *kinds, size_t most)
{
	size_t slots = 2;

	while (slots < 2 * most) /* at most half of them are taken */
		slots *= 2;
	kinds->of = calloc(most, sizeof(*kinds->of));
	kinds->slots = calloc(slots, sizeof(*kinds->slots));
	kinds->mask = slots - 1;
	kinds->most = most;
	return kinds->of && kinds->slots ? 0 : -ENOMEM;
}

void recorded_kinds_reset(struct recorded_kinds *kinds)
{
	memset(kinds->slots, 0, (kinds->mask + 1) * sizeof(*kinds->slots));
	kinds->n = 0;
}

static size_t hash(const struct recorded_kind *kind)
{
	uint64_t words[sizeof(*kind) / sizeof(uint64_t)], sum = 0;

	_Static_assert(sizeof(words) == sizeof(*kind), "whole words");
	memcpy(words, kind, sizeof(words));
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		sum = (sum ^ words[i]) * 0x9e3779b97f4a7c15;
	return (size_t)(sum >> 32);
}

size_t recorded_kinds_number(struct recorded_kinds *kinds, const struct recorded_kind *kind)
{
	size_t slot = hash(kind) & kinds->mask;

	for (; kinds->slots[slot]; slot = (slot + 1) & kinds->mask)
		if (!memcmp(&kinds->of[kinds->slots[slot] - 1], kind, sizeof(*kind)))
			return kinds->slots[slot] - 1;
	if (kinds->n == kinds->most)
		return kinds->n;
	kinds->of[kinds->n] = *kind;
	kinds->slots[slot] = (uint32_t)++kinds->n;
	return kinds->n - 1;
}

void recorded_kinds_free(struct recorded_kinds *kinds)
{
	free(kinds->of);
	free(kinds->slots);
	*kinds = (struct recorded_kinds){ 0 };
}
