/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "text_parts.h"

#include <stdio.h>
#include <string.h>

/* Which results a line counts. */
enum which { ALL, FAILED, OF_ERROR };

static bool counts(const struct upcall_row *row, enum which which, uint32_t error)
{
	return which == ALL || (which == FAILED && row->error) ||
	       (which == OF_ERROR && row->error == error);
}

/* The sum, and that of each CPU where there were any. */
static void upcall_line(struct columns *columns, const struct sample *sample, const char *name,
			enum which which, uint32_t error)
{
	uint64_t total = 0, here = 0;
	const char *separator = "";

	for (size_t i = 0; i < sample->n_upcalls; i++)
		if (counts(&sample->upcalls[i], which, error))
			total += sample->upcalls[i].count;
	if (!total && which != ALL)
		return;
	columns_add(columns, "  ");
	columns_left(columns, name, 20);
	columns_add(columns, ": ");
	columns_count(columns, total, 0);
	columns_add(columns, " [");
	for (size_t i = 0; i < sample->n_upcalls; i++) {
		const struct upcall_row *row = &sample->upcalls[i];

		if (counts(row, which, error))
			here += row->count;
		if (!here || (i + 1 < sample->n_upcalls && row[1].cpu == row->cpu))
			continue;
		columns_add(columns, separator);
		columns_count(columns, row->cpu, 0);
		columns_add(columns, ": ");
		columns_count(columns, here, 0);
		here = 0;
		separator = ", ";
	}
	columns_add(columns, "]\n");
}

void text_upcalls(struct columns *columns, const struct sample *sample)
{
	bool failed = false;

	if (!sample->upcalls_known)
		return;
	columns_add(columns, "\n# UPCALL STATISTICS (TOTAL [CPU_ID: N_UPCALLS_PER_CPU, ...]):\n");
	upcall_line(columns, sample, "Total upcalls", ALL, 0);
	for (size_t i = 0; i < sample->n_upcalls; i++)
		failed |= sample->upcalls[i].error != 0;
	if (!failed)
		return;
	upcall_line(columns, sample, "Successfull upcalls", OF_ERROR, 0);
	upcall_line(columns, sample, "Failed upcalls", FAILED, 0);
	for (uint32_t error = 1; error < KD_ERRNOS; error++) {
		const char *text = strerrorname_np((int)error);
		char name[32];

		snprintf(name, sizeof(name), "%5u, %s", error, text ? text : "?");
		upcall_line(columns, sample, name, OF_ERROR, error);
	}
}
