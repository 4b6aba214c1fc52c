// SPDX-License-Identifier: Apache-2.0
#include "mover.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"

static bool is_like(const struct mover_row *x, const struct mover_row *y)
{
	return x->tid == y->tid && x->pid == y->pid && !strncmp(x->name, y->name, sizeof(x->name));
}

int movers_add(struct mover_row **rows, size_t *n, const struct mover_row *mover)
{
	const struct mover_row others = { .count = mover->count };
	struct mover_row *row;
	size_t i = 0;

	while (i < *n && !is_like(&(*rows)[i], mover))
		i++;
	if (i < *n) {
		(*rows)[i].count = u64_add((*rows)[i].count, mover->count);
		return 0;
	}
	if (*n >= MOVERS_MOST && !is_like(mover, &others))
		return movers_add(rows, n, &others);
	row = reallocarray(*rows, *n + 1, sizeof(*row));
	if (!row)
		return -ENOMEM;
	*rows = row;
	row[(*n)++] = *mover;
	return 0;
}

int movers_merge(struct mover_row **rows, size_t *n, const struct mover_row *from, size_t n_from)
{
	int error = 0;

	for (size_t i = 0; i < n_from && !error; i++)
		error = movers_add(rows, n, &from[i]);
	return error;
}

static int by_count(const void *a, const void *b)
{
	const struct mover_row *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

void movers_sort(struct mover_row *rows, size_t n)
{
	if (n)
		qsort(rows, n, sizeof(*rows), by_count);
}
