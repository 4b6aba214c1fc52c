/* SPDX-License-Identifier: Apache-2.0 */
#include "fail_if_metrics.h"

#include "../probes/names.h"
#include "syscall_names.h"

#define HAS FAIL_HAS
#define RUNNING (HAS(LEDGER_USER) | HAS(LEDGER_KERNEL) | HAS(LEDGER_HARDIRQ) | HAS(LEDGER_SOFTIRQ))
#define READY (HAS(LEDGER_READY_WOKEN) | HAS(LEDGER_READY_PREEMPTED))
#define SHARE (HAS(FAIL_TOTAL) | HAS(FAIL_PCT))
#define SHARES                                                                                     \
	(HAS(FAIL_SHARES) | HAS(FAIL_SHARES + 1) | HAS(FAIL_SHARES + 2) | HAS(FAIL_SHARES + 3))
#define TIMES (HAS(FAIL_COUNT) | HAS(FAIL_TOTAL) | HAS(FAIL_MAX))
#define ALL (TIMES | SHARE)
#define VALUE HAS(FAIL_VALUE)

static const struct fail_metric metrics[] = {
	{ "run", FAIL_RUN, ALL | SHARES, RUNNING },
	{ "user", FAIL_STATES, SHARE, HAS(LEDGER_USER) },
	{ "kernel", FAIL_STATES, SHARE, HAS(LEDGER_KERNEL) },
	{ "hardirq", FAIL_HARDIRQ, ALL, HAS(LEDGER_HARDIRQ) },
	{ "softirq", FAIL_SOFTIRQ, ALL, HAS(LEDGER_SOFTIRQ) },
	{ "ready", FAIL_READY, ALL | SHARES, READY },
	{ "ready_woken", FAIL_STATES, SHARE, HAS(LEDGER_READY_WOKEN) },
	{ "ready_preempted", FAIL_STATES, SHARE, HAS(LEDGER_READY_PREEMPTED) },
	{ "blocked", FAIL_STATES, SHARE, HAS(LEDGER_BLOCKED) },
	{ "blocked_uninterruptible", FAIL_STATES, SHARE, HAS(LEDGER_BLOCKED_UNINT) },
	{ "stopped", FAIL_STOPPED, ALL, HAS(LEDGER_STOPPED) },
	{ "syscall", FAIL_SYSCALL, ALL | SHARES, 0 },
	{ "long_poll", FAIL_LONG_POLL, TIMES, 0 },
	{ "waits", FAIL_WAITS, TIMES, 0 },
	{ "voluntary", FAIL_VOLUNTARY, VALUE, 0 },
	{ "involuntary", FAIL_INVOLUNTARY, VALUE, 0 },
	{ "migrations", FAIL_MIGRATIONS, VALUE, 0 },
	{ "threads", FAIL_THREADS, VALUE, 0 },
	{ "upcalls", FAIL_UPCALLS, VALUE, 0 },
	{ "upcall_errors", FAIL_UPCALL_ERRORS, VALUE, 0 },
	{ "lost", FAIL_LOST, VALUE, 0 },
};

const struct fail_metric *fail_metric_at(size_t index)
{
	return index < sizeof(metrics) / sizeof(*metrics) ? &metrics[index] : NULL;
}

bool fail_field_is_share(enum fail_field field)
{
	return field >= FAIL_SHARES && field < FAIL_PCT;
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
	};

	return names[field];
}

bool fail_metric_has_parts(const struct fail_metric *metric)
{
	return metric->kind == FAIL_HARDIRQ || metric->kind == FAIL_SOFTIRQ ||
	       metric->kind == FAIL_SYSCALL;
}

bool fail_metric_of_threads(const struct fail_metric *metric)
{
	return metric->kind < FAIL_WAITS;
}

static void figures_add(struct fail_figures *figures, uint64_t count, uint64_t total, uint64_t max)
{
	figures->count += count;
	figures->total += total;
	if (max > figures->max)
		figures->max = max;
}

static void shares_add(struct fail_figures *figures, const struct distribution *times, uint64_t min,
		       uint64_t max)
{
	for (size_t i = 0; i < DISTRIBUTION_SHARES; i++) {
		uint64_t ns = distribution_permille(times, distribution_shares[i].permille, min,
						    max);

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

static void irqs_read(const char *part, const struct irq_row *rows, size_t n,
		      struct fail_figures *figures)
{
	for (size_t i = 0; i < n; i++)
		if (!*part || names_match(part, rows[i].name))
			figures_add(figures, rows[i].count, rows[i].total, rows[i].max);
}

static void calls_read(const char *part, const struct sample *sample,
		       const struct thread_row *thread, struct fail_figures *figures)
{
	for (size_t i = 0; i < thread->n_calls; i++) {
		const struct call_row *call = &thread->calls[i];
		const char *name = sample->foreign_calls ? NULL : syscall_name(call->number);

		if (*part && !(name && names_match(part, name)))
			continue;
		figures_add(figures, call->count, call->total, call->max);
		shares_add(figures, &call->times, 0, call->max);
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
	default:
		return 0;
	}
}

static void thread_read(const struct fail_metric *metric, const char *part,
			const struct sample *sample, const struct thread_row *thread,
			struct fail_figures *figures)
{
	switch (metric->kind) {
	case FAIL_RUN:
		figures_add(figures, thread->run.count, 0, thread->run.count ? thread->run.max : 0);
		shares_add(figures, &thread->run_times, thread->run.min, thread->run.max);
		break;
	case FAIL_READY:
		figures_add(figures, thread->ready.count, 0, thread->ready.max);
		shares_add(figures, &thread->ready_times, 0, thread->ready.max);
		break;
	case FAIL_STOPPED:
		figures_add(figures, thread->stopped.count, 0, thread->stopped.max);
		break;
	case FAIL_HARDIRQ:
		irqs_read(part, thread->hardirqs, thread->n_hardirqs, figures);
		break;
	case FAIL_SOFTIRQ:
		irqs_read(part, thread->softirqs, thread->n_softirqs, figures);
		break;
	case FAIL_SYSCALL:
		calls_read(part, sample, thread, figures);
		break;
	case FAIL_LONG_POLL:
		figures_add(figures, thread->long_poll.count, thread->long_poll.total,
			    thread->long_poll.count ? thread->long_poll.max : 0);
		break;
	case FAIL_VOLUNTARY:
		figures->count = thread->voluntary;
		break;
	case FAIL_INVOLUNTARY:
		figures->count = thread->involuntary;
		break;
	case FAIL_MIGRATIONS:
		figures->count = thread->migrations;
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

uint64_t fail_figures_field(const struct fail_figures *figures, enum fail_field field)
{
	if (field == FAIL_TOTAL || field == FAIL_PCT)
		return figures->total;
	if (fail_field_is_share(field))
		return figures->shares[field - FAIL_SHARES];
	return field == FAIL_MAX ? figures->max : figures->count;
}
