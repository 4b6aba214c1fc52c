// SPDX-License-Identifier: Apache-2.0
#include "worst.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

uint64_t worst_bar(const struct worst *worst)
{
	return worst->n < worst->capacity ? 0 : length(&worst->samples[worst->n - 1]);
}

void worst_clear(struct worst *worst)
{
	for (size_t i = 0; i < worst->n; i++)
		sample_clear(&worst->samples[i]);
	free(worst->samples);
	*worst = (struct worst){ 0 };
}
