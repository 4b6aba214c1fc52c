// SPDX-License-Identifier: Apache-2.0
#include "figures.h"

#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/syscall_set.h"
#include "culprit.h"
#include "field.h"
#include "rows.h"
#include "words.h"

/* Into a name of zeros. */
static void name_set(struct figures *figures, const char *name, size_t size)
{
	memcpy(figures->name, name,
	       strnlen(name, size < sizeof(figures->name) ? size : sizeof(figures->name) - 1));
}

static void count_set(struct figures *figures, const char *name, const struct kd_count *count)
{
	*figures = (struct figures){ .count = count->count, .total = count->total };
	figures->complete.max = count->max;
	name_set(figures, name, sizeof(figures->name));
}

bool figures_of_period(const struct figures_source *source, const struct thread_row *thread,
		       size_t i, struct figures *figures)
{
	const struct kd_span period = thread_period(thread, source->of);

	*figures = (struct figures){ .count = period.count,
				     .total = period.total,
				     .complete = complete_period(thread, source->of) };
	return !i;
}

bool figures_of_call(const struct figures_source *source, const struct thread_row *thread, size_t i,
		     struct figures *figures)
{
	const struct call_row *call;
	const char *name;

	(void)source;
	if (i >= thread->n_calls)
		return false;
	call = &thread->calls[i];
	*figures = (struct figures){ .count = call->count,
				     .total = call->total,
				     .complete = complete_call(thread, call) };
	name = syscall_name(call->number);
	if (name)
		name_set(figures, name, sizeof(figures->name));
	return true;
}

bool figures_of_culprit(const struct figures_source *source, const struct thread_row *thread,
			size_t i, struct figures *figures)
{
	const struct culprit *culprit;
	char name[CULPRIT_NAME_LEN];

	(void)source;
	if (i >= thread->n_culprits)
		return false;
	culprit = &thread->culprits[i];
	count_set(figures, culprit_name(culprit, name),
		  &(struct kd_count){ .total = culprit_ns(culprit), .max = culprit->longest_ns });
	return true;
}

bool figures_of_awaited(const struct figures_source *source, const struct thread_row *thread,
			size_t i, struct figures *figures)
{
	(void)source;
	if (i >= KD_AWAITED_KINDS)
		return false;
	count_set(figures, awaited_keys[i], &thread->ledger.awaited[i]);
	figures->count = u64_sub(figures->count, thread->ledger.asleep[i].count);
	figures->complete.open = thread->ledger.asleep[i].max;
	return true;
}

bool figures_of_interruption(const struct figures_source *source, const struct thread_row *thread,
			     size_t i, struct figures *figures)
{
	(void)source;
	count_set(figures, "", &thread_interrupted(thread)[INTERRUPTION_CAUSES].count);
	return !i;
}

bool figures_of_cause(const struct figures_source *source, const struct thread_row *thread,
		      size_t i, struct figures *figures)
{
	(void)source;
	if (i >= INTERRUPTION_CAUSES)
		return false;
	count_set(figures, interruption_keys[i], &thread_interrupted(thread)[i].count);
	return true;
}

bool figures_of_io(const struct figures_source *source, const struct thread_row *thread, size_t i,
		   struct figures *figures)
{
	const struct kd_io *io;

	if (i >= KD_IO_KINDS)
		return false;
	io = (const struct kd_io *)((const char *)&thread_io(thread)[i] + source->of);
	*figures = (struct figures){ .count = io->calls, .bytes = io->bytes };
	name_set(figures, io_keys[i], sizeof(figures->name));
	return true;
}

bool figures_of_list(const struct figures_source *source, const struct thread_row *thread, size_t i,
		     struct figures *figures)
{
	const struct row_list *list = source->list;
	const struct field *field = thread_fields;
	struct row_figures has;
	const char *row;
	size_t n;

	while (field->list != list)
		field++;
	row = row_list_of(field, thread, &n);
	if (i >= n)
		return false;
	row += i * list->size;
	has = row_figures(list, row);
	count_set(figures, "", &(struct kd_count){ has.count, has.total, has.max, 0 });
	figures->bytes = has.bytes;
	for (field = list->fields; field->key && !*figures->name; field++)
		if (field->kind == FIELD_NAME)
			name_set(figures, row + field->at, field->size);
	return true;
}

bool figures_of_events(const struct figures_source *source, const struct thread_row *thread,
		       size_t i, struct figures *figures)
{
	count_set(figures, "", (const struct kd_count *)((const char *)thread + source->of));
	return !i;
}

bool figures_of_counter(const struct figures_source *source, const struct thread_row *thread,
			size_t i, struct figures *figures)
{
	*figures = (struct figures){ 0 };
	memcpy(&figures->count, (const char *)thread + source->of, sizeof(figures->count));
	figures->total = figures->count;
	return !i;
}
