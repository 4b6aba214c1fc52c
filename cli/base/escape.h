/* SPDX-License-Identifier: Apache-2.0 */
/* Text of foreign origin (thread names, interrupt names, arguments) made safe to
 * print: it can change neither the terminal nor the layout of a table. */
#ifndef ESCAPE_H
#define ESCAPE_H

#include <stddef.h>

/* Room for any text of that many bytes, escaped, with its NUL. */
#define ESCAPE_SIZE(length) (4 * (length) + 1)

/* Writes text, which ends after length bytes or at a NUL before that, to out.
 * Printable UTF-8 passes, quotes and spaces too. Backslash becomes \\, and tab,
 * line feed and carriage return become \t, \n, \r. All else becomes \xNN byte
 * by byte: other control characters, invalid UTF-8, and characters that are
 * invisible or change the direction of the text. What does not fit is cut off
 * between two characters, never inside one or inside an escape. Unless size is
 * 0, out gets a NUL. Returns the length of out without it. */
size_t escape_text(char *out, size_t size, const char *text, size_t length);

/* Replaces control characters but line feeds, in text that another process of this program has
 * escaped, unless it was made to lie. */
void escape_controls(char *text, size_t length);

/* How many columns of a terminal an escaped text takes, in any locale. East
 * Asian wide characters and most emoji take two, combining marks none. */
size_t escape_width(const char *escaped);

#endif
