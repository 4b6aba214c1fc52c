/* SPDX-License-Identifier: Apache-2.0 */
#include "whole.h"

#include "cli/base/arith.h"

static void max_join(struct whole *whole, const struct open_item *item)
{
	if (item->longest <= whole->max)
		return;
	whole->max = item->longest;
	whole->max_open = item->at_end;
}

/* Of what has the given kind and number. total, max: as the tables have them. */
static struct whole whole_of(const struct thread_row *thread, enum open_kind kind, int32_t number,
			     const struct distribution *times, uint64_t total, uint64_t max)
{
	struct whole whole = { .max = max, .total = total, .times = { .ended = times } };

	for (size_t i = 0; i < thread->n_open; i++) {
		const struct open_item *item = &thread->open[i];

		if (item->kind != kind || (kind == OPEN_CALL && item->number != number))
			continue;
		if (!item->at_end) {
			whole.total = u64_add(whole.total, item->length);
			max_join(&whole, item);
		} else if (kind != OPEN_ROUND) {
			max_join(&whole, item);
			whole.times.open = u64_add(whole.times.open, item->count);
			whole.open = item->longest > whole.open ? item->longest : whole.open;
		}
	}
	whole.times.open_max = whole.open;
	whole.times.max = whole.max;
	return whole;
}

struct whole whole_period(const struct thread_row *thread, enum open_kind kind)
{
	static const struct distribution none;
	const struct kd_span period = thread_period(thread, kind);
	const struct distribution *times = kind == OPEN_RUN     ? &thread->run_times
					   : kind == OPEN_READY ? &thread->ready_times
								: &none;
	struct whole whole = whole_of(thread, kind, KD_CALL_UNKNOWN, times, period.total,
				      period.max);

	/* Others may be shorter. */
	if (kind == OPEN_RUN && whole.total == period.total && !whole.times.open)
		whole.times.min = period.min;
	return whole;
}

struct whole whole_call(const struct thread_row *thread, const struct call_row *call)
{
	return whole_of(thread, OPEN_CALL, (int32_t)call->number, &call->times, call->total,
			call->max);
}
