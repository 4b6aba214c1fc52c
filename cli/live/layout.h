/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the window. */
#ifndef LAYOUT_H
#define LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "view.h"

/* Writes view->lines lines of at most view->columns columns. They are escaped: the only control
 * sequences are TEXT_BOLD, LAYOUT_REVERSE and TEXT_PLAIN. Updates what depends on the size in
 * the view. Returns 0 or a negative errno. */
int layout_write(struct view *view, const struct shown *shown, FILE *out);

/* Writes the columns from skip on of escaped text, width of them at most. Escape sequences
 * (TEXT_BOLD and the like) take no columns and are always kept. ascii: replaces other characters
 * by question marks. Returns the columns written. */
size_t cut_line(const char *text, size_t length, size_t skip, size_t width, bool ascii, FILE *out);

#endif
