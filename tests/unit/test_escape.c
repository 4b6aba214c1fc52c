/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/escape.h"
#include "random.h"
#include "cases.h"

#define ROUNDS 50000U

static const char *escaped(const char *text)
{
	static char out[ESCAPE_SIZE(CASE_LEN)];
	size_t length = escape_text(out, sizeof(out), text, strlen(text));

	is_u64(length, strlen(out), "its length");
	return out;
}

TEST(escape_text)
{
	/* What is printable passes. Controls, C1 as UTF-8 or as a byte, pieces of UTF-8 and what is
	 * none, or too long: their bytes. So do characters that are not seen, or direct others. */
	static const char cases[] =
		" = |ovs-vswitchd = ovs-vswitchd|a\\b = a\\\\b|\\x1b\\n = \\\\x1b\\\\n"
		"|\t\n\r = \\t\\n\\r"
		"|\x01\x07\x08\x0b\x1b\x1f\x7f = \\x01\\x07\\x08\\x0b\\x1b\\x1f\\x7f"
		"|\x1b[2J\x1b]0;x\x07 = \\x1b[2J\\x1b]0;x\\x07"
		"|\xc2\x80\xc2\x9b\xc2\x9f = \\xc2\\x80\\xc2\\x9b\\xc2\\x9f|\xc2\xa0 = \xc2\xa0"
		"|\2331m = \\x9b1m|\xc3\xa9 = \xc3\xa9"
		"|\xe6\x97\xa5\xe6\x9c\xac = \xe6\x97\xa5\xe6\x9c\xac"
		"|\xf0\x9f\x98\x80 = \xf0\x9f\x98\x80|e\xcc\x81 = e\xcc\x81|\xdf\xbf = \xdf\xbf"
		"|a\x80z = a\\x80z|a\xc3z = a\\xc3z|\xe6 = \\xe6|\xe6\x97 = \\xe6\\x97"
		"|\xf0\x9f\x98 = \\xf0\\x9f\\x98|\xc0\xaf = \\xc0\\xaf"
		"|\xe0\x80\x9b = \\xe0\\x80\\x9b|\xf0\x80\x80\xaf = \\xf0\\x80\\x80\\xaf"
		"|\xed\xa0\x80 = \\xed\\xa0\\x80|\xf4\x90\x80\x80 = \\xf4\\x90\\x80\\x80"
		"|\xf8\x88\xfe\xff = \\xf8\\x88\\xfe\\xff|caf\xe9 = caf\\xe9|\xc2\xad = \\xc2\\xad"
		"|\xe2\x80\x8b\xe2\x80\x8d = \\xe2\\x80\\x8b\\xe2\\x80\\x8d"
		"|\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c = \\xe2\\x80\\x8e\\xe2\\x80\\x8f\\xd8\\x9c"
		"|\xe2\x80\xa8\xe2\x80\xa9 = \\xe2\\x80\\xa8\\xe2\\x80\\xa9"
		"|\xe2\x80\xaa\xe2\x80\xae = \\xe2\\x80\\xaa\\xe2\\x80\\xae"
		"|\xe2\x80\xaf = \xe2\x80\xaf"
		"|\xe2\x81\xa6\xe2\x81\xa9 = \\xe2\\x81\\xa6\\xe2\\x81\\xa9"
		"|\xef\xbb\xbf = \\xef\\xbb\\xbf|\xef\xbf\xbf = \\xef\\xbf\\xbf"
		"|\xef\xb8\x8f = \\xef\\xb8\\x8f|\xf3\xa0\x81\x81 = \\xf3\\xa0\\x81\\x81";

	cases_check(cases, escaped, "escaped");
	is_str(escaped("a !\"#$%&'()*+,-./09:;<=>?@AZ[]^_`az{|}~"),
	       "a !\"#$%&'()*+,-./09:;<=>?@AZ[]^_`az{|}~", "all that is printable");
}

/* Which somebody else should have replaced. */
TEST(controls)
{
	char text[] = "a\n\t\x1b[2J\x7f\xc2\x9b\xc2\xa9\xc3\xa9 end\xc2";

	escape_controls(text, sizeof(text) - 1);
	is_str(text, "a\n??[2J???\xc2\xa9\xc3\xa9 end?", "control characters, those of C1, too");
}

/* The text ends with a NUL, or its length, or the room. */
TEST(ends)
{
	static const struct {
		const char *text;
		size_t length, size; /* length 0: all of it */
		const char *want;
	} cases[] = {
		{ "abc\0def", 7, 64, "abc" },
		{ "abcdef", 2, 64, "ab" },
		{ "\xe6\x97\xa5", 2, 64, "\\xe6\\x97" }, /* a character that goes on is cut off */
		{ "abc", 0, 1, "" },
		{ "abc", 0, 3, "ab" },
		{ "abc", 0, 4, "abc" },
		{ "a\n", 0, 2, "a" },
		{ "a\n", 0, 3, "a" },
		{ "a\n", 0, 4, "a\\n" },
		{ "a\x1b", 0, 5, "a" },
		{ "a\x1b", 0, 6, "a\\x1b" },
		{ "a\xc3\xa9", 0, 3, "a" },
		{ "a\xc3\xa9", 0, 4, "a\xc3\xa9" },
		{ "\xf0\x9f\x98\x80", 0, 4, "" },
		{ "\xf0\x9f\x98\x80", 0, 5, "\xf0\x9f\x98\x80" },
		{ "\xe2\x80\xae", 0, 12, "" },
		{ "\xe2\x80\xae", 0, 13, "\\xe2\\x80\\xae" },
		{ "\xe2\x80\xae"
		  "b",
		  0, 5, "" },
	};
	char untouched = 'u', out[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		escape_text(out, cases[i].size, cases[i].text,
			    cases[i].length ? cases[i].length : strlen(cases[i].text));
		is_str(out, cases[i].want, "case %zu in %zu bytes", i, cases[i].size);
	}
	is_u64(escape_text(out, sizeof(out), "abc", 0), 0, "no text");
	is_str(out, "", "no text: empty");
	is_u64(escape_text(&untouched, 0, "abc", 3), 0, "no room: length 0");
	ok(untouched == 'u', "no room: nothing is written");
}

