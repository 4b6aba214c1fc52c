// SPDX-License-Identifier: Apache-2.0
/* Merges the data of threads. Sums saturate: a figure too large to be true stands out, a wrapped
 * one is believed. */
#define _GNU_SOURCE
#include "thread_row.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"
#include "field.h"
#include "rows.h"

/* --- Field tables --- */

/* Written in this order. Keys are a promise to readers: they are added to, never changed.
 * man/kernel_delay.schema.json explains them. */

#define LEDGER_FIELD(state, key, title, ...) FIELD_SUM(key "_ns", struct ledger, ns[state]),
static const struct field ledger_fields[] = {
	FIELD_SUM("life_ns", struct ledger, life),
	LEDGER_WORDS(LEDGER_FIELD) /* "user_ns" and so on */
	FIELD_FIGURE("sum_exec_runtime_ns", MERGE_SUM, struct ledger, exec,
		     .valid = offsetof(struct ledger, has_exec)),
	FIELDS_END,
};

/* Kept out of the ledger, whose members add up. */
static const struct field ticks_fields[] = {
	FIELD_FIGURE("user_ns", MERGE_SUM, struct thread_row, ledger.ticks_user,
		     .valid = offsetof(struct thread_row, ledger.has_exec)),
	FIELD_FIGURE("system_ns", MERGE_SUM, struct thread_row, ledger.ticks_system,
		     .valid = offsetof(struct thread_row, ledger.has_exec)),
	FIELDS_END,
};

#define CALL(key, kind, member, ...) FIELD(key, kind, struct call_row, member, __VA_ARGS__)
static const struct field call_fields[] = {
	CALL("number", FIELD_CALL, number, .flags = FIELD_REQUIRED),
	FIELDS_COUNTED(struct call_row, ),
	CALL("buckets", FIELD_COMPLETE, times, .of = OPEN_CALL),
	FIELDS_END,
};

#define THREAD(key, kind, member, ...) FIELD(key, kind, struct thread_row, member, __VA_ARGS__)
static const struct field run_fields[] = {
	FIELDS_SPAN(struct thread_row, run.),
	THREAD("buckets", FIELD_COMPLETE, run_times, .of = OPEN_RUN),
	FIELDS_END,
};

static const struct field ready_fields[] = {
	FIELDS_COUNTED(struct thread_row, ready.),
	THREAD("buckets", FIELD_COMPLETE, ready_times, .of = OPEN_READY),
	FIELDS_END,
};

static const struct field stopped_fields[] = {
	FIELDS_COUNTED(struct thread_row, stopped.),
	{ .key = "buckets", .kind = FIELD_COMPLETE, .of = OPEN_STOPPED },
	FIELDS_END,
};

static const struct field overslept_fields[] = {
	FIELD_COUNT(struct kd_overslept, by.),
	FIELD_SUM("requested_ns", struct kd_overslept, requested),
	FIELD_TOTAL(struct kd_overslept, by.),
	FIELD_MAX(struct kd_overslept, by.),
	FIELD_FIGURE("slack_ns", MERGE_MAX, struct kd_overslept, slack),
	FIELD_SUM("late_count", struct kd_overslept, late.count),
	FIELD_SUM("late_total_ns", struct kd_overslept, late.total),
	FIELD_FIGURE("late_max_ns", MERGE_MAX, struct kd_overslept, late.max),
	FIELD_BEGAN("late_max_at", struct kd_overslept, late.max, late.began),
	FIELDS_END,
};

/* Of several threads the function is that of the first. */
#define COMPUTED(key, kind, member) FIELD(key, kind, struct computed, member, .flags = FIELD_IF_ANY)
static const struct field computed_fields[] = {
	COMPUTED("function", FIELD_NAME, function),
	COMPUTED("object", FIELD_NAME, object),
	FIELD_SUM("ticks", struct computed, ticks),
	FIELD_SUM("of_ticks", struct computed, of),
	FIELDS_END,
};

