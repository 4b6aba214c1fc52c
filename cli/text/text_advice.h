/* SPDX-License-Identifier: Apache-2.0 */
/* What to do about the verdict. */
#ifndef TEXT_ADVICE_H
#define TEXT_ADVICE_H

#include <stdbool.h>

#include "cli/model/verdict.h"

struct text;

/* Sentences of a screen: VERDICT, and as its last lines the advice on what comes first, on the
 * largest other culprit (text_has_second()), on idle CPUs (text_has_cpus()), and on moved threads.
 * text_verdict() returns its lines: VERDICT_LINES at most, and as many before them that say what
 * the time of a window was. */
#define VERDICT_LINES 4
unsigned int text_verdict(struct text *text);
void text_advice(struct text *text);
bool text_has_second(const struct verdict *verdict);
bool text_has_cpus(const struct sample *sample);

#endif
