/* SPDX-License-Identifier: Apache-2.0 */
#include "cut.h"

#include <string.h>

#include "cli/base/escape.h"

#define ESCAPE '\033'
#define CHARACTER 4 /* bytes at most */

/* Bytes of what stands at the beginning: a sequence of escape, or a character. */
static size_t piece_length(const char *text, size_t length)
{
	size_t n = 1;

	if (*text == ESCAPE) {
		while (n < length && text[n - 1] != 'm')
			n++;
		return n;
	}
	while (n < length && n < CHARACTER && ((unsigned char)text[n] & 0xc0) == 0x80)
		n++;
	return n;
}

static size_t piece_width(const char *text, size_t length)
{
	char character[CHARACTER + 1] = "";

	if (*text == ESCAPE)
		return 0;
	if ((unsigned char)*text < 0x80)
		return 1;
	memcpy(character, text, length);
	return escape_width(character);
}

size_t cut_line(const char *text, size_t length, size_t skip, size_t width, bool ascii, FILE *out)
{
	size_t column = 0, written = 0;

	for (size_t n; length; text += n, length -= n) {
		n = piece_length(text, length);
		size_t columns = piece_width(text, n), from = column;

		column += columns;
		if (*text == ESCAPE) {
			fwrite(text, 1, n, out);
			continue;
		}
		if (from < skip || column > skip + width) {
			/* Half of a wide character at the left edge */
			for (; from < skip && column > skip && written < column - skip; written++)
				putc(' ', out);
			continue;
		}
		if (ascii && (unsigned char)*text >= 0x80)
			for (size_t i = 0; i < columns; i++)
				putc('?', out);
		else
			fwrite(text, 1, n, out);
		written += columns;
	}
	return written;
}
