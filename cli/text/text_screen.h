/* SPDX-License-Identifier: Apache-2.0 */
/* The first screen of a report: what kept the process from running, and who. At most
 * SCREEN_LINES lines of SCREEN_WIDTH columns, whatever names and figures are. */
#ifndef TEXT_SCREEN_H
#define TEXT_SCREEN_H

#include "cli/model/report_options.h"
#include "cli/model/verdict.h"
#include "text_parts.h"

/* Writes the screen. order has the verdict's threads in the order in which they are listed, n
 * of them; of several processes it lists these instead. Returns 0 or -ENOMEM. */
int text_screen(struct text *text, const struct verdict_thread *const *order, size_t n);

/* Its upper part, in so many lines, if there is room for the window and the verdict: these, then as
 * many states and causes as have room. */
void text_screen_top(struct text *text, size_t lines);

/* What it lists of a thread, below this header. */
#define TEXT_SCREEN_THREADS "    TID THREAD             KEPT OF BUSY"
void text_screen_thread(struct columns *columns, const struct verdict_thread *thread);

/* What a screen says in words: VERDICT and, as its last lines, what to do next: of what is said
 * first, of the largest culprit, if that is another one (text_has_second()), and of who moved
 * threads. The former returns the number of its lines, VERDICT_LINES at most. */
#define VERDICT_LINES 4
unsigned int text_verdict(struct text *text);
void text_advice(struct text *text);
bool text_has_second(const struct verdict *verdict);

/* The verdict's sentences, a line each, however long: of all who are blamed. */
void text_sentences(struct text *text);

/* Who it was, escaped: "backup-agent[812]"; "" if that is not known. Of several culprits "16
 * threads (worker)"; "" of what are no threads. */
#define WHO_LEN 128
const char *text_row_who(char who[static WHO_LEN], const struct verdict_row *row);

#endif
