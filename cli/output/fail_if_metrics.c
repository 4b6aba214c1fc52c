/* SPDX-License-Identifier: Apache-2.0 */
#include "fail_if_metrics.h"

#include <stdio.h>

#include "cli/base/arith.h"
#include "cli/base/names.h"
#include "cli/base/syscall_set.h"
#include "cli/model/losses.h"
#include "cli/model/resource.h"
#include "cli/model/rows.h"
#include "cli/model/thread_fields.h"
#include "cli/model/thread_row.h"
#include "cli/model/words.h"

#define HAS FAIL_HAS
#define RUNNING                                                                                    \
	(HAS(LEDGER_USER) | HAS(LEDGER_KERNEL) | HAS(LEDGER_FAULT) | HAS(LEDGER_RECLAIM) |         \
	 HAS(LEDGER_HARDIRQ) | HAS(LEDGER_SOFTIRQ))
#define READY (HAS(LEDGER_READY_WOKEN) | HAS(LEDGER_READY_PREEMPTED) | HAS(LEDGER_THROTTLED))
#define SHARE (HAS(FAIL_TOTAL) | HAS(FAIL_PCT))
#define SHARES                                                                                     \
	(HAS(FAIL_SHARES) | HAS(FAIL_SHARES + 1) | HAS(FAIL_SHARES + 2) | HAS(FAIL_SHARES + 3))
#define TIMES (HAS(FAIL_COUNT) | HAS(FAIL_TOTAL) | HAS(FAIL_MAX))
#define ALL (TIMES | SHARE)
#define VALUE HAS(FAIL_VALUE)

#define METRIC(text, of, has, ...)                                                                 \
	{                                                                                          \
		.name = (text), .kind = (of), .fields = (has), __VA_ARGS__                         \
	}
#define COUNTER_METRIC(member, key, condition, label)                                              \
	METRIC(condition, FAIL_COUNTER, VALUE, .counter = offsetof(struct thread_row, member)),
#define TIME_METRIC(member, key, condition, ...)                                                   \
	METRIC(condition, FAIL_COUNTER, SHARE, .counter = offsetof(struct thread_row, member)),

#define STATE_LIST(state)                                                                          \
	((state) == LEDGER_HARDIRQ   ? &hardirq_list                                               \
	 : (state) == LEDGER_SOFTIRQ ? &softirq_list                                               \
				     : NULL)
#define STATE_KIND(state)                                                                          \
	((state) == LEDGER_HARDIRQ || (state) == LEDGER_SOFTIRQ ? FAIL_LIST                        \
	 : (state) == LEDGER_STOPPED                            ? FAIL_PERIOD                      \
								: FAIL_STATES)
#define STATE_METRIC(state, key, title, ...)                                                       \
	METRIC(key, STATE_KIND(state), STATE_KIND(state) == FAIL_STATES ? SHARE : ALL,             \
	       .states = HAS(state), .period = OPEN_STOPPED, .list = STATE_LIST(state)),
#define PERIOD_METRIC(kind, key, label) PERIOD_METRIC_##kind(key)
#define PERIOD_METRIC_OPEN_RUN(key)                                                                \
	METRIC(key, FAIL_PERIOD, ALL | SHARES, .states = RUNNING, .period = OPEN_RUN),
#define PERIOD_METRIC_OPEN_READY(key)                                                              \
	METRIC(key, FAIL_PERIOD, ALL | SHARES, .states = READY, .period = OPEN_READY),
#define PERIOD_METRIC_OPEN_STOPPED(key) /* it is a state, too */
#define PERIOD_METRIC_OPEN_ROUND(key) METRIC(key, FAIL_PERIOD, TIMES, .period = OPEN_ROUND),

