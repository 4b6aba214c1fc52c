/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal: all that knows ncurses. */
#ifndef SCREEN_H
#define SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "view.h"

struct screen;

/* Checks that standard input and output are a suitable terminal. Returns 0, or an exit status
 * after printing what is missing. */
exit_status screen_check(void);

/* Takes the terminal until screen_close(). Installs no signal handlers. Returns 0, or an exit
 * status after printing what failed. */
exit_status screen_open(struct screen **screen);

/* Restores the terminal; may be called repeatedly, even if the terminal is gone. */
void screen_restore(struct screen *screen);

/* Takes the terminal again, after others may have used it. */
void screen_resume(struct screen *screen);

/* Current size of the terminal. */
void screen_size(struct screen *screen, size_t *lines, size_t *columns);

/* True if it only shows ASCII characters. */
bool screen_is_ascii(const struct screen *screen);

/* Draws lines from layout_write(). all: redraws unchanged ones too. Skips drawing while the
 * terminal is blocked. Returns true if they were drawn. */
bool screen_draw(struct screen *screen, const char *text, bool all);

/* Checks for pressed keys. False: the terminal is gone. */
bool screen_look(struct screen *screen);

/* Next pressed key, as in view.h. False: none. */
bool screen_key(struct screen *screen, uint32_t *key);

/* NULL is allowed. */
void screen_close(struct screen *screen);

#endif
