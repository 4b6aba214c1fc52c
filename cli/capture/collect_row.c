// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "collect_row.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "cli/capture/parts/culprits.h"
#include "cli/capture/parts/faults.h"
#include "cli/capture/parts/histograms.h"
#include "cli/capture/parts/locks.h"
#include "cli/capture/parts/processes.h"
#include "cli/capture/parts/resources.h"
#include "cli/capture/parts/stops.h"
#include "cli/capture/session/cpus.h"
#include "cli/capture/session/types.h"
#include "cli/model/ledger.h"
#include "session.h"

/* --- Whether cgroup I/O limits kept the target's threads waiting --- */

#define LOOK_NS (200 * NSEC_PER_MSEC) /* longer than the kernel's slices */
#define PROCESSES 8                   /* most examined, as each takes a read of all mounts */

static bool is_same(const struct disk_count *a, const struct disk_count *b)
{
	return a->major == b->major && a->minor == b->minor && a->limit.kind == b->limit.kind &&
	       a->limit.per_second == b->limit.per_second &&
	       !strncmp(a->limit.group, b->limit.group, sizeof(a->limit.group));
}

static const struct disk_count *find(const struct disk_count *counts, size_t n,
				     const struct disk_count *like)
{
	for (size_t i = 0; i < n; i++)
		if (is_same(&counts[i], like))
			return &counts[i];
	return NULL;
}

static double share_used(const struct disk_limit *limit)
{
	return limit->per_second ? (double)limit->used / (double)limit->per_second : 0;
}

/* Reads the process's limits and adds new ones. */
static void process_look(struct disk_limits *now, pid_t pid)
{
	struct disk_count found[DISK_LIMITS];
	const size_t n = group_disk_limits(pid, found, DISK_LIMITS);

	for (size_t i = 0; i < n && now->n < DISK_LIMITS; i++)
		if (!find(now->counts, now->n, &found[i]))
			now->counts[now->n++] = found[i];
}

/* Collects processes of threads that may wait for a disk. Returns how many. */
static size_t threads_look(struct disk_limits *now, const struct session_view *view)
{
	pid_t pids[PROCESSES];
	size_t n = 0, i;

	for (uint32_t slot = 1; slot < view->slots && n < PROCESSES; slot++) {
		const struct kd_thread *thread = &view->threads[slot];

		if (!thread->task || thread_state(thread) != KD_BLOCKED_UNINT)
			continue;
		for (i = 0; i < n && pids[i] != (pid_t)thread->tgid;)
			i++;
		if (i < n)
			continue;
		pids[n++] = (pid_t)thread->tgid;
		process_look(now, pids[n - 1]);
	}
	return n;
}

/* Finds the limit used most since the last read. */
static void use_find(struct disk_limits *limits, const struct disk_limits *now, uint64_t epoch)
{
	struct disk_limit most = { .per_second = 0 };
	const double seconds = (double)(now->looked - limits->looked) / (double)NSEC_PER_SEC;

	for (size_t i = 0; i < now->n; i++) {
		const struct disk_count *before = find(limits->counts, limits->n, &now->counts[i]);
		struct disk_limit limit = now->counts[i].limit;

		if (!before)
			continue;
		limit.used =
			(uint64_t)((double)u64_sub(now->counts[i].count, before->count) / seconds);
		if (share_used(&limit) > share_used(&most))
			most = limit;
	}
	if (share_used(&most) * 100 < DISK_LIMIT_REACHED)
		return;
	limits->reached = most;
	limits->reached_at = now->looked - epoch;
}

void disk_limits_look(struct disk_limits *limits, const struct session_view *view)
{
	struct disk_limits now = { .looked = clock_monotonic() };
	bool waiting;

	if (now.looked < limits->due)
		return;
	waiting = threads_look(&now, view);
	limits->due = now.looked + (waiting && !now.n ? NSEC_PER_SEC : LOOK_NS);
	if (!now.n)
		return;
	if (limits->n)
		use_find(limits, &now, view->epoch);
	memcpy(limits->counts, now.counts, now.n * sizeof(*now.counts));
	limits->n = now.n;
	limits->looked = now.looked;
}

