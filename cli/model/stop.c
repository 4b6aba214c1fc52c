// SPDX-License-Identifier: Apache-2.0
#include "stop.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"

#define STOP_ROW(kind, key) [kind] = (key),
const char *const stop_kinds[KD_STOP_KINDS] = { STOP_WORDS(STOP_ROW) };

static bool is_like(const struct stop_row *x, const struct stop_row *y)
{
	return x->kind == y->kind && x->signal == y->signal && x->tid == y->tid &&
	       x->pid == y->pid && !strncmp(x->name, y->name, sizeof(x->name));
}

int stops_add(struct stop_row **rows, size_t *n, const struct stop_row *stop)
{
	struct stop_row *row, nobody = { .kind = KD_STOP_UNKNOWN, .stops = stop->stops };
	size_t i = 0;

	while (i < *n && !is_like(&(*rows)[i], stop))
		i++;
	if (i == *n && i >= STOPS_MOST && !is_like(stop, &nobody))
		return stops_add(rows, n, &nobody);
	if (i == *n) {
		row = reallocarray(*rows, *n + 1, sizeof(*row));
		if (!row)
			return -ENOMEM;
		*rows = row;
		row[(*n)++] = *stop;
		return 0;
	}
	row = &(*rows)[i];
	row->stops.count = u64_add(row->stops.count, stop->stops.count);
	row->stops.total = u64_add(row->stops.total, stop->stops.total);
	row->stops.max = u64_max(row->stops.max, stop->stops.max);
	return 0;
}

int stops_merge(struct stop_row **rows, size_t *n, const struct stop_row *from, size_t n_from)
{
	int error = 0;

	for (size_t i = 0; i < n_from && !error; i++)
		error = stops_add(rows, n, &from[i]);
	return error;
}

static int by_total(const void *a, const void *b)
{
	const struct stop_row *x = a, *y = b;

	if (x->stops.total != y->stops.total)
		return x->stops.total < y->stops.total ? 1 : -1;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

void stops_sort(struct stop_row *rows, size_t n)
{
	if (n)
		qsort(rows, n, sizeof(*rows), by_total);
}

const char *stop_how(const struct stop_row *stop, char buffer[STOP_HOW_LEN])
{
	static const char *const signals[KD_STOP_SIGNALS] = { "SIGSTOP", "SIGTSTP", "SIGTTIN",
							      "SIGTTOU" };
	uint32_t index = (uint32_t)stop->signal - KD_SIGSTOP;

	if (stop->kind == KD_STOP_SIGNAL && index < KD_STOP_SIGNALS)
		snprintf(buffer, STOP_HOW_LEN, "%s", signals[index]);
	else if (stop->kind == KD_STOP_SIGNAL && stop->signal > 0 && stop->signal <= 64)
		snprintf(buffer, STOP_HOW_LEN, "signal %u", (unsigned int)stop->signal % 100);
	else
		snprintf(buffer, STOP_HOW_LEN, "%s",
			 stop->kind == KD_STOP_SIGNAL   ? "a signal"
			 : stop->kind == KD_STOP_TRACER ? "ptrace"
							: stop_kinds[KD_STOP_UNKNOWN]);
	return buffer;
}