static const struct field long_poll_fields[] = {
	FIELDS_SPAN(struct thread_row, long_poll.),
	{ .key = "buckets", .kind = FIELD_COMPLETE, .of = OPEN_ROUND },
	FIELDS_END,
};

static const struct field count_fields[] = {
	FIELDS_COUNTED(struct kd_count, ),
	FIELDS_END,
};

/* What two looks differ by, which began nowhere. */
static const struct field stolen_fields[] = {
	FIELD_COUNT(struct kd_count, ),
	FIELD_TOTAL(struct kd_count, ),
	FIELD_FIGURE("max_ns", MERGE_MAX, struct kd_count, max),
	FIELDS_END,
};

static const struct field majors_fields[] = {
	FIELDS_COUNTED(struct kd_majors, times.),
	FIELD_SUM("blocked_ns", struct kd_majors, asleep),
	FIELDS_END,
};

#define AWAITED_FIELD(kind, key, title)                                                            \
	THREAD(key, FIELD_OBJECT, ledger.awaited[kind], .fields = count_fields,                    \
	       .flags = FIELD_IF_ANY),
static const struct field blocked_fields[] = {
	AWAITED_WORDS(AWAITED_FIELD) /* "work" and so on */
	FIELDS_END,
};

static const struct field sleeping_fields[] = {
	FIELD_SUM("count", struct sleeping, count),
	FIELD_FIGURE("max_ns", MERGE_MAX, struct sleeping, max),
	FIELDS_END,
};

#define ASLEEP_FIELD(kind, key, title)                                                             \
	THREAD(key, FIELD_OBJECT, ledger.asleep[kind], .fields = sleeping_fields,                  \
	       .flags = FIELD_IF_ANY),
static const struct field asleep_fields[] = {
	AWAITED_WORDS(ASLEEP_FIELD) /* "work" and so on */
	FIELDS_END,
};

#define INTERRUPTED(key, kind, member) FIELD(key, kind, struct interruption_sum, member)
static const struct field interrupted_fields[] = {
	FIELDS_COUNTED(struct interruption_sum, count.),
	INTERRUPTED("buckets", FIELD_TIMES, times),
	FIELDS_END,
};

#define INTERRUPTED_FIELD(cause, key_, title)                                                      \
	{ .key = (key_),                                                                           \
	  .kind = FIELD_OBJECT,                                                                    \
	  .at = (cause) * sizeof(struct interruption_sum),                                         \
	  .size = sizeof(struct interruption_sum),                                                 \
	  .fields = interrupted_fields,                                                            \
	  .flags = FIELD_IF_ANY },
static const struct field interruption_fields[] = {
	INTERRUPTION_WORDS(INTERRUPTED_FIELD) /* "hardirq" and so on */
	INTERRUPTED_FIELD(INTERRUPTION_CAUSES, "all", ) FIELDS_END,
};