static const struct fail_metric metrics[] = {
	PERIOD_WORDS(PERIOD_METRIC, PERIOD_METRIC) /* "run", "ready" and so on */
	LEDGER_WORDS(STATE_METRIC)                 /* "user" and so on */
	METRIC("ready_by", FAIL_READY_BY, SHARE | HAS(FAIL_MAX)),
	METRIC("blocked_for", FAIL_AWAITED, ALL),
	METRIC("interruptions", FAIL_INTERRUPTION, ALL),
	METRIC("syscall", FAIL_SYSCALL, ALL | SHARES),
	METRIC("waits", FAIL_WAITS, TIMES),
	METRIC("verdict", FAIL_VERDICT, TIMES | HAS(FAIL_SHARE)),
	EACH_THREAD_COUNTER(COUNTER_METRIC) /* "voluntary" and so on */
	EACH_THREAD_TIME(TIME_METRIC) METRIC("read", FAIL_READ, HAS(FAIL_COUNT) | HAS(FAIL_BYTES)),
	METRIC("written", FAIL_WRITTEN, HAS(FAIL_COUNT) | HAS(FAIL_BYTES)),
	METRIC("block_requests", FAIL_LIST, TIMES | HAS(FAIL_BYTES), .list = &block_list),
	METRIC("counters", FAIL_LIST, HAS(FAIL_COUNT), .list = &counter_list),
	METRIC("memory", FAIL_MEMORY, VALUE),
	METRIC("tcp_retransmissions", FAIL_RESENT, VALUE),
	METRIC("changed", FAIL_CHANGED, HAS(FAIL_COUNT) | HAS(FAIL_PCT)),
	METRIC("threads", FAIL_THREADS, VALUE),
	METRIC("upcalls", FAIL_UPCALLS, VALUE),
	METRIC("upcall_errors", FAIL_UPCALL_ERRORS, VALUE),
	METRIC("lost", FAIL_LOST, VALUE),
};

const struct fail_metric *fail_metric_at(size_t index)
{
	return index < sizeof(metrics) / sizeof(*metrics) ? &metrics[index] : NULL;
}

bool fail_field_is_share(enum fail_field field)
{
	return field >= FAIL_SHARES && field < FAIL_PCT;
}

bool fail_field_is_percentage(enum fail_field field)
{
	return field == FAIL_PCT || field == FAIL_SHARE;
}

bool fail_field_is_time(enum fail_field field)
{
	return field == FAIL_TOTAL || field == FAIL_MAX || fail_field_is_share(field);
}

const char *fail_field_name(enum fail_field field)
{
	static const char *const names[FAIL_FIELDS] = {
		[FAIL_VALUE] = "",         [FAIL_COUNT] = "count",      [FAIL_TOTAL] = "total",
		[FAIL_MAX] = "max",        [FAIL_SHARES] = "p50",       [FAIL_SHARES + 1] = "p90",
		[FAIL_SHARES + 2] = "p99", [FAIL_SHARES + 3] = "p99_9", [FAIL_PCT] = "pct",
		[FAIL_SHARE] = "share",    [FAIL_BYTES] = "bytes",
	};

	return names[field];
}

bool fail_metric_has_parts(const struct fail_metric *metric)
{
	return metric->kind == FAIL_SYSCALL || metric->kind == FAIL_AWAITED ||
	       metric->kind == FAIL_READY_BY || metric->kind == FAIL_VERDICT ||
	       metric->kind == FAIL_INTERRUPTION || metric->kind == FAIL_READ ||
	       metric->kind == FAIL_WRITTEN || metric->kind == FAIL_LIST ||
	       metric->kind == FAIL_CHANGED;
}

bool fail_metric_of_threads(const struct fail_metric *metric)
{
	return metric->kind < FAIL_WAITS;
}

bool fail_metric_of_resources(const struct fail_metric *metric)
{
	return metric->kind == FAIL_READ || metric->kind == FAIL_WRITTEN ||
	       (metric->kind == FAIL_LIST && metric->list->needs == ROWS_OF_RESOURCES) ||
	       metric->kind == FAIL_MEMORY || metric->kind == FAIL_RESENT;
}

static void figures_add(struct fail_figures *figures, uint64_t count, uint64_t total, uint64_t max)
{
	figures->count += count;
	figures->total += total;
	if (max > figures->max)
		figures->max = max;
}

