// SPDX-License-Identifier: Apache-2.0
#include "excess.h"

#include <stdio.h>

#include "cli/base/parse.h"

void excess_words(char words[EXCESS_WORDS_LEN], const struct excess *excess)
{
	char value[NUMBER_LEN], whose[KD_COMM_LEN + 64] = "";
	const char *unit = excess->whole ? " %" : excess->is_time ? " ns" : "";

	if (excess->whole)
		number_percent(value, excess->value, excess->whole);
	else
		number_grouped(value, excess->value);
	if (excess->members > 1)
		snprintf(whose, sizeof(whose), " of %u threads '%.*s'", excess->members,
			 KD_COMM_LEN, excess->name);
	else if (!excess->sample && *excess->name)
		snprintf(whose, sizeof(whose), " more of '%.*s'", KD_COMM_LEN, excess->name);
	else if (excess->tid)
		snprintf(whose, sizeof(whose), " of thread %d '%.*s'", (int)excess->tid,
			 KD_COMM_LEN, excess->name);
	snprintf(words, EXCESS_WORDS_LEN, "%s%s%s%s", value, unit, excess->so_far ? " so far" : "",
		 whose);
}