#define CULPRIT(key, kind, member, ...) FIELD(key, kind, struct culprit, member, __VA_ARGS__)
/* clang-format off */
const struct field culprit_fields[] = {
	CULPRIT("kind", FIELD_WORD, kind, .flags = FIELD_REQUIRED, .of = CULPRIT_KINDS, .words = culprit_kinds),
	CULPRIT("tid", FIELD_I32, tid, .flags = FIELD_IF_ANY),
	CULPRIT("pid", FIELD_I32, pid, .flags = FIELD_IF_ANY),
	CULPRIT("name", FIELD_NAME, name, .flags = FIELD_IF_ANY),
	CULPRIT("policy", FIELD_WORD, policy, .flags = FIELD_IF_ANY, .of = CULPRIT_POLICIES, .words = culprit_policies),
	CULPRIT("priority", FIELD_I32, priority, .flags = FIELD_IF_ANY),
	CULPRIT("own", FIELD_BOOL, own, .flags = FIELD_IF_ANY),
	CULPRIT("kernel", FIELD_BOOL, kernel, .flags = FIELD_IF_ANY),
	CULPRIT("ksoftirqd", FIELD_BOOL, ksoftirqd, .flags = FIELD_IF_ANY),
	CULPRIT("rt_limit", FIELD_BOOL, rt_limit, .flags = FIELD_IF_ANY),
	CULPRIT("group", FIELD_NAME, group, .flags = FIELD_IF_ANY),
	CULPRIT("same_group", FIELD_BOOL, same_group, .flags = FIELD_IF_ANY),
	CULPRIT("parent_pid", FIELD_I32, parent, .flags = FIELD_IF_ANY),
	CULPRIT("parent_name", FIELD_NAME, parent_name, .flags = FIELD_IF_ANY),
	CULPRIT("quota_ns", FIELD_U64, quota_ns, .flags = FIELD_IF_ANY),
	CULPRIT("period_ns", FIELD_U64, period_ns, .flags = FIELD_IF_ANY),
	FIELD_SUM("woken_ns", struct culprit, woken_ns),
	FIELD_SUM("preempted_ns", struct culprit, preempted_ns),
	FIELD_FIGURE("longest_ns", MERGE_MAX, struct culprit, longest_ns),
	FIELD_BEGAN("longest_at", struct culprit, longest_ns, longest_began),
	FIELDS_END,
};
/* clang-format on */

#define IO(prefix, member)                                                                         \
	FIELD_SUM(prefix "_calls", struct io_row, member.calls),                                   \
		FIELD_SUM(prefix "_bytes", struct io_row, member.bytes)
static const struct field io_row_fields[] = {
	IO("read", read),
	IO("written", written),
	FIELDS_END,
};

#define IO_KIND(of_kind, text, title)                                                              \
	{ .key = (text),                                                                           \
	  .kind = FIELD_OBJECT,                                                                    \
	  .at = (of_kind) * sizeof(struct io_row),                                                 \
	  .size = sizeof(struct io_row),                                                           \
	  .fields = io_row_fields,                                                                 \
	  .flags = FIELD_IF_ANY },
const struct field io_fields[] = {
	IO_WORDS(IO_KIND) /* "network" and so on */
	FIELDS_END,
};

#define OBJECT(text, of, ...)                                                                      \
	{                                                                                          \
		.key = (text), .kind = FIELD_OBJECT, .fields = (of), __VA_ARGS__                   \
	}
#define LIST(key, rows, of, ...)                                                                   \
	FIELD_LIST(key, struct thread_row, rows, .list = &(of), __VA_ARGS__)
#define FAR(text, member, n, of)                                                                   \
	{                                                                                          \
		.key = (text), .kind = FIELD_OBJECT, .at = offsetof(struct thread_row, member),    \
		.size = (n) * sizeof(*((struct thread_row *)0)->member), .fields = (of),           \
		.flags = FIELD_FAR | FIELD_IF_ANY                                                  \
	}
#define ROWS(key, rows, of) FIELD_LIST(key, struct thread_row, rows, .fields = (of))
#define FIGURE_FIELD(member, key, ...) FIELD_SUM(key, struct thread_row, member),

