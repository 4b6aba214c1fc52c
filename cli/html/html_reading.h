/* SPDX-License-Identifier: Apache-2.0 */
/* What the page needs beside the JSON of the report: sentences and words, which are written once,
 * for the text, and figures that follow from others. It is the page's own form, no promise. */
#ifndef HTML_READING_H
#define HTML_READING_H

#include <stdio.h>

#include "html_part.h"

/* Writes and flushes the words for states, causes, losses and the like, as JSON. Returns 0 or a
 * negative errno. */
int html_words(FILE *out);

/* Writes and flushes, as JSON, what the text says of a sample in sentences; of each thread, in the
 * sample's order, [busy_ns, kept_ns, longest_ns] of its verdict; how many rows of each list the
 * part lacks; and of each list with stacks [row, ns, count] for rows that are alike, where row is
 * an index in the part's list, or -1 for all of which it has none. Returns as above. */
int html_reading(const struct sample *whole, const struct html_part *part, FILE *out);

#endif
