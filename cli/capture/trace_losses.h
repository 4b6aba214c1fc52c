/* SPDX-License-Identifier: Apache-2.0 */
/* Records of traces that user space could not keep, by the windows that would list them. */
#ifndef TRACE_LOSSES_H
#define TRACE_LOSSES_H

#include <stdint.h>

#include "session.h"

struct trace_losses {
	struct window_loss {
		uint64_t gen, n;
	} of[KD_MAX_BANKS]; /* the window that a bank has */
};

/* Counts a record in each window of the session in which it lies, calls also where they go
 * on. */
void trace_losses_add(struct trace_losses *losses, const struct session *session,
		      const struct kd_trace *trace);

/* How many of a window were counted. */
uint64_t trace_losses_of(const struct trace_losses *losses, const struct session_view *view);

#endif
