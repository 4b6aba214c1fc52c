/* SPDX-License-Identifier: Apache-2.0 */
/* Many short cases in one string, "INPUT = OUTPUT|INPUT|INPUT = OUTPUT", each compared with what a
 * function makes of its input. An INPUT without an OUTPUT has that of the next one. */
#ifndef TESTS_UNIT_CASES_H
#define TESTS_UNIT_CASES_H

#include <string.h>

#include "tap.h"

#define CASE_LEN 512

/* Copies what is up to the next '|', and moves on behind it. Returns false at the end. */
static bool case_next(const char **cases, char one[static CASE_LEN])
{
	size_t length;

	if (!*cases)
		return false;
	length = strcspn(*cases, "|");
	snprintf(one, CASE_LEN, "%.*s", (int)length, *cases);
	*cases = (*cases)[length] ? *cases + length + 1 : NULL;
	return true;
}

static bool case_is(const char *got, const char *want)
{
	return got && !strcmp(got, want);
}

__attribute__((unused)) static bool case_has(const char *got, const char *want)
{
	return got && strstr(got, want);
}

__attribute__((unused)) static void cases_compare(const char *cases,
						  bool (*right)(const char *got, const char *want),
						  const char *(*function)(const char *input),
						  const char *what)
{
	char one[CASE_LEN], want[CASE_LEN];

	while (case_next(&cases, one)) {
		char *end = strstr(one, " = ");
		const char *next = end ? end : cases ? strstr(cases, " = ") : "    ";

		snprintf(want, sizeof(want), "%.*s", (int)strcspn(next + 3, "|"), next + 3);
		if (end)
			*end = '\0';
		ok(right(next = function(one), want), "%s: '%s'", what, one);
		if (tap_explains(right(next, want))) {
			tap_print_string(" got", next);
			tap_print_string("want", want);
		}
	}
}

__attribute__((unused)) static void
cases_check(const char *cases, const char *(*function)(const char *input), const char *what)
{
	cases_compare(cases, case_is, function, what);
}

/* All inputs of "INPUT|INPUT" have the same output. */
__attribute__((unused)) static void cases_same(const char *inputs, const char *want,
					       const char *(*function)(const char *input),
					       const char *what)
{
	char one[CASE_LEN];

	while (case_next(&inputs, one))
		is_str(function(one), want, "%s: '%s'", what, one);
}

#endif