void disk_limits_take(struct disk_limits *limits, const struct session_view *view,
		      struct sample *sample)
{
	disk_limits_look(limits, view);
	if (limits->reached_at && limits->reached_at + LOOK_NS >= view->start)
		sample->disk_limit = limits->reached;
}

/* --- A thread's row, from the maps, in one window --- */

#define READ_TRIES 8

static int calls_read(struct session *session, const struct session_view *view, uint32_t slot,
		      const struct kd_thread *thread, const struct kd_record *record,
		      struct thread_row *row)
{
	const struct kd_count *calls = record->calls;
	size_t n = 0;
	int error = 0;

	if (record->gen != view->gen)
		return 0;
	for (uint32_t i = 0; i < KD_CALLS; i++)
		n += calls[i].count && thread->call_keys[i];
	row->calls = n ? malloc(n * sizeof(*row->calls)) : NULL;
	if (n && !row->calls)
		return -ENOMEM;
	for (uint32_t i = 0; i < KD_CALLS && row->n_calls < n && !error; i++) {
		struct call_row *call = &row->calls[row->n_calls];

		if (!calls[i].count || !thread->call_keys[i])
			continue;
		*call = (struct call_row){
			.number = thread->call_keys[i] - 1,
			.count = calls[i].count,
			.total = calls[i].total,
			.max = calls[i].max,
			.began = calls[i].began,
		};
		row->n_calls++;
		error = session_histogram(session, view, slot, i, &call->times);
	}
	return error;
}

static int durations_read(struct session *session, const struct session_view *view, uint32_t slot,
			  struct thread_row *row)
{
	return session_histogram(session, view, slot, KD_HISTOGRAM_RUN, &row->run_times)
		       ?: session_histogram(session, view, slot, KD_HISTOGRAM_READY,
					    &row->ready_times);
}

void collect_hardirq_name(struct session *session, int index, const struct kd_thread *thread,
			  struct irq_row *row)
{
	static const char *const vectors[KD_VECTORS] = {
#if defined(__aarch64__)
		[KD_VECTOR_LOCAL_TIMER] = TIMER_LINE_NAME,
#else
		[KD_VECTOR_LOCAL_TIMER] = "local_timer",
#endif
		[KD_VECTOR_RESCHEDULE] = "reschedule",
		[KD_VECTOR_CALL_FUNCTION] = "call_function",
		[KD_VECTOR_CALL_FUNCTION_SINGLE] = "call_function_single",
		[KD_VECTOR_IRQ_WORK] = "irq_work",
		[KD_VECTOR_THERMAL] = "thermal_apic",
		[KD_VECTOR_NMI] = "nmi",
	};
	char name[KD_IRQ_NAME_LEN] = "other";
	uint64_t key = 0;

	if (index < KD_VECTORS) {
		snprintf(name, sizeof(name), "%s", vectors[index]);
	} else if (index < KD_VECTORS + KD_LINES) {
		key = thread->line_keys[index - KD_VECTORS];
		session_irq_name(session, key & ~KD_IRQ_UNHANDLED, name);
	}
	row->unhandled = key & KD_IRQ_UNHANDLED;
	if (*name)
		snprintf(row->name, sizeof(row->name), "%s", name);
	else
		snprintf(row->name, sizeof(row->name), "irq %u", (uint32_t)key);
}

void collect_softirq_name(uint32_t vector, struct irq_row *row)
{
	row->vector = vector;
	if (vector < SOFTIRQS)
		snprintf(row->name, sizeof(row->name), "%s", softirq_names[vector]);
	else
		snprintf(row->name, sizeof(row->name), "<unknown:%u>", vector);
}

