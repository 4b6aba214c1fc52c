/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic that saturates instead of wrapping, and orders. */
#ifndef ARITH_H
#define ARITH_H

#include <stdint.h>

/* Negative, 0 or positive, as qsort() wants it; a ?: chain of them is the order by several keys. */
#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

static inline uint64_t u64_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t u64_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Sum, saturating at UINT64_MAX. */
static inline uint64_t u64_add(uint64_t a, uint64_t b)
{
	return b > UINT64_MAX - a ? UINT64_MAX : a + b;
}

/* Difference, at least 0. */
static inline uint64_t u64_sub(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Product, saturating at UINT64_MAX. */
static inline uint64_t u64_times(uint64_t a, uint64_t b)
{
	return b && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

/* The share of a whole that part has of `of`, rounded down; 0 if that is nothing. */
static inline uint64_t u64_share(uint64_t whole, uint64_t part, uint64_t of)
{
	return of ? (uint64_t)((unsigned __int128)whole * part / of) : 0;
}

#endif
