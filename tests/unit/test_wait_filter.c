/* SPDX-License-Identifier: Apache-2.0 */
/* Which waits a filter lets pass. */
#include <string.h>

#include "cli/model/traces.h"
#include "tap.h"

static const struct {
	const char *words[3];
	bool others;
	uint32_t state, awaited;
	bool passes;
} cases[] = {
	{ { "lock" }, false, KD_BLOCKED, KD_AWAITED_LOCK, true },
	{ { "lock" }, false, KD_BLOCKED_UNINT, KD_AWAITED_LOCK, true },
	{ { "lock" }, false, KD_BLOCKED, KD_AWAITED_DISK, false },
	{ { "lock", "disk" }, false, KD_BLOCKED, KD_AWAITED_DISK, true },
	{ { "lock", "disk" }, true, KD_BLOCKED, KD_AWAITED_DISK, false },
	{ { "lock", "disk" }, true, KD_BLOCKED, KD_AWAITED_PIPE, true },
	/* a state, whatever is awaited */
	{ { "blocked" }, false, KD_BLOCKED, KD_AWAITED_PIPE, true },
	{ { "blocked" }, false, KD_BLOCKED_UNINT, KD_AWAITED_PIPE, false },
	{ { "blocked*" }, false, KD_BLOCKED_UNINT, KD_AWAITED_PIPE, true },
	{ { "ready_*" }, false, KD_READY_WOKEN, 0, true },
	{ { "ready_*" }, true, KD_READY_PREEMPTED, 0, false },
	{ { "stopped" }, false, KD_STOPPED, 0, true },
	{ { "frozen" }, false, KD_FROZEN, 0, true },
	{ { "frozen" }, false, KD_STOPPED, 0, false },
	/* in other states nothing is awaited */
	{ { "other" }, false, KD_READY_WOKEN, KD_AWAITED_OTHER, false },
	{ { "other" }, true, KD_READY_WOKEN, KD_AWAITED_OTHER, true },
	{ { "other" }, false, KD_BLOCKED, KD_AWAITED_OTHER, true },
	{ { "*" }, false, KD_BLOCKED, KD_AWAITED_WORK, true },
	{ { "*" }, false, KD_READY_WOKEN, 0, true },
	/* what no kernel side says */
	{ { "lock" }, false, KD_BLOCKED, KD_AWAITED_KINDS, false },
	{ { "lock" }, false, KD_STATES, 0, false },
	{ { NULL }, false, KD_BLOCKED, KD_AWAITED_LOCK, false },
	{ { NULL }, true, KD_BLOCKED, KD_AWAITED_LOCK, true },
};

TEST(passes)
{
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct trace_row row = { .kind = TRACE_WAIT,
					 .state = cases[i].state,
					 .awaited = cases[i].awaited };
		struct wait_filter filter = { .others = cases[i].others };

		for (size_t k = 0; k < COUNT(cases[i].words) && cases[i].words[k]; k++)
			ok(wait_filter_add(&filter, cases[i].words[k]), "case %zu: %s", i,
			   cases[i].words[k]);
		ok(wait_filter_passes(&filter, &row) == cases[i].passes, "case %zu", i);
	}
}

TEST(words)
{
	static const char *const wrong[] = {
		"", "user", "softirq", "locks", "Lock", "lock ", "x*"
	};
	struct wait_filter filter = { .others = false };
	const char *word;
	size_t n = 0;

	for (; (word = wait_filter_word(n)); n++)
		ok(wait_filter_add(&filter, word), "%s is a word", word);
	is_u64(n, 6 + KD_AWAITED_KINDS, "so many words");
	for (size_t i = 0; i < COUNT(wrong); i++)
		ok(!wait_filter_add(&filter, wrong[i]), "'%s' is none", wrong[i]);
}
