/* SPDX-License-Identifier: Apache-2.0 */
/* First screen of a report: what kept the process from running, and who did. At most
 * SCREEN_LINES lines of SCREEN_WIDTH columns, for any names and figures. */
#ifndef TEXT_SCREEN_H
#define TEXT_SCREEN_H

#include "cli/model/report_options.h"
#include "cli/model/verdict.h"
#include "text_parts.h"

/* Writes the screen. order: the n threads of the verdict as listed; several processes are listed
 * instead. Returns 0 or -ENOMEM. */
int text_screen(struct text *text, const struct verdict_thread *const *order, size_t n);

/* Writes the upper part if window and verdict fit in so many lines, then as many states and
 * causes as fit. */
void text_screen_top(struct text *text, size_t lines);

/* Adds a thread's figures, below this header. */
#define TEXT_SCREEN_THREADS "    TID THREAD             KEPT OF BUSY"
void text_screen_thread(struct columns *columns, const struct verdict_thread *thread);

/* Sentences of a screen: VERDICT, and as its last lines the advice on what comes first, on the
 * largest other culprit (text_has_second()), and on moved threads. text_verdict() returns its
 * lines, VERDICT_LINES at most. */
#define VERDICT_LINES 4
unsigned int text_verdict(struct text *text);
void text_advice(struct text *text);
bool text_has_second(const struct verdict *verdict);

/* Writes the verdict's sentences, one per line of any length, for all blamed culprits. */
void text_sentences(struct text *text);

/* Culprit, escaped: "backup-agent[812]"; "" if unknown. Several culprits: "16 threads (worker)",
 * "" if not threads. */
#define WHO_LEN 128
const char *text_row_who(char who[static WHO_LEN], const struct verdict_row *row);

#endif
