/* SPDX-License-Identifier: Apache-2.0 */
/* The forms in which samples are written, one row each. */
#ifndef OUTPUT_FORMAT_H
#define OUTPUT_FORMAT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "cli/csv/csv.h"
#include "cli/metrics/metrics.h"
#include "cli/model/report_options.h"
#include "cli/model/sample.h"
#include "cli/model/trigger_stats.h"

struct summary;
struct comparison;

/* What a format has no form for is NULL, and left out. A format writes each sample, or
 * metrics, which are sums. All return 0 or a negative errno. */
struct output_format {
	const char *name;   /* as people type it */
	const char *suffix; /* of files, by custom; NULL: any */
	const char *about;
	bool needs_stacks;       /* without traces there is nothing to write */
	bool is_binary;          /* not for terminals */
	int (*begin)(FILE *out); /* what a file has before its first record; NULL: nothing */
	int (*sample)(const struct sample *sample, const struct report_options *options, FILE *out);
	const struct csv_table *tables; /* a file for each, in a directory */
	int (*metrics)(const struct metrics *metrics, FILE *out);
	int (*triggers)(const struct trigger_stats *stats, FILE *out);
	int (*summary)(const struct summary *summary, const struct report_options *options,
		       FILE *out);
	int (*comparison)(const struct comparison *comparison, const struct report_options *options,
			  FILE *out);
	int (*skipped)(FILE *out, uint64_t delta, const struct timespec *when);
	int (*mark)(FILE *out, const char *what, uint64_t trigger, const struct timespec *when);
};

/* Writes a sample, with what the options say that its file shows already, which is brought up to
 * date. */
int output_format_sample(const struct output_format *format, const struct sample *sample,
			 struct report_options *options, bool is_new, FILE *out);

/* The format at an index, NULL behind the last one. The first is the text for people,
 * which is taken where no other is asked for. */
const struct output_format *output_format_at(size_t index);

/* The format whose name this is, length bytes long; NULL if there is none. */
const struct output_format *output_format_find(const char *name, size_t length);

#endif
