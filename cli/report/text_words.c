/* SPDX-License-Identifier: Apache-2.0 */
#include "text_words.h"

#include <stdio.h>

#include "../escape.h"
#include "../syscall_names.h"

static const char *const state_names[LEDGER_STATES] = {
	[LEDGER_USER] = "running user",
	[LEDGER_KERNEL] = "running kernel",
	[LEDGER_HARDIRQ] = "hard irq",
	[LEDGER_SOFTIRQ] = "soft irq",
	[LEDGER_READY_WOKEN] = "ready after wakeup",
	[LEDGER_READY_PREEMPTED] = "ready after preemption",
	[LEDGER_BLOCKED] = "blocked interruptible",
	[LEDGER_BLOCKED_UNINT] = "blocked uninterruptible",
	[LEDGER_STOPPED] = "stopped",
};

const char *text_state(enum ledger_state state)
{
	return state_names[state];
}

const char *text_call(const struct sample *sample, uint32_t number, char buffer[static 32])
{
	const char *name = sample->foreign_calls ? NULL : syscall_name(number);

	if (name)
		return name;
	snprintf(buffer, 32, "[unknown: %u]", number);
	return buffer;
}

/* No character has more columns than bytes. */
size_t text_foreign(struct columns *columns, const char *text, size_t length, size_t width)
{
	char escaped[ESCAPE_SIZE(sizeof(((struct irq_row *)0)->name))];
	size_t room = width < sizeof(escaped) ? width + 1 : sizeof(escaped);

	escape_text(escaped, room, text, length);
	columns_add(columns, escaped);
	return escape_width(escaped);
}

void text_thread_name(struct columns *columns, const struct sample *sample,
		      const char name[static KD_COMM_LEN], pid_t tid)
{
	char unknown[64];

	if (name[0]) {
		columns_pad(columns, text_foreign(columns, name, KD_COMM_LEN, SIZE_MAX), 16);
		return;
	}
	if (tid)
		snprintf(unknown, sizeof(unknown), "<unknown:%d/%d>", (int)sample->pid, (int)tid);
	else
		snprintf(unknown, sizeof(unknown), "<unknown:%d/*>", (int)sample->pid);
	columns_left(columns, unknown, 16);
}
