/* SPDX-License-Identifier: Apache-2.0 */
/* The text report's section about the differences from an earlier capture. */
#ifndef TEXT_COMPARISON_H
#define TEXT_COMPARISON_H

#include <stdio.h>

#include "cli/model/comparison.h"
#include "cli/model/report_options.h"

/* Writes and flushes it: in full all differences, else the largest. Returns 0 or a negative errno.
 */
int report_text_comparison(const struct comparison *comparison,
			   const struct report_options *options, FILE *out);

#endif