static int irqs_keep(struct irq_row **into, size_t *count, const struct irq_row *rows, size_t n)
{
	*count = 0;
	if (!n)
		return 0;
	*into = malloc(n * sizeof(*rows));
	if (!*into)
		return -ENOMEM;
	memcpy(*into, rows, n * sizeof(*rows));
	*count = n;
	return 0;
}

static struct irq_row irq_row_of(const struct kd_count *irqs)
{
	return (struct irq_row){
		.count = irqs->count, .total = irqs->total, .max = irqs->max, .began = irqs->began
	};
}

static int irqs_read(struct session *session, const struct kd_thread *thread,
		     const struct kd_record *record, uint64_t gen, struct thread_row *row)
{
	struct irq_row rows[KD_HARDIRQS > KD_SOFTIRQS ? KD_HARDIRQS : KD_SOFTIRQS];
	size_t n = 0;
	int error;

	for (int i = 0; i < KD_HARDIRQS && record->hardirq_ns.gen == gen; i++) {
		if (!record->hardirqs[i].count)
			continue;
		rows[n] = irq_row_of(&record->hardirqs[i]);
		collect_hardirq_name(session, i, thread, &rows[n++]);
	}
	error = irqs_keep(&row->hardirqs, &row->n_hardirqs, rows, n);
	if (error)
		return error;
	n = 0;
	for (uint32_t i = 0; i < KD_SOFTIRQS && record->softirq_ns.gen == gen; i++) {
		if (!record->softirqs[i].count)
			continue;
		rows[n] = irq_row_of(&record->softirqs[i]);
		collect_softirq_name(i, &rows[n++]);
	}
	return irqs_keep(&row->softirqs, &row->n_softirqs, rows, n);
}

/* Copies a thread and the plain fields of its record until no event came between the two. */
static bool slot_read(const struct session_view *view, uint32_t slot, struct kd_thread *thread,
		      struct kd_record *record)
{
	const volatile struct kd_thread *live = &view->threads[slot];
	size_t head = offsetof(struct kd_record, hardirqs);

	for (int i = 0; i < READ_TRIES; i++) {
		if (i)
			sched_yield();
		memcpy(thread, &view->threads[slot], sizeof(*thread));
		memcpy(record, &view->records[slot], head);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (live->since == thread->since && live->state == thread->state &&
		    live->call == thread->call && live->steal_at == thread->steal_at)
			return true;
	}
	return false;
}

/* Ends a fault that was open when timing of faults stopped. */
static void fault_end(const struct session_view *view, struct kd_thread *thread)
{
	if (thread->state == KD_FAULT && thread->fault != view->fault_gen)
		thread->state = KD_USER;
}

/* Returns the distribution for an item's durations; NULL: none. */
static struct distribution *times_of(struct thread_row *row, const struct open_item *item)
{
	if (item->kind == OPEN_RUN)
		return &row->run_times;
	if (item->kind == OPEN_READY)
		return &row->ready_times;
	for (size_t i = 0; item->kind == OPEN_CALL && i < row->n_calls; i++)
		if ((int32_t)row->calls[i].number == item->number)
			return &row->calls[i].times;
	return NULL;
}

/* Adds items that cross the window's edges to the row. Those that ended inside also go to
 * distributions, which have the others already. Times in the sample are CLOCK_MONOTONIC; 0 stays
 * "unknown". */
static int open_items_read(struct session *session, uint64_t epoch, const struct kd_thread *thread,
			   const struct kd_record *record, const struct ledger_window *window,
			   struct thread_row *row)
{
	struct open_item items[LEDGER_OPEN_ITEMS];
	size_t n = ledger_open_items(items, thread, record, window);
	int error = 0;

	for (size_t i = 0; i < n && !error; i++) {
		struct distribution *times;

		if (items[i].since)
			items[i].since += epoch;
		if (items[i].until)
			items[i].until += epoch;
		error = thread_add_open(row, &items[i]);
		times = error || items[i].at_end ? NULL : times_of(row, &items[i]);
		if (times)
			error = session_histogram_add(session, times, items[i].length);
	}
	return error;
}

