/* SPDX-License-Identifier: Apache-2.0 */
/* The report for people: a block per thread, in the sections and columns that
 * users of Open vSwitch's kernel_delay.py know, and a footer that says what is
 * missing. */
#ifndef TEXT_H
#define TEXT_H

#include <stdio.h>
#include <time.h>

#include "cli/model/report_options.h"
#include "cli/model/sample.h"

/* Writes the whole report of a finished sample, from the "# Sample dump" line
 * to the footer, and flushes the stream. Returns 0 or a negative errno if the
 * stream failed. */
int report_text(const struct sample *sample, const struct report_options *options, FILE *out);

/* Writes and flushes the line "# WHAT @LOCAL TIME (UTC)", with "(trigger@NS)"
 * after WHAT if trigger is not 0: when it was hit, CLOCK_MONOTONIC ns. Returns as
 * above. */
int report_text_mark(FILE *out, const char *what, uint64_t trigger, const struct timespec *when);

/* --- What the report says in sentences, for formats that have figures and tables of their own ---
 */

/* Each writes and flushes lines. All return 0 or a negative errno if the stream failed. */

/* The verdict, a sentence a line. */
int report_text_verdict(const struct sample *sample, FILE *out);

/* What to do next, after NEXT. */
int report_text_advice(const struct sample *sample, FILE *out);

/* What is missing and what happened: a line after "# WARNING: " or "# NOTE: " each. */
int report_text_notes(const struct sample *sample, FILE *out);

#endif
