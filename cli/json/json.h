/* SPDX-License-Identifier: Apache-2.0 */
/* Report for programs: one JSON object per line. Format: kernel_delay-json(5) and
 * man/kernel_delay.schema.json; replay.h reads it. */
#ifndef JSON_H
#define JSON_H

#include <stdio.h>

#include "cli/model/report_options.h"
#include "cli/model/sample.h"
#include "cli/model/trigger_stats.h"

struct summary;
struct comparison;

/* Writes and flushes all data of a finished sample. Ignores options: nothing is left out.
 * Returns 0 or a negative errno. */
int report_json(const struct sample *sample, const struct report_options *options, FILE *out);

/* Writes and flushes statistics over several samples. Returns as above. */
int report_json_summary(const struct summary *summary, const struct report_options *options,
			FILE *out);

/* Writes and flushes the differences from an earlier capture. Returns as above. */
int report_json_comparison(const struct comparison *comparison,
			   const struct report_options *options, FILE *out);

/* Writes and flushes the trigger statistics of a run. Returns as above. */
int report_json_triggers(const struct trigger_stats *stats, FILE *out);

#endif
