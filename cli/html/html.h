/* SPDX-License-Identifier: Apache-2.0 */
/* HTML report: one file that loads nothing. html_begin() writes all code. Each record follows as
 * its JSON, with the text report below it for browsers without scripts. Enclosing elements stay
 * open, as HTML allows: records can be appended, and an interrupted run leaves a working page. */
#ifndef HTML_H
#define HTML_H

#include <stdio.h>

#include "cli/model/recording.h"
#include "cli/model/report_options.h"
#include "cli/model/sample.h"
#include "cli/model/trigger_stats.h"

struct summary;
struct comparison;

/* Writes and flushes the start of a page. Returns 0 or a negative errno. */
int html_begin(FILE *out);

/* Each writes and flushes a record. Returns as above. */
int report_html(const struct sample *sample, const struct report_options *options, FILE *out);
int report_html_summary(const struct summary *summary, const struct report_options *options,
			FILE *out);
int report_html_comparison(const struct comparison *comparison,
			   const struct report_options *options, FILE *out);
int report_html_triggers(const struct trigger_stats *stats, FILE *out);

/* --- Streams --- */

/* Streams that transform and pass on data to a stream of the caller's, so that no data forms or
 * ends an element. Closing them does not flush that stream. */

/* Text between elements. Data beyond most bytes is cut at the end of a line, and a last line
 * says so. Returns NULL with errno set. */
FILE *html_text_open(FILE *out, size_t most);

/* Any bytes, as lines of base64 of gzip: JSON shrinks to a seventh. Returns as above. */
FILE *html_packed_open(FILE *out);

#endif
