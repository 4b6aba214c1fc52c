// SPDX-License-Identifier: Apache-2.0
/* How much later than they were to a thread's sleeps with a time-out ended. */
#include "cli/base/arith.h"
#include "text_parts.h"
#include "text_words.h"

void text_timers(struct text *text, const struct thread_row *thread)
{
	const struct kd_overslept *overslept = &thread->overslept;
	struct columns *columns = &text->columns;

	if (!overslept->by.count ||
	    (text->brief && u64_times(overslept->by.total, 100) < thread->ledger.life))
		return;
	text_section(text, "[TIME-OUTS]",
		     "     COUNT       REQUESTED ns     OVERSLEPT ns            MAX ns"
		     "          SLACK ns");
	columns_add(columns, TEXT_INDENT);
	columns_count(columns, overslept->by.count, 10);
	columns_gap_ns(columns, overslept->requested, 17);
	columns_gap_ns(columns, overslept->by.total, 15);
	columns_gap_ns(columns, overslept->by.max, 16);
	columns_gap_ns(columns, overslept->slack, 16);
	columns_add(columns, "\n");
}
