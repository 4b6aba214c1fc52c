// SPDX-License-Identifier: Apache-2.0
#include "trace_losses.h"

void trace_losses_add(struct trace_losses *losses, const struct session *session,
		      const struct kd_trace *trace)
{
	/* As trace_lost() of the programs does. */
	uint64_t since = trace->type == KD_TRACE_WAIT ? trace->end : trace->start;
	struct session_view view;

	for (uint32_t bank = 0; bank < KD_MAX_BANKS; bank++) {
		struct window_loss *loss = &losses->of[bank];

		if (!session_window_at(session, bank, &view) || !view.gen ||
		    trace->end <= view.start || since >= view.end)
			continue;
		if (loss->gen != view.gen)
			*loss = (struct window_loss){ .gen = view.gen };
		loss->n++;
	}
}

uint64_t trace_losses_of(const struct trace_losses *losses, const struct session_view *view)
{
	const struct window_loss *loss;

	if (view->bank >= KD_MAX_BANKS)
		return 0;
	loss = &losses->of[view->bank];
	return loss->gen == view->gen ? loss->n : 0;
}
