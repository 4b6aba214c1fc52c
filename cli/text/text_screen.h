/* SPDX-License-Identifier: Apache-2.0 */
/* First screen of a report: what kept the process from running, and who did. At most
 * SCREEN_LINES lines of SCREEN_WIDTH columns, for any names and figures. */
#ifndef TEXT_SCREEN_H
#define TEXT_SCREEN_H

#include <stddef.h>

#include "cli/model/verdict.h"

struct columns;
struct text;

/* Writes the screen. order: the n threads of the verdict as listed; several processes are listed
 * instead. Returns 0 or -ENOMEM. */
int text_screen(struct text *text, const struct verdict_thread *const *order, size_t n);

/* Writes the upper part if window and verdict fit in so many lines, then as many states and
 * causes as fit. */
void text_screen_top(struct text *text, size_t lines);

/* Adds a thread's figures, below this header. */
#define TEXT_SCREEN_THREADS "    TID THREAD             KEPT OF BUSY"
void text_screen_thread(struct columns *columns, const struct verdict_thread *thread);

#endif
