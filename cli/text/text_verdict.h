/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences of the verdict. */
#ifndef TEXT_VERDICT_H
#define TEXT_VERDICT_H

#include "cli/model/verdict.h"

struct text;

/* Writes the verdict's sentences, one per line of any length, for all blamed culprits. */
void text_sentences(struct text *text);

#endif
