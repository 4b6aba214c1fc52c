/* SPDX-License-Identifier: Apache-2.0 */
#include "slow_calls.h"

#include "cli/base/arith.h"

/* How long it slept in a call. Where the call is not all in the window, the sleep may be. */
static uint64_t asleep_in(const struct sample *sample, const struct trace_row *row)
{
	const uint64_t ns = trace_duration(&sample->traces, row, sample->end);
	const uint64_t end = row->end ? u64_min(row->end, sample->end) : sample->end;
	const uint64_t asleep = row->timed ? u64_sub(ns, u64_add(row->ran, row->ready))
					   : row->waited;

	return u64_min(asleep, u64_sub(end, u64_max(row->start, sample->start)));
}

static void slow_add(struct slow_calls *slow, int32_t call, uint64_t ns)
{
	size_t i = 0;

	while (i < slow->n && slow->all[i].call != call)
		i++;
	if (i == SLOW_CALLS)
		return;
	if (i == slow->n)
		slow->all[slow->n++] = (struct slow_call){ .call = call };
	slow->all[i].ns = u64_add(slow->all[i].ns, ns);
}

void slow_calls_of(struct slow_calls *slow, const struct sample *sample,
		   const struct thread_row *thread)
{
	const struct trace_list *list = &sample->traces;

	slow->n = 0;
	for (size_t i = 0; i < list->n && list->calls_chosen && thread->members == 1; i++)
		if (list->rows[i].kind == TRACE_CALL && list->rows[i].tid == thread->tid)
			slow_add(slow, list->rows[i].call, asleep_in(sample, &list->rows[i]));
}

uint64_t slow_calls_take(struct slow_calls *slow, int32_t call, uint64_t ns)
{
	for (size_t i = 0; i < slow->n; i++)
		if (slow->all[i].call == call) {
			ns = u64_min(ns, slow->all[i].ns);
			slow->all[i].ns -= ns;
			return ns;
		}
	return 0;
}
