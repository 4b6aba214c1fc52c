/* SPDX-License-Identifier: Apache-2.0 */
/* Table of output formats. */
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

/* Formats leave out records whose function is NULL. A format writes each sample, or metrics,
 * which are sums. All return 0 or a negative errno; those with rows return how many they wrote. */
struct output_format {
	const char *name; /* as typed by users */
	/* Of its files, separated by spaces, the usual one first; NULL: none in particular. */
	const char *suffixes;
	const char *about;
	/* What a sample has any number of; NULL: a sample is always something to read. */
	const char *row, *rows;
	bool needs_stacks;       /* nothing to write without traces */
	bool is_binary;          /* not for terminals */
	int (*begin)(FILE *out); /* writes the start of a file; NULL: nothing */
	int (*sample)(const struct sample *sample, const struct report_options *options, FILE *out);
	const struct csv_table *tables; /* one file each, in a directory */
	int (*metrics)(const struct metrics *metrics, FILE *out);
	int (*triggers)(const struct trigger_stats *stats, FILE *out);
	int (*summary)(const struct summary *summary, const struct report_options *options,
		       FILE *out);
	int (*comparison)(const struct comparison *comparison, const struct report_options *options,
			  FILE *out);
	int (*skipped)(FILE *out, uint64_t delta, const struct timespec *when);
	int (*mark)(FILE *out, const char *what, uint64_t trigger, const struct timespec *when);
};

/* Format at an index, NULL after the last one. The first is the text, the default. */
const struct output_format *output_format_at(size_t index);

/* Format of files with a suffix such as ".json", in lower case; NULL: none. */
const struct output_format *output_format_of_suffix(const char *suffix);

/* Format with this name of length bytes; NULL: none. */
const struct output_format *output_format_find(const char *name, size_t length);

#endif
