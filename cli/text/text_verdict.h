/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences of the verdict. */
#ifndef TEXT_VERDICT_H
#define TEXT_VERDICT_H

#include "cli/model/verdict.h"

struct text;

/* Writes the verdict's sentences, one per line of any length, for all blamed culprits. */
void text_sentences(struct text *text);

/* Culprit, escaped: "backup-agent[812]"; "" if unknown. Several culprits: "16 threads (worker)",
 * "8 processes of /batch (over0, over1, ...)"; "" if not threads. */
#define WHO_LEN 256
const char *text_row_who(char who[static WHO_LEN], const struct verdict_row *row);

/* The same in a column: "8 processes of /batch"; a longer path or name is cut. */
const char *text_row_who_brief(char who[static WHO_LEN], const struct verdict_row *row,
			       size_t width);

#endif
