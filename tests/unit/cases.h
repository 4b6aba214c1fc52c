/* SPDX-License-Identifier: Apache-2.0 */
/* Many short cases in one string, "INPUT = OUTPUT|INPUT = OUTPUT", each compared with what a
 * function makes of its input. */
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

__attribute__((unused)) static void
cases_check(const char *cases, const char *(*function)(const char *input), const char *what)
{
	char one[CASE_LEN];

	while (case_next(&cases, one)) {
		char *want = strstr(one, " = ");

		*want = '\0';
		is_str(function(one), want + 3, "%s: '%s'", what, one);
	}
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