/* clang-format off */
const struct field thread_fields[] = {
	THREAD("tid", FIELD_I32, tid, .flags = FIELD_REQUIRED),
	THREAD("pid", FIELD_I32, pid, .flags = FIELD_IF_ANY),
	THREAD("process_start_ns", FIELD_U64, process_start, .flags = FIELD_IF_ANY),
	THREAD("name", FIELD_NAME, name),
	THREAD("members", FIELD_U32, members, .flags = FIELD_ONE),
	THREAD("ended", FIELD_BOOL, ended),
	THREAD("ledger", FIELD_OBJECT, ledger, .fields = ledger_fields),
	OBJECT("ticks", ticks_fields),
	ROWS("syscalls", calls, call_fields),
	LIST("hardirqs", hardirqs, hardirq_list),
	LIST("softirqs", softirqs, softirq_list),
	OBJECT("run", run_fields),
	OBJECT("ready", ready_fields),
	ROWS("ready_by", culprits, culprit_fields),
	OBJECT("blocked", blocked_fields),
	OBJECT("still_blocked", asleep_fields, .flags = FIELD_IF_ANY),
	THREAD("kernel_function", FIELD_NAME, kernel_function, .flags = FIELD_IF_ANY),
	THREAD("overslept", FIELD_OBJECT, overslept, .flags = FIELD_IF_ANY, .fields = overslept_fields),
	THREAD("major_fault_times", FIELD_OBJECT, majors, .flags = FIELD_IF_ANY, .fields = majors_fields),
	LIST("locks", locks, lock_list),
	LIST("descriptors", descriptors, descriptor_list),
	THREAD("computed", FIELD_OBJECT, computed, .flags = FIELD_IF_ANY, .fields = computed_fields),
	LIST("chains", chains, chain_list, .flags = FIELD_IF_ANY),
	FIELD_FIGURE("followed_ns", MERGE_SUM, struct thread_row, followed, .flags = FIELD_IF_ANY),
	OBJECT("stopped", stopped_fields),
	LIST("stopped_by", stops, stop_list),
	LIST("affinity_by", movers, mover_list),
	FAR("interruptions", interrupted, INTERRUPTION_SUMS, interruption_fields),
	THREAD("late_ticks", FIELD_OBJECT, late_ticks, .flags = FIELD_IF_ANY, .fields = count_fields),
	THREAD("stolen", FIELD_OBJECT, stolen, .flags = FIELD_IF_ANY, .fields = stolen_fields),
	OBJECT("long_poll", long_poll_fields),
	FAR("io", io, KD_IO_KINDS, io_fields),
	FIELD_FIGURE("io_uring_calls", MERGE_SUM, struct thread_row, io_uring_calls, .flags = FIELD_IF_ANY),
	FIELD_FIGURE("forks", MERGE_SUM, struct thread_row, forks, .flags = FIELD_IF_ANY),
	FIELD_FIGURE("execs", MERGE_SUM, struct thread_row, execs, .flags = FIELD_IF_ANY),
	LIST("counters", counters, counter_list, .flags = FIELD_IF_ANY),
	LIST("block_requests", blocks, block_list, .flags = FIELD_IF_ANY),
	EACH_THREAD_FIGURE(FIGURE_FIELD) /* "voluntary_switches" and so on */
	THREAD("cpus", FIELD_CPUS, cpus, .merge = MERGE_ANY),
	THREAD("cpus_beyond", FIELD_BOOL, cpus_beyond, .merge = MERGE_ANY),
	{ .key = "in_flight", .kind = FIELD_OPEN },
	FIELDS_END,
};
/* clang-format on */

/* --- Figures --- */

const struct io_row *thread_io(const struct thread_row *thread)
{
	static const struct io_row none[KD_IO_KINDS];

	return thread->io ?: none;
}

const struct interruption_sum *thread_interrupted(const struct thread_row *thread)
{
	static const struct interruption_sum none[INTERRUPTION_SUMS];

	return thread->interrupted ?: none;
}

void count_join(struct kd_count *into, const struct kd_count *from)
{
	into->count = u64_add(into->count, from->count);
	into->total = u64_add(into->total, from->total);
	if (from->max > into->max)
		into->began = from->began;
	into->max = u64_max(into->max, from->max);
}

uint64_t ledger_sum(const struct ledger *ledger)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < LEDGER_STATES; i++)
		sum = u64_add(sum, ledger->ns[i]);
	return sum;
}

uint64_t ledger_running(const struct ledger *ledger)
{
	static const enum ledger_state running[] = { LEDGER_USER,    LEDGER_KERNEL, LEDGER_FAULT,
						     LEDGER_RECLAIM, LEDGER_GUEST,  LEDGER_HARDIRQ,
						     LEDGER_SOFTIRQ };
	uint64_t sum = 0;

	for (size_t i = 0; i < sizeof(running) / sizeof(*running); i++)
		sum = u64_add(sum, ledger->ns[running[i]]);
	return sum;
}

