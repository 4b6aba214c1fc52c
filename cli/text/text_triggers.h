/* SPDX-License-Identifier: Apache-2.0 */
/* Sections of the text report about triggers. */
#ifndef TEXT_TRIGGERS_H
#define TEXT_TRIGGERS_H

#include <stdio.h>
#include <time.h>

#include "cli/model/trigger_stats.h"

/* Writes and flushes the triggers of a run: hits, durations, pairs that could not be recorded.
 * Returns 0 or a negative errno if the stream failed. */
int report_text_triggers(const struct trigger_stats *stats, FILE *out);

/* Writes and flushes the line for a window that was too short. Returns as above. */
int report_text_skipped(FILE *out, uint64_t delta, const struct timespec *when);

#endif
