/* SPDX-License-Identifier: Apache-2.0 */
/* The text report's last section after several samples. */
#ifndef TEXT_SUMMARY_H
#define TEXT_SUMMARY_H

#include <stdio.h>

#include "cli/model/comparison.h"
#include "cli/model/report_options.h"

struct summary;

/* Writes and flushes what the threads' measures were over the samples, and a sparkline for each
 * thread: in full all, else those that vary most. Returns 0 or a negative errno. */
int report_text_summary(const struct summary *summary, const struct report_options *options,
			FILE *out);

/* Writes and flushes it: in full all differences, else the largest. Returns 0 or a negative errno.
 */
int report_text_comparison(const struct comparison *comparison,
			   const struct report_options *options, FILE *out);

#endif
