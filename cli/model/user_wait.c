/* SPDX-License-Identifier: Apache-2.0 */
#include "user_wait.h"

#include <stdlib.h>
#include <string.h>

static const struct user_wait user_waits[] = {
#include "user_wait_table.inc" /* by wait_table.sh, sorted by function and kind */
};

#define USER_WAITS (sizeof(user_waits) / sizeof(user_waits[0]))

/* Frames from one general function, or from the innermost, to another one that calls it, and to any
 * other that does. */
#define NEAR_GENERAL 4
#define NEAR_OTHER 16

static int order_of_rows(const void *key, const void *row)
{
	const struct user_wait *wanted = key, *it = row;
	int order = function_name_order(wanted->function, it->function);

	return order ? order : strcmp(wchan_cause_keys[wanted->kind], wchan_cause_keys[it->kind]);
}

/* Row of exactly this kind; NULL: none. */
static const struct user_wait *row_of(const char *function, enum wchan_cause kind)
{
	const struct user_wait key = { .function = function, .kind = kind };

	return bsearch(&key, user_waits, USER_WAITS, sizeof(user_waits[0]), order_of_rows);
}

const struct user_wait *user_wait_of(const char *function, enum wchan_cause kind)
{
	if (!function_name_length(function))
		return NULL;
	return row_of(function, kind) ?: row_of(function, WCHAN_THROUGH);
}

const struct user_wait *user_wait_find(const char *const *functions, size_t n,
				       enum wchan_cause kind, size_t *at)
{
	const struct user_wait *found = NULL;

	for (size_t i = 0; i < n && (!found || i - *at <= NEAR_OTHER); i++) {
		const struct user_wait *row = user_wait_of(functions[i], kind);

		if (!row || (row->general && i - (found ? *at : 0) > NEAR_GENERAL))
			continue;
		found = row;
		*at = i;
		if (!row->general)
			return row;
	}
	return found;
}

enum wchan_cause user_wait_kind(const struct descriptor_row *row)
{
	const struct wchan *wchan = wchan_of(row->wchan);

	if (row->shorter || descriptor_row_is_others(row))
		return WCHAN_THROUGH;
	/* Data from another process: an answer, or more work? */
	if (wchan && wchan->cause == WCHAN_IDLE &&
	    (row->awaited == KD_AWAITED_SOCKET || row->awaited == KD_AWAITED_PIPE))
		return WCHAN_POLL;
	if (wchan)
		return wchan->cause == WCHAN_FUTEX || wchan->cause == WCHAN_POLL ||
				       wchan->cause == WCHAN_TIME
			       ? wchan->cause
			       : WCHAN_THROUGH;
	return row->awaited == KD_AWAITED_LOCK && row->is.fd < 0 ? WCHAN_FUTEX
	       : row->awaited == KD_AWAITED_TIMER                ? WCHAN_TIME
								 : WCHAN_THROUGH;
}

const struct user_wait *user_wait_of_sleep(const struct descriptor_row *row)
{
	enum wchan_cause kind = *row->user_function ? user_wait_kind(row) : WCHAN_THROUGH;

	return kind == WCHAN_THROUGH ? NULL : user_wait_of(row->user_function, kind);
}
