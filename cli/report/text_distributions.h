/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEXT_DISTRIBUTIONS_H
#define TEXT_DISTRIBUTIONS_H

#include "../sample.h"
#include "columns.h"

/* The section on how a thread's durations are distributed: a table of shares, then a
 * drawing of each distribution by powers of two. Nothing if none are known. */
void text_distributions(struct columns *columns, const struct sample *sample,
			const struct thread_row *thread);

#endif
