// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "names.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arith.h"
#include "array.h"
#include "log.h"
#include "texts.h"

/* --- Choices for the hint to an error --- */

#define MOST_LISTED 8

void choices_add(struct choices *choices, const char *fmt, ...)
{
	size_t left = sizeof(choices->text) - choices->length, separator;
	char *at = choices->text + choices->length;
	va_list args;
	int length;

	if (choices->n++ >= MOST_LISTED)
		return;
	separator = choices->length ? (size_t)snprintf(at, left, ", ") : 0;
	if (separator >= left)
		return;
	va_start(args, fmt);
	length = vsnprintf(at + separator, left - separator, fmt, args);
	va_end(args);
	if (length < 0 || (size_t)length >= left - separator)
		*at = '\0'; /* no partial entries */
	else
		choices->length += separator + (size_t)length;
}

void choices_clear(struct choices *choices)
{
	choices->length = choices->n = 0;
	*choices->text = '\0';
}

void choices_hint(const struct choices *choices)
{
	log_hint("choose one: %s%s", choices->text, choices->n > MOST_LISTED ? ", ..." : "");
}

/* --- Patterns, and similar names --- */

#define LONGEST 4096     /* longer names have no similar ones */
#define MOST_EDITS 6     /* between similar names */
#define SHORTEST_MATCH 3 /* of a name that is searched in others */
#define SWAP_SCORE 24    /* between one edit, 16, and two */
#define SHOWN 200        /* bytes per name in a hint */

/* Finds the ] of a set that begins here; NULL: not a set. */
static const char *set_end(const char *set)
{
	const char *at = set + 1;

	if (*at == '!' || *at == '^')
		at++;
	return *at ? strchr(at + 1, ']') : NULL;
}

static bool set_has(const char *set, const char *end, unsigned char byte)
{
	bool negated = set[1] == '!' || set[1] == '^', found = false;

	for (const char *at = set + 1 + negated; at < end; at++) {
		unsigned char low = (unsigned char)*at, high = low;

		if (at[1] == '-' && at + 2 < end) {
			high = (unsigned char)at[2];
			at += 2;
		}
		found |= low <= byte && byte <= high;
	}
	return found != negated;
}

/* Rest of the pattern if its first element, not a star, matches the byte. */
static const char *element_match(const char *glob, unsigned char byte)
{
	const char *end = *glob == '[' ? set_end(glob) : NULL;

	if (end)
		return set_has(glob, end, byte) ? end + 1 : NULL;
	return *glob == '?' || (unsigned char)*glob == byte ? glob + 1 : NULL;
}

bool names_is_glob(const char *text)
{
	for (; *text; text++) {
		if (*text == '*' || *text == '?' || (*text == '[' && set_end(text)))
			return true;
	}
	return false;
}

bool names_match(const char *glob, const char *name)
{
	/* Only the last star may need a retry. */
	const char *star = NULL, *retry = NULL, *at = name, *next;

	if (!strcmp(glob, name))
		return true;
	while (*at) {
		if (*glob == '*') {
			star = ++glob;
			retry = at;
			continue;
		}
		next = *glob ? element_match(glob, (unsigned char)*at) : NULL;
		if (next) {
			glob = next;
			at++;
		} else if (star) {
			glob = star;
			at = ++retry;
		} else {
			return false;
		}
	}
	while (*glob == '*')
		glob++;
	return !*glob;
}

bool names_match_comm(const char *glob, const char name[static KD_COMM_LEN])
{
	char text[KD_COMM_LEN + 1] = "";

	memcpy(text, name, KD_COMM_LEN);
	return names_match(glob, text);
}

#define NAMES_STATES 64

/* Appends a pattern; *state: first free state. */
static bool pattern_compile(struct kd_names *names, const char *glob, bool literal,
			    unsigned int *state)
{
	if (*state >= NAMES_STATES)
		return false;
	names->starts |= 1ULL << *state;
	while (*glob) {
		const char *end = *glob == '[' && !literal ? set_end(glob) : NULL;

		if (*glob == '*' && !literal) {
			names->stays |= 1ULL << *state;
			glob++;
			continue;
		}
		for (unsigned int byte = 1; byte < 256; byte++)
			if (literal ? (unsigned char)*glob == byte
				    : element_match(glob, (unsigned char)byte) != NULL)
				names->takes[byte] |= 1ULL << *state;
		glob = end ? end + 1 : glob + 1;
		if (++*state == NAMES_STATES)
			return false;
	}
	names->ends |= 1ULL << *state;
	++*state;
	return true;
}

