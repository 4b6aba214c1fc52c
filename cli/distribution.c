// SPDX-License-Identifier: Apache-2.0
#include "distribution.h"

uint64_t distribution_count(const uint64_t places[KD_DURATIONS])
{
	uint64_t count = 0;

	for (unsigned int i = 0; i < KD_DURATIONS; i++)
		count += places[i];
	return count;
}

uint64_t distribution_limit(unsigned int place)
{
	unsigned int shift;

	if (place < 2 * KD_SUB)
		return place;
	shift = place / KD_SUB - 1;
	return ((uint64_t)(place % KD_SUB + KD_SUB + 1) << shift) - 1;
}

uint64_t distribution_permille(const uint64_t places[KD_DURATIONS], unsigned int permille)
{
	uint64_t count = distribution_count(places), seen = 0, wanted;

	if (!count)
		return 0;
	/* Rounded up, without overflow. */
	wanted = count / 1000 * permille + (count % 1000 * permille + 999) / 1000;
	for (unsigned int i = 0; i < KD_DURATIONS; i++) {
		seen += places[i];
		if (seen >= wanted && seen)
			return distribution_limit(i);
	}
	return distribution_limit(KD_DURATIONS - 1);
}
