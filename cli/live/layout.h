/* SPDX-License-Identifier: Apache-2.0 */
/* The live view as lines of text. Pure: what is drawn is the report's own words and figures, by
 * text/. */
#ifndef LAYOUT_H
#define LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "view.h"

/* In front of what is drawn reversed; TEXT_PLAIN ends it. */
#define LAYOUT_REVERSE "\033[7m"

/* Writes view->lines lines, none of them wider than view->columns. They are escaped: all there is
 * of control characters are TEXT_BOLD, LAYOUT_REVERSE and TEXT_PLAIN. Sets in the view what depends
 * on its size. Returns 0 or a negative errno. */
int layout_write(struct view *view, const struct shown *shown, FILE *out);

/* --- Lines that are cut at the edges of a screen --- */

/* Pure. */

/* Writes length bytes of escaped text, without those before the column skip and those that would
 * reach beyond width columns behind it. Sequences of escape (TEXT_BOLD and the like) take no
 * columns, and none is left out. ascii: other characters become question marks. Returns how many
 * columns were written. */
size_t cut_line(const char *text, size_t length, size_t skip, size_t width, bool ascii, FILE *out);

#endif