static void whole_add(struct fail_figures *figures, uint64_t count, uint64_t total,
		      const struct whole *whole)
{
	figures_add(figures, count, total, whole->max);
	if (whole->open > figures->open)
		figures->open = whole->open;
	for (size_t i = 0; i < DISTRIBUTION_SHARES; i++) {
		uint64_t ns = durations_permille(&whole->times, distribution_shares[i].permille);

		if (ns > figures->shares[i])
			figures->shares[i] = ns;
	}
}

/* What the ledger has to add: it has all of a state's time, what is cut by an edge of
 * the window, too; but no number of times. */
static void states_read(const struct fail_metric *metric, const struct thread_row *thread,
			struct fail_figures *figures)
{
	enum ledger_state only;

	figures->total = 0;
	for (int state = 0; state < LEDGER_STATES; state++)
		if (metric->states & HAS(state))
			figures->total += thread->ledger.ns[state];
	/* In one state throughout, which the tables of what began and ended miss. */
	if (!thread_is_silent(thread, &only))
		return;
	if (thread->members > 1)
		figures->total /= thread->members;
	figures_add(figures, 0, 0, figures->total);
}

static void culprit_figures_read(const char *part, const struct thread_row *thread,
				 struct fail_figures *figures)
{
	char name[CULPRIT_NAME_LEN];

	for (size_t i = 0; i < thread->n_culprits; i++) {
		const struct culprit *culprit = &thread->culprits[i];

		if (!*part || names_match(part, culprit_name(culprit, name)))
			figures_add(figures, 0, culprit_ns(culprit), culprit->longest_ns);
	}
}

static void awaited_read(const char *part, const struct thread_row *thread,
			 struct fail_figures *figures)
{
	for (unsigned int kind = 0; kind < KD_AWAITED_KINDS; kind++) {
		const struct kd_count *count = &thread->ledger.awaited[kind];

		const struct sleeping *asleep = &thread->ledger.asleep[kind];

		if (*part && !names_match(part, awaited_words[kind].key))
			continue;
		figures_add(figures, u64_sub(count->count, asleep->count), count->total,
			    count->max);
		figures->open = u64_max(figures->open, asleep->max);
	}
}

/* Of a cause, or whole ones. */
static void interruptions_read(const char *part, const struct thread_row *thread,
			       struct fail_figures *figures)
{
	const struct kd_count *whole = &thread->interrupted[INTERRUPTION_CAUSES].count;

	if (!*part)
		figures_add(figures, whole->count, whole->total, whole->max);
	for (unsigned int cause = 0; *part && cause < INTERRUPTION_CAUSES; cause++) {
		const struct kd_count *count = &thread->interrupted[cause].count;

		if (names_match(part, interruption_keys[cause]))
			figures_add(figures, count->count, count->total, count->max);
	}
}

static void calls_read(const char *part, const struct sample *sample,
		       const struct thread_row *thread, struct fail_figures *figures)
{
	for (size_t i = 0; i < thread->n_calls; i++) {
		const struct call_row *call = &thread->calls[i];
		const char *name = sample->foreign_calls ? NULL : syscall_name(call->number);
		struct whole whole;

		if (*part && !(name && names_match(part, name)))
			continue;
		whole = whole_call(thread, call);
		whole_add(figures, call->count, call->total, &whole);
	}
}

static void io_read(const struct fail_metric *metric, const char *part,
		    const struct thread_row *thread, struct fail_figures *figures)
{
	for (unsigned int kind = 0; kind < KD_IO_KINDS; kind++) {
		const struct io_row *row = &thread->io[kind];
		const struct kd_io *io = metric->kind == FAIL_READ ? &row->read : &row->written;

		if (*part && !names_match(part, io_keys[kind]))
			continue;
		figures->count += io->calls;
		figures->bytes += io->bytes;
	}
}

/* Rows by their name, the first of their keys that is one. */
static bool is_part(const struct row_list *list, const char *row, const char *part)
{
	char name[64] = "";

	for (const struct field *field = list->fields; field->key && !*name; field++)
		if (field->kind == FIELD_NAME)
			snprintf(name, sizeof(name), "%.*s", (int)field->size, row + field->at);
	return !*part || names_match(part, name);
}

