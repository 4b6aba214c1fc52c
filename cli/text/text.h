/* SPDX-License-Identifier: Apache-2.0 */
/* Text report: a block per thread, with the sections and columns of Open vSwitch's
 * kernel_delay.py, and a footer with what is missing. */
#ifndef TEXT_H
#define TEXT_H

#include <stdio.h>
#include <time.h>

#include "cli/model/report_options.h"
#include "cli/model/sample.h"

/* Writes the full report of a finished sample, from the "# Sample dump" line to the footer, and
 * flushes. Returns 0 or a negative errno if the stream failed. */
int report_text(const struct sample *sample, const struct report_options *options, FILE *out);

/* Writes and flushes the line "# WHAT @LOCAL TIME (UTC)". A nonzero trigger adds "(trigger@NS)"
 * after WHAT: the time of the hit, CLOCK_MONOTONIC ns. Returns as above. */
int report_text_mark(FILE *out, const char *what, uint64_t trigger, const struct timespec *when);

/* --- Sentences of the report, for formats with figures and tables of their own --- */

/* Each writes lines and flushes. All return 0 or a negative errno if the stream failed. */

/* Verdict, one sentence per line. */
int report_text_verdict(const struct sample *sample, FILE *out);

/* Advice, after NEXT. */
int report_text_advice(const struct sample *sample, FILE *out);

/* Warnings and notes, one line each, after "# WARNING: " or "# NOTE: ". */
int report_text_notes(const struct sample *sample, FILE *out);

#endif
