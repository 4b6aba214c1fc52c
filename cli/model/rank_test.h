/* SPDX-License-Identifier: Apache-2.0 */
/* Whether two sets of values differ by more than chance: the rank test of Mann and Whitney (U),
 * which is that of Wilcoxon. It asks nothing of how values are distributed. */
#ifndef RANK_TEST_H
#define RANK_TEST_H

#include <stddef.h>

/* Up to so many values in all every way to divide them is counted, with middle ranks for those that
 * are equal; beyond, a normal distribution, corrected for these and by 0.5 for continuity. */
#define RANK_TEST_EXACT 20

/* The probability that two sets which chance has divided differ at least as much, in either
 * direction; 1 if one is empty. -1: no memory. */
double rank_test(const double *a, size_t n, const double *b, size_t m);

#endif
