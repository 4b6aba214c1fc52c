// SPDX-License-Identifier: Apache-2.0
/* Describes rows of a critical path. */
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/parse.h"
#include "cli/base/syscall_set.h"
#include "cli/base/texts.h"
#include "critical_path.h"
#include "culprit.h"
#include "words.h"

const char *const path_choice_keys[PATH_CHOICES] = { PATH_CHOICE_WORDS(WORD_KEY) };
const char *const path_choice_texts[PATH_CHOICES] = { PATH_CHOICE_WORDS(WORD_TITLE) };
const char *const path_reason_keys[PATH_REASONS] = { PATH_REASON_WORDS(WORD_KEY) };
static const char *const path_reason_texts[PATH_REASONS] = { PATH_REASON_WORDS(WORD_TITLE) };
const char *const path_state_keys[PATH_STATES] = {
	[PATH_RUNNING] = "running", [PATH_UNKNOWN] = "unknown", LEDGER_WORDS(WORD_KEY)
};
static const char *const path_state_titles[PATH_STATES] = {
	[PATH_RUNNING] = "running", [PATH_UNKNOWN] = "not known", LEDGER_WORDS(WORD_TITLE)
};
_Static_assert((int)PATH_RUNNING == (int)LEDGER_STATES, "numbers of their own");

/* "backup[812]", "nvme0q1". */
static void who_add(char *text, const struct path_who *who)
{
	int length = (int)strnlen(who->name, sizeof(who->name));

	if (who->tid || who->pid)
		text_append(text, PATH_TEXT_LEN, "%.*s[%d]", length, who->name,
			    (int)(who->tid ? who->tid : who->pid));
	else
		text_append(text, PATH_TEXT_LEN, "%.*s", length, who->name);
}

static void call_add(char *text, int32_t call, bool foreign)
{
	const char *name = foreign ? NULL : syscall_name((uint32_t)call);

	if (call < 0)
		return;
	if (name)
		text_append(text, PATH_TEXT_LEN, " in %s", name);
	else
		text_append(text, PATH_TEXT_LEN, " in call %u", syscall_plain((uint32_t)call));
}

static void cpu_add(char *text, const struct path_who *by)
{
	static const char *const had[CULPRIT_KINDS] = {
		[CULPRIT_TASK] = ", the CPU had ",
		[CULPRIT_HARDIRQ] = ", hard irq ",
		[CULPRIT_SOFTIRQ] = ", soft irq ",
		[CULPRIT_IDLE] = ", the CPU was idle",
		[CULPRIT_STOLEN] = ", the hypervisor had the CPU",
		[CULPRIT_OWN] = ", own threads had the CPU",
		[CULPRIT_REST] = ", others had the CPU",
	};

	if (by->kind >= CULPRIT_KINDS || !had[by->kind] ||
	    (by->kind == CULPRIT_TASK && !by->tid && !by->pid && !*by->name))
		return;
	text_append(text, PATH_TEXT_LEN, "%s", had[by->kind]);
	if (by->kind <= CULPRIT_SOFTIRQ)
		who_add(text, by);
}

static void blocked_add(char *text, const struct path_row *row, bool foreign)
{
	static const char *const by[KD_FROM_CONTEXTS] = {
		[KD_FROM_UNKNOWN] = "",
		[KD_FROM_TASK] = ", ended by a thread",
		[KD_FROM_TIMER] = ", ended by a timer",
		[KD_FROM_NETWORK] = ", ended by the network",
		[KD_FROM_DISK] = ", ended by the disk",
		[KD_FROM_INTERRUPT] = ", ended by an interrupt",
	};

	if (row->awaited != KD_AWAITED_OTHER && row->awaited < KD_AWAITED_KINDS)
		text_append(text, PATH_TEXT_LEN, " for %s", awaited_titles[row->awaited]);
	call_add(text, row->call, foreign);
	if (row->by.tid) {
		text_append(text, PATH_TEXT_LEN, ", ended by ");
		who_add(text, &row->by);
	} else if (row->ended_by < KD_FROM_CONTEXTS) {
		text_append(text, PATH_TEXT_LEN, "%s", by[row->ended_by]);
	}
}

static void leg_add(char *text, const struct path_row *row, bool foreign)
{
	uint32_t state = row->state < PATH_STATES ? row->state : PATH_UNKNOWN;

	text_append(text, PATH_TEXT_LEN, "%s", path_state_titles[state]);
	switch (state) {
	case LEDGER_KERNEL:
	case LEDGER_FAULT:
	case LEDGER_RECLAIM:
		call_add(text, row->call, foreign);
		break;
	case LEDGER_HARDIRQ:
	case LEDGER_SOFTIRQ:
		text_append(text, PATH_TEXT_LEN, *row->by.name ? " " : "");
		who_add(text, &row->by);
		break;
	case LEDGER_READY_WOKEN:
	case LEDGER_READY_PREEMPTED:
		cpu_add(text, &row->by);
		break;
	case LEDGER_BLOCKED:
	case LEDGER_BLOCKED_UNINT:
		blocked_add(text, row, foreign);
		break;
	default:
		break;
	}
	if (row->reason && row->reason < PATH_REASONS)
		text_append(text, PATH_TEXT_LEN, ": %s", path_reason_texts[row->reason]);
}

/* Adds one state of a row; with details if most of it is alike. */
static void state_put(char *text, const struct path_row *row, size_t state, bool foreign)
{
	if (state == row->state && row->mostly > row->states[state] / 2)
		leg_add(text, row, foreign);
	else
		text_append(text, PATH_TEXT_LEN, "%s", path_state_titles[state]);
}

/* Largest state not yet written; PATH_STATES: none. */
static size_t state_largest(const struct path_row *row, const bool written[static PATH_STATES])
{
	size_t most = PATH_STATES;

	for (size_t i = 0; i < PATH_STATES; i++)
		if (!written[i] && row->states[i] &&
		    (most == PATH_STATES || row->states[i] > row->states[most]))
			most = i;
	return most;
}

/* Most states of a row that are written, and the smallest. */
#define PARTS_MOST 3
#define SHARE_LEAST 2 /* percent */
static void states_put(char *text, const struct path_row *row, bool foreign)
{
	bool written[PATH_STATES] = { false };
	uint64_t total = 0, least;

	for (size_t i = 0; i < PATH_STATES; i++)
		total = u64_add(total, row->states[i]);
	least = total / 100 * SHARE_LEAST;
	for (unsigned int n = 0; n < PARTS_MOST; n++) {
		size_t state = state_largest(row, written);

		if (state == PATH_STATES || (n && row->states[state] < least))
			return;
		written[state] = true;
		if (n || row->states[state] < total - least)
			text_append(text, PATH_TEXT_LEN, "%s%s ", n ? "; " : "",
				    AS_SHARE(row->states[state], total));
		state_put(text, row, state, foreign);
	}
}

const char *path_row_text(const struct path_row *row, bool foreign, char buffer[PATH_TEXT_LEN])
{
	*buffer = '\0';
	if (row->legs > 1)
		states_put(buffer, row, foreign);
	else
		leg_add(buffer, row, foreign);
	return buffer;
}