bool names_compile(struct kd_names *names, const char *glob)
{
	unsigned int state = 0;

	memset(names, 0, sizeof(*names));
	/* The pattern itself may be a name. */
	return pattern_compile(names, glob, false, &state) &&
	       (!names_is_glob(glob) || strlen(glob) >= KD_COMM_LEN ||
		pattern_compile(names, glob, true, &state));
}

/* Edit distance (insert, delete, replace a byte) from a to b, or more than limit. Works on
 * diagonals, and only keeps the furthest point of each: dissimilar names of any length cost
 * limit^2 steps. */
static unsigned int edits(const char *a, size_t a_length, const char *b, size_t b_length, int limit)
{
	int n = (int)a_length, m = (int)b_length;
	int rows[2][2 * MOST_EDITS + 3];

	if (abs(n - m) > limit)
		return (unsigned int)limit + 1;
	for (size_t i = 0; i < sizeof(*rows) / sizeof(**rows); i++)
		rows[0][i] = rows[1][i] = -1;
	for (int used = 0; used <= limit; used++) {
		/* Indexed by diagonal: how much further b is than a. */
		int *now = rows[used & 1] + MOST_EDITS + 1;
		const int *before = rows[!(used & 1)] + MOST_EDITS + 1;

		for (int diagonal = -used; diagonal <= used; diagonal++) {
			int at = used ? before[diagonal - 1] : 0;

			if (diagonal < -n || diagonal > m)
				continue;
			if (used && before[diagonal] + 1 > at)
				at = before[diagonal] + 1;
			if (used && before[diagonal + 1] + 1 > at)
				at = before[diagonal + 1] + 1;
			if (at > n)
				at = n;
			if (at > m - diagonal)
				at = m - diagonal;
			while (at < n && at + diagonal < m && a[at] == b[at + diagonal])
				at++;
			now[diagonal] = at;
		}
		if (abs(m - n) <= used && now[m - n] >= n)
			return (unsigned int)used;
	}
	return (unsigned int)limit + 1;
}

void names_closest_init(struct names_closest *closest, const char *wanted)
{
	memset(closest, 0, sizeof(*closest));
	closest->wanted = wanted;
	closest->length = strlen(wanted);
	if (!names_is_glob(wanted))
		return;
	/* For a pattern, its longest literal part. */
	closest->length = 0;
	for (const char *literal = wanted; *literal; literal += strspn(literal, "*?[]")) {
		size_t length = strcspn(literal, "*?[]");

		if (length > closest->length) {
			closest->wanted = literal;
			closest->length = length;
		}
		literal += length;
	}
}

/* True for a swap of two neighbors, the most frequent typo. Counted as two edits, it would be
 * too much for a short name. */
static bool is_swapped(const char *a, const char *b, size_t length)
{
	size_t at = 0;

	while (at < length && a[at] == b[at])
		at++;
	return at + 2 <= length && a[at] == b[at + 1] && a[at + 1] == b[at] &&
	       !memcmp(a + at + 2, b + at + 2, length - at - 2);
}

/* Lower is closer; UINT32_MAX: not similar. An edit costs 16, so a name with extra letters at
 * its end is as close as one with three or four wrong ones. */
