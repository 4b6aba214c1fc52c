/* SPDX-License-Identifier: Apache-2.0 */
#include "words.h"

#include <stddef.h>

#include "culprit.h"

#define LEDGER_ROW(state, key_, title_, of_, ...)                                                  \
	[state] = { .key = (key_), .title = (title_), .of = (of_), __VA_ARGS__ },
const struct ledger_words ledger_words[LEDGER_STATES] = { LEDGER_WORDS(LEDGER_ROW) };

const struct ledger_words *ledger_words_of(uint32_t state)
{
	for (size_t i = 0; state != KD_UNSEEN && i < LEDGER_STATES; i++)
		if (ledger_words[i].of == state)
			return &ledger_words[i];
	return NULL;
}

#define PERIOD_ROW(kind, key, label) [kind] = { key, label },
const struct period_words period_words[OPEN_KINDS] = { PERIOD_WORDS(PERIOD_ROW, PERIOD_ROW) };

#define AWAITED_ROW(kind, key, title) [kind] = { key, title },
const struct awaited_words awaited_words[KD_AWAITED_KINDS] = { AWAITED_WORDS(AWAITED_ROW) };

#define AWAITED_KEY(kind, key, title) [kind] = (key),
const char *const awaited_keys[KD_AWAITED_KINDS] = { AWAITED_WORDS(AWAITED_KEY) };

#define LOCK_ROW(kind, key) [kind] = (key),
const char *const lock_keys[KD_LOCK_KINDS] = { LOCK_WORDS(LOCK_ROW) };

#define FROM_ROW(from, key) [from] = (key),
const char *const from_keys[KD_FROM_CONTEXTS] = { FROM_WORDS(FROM_ROW) };

#define OUTCOME_ROW(outcome, key, title) [outcome] = { key, title },
const struct outcome_words outcome_words[KD_OUTCOMES] = { OUTCOME_WORDS(OUTCOME_ROW) };

const char *const role_keys[KD_ROLES] = {
	[KD_START] = "start",
	[KD_STOP] = "stop",
};

const char *const softirq_names[SOFTIRQS] = { "hi",       "timer",   "net_tx", "net_rx",  "block",
					      "irq_poll", "tasklet", "sched",  "hrtimer", "rcu" };

#define DISK_LIMIT_KEY(kind, key, words) [kind] = (key),
#define DISK_LIMIT_WORD(kind, key, words) [kind] = (words),
const char *const disk_limit_keys[DISK_LIMIT_KINDS] = { DISK_LIMIT_WORDS(DISK_LIMIT_KEY) };
const char *const disk_limit_words[DISK_LIMIT_KINDS] = { DISK_LIMIT_WORDS(DISK_LIMIT_WORD) };

#define IO_KEY(kind, key, title) [kind] = (key),
#define IO_TITLE(kind, key, title) [kind] = (title),
const char *const io_keys[KD_IO_KINDS] = { IO_WORDS(IO_KEY) };
const char *const io_titles[KD_IO_KINDS] = { IO_WORDS(IO_TITLE) };
