/* SPDX-License-Identifier: Apache-2.0 */
/* What the report says in sentences, for formats that have figures and tables of their own. */
#ifndef TEXT_SENTENCES_H
#define TEXT_SENTENCES_H

#include <stdio.h>

#include "cli/model/sample.h"
#include "cli/model/verdict.h"

/* Each writes and flushes lines. All return 0 or a negative errno if the stream failed. */

/* The verdict, a sentence a line. */
int report_text_verdict(const struct sample *sample, const struct verdict *verdict, FILE *out);

/* What to do next, after NEXT. */
int report_text_advice(const struct sample *sample, const struct verdict *verdict, FILE *out);

/* What is missing and what happened: a line after "# WARNING: " or "# NOTE: " each. */
int report_text_notes(const struct sample *sample, const struct verdict *verdict, FILE *out);

#endif
