/* SPDX-License-Identifier: Apache-2.0 */
/* Texts and names: how they are escaped; patterns of names, and which names are similar to one that
 * does not exist. */
#define _GNU_SOURCE
#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/escape.h"
#include "cli/base/names.h"
#include "cases.h"
#include "random.h"

/* --- Escaped texts --- */

#define TEXTS 50000U

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

	for (size_t i = 0; i < COUNT(cases); i++) {
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

	for (size_t i = 0; i < COUNT(cases); i++)
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
static void random_bytes(char *text, size_t length)
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

	for (unsigned int round = 0; round < TEXTS; round++) {
		size_t length = random_next() % 17, full_length, short_length;
		size_t size = 1 + random_next() % ESCAPE_SIZE(length);
		char *text = malloc(length + 1), *capacity = malloc(size);
		char full[ESCAPE_SIZE(16)], back[ESCAPE_SIZE(16)];

		need(text && capacity);
		random_bytes(text, length);
		/* no NUL after it */
		text = realloc(text, length ? length : 1);
		need(text);
		full_length = escape_text(full, sizeof(full), text, length);
		short_length = escape_text(capacity, size, text, length);

		controls += has_control(full) || has_control(capacity);
		lossy += unescape(back, full) != (long)length || memcmp(back, text, length);
		overlong += full_length != strlen(full) || short_length != strlen(capacity) ||
			    short_length >= size || escape_width(full) > 2 * full_length;
		cut += memcmp(capacity, full, short_length) || unescape(back, capacity) < 0 ||
		       (full[short_length] & 0xc0) == 0x80;
		free(text);
		free(capacity);
	}
	is_u64(controls, 0, "%u random texts: never a control character", TEXTS);
	is_u64(lossy, 0, "%u random texts: each can be read back", TEXTS);
	is_u64(overlong, 0, "%u random texts: lengths and widths fit", TEXTS);
	is_u64(cut, 0, "%u random texts: cut off between characters", TEXTS);
}

/* --- Names --- */

#define ROUNDS 40000U

static uint32_t draw(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(*seed >> 33);
}

static void random_text(char *text, size_t most, const char *alphabet, uint64_t *seed)
{
	size_t length = draw(seed) % (most + 1);

	for (size_t i = 0; i < length; i++)
		text[i] = alphabet[draw(seed) % strlen(alphabet)];
	text[length] = '\0';
}

/* "PATTERN NAME" */
static const char *matched(const char *input)
{
	const char *name = strchr(input, ' ');
	char glob[64];

	snprintf(glob, sizeof(glob), "%.*s", (int)(name - input), input);
	return names_match(glob, name + 1) ? "matches" : "does not match";
}

static const char matches[] =
	" |* |ip4_lookup_node_fn_* ip4_lookup_node_fn_avx2|* .hidden/and/deep|[a-c]x bx"
	"|[^a-c]x dx|[]-] ]|[]-] -|[ab [ab|a\\* a\\b|runtime.(*mheap).alloc runtime.(*mheap).alloc"
	"|main.Do[...] main.Do[...]|main.Do[...] main.Do.|[\x80-\xff] \xc3";

static const char others[] =
	" a|? |ip4_lookup_node_fn_* ip4_lookup_node_fn|[!a-c]x bx|[]-] a|[ab a|a\\* a*|? \xc3\xa9";

TEST(match)
{
	cases_same(matches, "matches", matched, "a pattern and a name");
	cases_same(others, "does not match", matched, "a pattern and a name");
	ok(names_is_glob("a*") && names_is_glob("?") && names_is_glob("a[bc]"), "wildcards");
	ok(!names_is_glob("") && !names_is_glob("a]b[") && !names_is_glob("a[!") &&
		   !names_is_glob("foo@@GLIBC_2.2.5"),
	   "no wildcards");
}

/* The C library's matcher is the truth, where a name is not its pattern; but it does
 * not always find what follows a star after a [ that is not closed. It knows classes
 * such as [[:alpha:]], but no pattern here has a colon. */
TEST(match_random)
{
	uint64_t seed = 20240601, matched = 0;
	char glob[12], name[12];
	unsigned int wrong = 0;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		const char *set;
		bool want;

		random_text(glob, 10, "ab*?[]!-", &seed);
		random_text(name, 10, "ab[-", &seed);
		set = strrchr(glob, '[');
		if (set && (strlen(set) < 3 || !strchr(set + 2, ']')))
			continue;
		want = !fnmatch(glob, name, FNM_NOESCAPE) || !strcmp(glob, name);
		matched += want;
		if (names_match(glob, name) == want)
			continue;
		if (!wrong++) {
			tap_print_string("glob", glob);
			tap_print_string("name", name);
		}
	}
	is_u64(wrong, 0, "%u random patterns match as in the C library", ROUNDS);
	ok(matched > ROUNDS / 100, "and some do match");
}

/* As the kernel side does it. */
static bool automaton_match(const struct kd_names *names, const char *name)
{
	uint64_t states = names->starts;

	for (; *name; name++)
		states = (states & names->takes[(unsigned char)*name]) << 1 |
			 (states & names->stays);
	return states & names->ends;
}

