// SPDX-License-Identifier: Apache-2.0
/* Who moved a thread to other CPUs. */
#include "text_parts.h"

#include <stdio.h>
#include <string.h>

#include "text_words.h"

#define WHO_WIDTH 40

/* "taskset[4711]" */
static void who(struct columns *columns, const struct mover_row *mover)
{
	size_t used;
	char tid[16];

	if (!mover->tid) {
		columns_left(columns, "others", WHO_WIDTH);
		return;
	}
	used = text_foreign(columns, mover->name, sizeof(mover->name), sizeof(mover->name));
	used += (size_t)snprintf(tid, sizeof(tid), "[%d]", mover->tid);
	columns_add(columns, tid);
	columns_pad(columns, used, WHO_WIDTH);
}

void text_movers(struct text *text, const struct thread_row *thread)
{
	struct columns *columns = &text->columns;
	size_t n = thread->n_movers;

	if (!n)
		return;
	text_section(text, "[AFFINITY SET: BY WHOM]",
		     "BY                                            COUNT");
	for (size_t i = 0; i < n; i++) {
		columns_add(columns, TEXT_INDENT);
		who(columns, &thread->movers[i]);
		columns_gap_count(columns, thread->movers[i].count, 10);
		columns_add(columns, "\n");
	}
}
