// SPDX-License-Identifier: Apache-2.0
#include "critical_path.h"

#include <stdlib.h>
#include <string.h>

#include "words.h"

#define KEY(name, key, text) [name] = (key),
#define TEXT(name, key, text) [name] = (text),
const char *const path_choice_keys[PATH_CHOICES] = { PATH_CHOICE_WORDS(KEY) };
const char *const path_choice_texts[PATH_CHOICES] = { PATH_CHOICE_WORDS(TEXT) };
const char *const path_reason_keys[PATH_REASONS] = { PATH_REASON_WORDS(KEY) };
const char *const path_reason_texts[PATH_REASONS] = { PATH_REASON_WORDS(TEXT) };

#define STATE_KEY(state, key, ...) [state] = (key),
#define STATE_TITLE(state, key, title, ...) [state] = (title),
const char *const path_state_keys[PATH_STATES] = { LEDGER_WORDS(STATE_KEY)[PATH_UNKNOWN] =
							   "unknown" };
const char *const path_state_titles[PATH_STATES] = { LEDGER_WORDS(STATE_TITLE)[PATH_UNKNOWN] =
							     "not known" };
_Static_assert((int)PATH_UNKNOWN == (int)LEDGER_STATES, "a part for each state");

void critical_path_clear(struct critical_path *path)
{
	free(path->rows);
	memset(path, 0, sizeof(*path));
}
