/* SPDX-License-Identifier: Apache-2.0 */
/* Periods as a whole. The tables of a thread count what began and ended inside the
 * window; here those are joined by what ended in it, wherever it began, and by what was
 * still open at its end, with its length so far. */
#ifndef WHOLE_H
#define WHOLE_H

#include <stdbool.h>
#include <stdint.h>

#include "distribution.h"
#include "sample.h"

struct whole {
	uint64_t max;   /* the longest of all */
	bool max_open;  /* it is still open: max is its length so far */
	uint64_t total; /* of all that ended in the window, wherever they began */
	struct durations times;
	/* The longest that was open at the end, so far; 0: none was. */
	uint64_t open;
};

/* Of the thread's periods of a kind, which is not OPEN_CALL. A round of an event loop counts
 * when it ends only: many threads poll once and never again. */
struct whole whole_period(const struct thread_row *thread, enum open_kind kind);

/* Of one system call; the row may have a count of 0. */
struct whole whole_call(const struct thread_row *thread, const struct call_row *call);

#endif
