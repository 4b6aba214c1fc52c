/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that are cut at the edges of a screen. Pure. */
#ifndef CUT_H
#define CUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Writes length bytes of escaped text, without those before the column skip and those that would
 * reach beyond width columns behind it. Sequences of escape (TEXT_BOLD and the like) take no
 * columns, and none is left out. ascii: other characters become question marks. Returns how many
 * columns were written. */
size_t cut_line(const char *text, size_t length, size_t skip, size_t width, bool ascii, FILE *out);

#endif