uint64_t ledger_blocked(const struct ledger *ledger)
{
	return u64_add(ledger->ns[LEDGER_BLOCKED], ledger->ns[LEDGER_BLOCKED_UNINT]);
}

struct kd_span thread_period(const struct thread_row *thread, enum open_kind kind)
{
	const struct kd_count *count = kind == OPEN_READY ? &thread->ready : &thread->stopped;

	switch (kind) {
	case OPEN_RUN:
		return thread->run;
	case OPEN_ROUND:
		return thread->long_poll;
	case OPEN_READY:
	case OPEN_STOPPED:
		return (struct kd_span){ .count = count->count,
					 .total = count->total,
					 .max = count->max,
					 .began = count->began };
	default:
		return (struct kd_span){ 0 };
	}
}

static bool has_events(const struct thread_row *thread)
{
	for (size_t i = 0; i < thread->n_calls; i++)
		if (thread->calls[i].count)
			return true;
#define OR_COUNTER(member, key, condition, label) || thread->member
	return thread->ended || thread->n_hardirqs || thread->n_softirqs || thread->run.count ||
	       thread->long_poll.count || thread->ready.count ||
	       thread->stopped.count EACH_THREAD_COUNTER(OR_COUNTER);
}

bool thread_is_silent(const struct thread_row *thread, enum ledger_state *state)
{
	const struct ledger *ledger = &thread->ledger;

	if (!ledger->life || has_events(thread))
		return false;
	/* Entering or leaving a system call inside the window is an event. */
	for (size_t i = 0; i < thread->n_open; i++)
		if (!thread->open[i].at_start || !thread->open[i].at_end)
			return false;
	for (unsigned int i = 0; i < LEDGER_STATES; i++) {
		if (!ledger->ns[i])
			continue;
		if (ledger->ns[i] != ledger->life || ledger_sum(ledger) != ledger->life)
			return false;
		*state = (enum ledger_state)i;
		return true;
	}
	return false;
}

int thread_only_cpu(const struct thread_row *thread)
{
	int only = -1;

	if (thread->cpus_beyond)
		return -1;
	for (int i = 0; i < KD_CPU_WORDS; i++) {
		const uint64_t word = thread->cpus[i];

		if (word && (only >= 0 || word & (word - 1)))
			return -1;
		if (word)
			only = i * 64 + __builtin_ctzll(word);
	}
	return only;
}

/* --- Merging --- */

static int call_by_total(const void *a, const void *b)
{
	const struct call_row *x = a, *y = b;

	return ORDER(y->total, x->total) ?: ORDER(x->number, y->number);
}

struct call_row *thread_call_row(struct thread_row *thread, uint32_t number)
{
	const struct call_row call = { .number = number };

	for (size_t i = 0; i < thread->n_calls; i++)
		if (thread->calls[i].number == number)
			return &thread->calls[i];
	return ARRAY_APPEND(thread->calls, thread->n_calls, &call);
}

static int calls_merge(struct thread_row *into, const struct thread_row *from)
{
	for (size_t i = 0; i < from->n_calls; i++) {
		struct call_row *sum = thread_call_row(into, from->calls[i].number);

		if (!sum || fields_merge(call_fields, sum, &from->calls[i]))
			return -ENOMEM;
	}
	return 0;
}

static bool open_is_like(const struct open_item *x, const struct open_item *y)
{
	return x->kind == y->kind && x->number == y->number && x->at_start == y->at_start &&
	       x->at_end == y->at_end;
}

static void open_merge(struct open_item *into, const struct open_item *from)
{
	if (from->since < into->since)
		into->since = from->since;
	into->until = into->until && from->until ? u64_max(into->until, from->until) : 0;
	into->inside = u64_add(into->inside, from->inside);
	into->length = u64_add(into->length, from->length);
	into->longest = u64_max(into->longest, from->longest);
	if (__builtin_add_overflow(into->count, from->count, &into->count))
		into->count = UINT_MAX;
}

