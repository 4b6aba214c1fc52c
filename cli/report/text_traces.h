/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEXT_TRACES_H
#define TEXT_TRACES_H

#include "../sample.h"
#include "columns.h"

/* Writes the sections that were asked for: slow system calls as kernel_delay.py has
 * them, with columns of ours to the right; waits and running code, those that are
 * alike merged. */
void text_traces(struct columns *columns, const struct sample *sample);

/* Of merged waits and samples, no more are listed; their sum is of all. */
#define TEXT_TRACES_MOST 50

#endif
