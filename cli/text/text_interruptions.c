// SPDX-License-Identifier: Apache-2.0
/* Interruptions of threads: sums by cause, and the list. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/base/arith.h"
#include "cli/base/names.h"
#include "cli/base/parse.h"
#include "text_parts.h"

/* The longest ones are listed. */
#define LISTED 100

static void sum_row(struct columns *columns, const char *title, const struct interruption_sum *sum)
{
	const struct durations times = { .ended = &sum->times, .max = sum->count.max };

	if (!sum->count.count)
		return;
	columns_add(columns, TEXT_INDENT);
	columns_left(columns, title, TEXT_NAME_WIDTH);
	columns_gap_count(columns, sum->count.count, 10);
	columns_gap_ns(columns, sum->count.total, 16);
	columns_gap_ns(columns, sum->count.max, 16);
	columns_gap_ns(columns, durations_permille(&times, 500), 14);
	columns_gap_ns(columns, durations_permille(&times, 990), 14);
	columns_add(columns, "\n");
}

void text_interruptions(struct text *text, const struct thread_row *thread)
{
	const struct interruption_sum *sums = thread_interrupted(thread);
	struct columns *columns = &text->columns;

	if (!sums[INTERRUPTION_CAUSES].count.count)
		return;
	text_section(text, "[INTERRUPTIONS]",
		     "BY                         COUNT          TOTAL ns            MAX ns"
		     "          P50 ns          P99 ns");
	for (int i = 0; i < INTERRUPTION_CAUSES; i++)
		sum_row(columns, interruption_titles[i], &sums[i]);
	sum_row(columns, "all", &sums[INTERRUPTION_CAUSES]);
}

static int by_length(const void *a, const void *b)
{
	const struct interruption *const *x = a, *const *y = b;

	return ((*x)->ns < (*y)->ns) - ((*x)->ns > (*y)->ns);
}

static int by_start(const void *a, const void *b)
{
	const struct interruption *const *x = a, *const *y = b;

	return (*x > *y) - (*x < *y); /* in order of the sample */
}

/* Adds the main cause, its name, and the number of others; then further causes; "moved": to
 * another CPU. */
static void why(struct columns *columns, const struct interruption *interruption)
{
	columns_left(columns, interruption_titles[interruption->cause], 11);
	if (*interruption->who) {
		columns_add(columns, " ");
		columns_foreign(columns, interruption->who, sizeof(interruption->who),
				sizeof(interruption->who));
	}
	if (interruption->who_tid)
		columns_print(columns, "[%d]", (int)interruption->who_tid);
	if (interruption->who_others)
		columns_print(columns, " and %u more", interruption->who_others);
	for (uint32_t i = 0; i < INTERRUPTION_CAUSES; i++) {
		if (i == interruption->cause || !interruption->by[i])
			continue;
		columns_print(columns, ", %s ", interruption_titles[i]);
		columns_ns(columns, interruption->by[i], 0);
	}
	if (interruption->tick_late) {
		columns_add(columns, ", tick late by ");
		columns_ns(columns, interruption->tick_late, 0);
	}
	columns_add(columns, interruption->moved ? ", moved\n" : "\n");
}

static void row(struct columns *columns, const struct sample *sample,
		const struct interruption *interruption)
{
	columns_add(columns, "  ");
	columns_count(columns, interruption->since, 19);
	columns_gap_ns(columns, interruption->ns, 15);
	columns_add(columns, interruption->open ? "+" : " ");
	columns_count(columns, interruption->cpu, 4);
	columns_add(columns, " ");
	columns_count(columns, (uint64_t)interruption->tid, 10);
	columns_add(columns, " ");
	text_thread_name(columns, sample, interruption->name, interruption->tid);
	columns_add(columns, " ");
	why(columns, interruption);
}

/* Picks the longest interruptions of matching threads, sorted by start. Returns *n of them;
 * *all: how many there were; *others_ns: time of the others. NULL without memory. */
static const struct interruption **chosen(const struct sample *sample, const char *names, size_t *n,
					  size_t *all, uint64_t *others_ns)
{
	const struct interruption **list = calloc(sample->n_interruptions + 1, sizeof(*list));

	*n = *all = 0;
	*others_ns = 0;
	for (size_t i = 0; list && i < sample->n_interruptions; i++) {
		char name[KD_COMM_LEN + 1];

		snprintf(name, sizeof(name), "%.*s", KD_COMM_LEN, sample->interruptions[i].name);
		if (!names || names_match(names, name))
			list[(*all)++] = &sample->interruptions[i];
	}
	*n = *all;
	if (*all > LISTED) {
		qsort(list, *all, sizeof(const struct interruption *), by_length);
		*n = LISTED;
		for (size_t i = LISTED; i < *all; i++)
			*others_ns = u64_add(*others_ns, list[i]->ns);
		qsort(list, *n, sizeof(const struct interruption *), by_start);
	}
	return list;
}

int text_interruption_list(struct columns *columns, const struct sample *sample,
			   const struct report_options *options)
{
	const struct interruption **list;
	char length[NUMBER_LEN];
	uint64_t others_ns;
	size_t n, all;

	if (!sample->interruptions_known)
		return 0;
	list = chosen(sample, options->threads, &n, &all, &others_ns);
	if (!list)
		return -ENOMEM;
	number_time(length, sample->interruptions_from);
	columns_print(columns,
		      "\n# INTERRUPTIONS of at least %s%s:\n"
		      "             START (ns)        LENGTH ns   CPU        TID COMM             "
		      "CAUSE       BY, AND WHAT ELSE (ns)\n"
		      "  ------------------- ---------------- ----- ---------- ---------------- "
		      "----------- ----------------------\n",
		      length, n < all ? ", the longest" : "");
	for (size_t i = 0; i < n; i++)
		row(columns, sample, list[i]);
	if (n < all)
		columns_print(columns, "  and %zu others, not longer: %s ns\n", all - n,
			      GROUPED(others_ns));
	free(list);
	return 0;
}
