/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of a report without all sections of all threads. */
#ifndef TEXT_SHORT_H
#define TEXT_SHORT_H

#include "cli/model/report_options.h"
#include "cli/model/verdict.h"
#include "text_parts.h"

/* Writes the first screen. Unless only that is asked for, adds sections of the first threads in
 * the requested order, and a line for each other. Returns 0 or -ENOMEM. */
int text_short(struct text *text, const struct report_options *options);

/* Matching threads of the verdict in the requested order, *n of them. The caller frees the
 * array. NULL: no memory. */
const struct verdict_thread **text_threads_order(const struct sample *sample,
						 const struct report_options *options, size_t *n);

/* Adds the three longest states of a thread, with their shares of its life. */
void text_thread_states(struct columns *columns, const struct ledger *ledger);

#endif
