/* SPDX-License-Identifier: Apache-2.0 */
#include "escape.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "arith.h"

struct range {
	uint32_t first, last;
};

/* Characters without a glyph, or with an effect on adjacent text. The first two ranges are
 * controls; the others are format characters, variation selectors, or noncharacters. */
static const struct range hidden[] = {
	{ 0x0000, 0x001f },   { 0x007f, 0x009f },    { 0x00ad, 0x00ad },   { 0x034f, 0x034f },
	{ 0x061c, 0x061c },   { 0x115f, 0x1160 },    { 0x17b4, 0x17b5 },   { 0x180b, 0x180f },
	{ 0x200b, 0x200f },   { 0x2028, 0x202e },    { 0x2060, 0x206f },   { 0x3164, 0x3164 },
	{ 0xfdd0, 0xfdef },   { 0xfe00, 0xfe0f },    { 0xfeff, 0xfeff },   { 0xffa0, 0xffa0 },
	{ 0xfff0, 0xfffb },   { 0xfffe, 0xffff },    { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a },
	{ 0xe0000, 0xe0fff }, { 0xf0000, 0x10ffff },
};

/* Blocks of width two and zero; single characters elsewhere count as one. */
static const struct range wide[] = {
	{ 0x1100, 0x115f },   { 0x2e80, 0x303e },   { 0x3041, 0x4dbf },   { 0x4e00, 0xa4cf },
	{ 0xa960, 0xa97f },   { 0xac00, 0xd7a3 },   { 0xf900, 0xfaff },   { 0xfe10, 0xfe19 },
	{ 0xfe30, 0xfe6f },   { 0xff01, 0xff60 },   { 0xffe0, 0xffe6 },   { 0x16fe0, 0x18dff },
	{ 0x1aff0, 0x1b2ff }, { 0x1f300, 0x1f320 }, { 0x1f32d, 0x1f335 }, { 0x1f337, 0x1f37c },
	{ 0x1f380, 0x1f393 }, { 0x1f3a0, 0x1f3ca }, { 0x1f3e0, 0x1f3f0 }, { 0x1f400, 0x1f43e },
	{ 0x1f442, 0x1f4fc }, { 0x1f500, 0x1f53d }, { 0x1f5fb, 0x1f64f }, { 0x1f680, 0x1f6c5 },
	{ 0x1f900, 0x1f9ff }, { 0x1fa70, 0x1faff }, { 0x20000, 0x3fffd },
};

static const struct range combining[] = {
	{ 0x0300, 0x036f }, { 0x0483, 0x0489 }, { 0x0591, 0x05bd }, { 0x064b, 0x065f },
	{ 0x1ab0, 0x1aff }, { 0x1dc0, 0x1dff }, { 0x20d0, 0x20ff }, { 0x302a, 0x302d },
	{ 0x3099, 0x309a }, { 0xfe20, 0xfe2f },
};

#define IN(ranges, code) in_ranges(ranges, sizeof(ranges) / sizeof((ranges)[0]), code)

static bool in_ranges(const struct range *ranges, size_t n, uint32_t code)
{
	for (size_t i = 0; i < n; i++) {
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	}
	return false;
}

size_t utf8_decode(const char *text, size_t length, uint32_t *code)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned char lead = (unsigned char)text[0];
	size_t bytes = lead < 0xc0 || lead >= 0xf8 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;

	if (lead < 0x80) {
		*code = lead;
		return 1;
	}
	if (!bytes || bytes > length)
		return 0;
	*code = lead & (0x7fU >> bytes);
	for (size_t i = 1; i < bytes; i++) {
		unsigned char next = (unsigned char)text[i];

		if ((next & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (next & 0x3f);
	}
	if (*code < smallest[bytes] || *code > 0x10ffff || (*code >= 0xd800 && *code <= 0xdfff))
		return 0;
	return bytes;
}

/* Escapes one byte as up to four characters. Returns their number. */
static size_t escape_byte(char out[static 5], unsigned char byte)
{
	static const char plain[] = "\t\n\r\\", letters[] = "tnr\\";
	const char *found = byte ? strchr(plain, byte) : NULL;

	if (!found)
		return (size_t)snprintf(out, 5, "\\x%02x", byte);
	out[0] = '\\';
	out[1] = letters[found - plain];
	return 2;
}

/* Number of leading bytes of printable ASCII without escapes: most names have no others. */
static size_t plain_length(const char *text, size_t length)
{
	size_t n = 0;

	while (n < length && text[n] >= ' ' && text[n] <= '~' && text[n] != '\\')
		n++;
	return n;
}

size_t escape_text(char *out, size_t size, const char *text, size_t length)
{
	size_t used = 0;

	if (size == 0)
		return 0;
	length = strnlen(text, length);

	while (length > 0) {
		char piece[4 * 4 + 1];
		size_t piece_length = 0;
		uint32_t code = 0;
		size_t bytes = plain_length(text, u64_min(length, size - 1 - used));

		if (bytes) {
			memcpy(out + used, text, bytes);
			used += bytes;
			text += bytes;
			length -= bytes;
			continue;
		}
		bytes = utf8_decode(text, length, &code);
		if (bytes && code != '\\' && !IN(hidden, code)) {
			memcpy(piece, text, bytes);
			piece_length = bytes;
		} else {
			bytes = bytes ? bytes : 1;
			for (size_t i = 0; i < bytes; i++)
				piece_length += escape_byte(piece + piece_length,
							    (unsigned char)text[i]);
		}
		if (piece_length > size - 1 - used)
			break;
		memcpy(out + used, piece, piece_length);
		used += piece_length;
		text += bytes;
		length -= bytes;
	}
	out[used] = '\0';
	return used;
}

size_t escape_width(const char *escaped)
{
	size_t length = strlen(escaped);
	size_t width = 0;

	while (length > 0) {
		uint32_t code = 0;
		size_t bytes = utf8_decode(escaped, length, &code);

		if (!bytes || !IN(combining, code))
			width += bytes && IN(wide, code) ? 2 : 1;
		escaped += bytes ? bytes : 1;
		length -= bytes ? bytes : 1;
	}
	return width;
}

/* U+0080 to U+009F are two bytes in UTF-8; the second one may be in the next piece. */
static bool begins_c1(const char *text, size_t length)
{
	return (unsigned char)text[0] == 0xc2 &&
	       (length < 2 || ((unsigned char)text[1] >= 0x80 && (unsigned char)text[1] <= 0x9f));
}

void escape_controls(char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)text[i];

		if (begins_c1(text + i, length - i)) {
			text[i] = '?';
			if (i + 1 < length)
				text[++i] = '?';
		} else if ((byte < ' ' && byte != '\n') || byte == 0x7f) {
			text[i] = '?';
		}
	}
}
