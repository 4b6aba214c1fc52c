/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of a report that has not all sections of all of them. */
#ifndef TEXT_SHORT_H
#define TEXT_SHORT_H

#include "cli/model/report_options.h"
#include "cli/model/verdict.h"
#include "text_parts.h"

/* Writes the first screen; unless that is all that is asked for, then the sections of the
 * threads that come first in the order asked for, and a line of each of the others. Returns 0
 * or -ENOMEM. */
int text_short(struct text *text, const struct report_options *options);

/* The threads of its verdict that are asked for, *n of them in the order asked for. The array is
 * the caller's to free(). NULL: no memory. */
const struct verdict_thread **text_threads_order(const struct sample *sample,
						 const struct report_options *options, size_t *n);

/* The three states in which a thread was longest, with their shares of its life. */
void text_thread_states(struct columns *columns, const struct ledger *ledger);

#endif
