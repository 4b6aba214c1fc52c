/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that look random and are the same in every run: a failure can be repeated. */
#ifndef TESTS_UNIT_RANDOM_H
#define TESTS_UNIT_RANDOM_H

#include <stdint.h>

static uint64_t random_state = 0x9e3779b97f4a7c15;

/* George Marsaglia, Xorshift RNGs, 2003: 64 bits, never 0. */
static inline uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* From 0 to below what is given. */
static inline uint64_t chance(uint64_t below)
{
	return random_next() % below;
}

#endif
