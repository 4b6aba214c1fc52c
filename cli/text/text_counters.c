// SPDX-License-Identifier: Apache-2.0
/* Events that were counted while a thread ran. */
#include <stdio.h>
#include <string.h>

#include "text_parts.h"
#include "text_words.h"

#define NAME_WIDTH 40 /* as wide as a name and a CPU, or the title of a ratio */

/* The share of the time for which it was counted, if that was not all. */
static void counter_line(struct columns *columns, const struct counter_row *row)
{
	char percent[NUMBER_LEN], cpu[24] = "";
	size_t used;

	columns_add(columns, TEXT_INDENT);
	used = columns_foreign(columns, row->name, sizeof(row->name), sizeof(row->name) - 1);
	if (row->cpu >= 0)
		snprintf(cpu, sizeof(cpu), " on %d", (int)row->cpu);
	columns_add(columns, cpu);
	columns_pad(columns, used + strlen(cpu), NAME_WIDTH);
	columns_gap_ns(columns, row->value, 20);
	if (row->scaled) {
		number_percent(percent, row->running_ns, row->enabled_ns);
		columns_add(columns, "  ");
		columns_right(columns, percent, 7);
	}
	columns_add(columns, "\n");
}

static void ratio_line(struct columns *columns, const struct thread_row *thread,
		       const struct counter_ratio *ratio)
{
	uint64_t part, whole;
	char text[64];

	if (!counters_find(thread->counters, thread->n_counters, ratio->part, &part) ||
	    !counters_find(thread->counters, thread->n_counters, ratio->whole, &whole) || !whole)
		return;
	snprintf(text, sizeof(text), "%.2f", (double)part * (double)ratio->scale / (double)whole);
	columns_add(columns, TEXT_INDENT);
	columns_left(columns, ratio->title, NAME_WIDTH);
	columns_add(columns, "  ");
	columns_right(columns, text, 20);
	columns_add(columns, "\n");
}

void text_counters(struct text *text, const struct thread_row *thread)
{
	bool any = false;

	for (size_t i = 0; i < thread->n_counters; i++)
		any |= thread->counters[i].value || thread->counters[i].scaled;
	if (!any)
		return;
	text_section(text, "[THREAD COUNTERS]",
		     "EVENT                                                  COUNT  COUNTED %");
	for (size_t i = 0; i < thread->n_counters; i++)
		counter_line(&text->columns, &thread->counters[i]);
	for (size_t i = 0; i < counter_n_ratios; i++)
		ratio_line(&text->columns, thread, &counter_ratios[i]);
}
