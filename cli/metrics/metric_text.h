/* SPDX-License-Identifier: Apache-2.0 */
/* What both text formats of metrics have in common. */
#ifndef METRIC_TEXT_H
#define METRIC_TEXT_H

#include <stdio.h>

#include "cli/base/columns.h"
#include "metric_family.h"
#include "metrics.h"

#define METRIC_TIME_LEN 40

/* What a format has of its own. */
struct metric_format {
	/* Writes what stands in front of a family's samples. */
	void (*family)(struct columns *columns, const struct metric_family *family);
	/* The time of a sample; ms: since 1970. Returns the text's length. */
	size_t (*time)(char text[static METRIC_TIME_LEN], uint64_t ms);
	const char *end; /* of the whole */
};

/* Writes and flushes all families that have values. Returns 0 or a negative errno. */
int metric_text_write(const struct metrics *metrics, const struct metric_format *format, FILE *out);

/* Writes one sample in a format, however many series it is. Returns as above. */
int metric_text_report(const struct sample *sample, const struct report_options *options,
		       const struct metric_format *format, FILE *out);

/* Writes ns as seconds with nine decimals, digits only. Returns the length. */
size_t metric_text_seconds(char text[static METRIC_TIME_LEN], uint64_t ns);

#endif