TEST(width)
{
	static const struct {
		const char *text;
		size_t width;
	} cases[] = {
		{ "", 0 },
		{ "ovs-vswitchd", 12 },
		{ "\\x1b", 4 },
		{ "caf\xc3\xa9", 4 },
		{ "cafe\xcc\x81", 4 },
		{ "\xd0\x94\xd0\xb0", 2 },         /* Cyrillic */
		{ "\xe6\x97\xa5\xe6\x9c\xac", 4 }, /* Han */
		{ "\xed\x95\x9c", 2 },             /* Hangul */
		{ "\xe3\x81\x82\xe3\x82\xab", 4 }, /* Kana */
		{ "\xef\xbd\xb1", 1 },             /* half-width kana */
		{ "\xef\xbc\xa1", 2 },             /* full-width A */
		{ "\xf0\x9f\x98\x80x", 3 },        /* emoji */
		{ "\xf0\xa0\x80\x80", 2 },         /* Han beyond the first plane */
		{ "\xe2\x82\xac", 1 },             /* euro */
		{ "\xff", 1 },                     /* never in an escaped text */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		is_u64(escape_width(cases[i].text), cases[i].width, "width, case %zu", i);
}

/* Reads an escaped text back. Returns the length; -1 if it is ambiguous. */
static long unescape(char *out, const char *text)
{
	static const char letters[] = "tnr\\";
	long length = 0;

	for (; *text; text++) {
		unsigned int byte;
		const char *at;

		if (*text != '\\') {
			out[length++] = *text;
			continue;
		}
		at = strchr(letters, *++text);
		if (*text && at) {
			out[length++] = "\t\n\r\\"[at - letters];
			continue;
		}
		if (*text != 'x' || !isxdigit((unsigned char)text[1]) ||
		    !isxdigit((unsigned char)text[2]) || sscanf(text + 1, "%2x", &byte) != 1)
			return -1;
		out[length++] = (char)byte;
		text += 2;
	}
	return length;
}

static bool has_control(const char *text)
{
	for (; *text; text++) {
		unsigned char byte = (unsigned char)text[0], next = (unsigned char)text[1];

		if (byte < 0x20 || byte == 0x7f || (byte == 0xc2 && next < 0xa0))
			return true;
	}
	return false;
}

/* Fills text with bytes that are near the borders of UTF-8 more often than not. */
static void random_text(char *text, size_t length)
{
	static const unsigned char special[] = { 0x1b, '\\', '\n', 0x7f, 0x80, 0x9b, 0xa8,
						 0xbf, 0xc0, 0xc2, 0xc3, 0xe0, 0xe2, 0xed,
						 0xef, 0xf0, 0xf3, 0xf4, 0xf5, 0xff };

	for (size_t i = 0; i < length; i++) {
		uint64_t random = random_next();

		text[i] = (char)(random & 1 ? special[(random >> 8) % sizeof(special)]
					    : 1 + (random >> 8) % 255);
	}
}

/* Source and destination are of just their size, so that a sanitizer sees an
 * access too far. */
TEST(random)
{
	uint64_t controls = 0, lossy = 0, overlong = 0, cut = 0;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		size_t length = random_next() % 17, full_length, short_length;
		size_t size = 1 + random_next() % ESCAPE_SIZE(length);
		char *text = malloc(length + 1), *room = malloc(size);
		char full[ESCAPE_SIZE(16)], back[ESCAPE_SIZE(16)];

		if (!text || !room)
			abort();
		random_text(text, length);
		/* no NUL after it */
		text = realloc(text, length ? length : 1);
		if (!text)
			abort();
		full_length = escape_text(full, sizeof(full), text, length);
		short_length = escape_text(room, size, text, length);

		controls += has_control(full) || has_control(room);
		lossy += unescape(back, full) != (long)length || memcmp(back, text, length);
		overlong += full_length != strlen(full) || short_length != strlen(room) ||
			    short_length >= size || escape_width(full) > 2 * full_length;
		cut += memcmp(room, full, short_length) || unescape(back, room) < 0 ||
		       (full[short_length] & 0xc0) == 0x80;
		free(text);
		free(room);
	}
	is_u64(controls, 0, "%u random texts: never a control character", ROUNDS);
	is_u64(lossy, 0, "%u random texts: each can be read back", ROUNDS);
	is_u64(overlong, 0, "%u random texts: lengths and widths fit", ROUNDS);
	is_u64(cut, 0, "%u random texts: cut off between characters", ROUNDS);
}
