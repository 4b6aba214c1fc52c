/* SPDX-License-Identifier: Apache-2.0 */
/* Fixed-width columns of text and numbers on a stream. Large reports are
 * hundreds of thousands of lines: printf would take most of their time. */
#ifndef COLUMNS_H
#define COLUMNS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "parse.h"

struct columns {
	FILE *out;
	int err; /* the first failure, a negative errno */
	size_t used;
	char text[1 << 13]; /* on small stacks, too */
};

/* Begins writing to a stream, which stays the caller's. */
void columns_begin(struct columns *columns, FILE *out);

/* Text as it is. Inline, for most of it is constant and its length known. */
void columns_bytes(struct columns *columns, const char *text, size_t length);
static inline void columns_add(struct columns *columns, const char *text)
{
	columns_bytes(columns, text, strlen(text));
}

/* As printf(3), for what is not in every row. */
__attribute__((format(printf, 2, 3))) void columns_print(struct columns *columns, const char *fmt,
							 ...);
/* A number for it, with thousands separators; the text is the enclosing block's. */
#define GROUPED(number) number_text((char[NUMBER_LEN]){ 0 }, number)
static inline const char *number_text(char text[static NUMBER_LEN], uint64_t number)
{
	number_grouped(text, number);
	return text;
}

/* Spaces, until a column that has been used up to here is full. */
void columns_pad(struct columns *columns, size_t used, size_t width);

/* Text of ASCII at the left of a column that is never wider. */
void columns_cut(struct columns *columns, const char *text, size_t width);

/* Text of ASCII at the left or right of a column, whole even if it is wider. */
void columns_left(struct columns *columns, const char *text, size_t width);
void columns_right(struct columns *columns, const char *text, size_t width);

/* Text from the target or the kernel of at most COLUMNS_FOREIGN bytes, at most so many columns of
 * it. Returns how many it took. */
#define COLUMNS_FOREIGN 256
size_t columns_foreign(struct columns *columns, const char *text, size_t length, size_t width);

/* Numbers at the right of a column: a count without and nanoseconds with
 * thousands separators; in the gap forms, after the two spaces that separate
 * columns. */
void columns_count(struct columns *columns, uint64_t count, size_t width);
void columns_ns(struct columns *columns, uint64_t ns, size_t width);
void columns_gap_count(struct columns *columns, uint64_t count, size_t width);
void columns_gap_ns(struct columns *columns, uint64_t ns, size_t width);

/* A number in hexadecimal, with 0x. */
void columns_hex(struct columns *columns, uint64_t number);

/* Writes out what is left. Returns 0, or a negative errno if the stream failed
 * now or before. */
int columns_end(struct columns *columns);

#endif
