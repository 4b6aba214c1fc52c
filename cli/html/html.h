/* SPDX-License-Identifier: Apache-2.0 */
/* The report as a page for browsers: one file that loads nothing. It begins with all that draws
 * (html_begin()), then each record follows as its JSON, with the text report below it for those
 * without a script. What is between is never closed, as HTML allows: records can be appended, and
 * a run that was cut short leaves a page that works. */
#ifndef HTML_H
#define HTML_H

#include <stdio.h>

#include "cli/model/report_options.h"
#include "cli/model/sample.h"
#include "cli/model/trigger_stats.h"

struct summary;
struct comparison;

/* Writes and flushes what every page begins with. Returns 0 or a negative errno. */
int html_begin(FILE *out);

/* Each of these writes and flushes a record. Returns as above. */
int report_html(const struct sample *sample, const struct report_options *options, FILE *out);
int report_html_summary(const struct summary *summary, const struct report_options *options,
			FILE *out);
int report_html_comparison(const struct comparison *comparison,
			   const struct report_options *options, FILE *out);
int report_html_triggers(const struct trigger_stats *stats, FILE *out);

/* --- Streams --- */

/* They write to another one, which stays the caller's, and change what passes, so that nothing of
 * it is an element or ends one. Closing them does not flush that one. */

/* Text, between elements. What is beyond so many bytes is left out, from the end of a line on, and
 * a last line says so. Returns NULL with errno set. */
FILE *html_text_open(FILE *out, size_t most);

/* Any bytes, as lines of base64 of what gzip makes of them: JSON takes a seventh of its size.
 * Returns as above. */
FILE *html_packed_open(FILE *out);

#endif
