/* SPDX-License-Identifier: Apache-2.0 */
#include "words.h"

#include <stddef.h>

#include "culprit.h"
#include "faulted.h"
#include "interruption.h"

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

const char *const awaited_keys[KD_AWAITED_KINDS] = { AWAITED_WORDS(WORD_KEY) };
const char *const awaited_titles[KD_AWAITED_KINDS] = { AWAITED_WORDS(WORD_TITLE) };
const char *const lock_keys[KD_LOCK_KINDS] = { LOCK_WORDS(WORD_KEY) };
const char *const from_keys[KD_FROM_CONTEXTS] = { FROM_WORDS(WORD_KEY) };
const char *const outcome_titles[KD_OUTCOMES] = { OUTCOME_WORDS(WORD_TITLE) };

const char *const role_keys[KD_ROLES] = {
	[KD_START] = "start",
	[KD_STOP] = "stop",
};

const char *const softirq_names[SOFTIRQS] = { "hi",       "timer",   "net_tx", "net_rx",  "block",
					      "irq_poll", "tasklet", "sched",  "hrtimer", "rcu" };

const char *const disk_limit_keys[DISK_LIMIT_KINDS] = { DISK_LIMIT_WORDS(WORD_KEY) };
const char *const faulted_keys[FAULTED_SORTS] = { FAULTED_WORDS(WORD_KEY) };
const char *const faulted_words[FAULTED_SORTS] = { FAULTED_WORDS(WORD_TITLE) };
const char *const cpu_by_keys[CPU_BY_KINDS] = { CPU_BY_WORDS(WORD_KEY) };
const char *const disk_limit_words[DISK_LIMIT_KINDS] = { DISK_LIMIT_WORDS(WORD_TITLE) };
const char *const io_keys[KD_IO_KINDS] = { IO_WORDS(WORD_KEY) };
const char *const io_titles[KD_IO_KINDS] = { IO_WORDS(WORD_TITLE) };

const char *const culprit_kinds[CULPRIT_KINDS] = { CULPRIT_WORDS(WORD_KEY) };
const char *const interruption_keys[INTERRUPTION_CAUSES] = { INTERRUPTION_WORDS(WORD_KEY) };
const char *const interruption_titles[INTERRUPTION_CAUSES] = { INTERRUPTION_WORDS(WORD_TITLE) };
