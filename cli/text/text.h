/* SPDX-License-Identifier: Apache-2.0 */
/* Text report: a block per thread, with the sections and columns of Open vSwitch's
 * kernel_delay.py, and a footer with what is missing; and folded stacks. */
#ifndef TEXT_H
#define TEXT_H

#include <stdio.h>
#include <time.h>

#include "cli/model/report_options.h"
#include "cli/model/sample.h"
#include "cli/model/trigger_stats.h"

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

/* --- Triggers of a run --- */

/* Writes and flushes the triggers of a run: hits, durations, pairs that could not be recorded.
 * Returns 0 or a negative errno if the stream failed. */
int report_text_triggers(const struct trigger_stats *stats, FILE *out);

/* Writes and flushes the line for a window that was too short. Returns as above. */
int report_text_skipped(FILE *out, uint64_t delta, const struct timespec *when);

/* --- Several samples --- */

struct comparison;
struct summary;

/* Writes and flushes the statistics of threads, with a sparkline for each: all in a full report,
 * else those that vary most. Returns 0 or a negative errno. */
int report_text_summary(const struct summary *summary, const struct report_options *options,
			FILE *out);

/* Writes and flushes the comparison: all differences in a full report, else the largest. Returns
 * 0 or a negative errno. */
int report_text_comparison(const struct comparison *comparison,
			   const struct report_options *options, FILE *out);

/* --- Folded stacks for flamegraph.pl, inferno and speedscope --- */

/* Writes one line per distinct stack of a sample, then flushes: frames separated by ';', a
 * space, nanoseconds. The first frame is the thread's name, with its TID if waits_per_thread is
 * set. The second is the kind, if more than one was asked for. User and kernel frames follow,
 * outermost first; kernel frames end in "_[k]". Frames contain no ';' and no white space. A file
 * may hold several samples: readers add up equal lines. Returns how many lines there are, or a
 * negative errno. */
int report_folded(const struct sample *sample, const struct report_options *options, FILE *out);

#endif
