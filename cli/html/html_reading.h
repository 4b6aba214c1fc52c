/* SPDX-License-Identifier: Apache-2.0 */
/* What the page needs beside the JSON of the report: sentences and words, which are written once,
 * for the text, and figures that follow from others. It is the page's own form, no promise. */
#ifndef HTML_READING_H
#define HTML_READING_H

#include <stdio.h>

#include "cli/model/sample.h"

/* Writes and flushes the words for states, causes, losses and the like, as JSON. Returns 0 or a
 * negative errno. */
int html_words(FILE *out);

/* Writes and flushes what the text says of a sample in sentences, and of each thread, in the
 * sample's order, [busy_ns, kept_ns, longest_ns] of its verdict, as JSON. Returns as above. */
int html_reading(const struct sample *sample, FILE *out);

#endif