/* Copies the fields that record and row share. */
static void record_read(struct thread_row *row, const struct kd_record *record)
{
	row->run = record->run;
	row->long_poll = record->long_poll;
	row->ready = record->ready;
	row->stopped = record->stopped;
	row->overslept = record->overslept;
	row->majors = record->majors;
	memcpy(row->faulted, record->faulted, sizeof(row->faulted));
#define COUNTER_READ(member, key, condition, label) row->member = record->member;
	EACH_THREAD_COUNTER(COUNTER_READ)
	memcpy(row->cpus, record->cpus, sizeof(row->cpus));
	row->cpus_beyond = record->cpus_beyond;
}

/* Estimates for how many faults the time is missing. Faults inside system calls count as time of
 * the calls; their share is assumed to be the same among the rest as among those found. */
static uint64_t untimed_of(uint64_t rest, uint64_t found, uint64_t timed)
{
	return found ? (uint64_t)((double)rest * (double)u64_min(timed, found) / (double)found)
		     : rest;
}

int collect_row(struct session *session, const struct session_view *view, uint32_t slot,
		struct thread_row *row, uint64_t *torn)
{
	const struct ledger_window window = {
		.start = view->start,
		.end = view->end,
		.gen = view->gen,
		.has_readings = view->opened_by == KD_BY_CLOCK && view->closed_by == KD_BY_CLOCK,
	};
	struct kd_record record;
	struct kd_thread thread;
	uint64_t found, all; /* page faults */
	int result, error;

	for (int i = 0; i < READ_TRIES; i++) {
		bool complete = slot_read(view, slot, &thread, &record);

		fault_end(view, &thread);
		result = ledger_fill(&row->ledger, &thread, &record, &window);
		if (complete && result >= 0)
			break;
		session_settle(session);
	}
	if (!result)
		return 0;
	if (result < 0 || ledger_sum(&row->ledger) != row->ledger.life)
		(*torn)++;
	row->tid = (pid_t)thread.tid;
	row->pid = process_set_is_used(session_process_set(session)) ? (pid_t)thread.tgid : 0;
	row->process_start = thread.process_began ? thread.process_began + view->epoch : 0;
	row->members = 1;
	row->ended = thread.died && thread.died <= view->end;
	row->unseen = thread.unseen_at > view->start;
	memcpy(row->name, thread.comm, sizeof(row->name));
	row->name[sizeof(row->name) - 1] = '\0';
	if (record.gen == view->gen)
		record_read(row, &record);
	found = row->minor_faults + row->major_faults;
	ledger_faults(&thread, &window, &row->minor_faults, &row->major_faults);
	all = row->minor_faults + row->major_faults;
	if (all > found &&
	    session_faults_untimed(session, view->start + view->epoch, view->end + view->epoch))
		row->ledger.untimed_faults = untimed_of(all - found, found,
							row->ledger.timed_faults);
	if (row->ledger.ns[LEDGER_USER] + row->ledger.ns[LEDGER_KERNEL] &&
	    thread.cpu < KD_CPU_WORDS * 64)
		row->cpus[thread.cpu / 64] |= 1ULL << (thread.cpu % 64);
	if (record.stolen.gen == view->gen)
		row->stolen = (struct kd_count){ .count = record.stolen.count,
						 .total = record.stolen.total,
						 .max = record.stolen.max };
	error = session_usage(session, view, slot, row)
			?: calls_read(session, view, slot, &thread, &record, row)
			?: durations_read(session, view, slot, row)
			?: locks_read_open(view, slot, &thread, row)
			?: stops_read_open(view, &thread, row)
			?: culprits_read(session_culprits(session), view, slot, &thread, row)
			?: open_items_read(session, view->epoch, &thread, &record, &window, row);
	if (!error)
		error = irqs_read(session, &thread, &view->records[slot], view->gen, row);
	return error ? error : 1;
}