static void rows_read(const struct row_list *list, const char *part,
		      const struct thread_row *thread, struct fail_figures *figures)
{
	const struct field *field = thread_fields;
	const char *row;
	size_t n;

	while (field->list != list)
		field++;
	row = row_list_of(field, thread, &n);
	for (; n--; row += list->size) {
		const struct row_figures has = row_figures(list, row);

		if (!is_part(list, row, part))
			continue;
		figures_add(figures, has.count, has.total, has.max);
		figures->bytes += has.bytes;
	}
}

static uint64_t upcalls_count(const struct sample *sample, bool only_errors)
{
	uint64_t count = 0;

	for (size_t i = 0; i < sample->n_upcalls; i++)
		if (!only_errors || sample->upcalls[i].error)
			count += sample->upcalls[i].count;
	return count;
}

static uint64_t threads_count(const struct sample *sample)
{
	uint64_t count = 0;

	for (size_t i = 0; i < sample->n_threads; i++)
		count += sample->threads[i].members > 1 ? sample->threads[i].members : 1;
	return count;
}

static uint64_t sample_read(const struct fail_metric *metric, const struct sample *sample)
{
	switch (metric->kind) {
	case FAIL_THREADS:
		return threads_count(sample);
	case FAIL_UPCALLS:
	case FAIL_UPCALL_ERRORS:
		return upcalls_count(sample, metric->kind == FAIL_UPCALL_ERRORS);
	case FAIL_LOST:
		return sample_lost(sample);
	case FAIL_MEMORY:
		return usage_total(sample).memory.end;
	case FAIL_RESENT:
		return usage_total(sample).resent;
	default:
		return 0;
	}
}

static void thread_read(const struct fail_metric *metric, const char *part,
			const struct sample *sample, const struct thread_row *thread,
			struct fail_figures *figures)
{
	struct kd_span period;
	struct whole whole;

	switch (metric->kind) {
	case FAIL_PERIOD:
		period = thread_period(thread, metric->period);
		whole = whole_period(thread, metric->period);
		whole_add(figures, period.count, period.total, &whole);
		break;
	case FAIL_READY_BY:
		culprit_figures_read(part, thread, figures);
		break;
	case FAIL_AWAITED:
		awaited_read(part, thread, figures);
		break;
	case FAIL_INTERRUPTION:
		interruptions_read(part, thread, figures);
		break;
	case FAIL_SYSCALL:
		calls_read(part, sample, thread, figures);
		break;
	case FAIL_READ:
	case FAIL_WRITTEN:
		io_read(metric, part, thread, figures);
		break;
	case FAIL_LIST:
		rows_read(metric->list, part, thread, figures);
		break;
	case FAIL_COUNTER:
		figures->count = *(const uint64_t *)((const char *)thread + metric->counter);
		figures->total = figures->count;
		break;
	default:
		break;
	}
	if (metric->states && !*part)
		states_read(metric, thread, figures);
}

struct fail_figures fail_metric_read(const struct fail_metric *metric, const char *part,
				     const struct sample *sample, const struct thread_row *thread)
{
	struct fail_figures figures = { 0 };

	if (fail_metric_of_threads(metric))
		thread_read(metric, part, sample, thread, &figures);
	else
		figures.count = sample_read(metric, sample);
	return figures;
}

bool fail_figures_so_far(const struct fail_figures *figures, enum fail_field field)
{
	return figures->open && (field == FAIL_MAX || fail_field_is_share(field)) &&
	       fail_figures_field(figures, field) == figures->open;
}

uint64_t fail_figures_field(const struct fail_figures *figures, enum fail_field field)
{
	if (field == FAIL_TOTAL || fail_field_is_percentage(field))
		return figures->total;
	if (fail_field_is_share(field))
		return figures->shares[field - FAIL_SHARES];
	if (field == FAIL_BYTES)
		return figures->bytes;
	return field == FAIL_MAX ? figures->max : figures->count;
}
