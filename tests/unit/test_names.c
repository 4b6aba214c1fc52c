/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of names, and which names are close to one that is not there. */
#define _GNU_SOURCE
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/names.h"
#include "cases.h"

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
		wrong += (names_closest_count(&closest) == 1) != want;
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
	for (size_t i = 0; i < names_closest_count(&closest); i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s", i ? " " : "",
			 names_closest_get(&closest, i));
	is_str(got, list, "close to '%s'", wanted);
	names_closest_clear(&closest);
	is_u64(names_closest_count(&closest), 0, "cleared");
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
	is_u64(names_closest_count(&closest), 0, "nothing is close to a name of 100,000 bytes");
	names_closest_hint(&closest, huge, NULL);
	huge[4096] = '\0';
	names_closest_offer(&closest, huge);
	names_closest_clear(&closest);
	names_closest_init(&closest, huge);
	huge[4095] = 'b';
	names_closest_offer(&closest, huge);
	is_u64(names_closest_count(&closest), 1, "but to one of 4096");
	names_closest_hint(&closest, huge, NULL);
	names_closest_clear(&closest);
}
