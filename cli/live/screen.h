/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal of the live view. All that knows ncurses. */
#ifndef SCREEN_H
#define SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/base/exit_status.h"

struct screen;

/* Whether there is a terminal that can show it: standard input and output. Returns 0, or after
 * printing what is missing an exit status. */
exit_status screen_check(void);

/* Takes the terminal, which stays as it is then until screen_close(). Sets no handlers of signals.
 * Returns 0, or after printing what failed an exit status. */
exit_status screen_open(struct screen **screen);

/* Gives it back as it was; to be called as often as one likes, also when it is gone. */
void screen_restore(struct screen *screen);

/* Takes it again, as it may have been used by others. */
void screen_resume(struct screen *screen);

/* What the terminal's size is now. */
void screen_size(struct screen *screen, size_t *lines, size_t *columns);

/* Whether it shows other characters than those of ASCII. */
bool screen_is_ascii(const struct screen *screen);

/* Draws such lines as layout_write() makes. all: also what has not changed. If the terminal takes
 * nothing at present, they are left out. Returns whether they were drawn. */
bool screen_draw(struct screen *screen, const char *text, bool all);

/* Looks whether keys were pressed. False: the terminal is gone. */
bool screen_look(struct screen *screen);

/* The next key that was pressed until then, as view.h has it. False: there is none. */
bool screen_key(struct screen *screen, uint32_t *key);

/* NULL is allowed. */
void screen_close(struct screen *screen);

#endif
