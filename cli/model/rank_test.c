// SPDX-License-Identifier: Apache-2.0
#include "rank_test.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SUMS (RANK_TEST_EXACT * (RANK_TEST_EXACT + 1) + 1) /* of doubled ranks */

struct ranked {
	double value;
	bool first;  /* it is of the first set */
	size_t rank; /* doubled, as middle ranks end in .5 */
};

static int by_value(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

/* Ranks sorted values. Returns the sum of t^3 - t over groups of t equal ones. */
static double ranks_set(struct ranked *all, size_t n)
{
	double ties = 0;

	for (size_t i = 0, next; i < n; i = next) {
		double t;

		for (next = i + 1; next < n && all[next].value == all[i].value;)
			next++;
		for (size_t j = i; j < next; j++)
			all[j].rank = i + 1 + next;
		t = (double)(next - i);
		ties += t * t * t - t;
	}
	return ties;
}

/* How many of the ways to choose n of all have a sum of ranks as far from the mean; -1: no
 * memory. */
static double exact(const struct ranked *all, size_t count, size_t n, size_t sum)
{
	double(*ways)[SUMS] = calloc(RANK_TEST_EXACT + 1, sizeof(*ways)), far = 0, total = 0;
	double mean = (double)(n * (count + 1)), distance = fabs((double)sum - mean);

	if (!ways)
		return -1;
	ways[0][0] = 1;
	for (size_t i = 0; i < count; i++)
		for (size_t chosen = i < n ? i + 1 : n; chosen > 0; chosen--)
			for (size_t s = all[i].rank; s < SUMS; s++)
				ways[chosen][s] += ways[chosen - 1][s - all[i].rank];
	for (size_t s = 0; s < SUMS; s++) {
		total += ways[n][s];
		if (fabs((double)s - mean) >= distance)
			far += ways[n][s];
	}
	free(ways);
	return far / total;
}

static double normal(size_t n, size_t m, size_t sum, double ties)
{
	double count = (double)(n + m), product = (double)n * (double)m;
	double u = (double)sum / 2 - (double)n * (double)(n + 1) / 2;
	double variance = product / 12 * (count + 1 - ties / (count * (count - 1)));
	double distance = fabs(u - product / 2) - 0.5;

	return variance > 0 && distance > 0 ? erfc(distance / sqrt(2 * variance)) : 1;
}

double rank_test(const double *a, size_t n, const double *b, size_t m)
{
	struct ranked *all = calloc(n + m ? n + m : 1, sizeof(*all));
	size_t sum = 0;
	double ties, p = 1;

	if (!all)
		return -1;
	for (size_t i = 0; i < n + m; i++)
		all[i] = (struct ranked){ .value = i < n ? a[i] : b[i - n], .first = i < n };
	qsort(all, n + m, sizeof(*all), by_value);
	ties = ranks_set(all, n + m);
	for (size_t i = 0; i < n + m; i++)
		sum += all[i].first ? all[i].rank : 0;
	if (n && m)
		p = n + m <= RANK_TEST_EXACT ? exact(all, n + m, n, sum) : normal(n, m, sum, ties);
	free(all);
	return p;
}