TEST(compile_random)
{
	uint64_t seed = 20240601, matched = 0;
	char glob[18], name[KD_COMM_LEN];
	unsigned int wrong = 0;
	struct kd_names names;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		bool want;

		random_text(glob, 16, "ab*?[]!-", &seed);
		random_text(name, KD_COMM_LEN - 2, "ab[-", &seed);
		want = names_match(glob, name);
		matched += want;
		if (names_compile(&names, glob) && automaton_match(&names, name) == want)
			continue;
		if (!wrong++) {
			tap_print_string("glob", glob);
			tap_print_string("name", name);
		}
	}
	is_u64(wrong, 0, "%u random patterns match as automata", ROUNDS);
	ok(matched > ROUNDS / 200, "and some do match");
	ok(!names_compile(&names, "???????????????????????????????????????????????????????????????"
				  "?"),
	   "64 elements are too many");
	ok(names_compile(&names, "[pq]md*\xff") && automaton_match(&names, "qmd-1\xff") &&
		   !automaton_match(&names, "rmd-1\xff"),
	   "bytes beyond ASCII");
}

/* Trying every way to match them would never end. */
TEST(match_stars)
{
	char glob[4096], name[4096];

	for (size_t i = 0; i < sizeof(glob); i += 2)
		memcpy(glob + i, "*a", 2);
	memcpy(glob + sizeof(glob) - 2, "b", 2);
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	ok(!names_match(glob, name), "two thousand stars do not match");
}

static unsigned int least(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/* The edit distance as in a textbook. */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int row[64], n = (unsigned int)strlen(a), m = (unsigned int)strlen(b);

	for (unsigned int j = 0; j <= m; j++)
		row[j] = j;
	for (unsigned int i = 1; i <= n; i++) {
		unsigned int diagonal = row[0]++;

		for (unsigned int j = 1; j <= m; j++) {
			unsigned int replaced = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			row[j] = least(replaced, least(row[j], row[j - 1]) + 1);
		}
	}
	return row[m];
}

/* Exchanging each pair of neighbours in turn. */
static bool swapped(const char *a, const char *b)
{
	char text[64];

	for (size_t i = 0; *a && a[i + 1]; i++) {
		snprintf(text, sizeof(text), "%s", a);
		text[i] = a[i + 1];
		text[i + 1] = a[i];
		if (!strcmp(text, b))
			return true;
	}
	return false;
}

TEST(distance)
{
	unsigned int wrong = 0, close = 0, too_short = 0;
	uint64_t seed = 1965;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		struct names_closest closest;
		char wanted[24], name[24];
		unsigned int limit;
		bool want;

		/* Two letters make many that are close, ten make some. */
		random_text(wanted, 23, i & 1 ? "ab" : "abcdefghij", &seed);
		random_text(name, 23, i & 1 ? "ab" : "abcdefghij", &seed);
		limit = (unsigned int)strlen(wanted) / 3;
		limit = limit < 1 ? 1 : limit > 6 ? 6 : limit;
		want = *wanted && *name &&
		       (distance(wanted, name) <= limit || swapped(wanted, name) ||
			(strlen(wanted) >= 3 && strstr(name, wanted)));
		names_closest_init(&closest, wanted);
		names_closest_offer(&closest, name);
		wrong += (closest.n == 1) != want;
		close += want;
		too_short += !*wanted || !*name;
		names_closest_clear(&closest);
	}
	is_u64(wrong, 0, "of %u random names those are close that few edits or more text make",
	       ROUNDS);
	ok(close > ROUNDS / 50 && close < ROUNDS / 2 && too_short, "some are");
}

/* Of "NAME|NAME", each of which comes twice. */
static void expect(const char *wanted, const char *names, const char *list)
{
	struct names_closest closest;
	char got[512] = "", name[CASE_LEN];

	names_closest_init(&closest, wanted);
	for (int i = 0; i < 2; i++)
		for (const char *at = names; case_next(&at, name);)
			names_closest_offer(&closest, name);
	for (size_t i = 0; i < closest.n; i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s", i ? " " : "",
			 closest.best[i].name);
	is_str(got, list, "close to '%s'", wanted);
	names_closest_clear(&closest);
	is_u64(closest.n, 0, "cleared");
}

TEST(order)
{
	static const char names[] =
		"main|bridge_run__|bridge_run|bridge_init|bridge_runs|bridge_wait|brdige_run"
		"|udpif_run|ovs_bridge_run_x|x||bridge_exit|bridge_rux|bridge_ruy|zbridge_run";
	static const char fns[] =
		"ip4_lookup_node_fn_avx2|ip6_lookup_node_fn_avx2|error_drop_node_fn";

	expect("bridge_run", names, "bridge_run bridge_runs bridge_rux bridge_ruy zbridge_run");
	expect("bridge_rnu", names, "bridge_run bridge_runs bridge_rux bridge_ruy bridge_init");
	expect("mian", names, "main");
	expect("bridge", names, "bridge_run bridge_rux bridge_ruy bridge_exit bridge_init");
	expect("nothing_like_it", names, "");
	expect("", names, "");
	expect("ip4_lookup_node_fm_*", fns, "ip4_lookup_node_fn_avx2 ip6_lookup_node_fn_avx2");
	expect("ip4_lookup_*_x", fns, "ip4_lookup_node_fn_avx2");
	expect("*_node_fn_icl", fns, "");
	expect("***", fns, "");
}

TEST(long)
{
	static char huge[100000];
	struct names_closest closest;

	memset(huge, 'a', sizeof(huge) - 1);
	names_closest_init(&closest, huge);
	names_closest_offer(&closest, huge);
	names_closest_offer(&closest, "a");
	is_u64(closest.n, 0, "nothing is close to a name of 100,000 bytes");
	names_closest_hint(&closest, huge, NULL);
	huge[4096] = '\0';
	names_closest_offer(&closest, huge);
	names_closest_clear(&closest);
	names_closest_init(&closest, huge);
	huge[4095] = 'b';
	names_closest_offer(&closest, huge);
	is_u64(closest.n, 1, "but to one of 4096");
	names_closest_hint(&closest, huge, NULL);
	names_closest_clear(&closest);
}
