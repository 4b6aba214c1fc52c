/* SPDX-License-Identifier: Apache-2.0 */
/* Fixed-width columns of text and numbers on a stream. Large reports have hundreds of thousands
 * of lines: printf would take most of their time. */
#ifndef COLUMNS_H
#define COLUMNS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "parse.h"

struct columns {
	FILE *out;
	int err;      /* first failure, a negative errno */
	size_t width; /* columns written so far, in all lines */
	size_t used;
	char text[1 << 13]; /* fits on small stacks */
};

/* Begins writing to a stream, which the caller keeps. */
void columns_begin(struct columns *columns, FILE *out);

/* Text as is. Inline, because most of it is constant with a known length. */
void columns_bytes(struct columns *columns, const char *text, size_t length);
static inline void columns_add(struct columns *columns, const char *text)
{
	columns_bytes(columns, text, strlen(text));
}

/* Like printf(3), for rare text. */
__attribute__((format(printf, 2, 3))) void columns_print(struct columns *columns, const char *fmt,
							 ...);
/* For numbers with thousands separators; the text lives in the enclosing block. */
#define GROUPED(number) number_text((char[NUMBER_LEN]){ 0 }, number)
static inline const char *number_text(char text[static NUMBER_LEN], uint64_t number)
{
	number_grouped(text, number);
	return text;
}

/* Pads a column with spaces to its width, after used columns. */
void columns_pad(struct columns *columns, size_t used, size_t width);

/* ASCII text, left-aligned and cut to the width. */
void columns_cut(struct columns *columns, const char *text, size_t width);

/* ASCII text, left- or right-aligned, never cut. */
void columns_left(struct columns *columns, const char *text, size_t width);
void columns_right(struct columns *columns, const char *text, size_t width);

/* Text from the target or kernel, at most COLUMNS_FOREIGN bytes, cut to width columns. Returns
 * the columns used. */
#define COLUMNS_FOREIGN 256
size_t columns_foreign(struct columns *columns, const char *text, size_t length, size_t width);

/* Right-aligned numbers: counts without, nanoseconds with thousands separators. The gap forms
 * add the two spaces between columns first. */
void columns_count(struct columns *columns, uint64_t count, size_t width);
void columns_ns(struct columns *columns, uint64_t ns, size_t width);
void columns_gap_count(struct columns *columns, uint64_t count, size_t width);
void columns_gap_ns(struct columns *columns, uint64_t ns, size_t width);

/* Hexadecimal number with 0x. */
void columns_hex(struct columns *columns, uint64_t number);

/* Flushes. Returns 0, or a negative errno if the stream failed at any time. */
int columns_end(struct columns *columns);

#endif
