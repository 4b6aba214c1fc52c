// SPDX-License-Identifier: Apache-2.0
/* At which descriptors a thread waited. */
#include "cli/base/arith.h"
#include "cli/model/words.h"
#include "text_parts.h"
#include "text_words.h"

#define INDENT TEXT_INDENT

static void descriptor_line(struct columns *columns, const struct descriptor_row *row)
{
	const bool others = row->is.fd < 0;

	columns_add(columns, INDENT);
	columns_left(columns, others ? "others" : awaited_keys[row->awaited], 11);
	if (others)
		columns_right(columns, "-", 7);
	else
		columns_count(columns, (uint64_t)row->is.fd, 7);
	columns_gap_count(columns, row->waits.count, 10);
	columns_gap_ns(columns, row->waits.total, 16);
	columns_gap_ns(columns, row->waits.max, 16);
	columns_add(columns, "  ");
	if (row->ended_by) {
		columns_count(columns, (uint64_t)row->ended_by, 10);
		columns_add(columns, " ");
		columns_pad(columns, columns_foreign(columns, row->ended_name, KD_COMM_LEN, 16),
			    16);
	} else {
		columns_left(columns, "-", 27);
	}
	columns_add(columns, "  ");
	text_descriptor(columns, &row->is);
	if (row->requests.count) {
		columns_add(columns, "; requests: ");
		columns_ns(columns, row->requests.count, 0);
		columns_add(columns, " in ");
		columns_ns(columns, row->requests.total, 0);
		columns_add(columns, " ns, longest ");
		columns_ns(columns, row->requests.max, 0);
		columns_add(columns, " ns");
	}
	columns_add(columns, "\n");
}

void text_descriptors(struct text *text, const struct thread_row *thread)
{
	struct columns *columns = &text->columns;
	const struct text_list list = TEXT_LIST(thread->descriptors, thread->n_descriptors, waits,
						thread->ledger.life);
	const struct text_cut cut = text_cut(text, &list, TEXT_BRIEF_ROWS);

	if (!text_has_lines(&cut, &list))
		return;
	text_section(text, "[THREAD DESCRIPTOR STATISTICS]",
		     "FOR              FD      COUNT          TOTAL ns            MAX ns"
		     "  ENDED BY                     WHAT");
	for (size_t i = 0; i < cut.shown; i++)
		descriptor_line(columns, &thread->descriptors[i]);
	text_others(text, &cut, 11 + 7);
}
