/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ARITH_H
#define ARITH_H

#include <stdint.h>

static inline uint64_t u64_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t u64_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The sum; UINT64_MAX if it is larger than that. */
static inline uint64_t u64_add(uint64_t a, uint64_t b)
{
	return b > UINT64_MAX - a ? UINT64_MAX : a + b;
}

/* The difference; 0 if b is larger. */
static inline uint64_t u64_sub(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* The product; UINT64_MAX if it is larger than that. */
static inline uint64_t u64_times(uint64_t a, uint64_t b)
{
	return b && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

#endif
