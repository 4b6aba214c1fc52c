/* SPDX-License-Identifier: Apache-2.0 */
/* Last section of the text report after several samples. */
#ifndef TEXT_SUMMARY_H
#define TEXT_SUMMARY_H

#include <stdio.h>

#include "cli/model/comparison.h"
#include "cli/model/report_options.h"

struct summary;

/* Writes and flushes the statistics of threads, with a sparkline for each: all in a full report,
 * else those that vary most. Returns 0 or a negative errno. */
int report_text_summary(const struct summary *summary, const struct report_options *options,
			FILE *out);

/* Writes and flushes the comparison: all differences in a full report, else the largest. Returns
 * 0 or a negative errno. */
int report_text_comparison(const struct comparison *comparison,
			   const struct report_options *options, FILE *out);

#endif
