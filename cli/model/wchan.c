/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "wchan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "words.h"

const char *const wchan_cause_keys[WCHAN_CAUSES] = { WCHAN_CAUSE_WORDS(WORD_KEY) };

static const struct wchan wchans[] = {
#include "wchan_table.inc" /* by wait_table.sh, sorted by function and caller */
};

#define WCHANS (sizeof(wchans) / sizeof(wchans[0]))

size_t function_name_length(const char *name)
{
	static const char *const added[] = {
		".isra.", ".part.", ".constprop.", ".cold", ".lto_priv.", ".llvm.", ".__uniq.",
	};
	size_t length = name ? strcspn(name, "(<+ @") : 0;

	for (size_t i = 0; i < sizeof(added) / sizeof(*added) && length; i++) {
		const char *found = memmem(name, length, added[i], strlen(added[i]));

		length = found ? (size_t)(found - name) : length;
	}
	return length;
}

int function_name_order(const char *name, const char *in_table)
{
	size_t length = function_name_length(name);
	int order = strncmp(name, in_table, length);

	return order ? order : -(in_table[length] != '\0');
}

static int order_of_rows(const void *key, const void *row)
{
	const struct wchan *wanted = key, *it = row;
	int order = function_name_order(wanted->function, it->function);

	return order ? order : function_name_order(wanted->caller, it->caller ? it->caller : "");
}

/* Row of exactly this caller, "" for that of any; NULL: none. */
static const struct wchan *row_of(const char *function, const char *caller)
{
	struct wchan key = { .function = function, .caller = caller };

	return bsearch(&key, wchans, WCHANS, sizeof(wchans[0]), order_of_rows);
}

/* What called it, of a name "A<B"; else the next name, or "". */
static const char *caller_of(const char *const *names, size_t n, size_t i)
{
	const char *caller = strchr(names[i], '<');

	if (caller)
		return caller + 1;
	return i + 1 < n && names[i + 1] ? names[i + 1] : "";
}

void wchan_name(char *name, size_t size, const char *function, const struct wchan *row)
{
	const int length = (int)function_name_length(function);
	const char *caller = row && row->caller ? row->caller : NULL;

	snprintf(name, size, "%.*s%s%s", length, function, caller ? "<" : "", caller ?: "");
}

const struct wchan *wchan_find(const char *const *names, size_t n, size_t *at)
{
	size_t ignored;

	at = at ? at : &ignored;
	*at = n;
	for (size_t i = 0; i < n; i++) {
		const struct wchan *row = NULL;

		if (!function_name_length(names[i]))
			continue;
		if (function_name_length(caller_of(names, n, i)))
			row = row_of(names[i], caller_of(names, n, i));
		if (!row)
			row = row_of(names[i], "");
		if (row && row->cause == WCHAN_THROUGH)
			continue;
		if (row || *at == n)
			*at = i;
		if (row)
			return row;
	}
	return NULL;
}

size_t wchan_function_length(const char *name, size_t size)
{
	const size_t length = strnlen(name, size);
	const char *caller = memchr(name, '<', length);

	return caller ? (size_t)(caller - name) : length;
}

const struct wchan *wchan_of(const char *name)
{
	return wchan_find(&name, 1, NULL);
}
