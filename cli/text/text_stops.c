// SPDX-License-Identifier: Apache-2.0
/* Who stopped a thread. */
#include "text_parts.h"

#include <stdio.h>
#include <string.h>

#include "cli/base/arith.h"
#include "text_words.h"

#define WHO_WIDTH 40 /* "SIGSTOP by 16 bytes of name[2147483647]" */

/* "ptrace by strace[4711]" */
static void who(struct columns *columns, const struct stop_row *stop)
{
	char how[STOP_HOW_LEN], tid[16];
	size_t used = strlen(stop_how(stop, how));

	columns_add(columns, how);
	if (stop->tid || *stop->name) {
		columns_add(columns, " by ");
		used += strlen(" by ");
		used += text_foreign(columns, stop->name, sizeof(stop->name), sizeof(stop->name));
	}
	if (stop->tid) {
		used += (size_t)snprintf(tid, sizeof(tid), "[%d]", stop->tid);
		columns_add(columns, tid);
	}
	columns_pad(columns, used, WHO_WIDTH);
}

void text_stops(struct text *text, const struct thread_row *thread)
{
	struct columns *columns = &text->columns;
	const struct text_list list = TEXT_LIST(thread->stops, thread->n_stops, stops,
						thread->ledger.life);
	const struct text_cut cut = text_cut(text, &list, TEXT_BRIEF_ROWS);

	if (!text_has_lines(&cut, &list))
		return;
	text_section(text, "[STOPPED: BY WHOM]",
		     "FOR                                           COUNT          TOTAL ns"
		     "            MAX ns");
	for (size_t i = 0; i < cut.shown; i++) {
		const struct kd_count *stops = &thread->stops[i].stops;

		columns_add(columns, TEXT_INDENT);
		who(columns, &thread->stops[i]);
		columns_gap_count(columns, stops->count, 10);
		columns_gap_ns(columns, stops->total, 16);
		columns_gap_ns(columns, stops->max, 16);
		columns_add(columns, "\n");
	}
	text_others(text, &cut, WHO_WIDTH);
}
