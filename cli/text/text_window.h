/* SPDX-License-Identifier: Apache-2.0 */
/* What the time of a window was that the user chose, in one sentence. */
#ifndef TEXT_WINDOW_H
#define TEXT_WINDOW_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/model/sample.h"

/* Writes "sqlite3_step took 634 ms in client[4711]: 629 ms asleep in hrtimer_nanosleep
 * (clock_nanosleep), 3.10 ms running, 2.00 ms ready behind hog[12].", which adds up to the window.
 * Returns false if the verdict is of no single thread. */
bool text_window(char *sentence, size_t size, const struct sample *sample);

#endif
