/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "columns.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>

#include "escape.h"

#define GAP 2 /* between columns */

static void write_out(struct columns *columns, const char *text, size_t length)
{
	errno = 0;
	if (fwrite(text, 1, length, columns->out) != length && !columns->err)
		columns->err = errno ? -errno : -EIO;
}

/* Makes space for length bytes. False if they never fit. */
static inline bool columns_reserve(struct columns *columns, size_t length)
{
	if (length > sizeof(columns->text) - columns->used) {
		write_out(columns, columns->text, columns->used);
		columns->used = 0;
	}
	return length <= sizeof(columns->text);
}

void columns_bytes(struct columns *columns, const char *text, size_t length)
{
	columns->width += length;
	if (!columns_reserve(columns, length)) {
		write_out(columns, text, length);
		return;
	}
	memcpy(columns->text + columns->used, text, length);
	columns->used += length;
}

void columns_print(struct columns *columns, const char *fmt, ...)
{
	char *text = NULL;
	va_list args;
	int length;

	va_start(args, fmt);
	length = vasprintf(&text, fmt, args);
	va_end(args);
	if (length >= 0)
		columns_bytes(columns, text, (size_t)length);
	else if (!columns->err)
		columns->err = -ENOMEM;
	if (length >= 0)
		free(text);
}

void columns_pad(struct columns *columns, size_t used, size_t width)
{
	if (used >= width || !columns_reserve(columns, width - used))
		return;
	memset(columns->text + columns->used, ' ', width - used);
	columns->used += width - used;
	columns->width += width - used;
}

static inline void add_right(struct columns *columns, const char *text, size_t length, size_t width)
{
	columns_pad(columns, length, width);
	columns_bytes(columns, text, length);
}

void columns_begin(struct columns *columns, FILE *out)
{
	columns->out = out;
	columns->err = ferror(out) ? -EIO : 0;
	columns->width = columns->used = 0;
}

void columns_cut(struct columns *columns, const char *text, size_t width)
{
	size_t length = strnlen(text, width);

	columns_bytes(columns, text, length);
	columns_pad(columns, length, width);
}

void columns_left(struct columns *columns, const char *text, size_t width)
{
	size_t length = strlen(text);

	columns_bytes(columns, text, length);
	columns_pad(columns, length, width);
}

void columns_right(struct columns *columns, const char *text, size_t width)
{
	add_right(columns, text, strlen(text), width);
}

void columns_count(struct columns *columns, uint64_t count, size_t width)
{
	char text[NUMBER_LEN];

	add_right(columns, text, number_plain(text, count), width);
}

void columns_ns(struct columns *columns, uint64_t ns, size_t width)
{
	char text[NUMBER_LEN];

	add_right(columns, text, number_grouped(text, ns), width);
}

void columns_gap_count(struct columns *columns, uint64_t count, size_t width)
{
	columns_pad(columns, 0, GAP);
	columns_count(columns, count, width);
}

void columns_gap_ns(struct columns *columns, uint64_t ns, size_t width)
{
	columns_pad(columns, 0, GAP);
	columns_ns(columns, ns, width);
}

void columns_hex(struct columns *columns, uint64_t number)
{
	char text[18], *at = text + sizeof(text);

	do {
		*--at = "0123456789abcdef"[number % 16];
		number /= 16;
	} while (number);
	*--at = 'x';
	*--at = '0';
	columns_bytes(columns, at, (size_t)(text + sizeof(text) - at));
}

/* No character has more columns than bytes. */
size_t columns_foreign(struct columns *columns, const char *text, size_t length, size_t width)
{
	char escaped[ESCAPE_SIZE(COLUMNS_FOREIGN)];
	size_t size = width < sizeof(escaped) ? width + 1 : sizeof(escaped);
	size_t begun = columns->width;

	escape_text(escaped, size, text, length);
	columns_add(columns, escaped);
	columns->width = begun + escape_width(escaped);
	return columns->width - begun;
}

int columns_end(struct columns *columns)
{
	write_out(columns, columns->text, columns->used);
	columns->used = 0;
	errno = 0;
	if (fflush(columns->out) && !columns->err)
		columns->err = errno ? -errno : -EIO;
	return columns->err;
}