int thread_add_open(struct thread_row *thread, const struct open_item *item)
{
	if (item->kind == OPEN_CALL && item->number >= 0 &&
	    !thread_call_row(thread, (uint32_t)item->number))
		return -ENOMEM;
	for (size_t i = 0; i < thread->n_open; i++) {
		if (!open_is_like(&thread->open[i], item))
			continue;
		open_merge(&thread->open[i], item);
		return 0;
	}
	return ARRAY_APPEND(thread->open, thread->n_open, item) ? 0 : -ENOMEM;
}

static int opens_merge(struct thread_row *into, const struct thread_row *from)
{
	for (size_t i = 0; i < from->n_open; i++)
		if (thread_add_open(into, &from->open[i]))
			return -ENOMEM;
	return 0;
}

static int culprits_merge(struct thread_row *into, const struct thread_row *from)
{
	for (size_t i = 0; i < from->n_culprits; i++)
		if (culprits_add(&into->culprits, &into->n_culprits, &from->culprits[i]))
			return -ENOMEM;
	return 0;
}

/* Longest first, as with calls. */
static int open_by_inside(const void *a, const void *b)
{
	const struct open_item *x = a, *y = b;

	return ORDER(x->kind, y->kind)
		       ?: ORDER(y->inside, x->inside)
		       ?: ORDER(x->number, y->number)
		       ?: (y->at_start - x->at_start);
}

/* A row without members is the neutral element: it takes over the identity. */
static void identity_merge(struct thread_row *into, const struct thread_row *from)
{
	if (into->members)
		return;
	into->tid = from->tid;
	into->pid = from->pid;
	into->process_start = from->process_start;
	memcpy(into->name, from->name, sizeof(into->name));
	into->ended = from->ended;
	into->ledger.has_exec = true;
}

int thread_merge(struct thread_row *into, const struct thread_row *from)
{
	if (calls_merge(into, from) || opens_merge(into, from) || culprits_merge(into, from) ||
	    row_lists_merge(thread_fields, into, from))
		return -ENOMEM;
	identity_merge(into, from);
	if (__builtin_add_overflow(into->members, from->members, &into->members))
		into->members = UINT_MAX;
	return fields_merge(thread_fields, into, from);
}

/* CPU time taken by target threads, or by others, including tasks too small for a row. */
static uint64_t taken_by(const struct thread_row *thread, bool own)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < thread->n_culprits; i++) {
		const struct culprit *row = &thread->culprits[i];
		bool is_task = row->kind == CULPRIT_TASK;

		if ((is_task && row->own == own) || row->kind == (own ? CULPRIT_OWN : CULPRIT_REST))
			sum = u64_add(sum, culprit_ns(row));
	}
	return sum;
}

static uint64_t taken_by_others(const struct thread_row *thread)
{
	return taken_by(thread, false);
}

static uint64_t taken_by_own_threads(const struct thread_row *thread)
{
	return taken_by(thread, true);
}

/* No sums: see culprits_read(). */
static uint64_t waited_idle_allowed(const struct thread_row *thread)
{
	return thread->waited_idle_allowed;
}

static uint64_t waited_idle_barred(const struct thread_row *thread)
{
	return thread->waited_idle_barred;
}

static uint64_t waited_idle_none(const struct thread_row *thread)
{
	return thread->waited_idle_none;
}

/* No sum: see thread_move_entries(). */
static uint64_t outside_calls(const struct thread_row *thread)
{
	return thread->outside_calls;
}

void thread_times_sum(struct thread_row *thread)
{
#define TIME_SUM(member, key, condition, label, sum) thread->member = sum(thread);
	EACH_THREAD_TIME(TIME_SUM)
}

void thread_sort(struct thread_row *row)
{
	ARRAY_SORT(row->calls, row->n_calls, call_by_total);
	culprits_sort(row->culprits, row->n_culprits);
	row_lists_sort(thread_fields, row);
	if (row->members > 1 && row->n_open)
		ARRAY_SORT(row->open, row->n_open, open_by_inside);
}