static unsigned int score(const struct names_closest *closest, const char *name, size_t length,
			  unsigned int worst)
{
	size_t extra = length - closest->length;
	unsigned int limit = (unsigned int)closest->length / 3, best = UINT32_MAX, n;
	const char *match;

	limit = limit < 1 ? 1 : limit > MOST_EDITS ? MOST_EDITS : limit;
	if (limit > worst / 16)
		limit = worst / 16;
	n = edits(closest->wanted, closest->length, name, length, (int)limit);
	if (n <= limit)
		best = n * 16;
	if (best > SWAP_SCORE && length == closest->length &&
	    is_swapped(closest->wanted, name, length))
		best = SWAP_SCORE;
	if (length < closest->length || closest->length < SHORTEST_MATCH || best <= 40)
		return best;
	match = memmem(name, length, closest->wanted, closest->length);
	if (match) {
		unsigned int match_score = (match == name ? 40U : 60U);

		match_score += extra < 40 ? (unsigned int)extra : 40U;
		best = match_score < best ? match_score : best;
	}
	return best;
}

void names_closest_offer(struct names_closest *closest, const char *name)
{
	unsigned int worst = UINT32_MAX, new_score;
	size_t length = strnlen(name, LONGEST + 1), at;
	char *copy;

	if (!length || length > LONGEST || !closest->length || closest->length > LONGEST)
		return;
	if (closest->n == NAMES_CLOSEST)
		worst = closest->best[NAMES_CLOSEST - 1].score;
	new_score = score(closest, name, length, worst);
	if (new_score == UINT32_MAX || new_score > worst)
		return;
	/* Equally close names stay in alphabetical order. */
	for (at = 0; at < closest->n; at++) {
		int order = strcmp(closest->best[at].name, name);

		if (!order)
			return;
		if (closest->best[at].score > new_score ||
		    (closest->best[at].score == new_score && order > 0))
			break;
	}
	if (at == NAMES_CLOSEST)
		return;
	copy = strdup(name);
	if (!copy)
		return;
	if (closest->n == NAMES_CLOSEST)
		free(closest->best[--closest->n].name);
	memmove(&closest->best[at + 1], &closest->best[at],
		(closest->n - at) * sizeof(*closest->best));
	closest->best[at].name = copy;
	closest->best[at].score = new_score;
	closest->n++;
}

void names_closest_hint(const struct names_closest *closest, const char *prefix,
			const char *otherwise)
{
	char list[NAMES_CLOSEST * (2 * SHOWN + 8)] = "";

	for (size_t i = 0; i < closest->n; i++) {
		const char *name = closest->best[i].name;

		text_append(list, sizeof(list), "%s%.*s%.*s%s", i ? ", " : "", SHOWN, prefix, SHOWN,
			    name, strlen(name) > SHOWN ? "..." : "");
	}
	if (*list)
		log_hint("similar names: %s", list);
	else if (otherwise)
		log_hint("%s", otherwise);
}

void names_closest_clear(struct names_closest *closest)
{
	for (size_t i = 0; i < closest->n; i++)
		free(closest->best[i].name);
	closest->n = 0;
}

/* --- Sorted collections of names --- */

int entries_add(struct entries *entries, const char *text, uint64_t address, bool flag)
{
	size_t length = strlen(text) + 1, bytes = length + 2 * sizeof(struct names_entry);
	struct names_entry *entry;

	if (bytes > ENTRIES_MAX - entries->bytes) {
		entries->incomplete = true;
		return 0;
	}
	if (ARRAY_GROW(entries->all, entries->n, entries->capacity))
		return -ENOMEM;
	entry = &entries->all[entries->n];
	*entry = (struct names_entry){ .text = strdup(text), .address = address, .flag = flag };
	if (!entry->text)
		return -ENOMEM;
	entries->n++;
	entries->bytes += bytes;
	return 0;
}

static int entry_compare(const void *a, const void *b)
{
	const struct names_entry *left = a, *right = b;

	return strcmp(left->text, right->text) ?: ORDER(left->address, right->address);
}

void entries_sort(struct entries *entries)
{
	ARRAY_SORT(entries->all, entries->n, entry_compare);
}

size_t entries_end(const struct entries *entries, size_t first)
{
	size_t end = first + 1;

	while (end < entries->n && !strcmp(entries->all[first].text, entries->all[end].text))
		end++;
	return end;
}

void entries_clear(struct entries *entries)
{
	for (size_t i = 0; i < entries->n; i++)
		free(entries->all[i].text);
	free(entries->all);
	*entries = (struct entries){ .n = 0 };
}
