// SPDX-License-Identifier: Apache-2.0
/* Who had the locks that a thread waited for. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/base/arith.h"
#include "cli/base/parse.h"
#include "cli/model/words.h"
#include "text_parts.h"
#include "text_words.h"

#define INDENT TEXT_INDENT

static void lock_who(struct text *text, pid_t tid, const char name[static KD_COMM_LEN])
{
	struct columns *columns = &text->columns;

	if (!tid) {
		columns_left(columns, "-", 27);
		return;
	}
	columns_count(columns, (uint64_t)tid, 10);
	columns_add(columns, " ");
	columns_pad(columns, columns_foreign(columns, name, KD_COMM_LEN, 16), 16);
}

static void lock_share(struct columns *columns, uint64_t part, uint64_t whole, const char *what)
{
	char percent[NUMBER_LEN];

	number_percent(percent, part, whole);
	columns_add(columns, what);
	columns_add(columns, percent);
	columns_add(columns, " %");
}

/* The variable that it is. */
static void lock_place(struct columns *columns, const struct data_place *is)
{
	if (!*is->object)
		return;
	columns_add(columns, INDENT "    is ");
	if (*is->object == '[') {
		columns_add(columns, "in ");
		columns_foreign(columns, is->object, sizeof(is->object), SIZE_MAX);
		columns_add(columns, "\n");
		return;
	}
	if (*is->symbol)
		columns_foreign(columns, is->symbol, sizeof(is->symbol), SIZE_MAX);
	else
		columns_add(columns, "at ");
	if (is->offset || !*is->symbol) {
		columns_add(columns, *is->symbol ? "+" : "");
		columns_hex(columns, is->offset);
	}
	columns_add(columns, " [");
	columns_foreign(columns, is->object, sizeof(is->object), SIZE_MAX);
	columns_add(columns, "]\n");
}

/* What the holder did, where one is known. */
static void lock_meanwhile(struct text *text, const struct lock_row *lock)
{
	struct columns *columns = &text->columns;
	const struct kd_doing *doing = &lock->meanwhile;
	const uint64_t total = lock->waits.total;
	char buffer[TEXT_CALL];

	/* Of a thread that is not followed it is not known. */
	const bool known = doing->running + doing->ready + doing->asleep;

	if (!known && lock->holder && lock->holder_pid) {
		columns_add(columns, INDENT "    held by process ");
		columns_count(columns, (uint64_t)lock->holder_pid, 0);
		columns_add(columns, ", of which this report knows no more\n");
	}
	if (!known || !lock->holder)
		return;
	columns_add(columns, INDENT "    meanwhile ");
	if (!columns_foreign(columns, lock->holder_name, KD_COMM_LEN, KD_COMM_LEN))
		columns_add(columns, "it");
	lock_share(columns, doing->running, total, " ran ");
	lock_share(columns, doing->ready, total, ", was ready without a CPU ");
	lock_share(columns, doing->asleep, total, ", slept ");
	if (doing->asleep && lock->slept_in >= 0) {
		columns_add(columns, ", last in ");
		columns_add(columns, text_call(text->sample, (uint32_t)lock->slept_in, buffer));
	}
	if (lock->others) {
		columns_add(columns, "; ");
		columns_ns(columns, lock->others, 0);
		columns_add(columns, " ended by others who had it in between");
	}
	columns_add(columns, "\n");
}

void text_locks(struct text *text, const struct thread_row *thread)
{
	struct columns *columns = &text->columns;
	const struct text_list list = TEXT_LIST(thread->locks, thread->n_locks, waits,
						thread->ledger.life);
	/* Each takes two lines or three. */
	const struct text_cut cut = text_cut(text, &list, TEXT_BRIEF_ROWS / 2);

	if (!text_has_lines(&cut, &list))
		return;
	text_section(text, "[THREAD LOCK STATISTICS]",
		     "LOCK               KIND               HELD BY                          COUNT"
		     "          TOTAL ns            MAX ns  RELEASED BY");
	for (size_t i = 0; i < cut.shown; i++) {
		const struct lock_row *lock = &thread->locks[i];
		char address[19];

		snprintf(address, sizeof(address), "0x%" PRIx64, lock->address);
		columns_add(columns, INDENT);
		columns_left(columns, lock->address ? address : "others", 18);
		columns_add(columns, " ");
		columns_left(columns, lock_keys[lock->kind], 18);
		columns_add(columns, " ");
		lock_who(text, lock->holder, lock->holder_name);
		columns_gap_count(columns, lock->waits.count, 10);
		columns_gap_ns(columns, lock->waits.total, 16);
		columns_gap_ns(columns, lock->waits.max, 16);
		columns_add(columns, "  ");
		if (lock->released_by) {
			columns_count(columns, (uint64_t)lock->released_by, 0);
			columns_add(columns, " ");
			columns_foreign(columns, lock->released_name, KD_COMM_LEN, KD_COMM_LEN);
		} else {
			columns_add(columns, "-");
		}
		columns_add(columns, "\n");
		lock_place(columns, &lock->is);
		if (*lock->called_from) {
			columns_add(columns, INDENT "    longest wait in ");
			columns_foreign(columns, lock->called_from, sizeof(lock->called_from),
					SIZE_MAX);
			columns_add(columns, "\n");
		}
		lock_meanwhile(text, lock);
	}
	text_others(text, &cut, 18 + 1 + 18 + 1 + 27);
}