static void moments_add(const struct field *fields, void *structure, uint64_t epoch)
{
	for (const struct field *field = fields; field->key; field++) {
		const struct field *of = field->list ? field->list->fields : field->fields;
		uint64_t moment;
		char *rows;
		size_t n;

		if (field->kind == FIELD_MOMENT) {
			memcpy(&moment, (char *)structure + field->at, sizeof(moment));
			moment += moment ? epoch : 0;
			memcpy((char *)structure + field->at, &moment, sizeof(moment));
		} else if (field->kind == FIELD_OBJECT && field_object(field, structure)) {
			moments_add(of, (void *)field_object(field, structure), epoch);
		} else if (field->kind == FIELD_ROWS) {
			rows = row_list_of(field, structure, &n);
			for (size_t i = 0; i < n; i++)
				moments_add(of, rows + i * field->size, epoch);
		}
	}
}

void thread_moments_add(struct thread_row *thread, uint64_t epoch)
{
	moments_add(thread_fields, thread, epoch);
}

void thread_clear(struct thread_row *thread)
{
	for (size_t i = 0; i < thread->n_calls; i++)
		distribution_clear(&thread->calls[i].times);
	free(thread->calls);
	distribution_clear(&thread->run_times);
	distribution_clear(&thread->ready_times);
	for (size_t i = 0; thread->interrupted && i < INTERRUPTION_SUMS; i++)
		distribution_clear(&thread->interrupted[i].times);
	free(thread->interrupted);
	free(thread->io);
	free(thread->open);
	free(thread->culprits);
	row_lists_free(thread_fields, thread);
	memset(thread, 0, sizeof(*thread));
}

/* --- Full periods --- */

static void max_join(struct complete *complete, const struct open_item *item)
{
	if (item->longest <= complete->max)
		return;
	complete->max = item->longest;
	/* Of several that ended, the first need not be the longest. */
	complete->began = item->at_end || item->count == 1 ? item->since : 0;
	complete->max_open = item->at_end;
}

/* inside: as in the tables. */
static struct complete complete_of(const struct thread_row *thread, enum open_kind kind,
				   int32_t number, const struct distribution *times,
				   const struct kd_count *inside)
{
	struct complete complete = { .max = inside->max,
				     .began = inside->began,
				     .total = inside->total,
				     .times = { .ended = times } };

	for (size_t i = 0; i < thread->n_open; i++) {
		const struct open_item *item = &thread->open[i];

		if (item->kind != kind || (kind == OPEN_CALL && item->number != number))
			continue;
		if (!item->at_end) {
			complete.total = u64_add(complete.total, item->length);
			max_join(&complete, item);
		} else if (kind != OPEN_ROUND) {
			max_join(&complete, item);
			complete.times.open = u64_add(complete.times.open, item->count);
			complete.open = u64_max(complete.open, item->longest);
		}
	}
	complete.times.open_max = complete.open;
	complete.times.max = complete.max;
	return complete;
}

struct complete complete_period(const struct thread_row *thread, enum open_kind kind)
{
	static const struct distribution none;
	const struct kd_span period = thread_period(thread, kind);
	const struct distribution *times = kind == OPEN_RUN     ? &thread->run_times
					   : kind == OPEN_READY ? &thread->ready_times
								: &none;
	const struct kd_count inside = { period.count, period.total, period.max, period.began };
	struct complete complete = complete_of(thread, kind, KD_CALL_UNKNOWN, times, &inside);

	/* Others may be shorter. */
	if (kind == OPEN_RUN && complete.total == period.total && !complete.times.open)
		complete.times.min = period.min;
	return complete;
}

struct complete complete_call(const struct thread_row *thread, const struct call_row *call)
{
	const struct kd_count inside = { call->count, call->total, call->max, call->began };

	return complete_of(thread, OPEN_CALL, (int32_t)call->number, &call->times, &inside);
}
