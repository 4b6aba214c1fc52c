// SPDX-License-Identifier: Apache-2.0
#include "text.h"

#include "text_parts.h"

int report_threads(const struct sample *sample, const struct report_options *options, FILE *out)
{
	const struct verdict *verdict = sample->verdict;
	struct columns columns;

	columns_begin(&columns, out);
	for (size_t i = 0; i < verdict->n_threads; i++) {
		const struct verdict_thread *thread = &verdict->threads[i];
		const struct thread_row *row = thread->row;
		const uint64_t figures[] = {
			sample->number,     (uint64_t)(row->pid ? row->pid : sample->pid),
			(uint64_t)row->tid, row->ledger.life,
			thread->busy,       thread->kept,
			thread->longest,
		};

		if (!text_wants_thread(options, row))
			continue;
		for (size_t at = 0; at < sizeof(figures) / sizeof(*figures); at++) {
			columns_count(&columns, figures[at], 0);
			columns_add(&columns, " ");
		}
		columns_foreign(&columns, row->name, KD_COMM_LEN, SIZE_MAX);
		columns_add(&columns, "\n");
	}
	return columns_end(&columns);
}
