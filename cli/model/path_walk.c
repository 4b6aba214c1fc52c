// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"
#include "critical_path.h"
#include "recording.h"
#include "words.h"

/* --- Rows, from end to start --- */

/* Bounded list of rows, however many legs there are. Legs shorter than a limit share rows with
 * their neighbours; the limit grows when there are too many rows. */

struct path_rows {
	struct path_row *rows; /* by descending time */
	size_t n, capacity;
	uint64_t least; /* ns: shorter legs may share rows */
	bool failed;    /* out of memory */
};

/* Rows are reduced when there are this many. */
#define ROWS_MOST (2 * PATH_ROWS)
#define LEAST_FIRST 1000 /* ns */
#define ACROSS 64        /* legs of different threads share rows only below least / ACROSS */

static bool same_thread(const struct path_row *a, const struct path_row *b)
{
	return a->thread.tid == b->thread.tid && a->thread.pid == b->thread.pid;
}

/* True if both are alike, or mostly alike. */
static bool are_alike(const struct path_row *a, const struct path_row *b)
{
	return a->state == b->state && same_thread(a, b) && a->call == b->call &&
	       a->awaited == b->awaited && a->ended_by == b->ended_by && a->reason == b->reason &&
	       a->by.kind == b->by.kind && a->by.tid == b->by.tid && a->by.pid == b->by.pid &&
	       !strncmp(a->by.name, b->by.name, sizeof(a->by.name));
}

static void mostly_join(struct path_row *into, const struct path_row *row)
{
	if (are_alike(into, row)) {
		into->mostly = u64_add(into->mostly, row->mostly);
	} else if (row->mostly > into->mostly) {
		into->mostly = row->mostly;
		into->thread = row->thread;
		into->state = row->state;
		into->awaited = row->awaited;
		into->ended_by = row->ended_by;
		into->reason = row->reason;
		into->call = row->call;
		into->by = row->by;
	}
}

void path_row_join(struct path_row *into, const struct path_row *row)
{
	if (row->multiple_threads || !same_thread(into, row))
		into->multiple_threads = true;
	mostly_join(into, row);
	into->start = u64_min(into->start, row->start);
	into->end = u64_max(into->end, row->end);
	into->legs = u64_add(into->legs, row->legs);
	for (size_t i = 0; i < PATH_STATES; i++)
		into->states[i] = u64_add(into->states[i], row->states[i]);
}

static bool is_short(const struct path_row *row, uint64_t least)
{
	return row->end - row->start < least;
}

/* Legs of one thread are merged much earlier than those of several. */
static bool may_share(const struct path_rows *rows, const struct path_row *a,
		      const struct path_row *b)
{
	uint64_t least = rows->least / ACROSS;

	if (same_thread(a, b) && !a->multiple_threads && !b->multiple_threads)
		return (a->legs > 1 || is_short(a, rows->least)) &&
		       (b->legs > 1 || is_short(b, rows->least));
	return (a->multiple_threads || is_short(a, least)) &&
	       (b->multiple_threads || is_short(b, least));
}

/* Merges short neighbours. */
static void rows_share(struct path_rows *rows)
{
	size_t n = 0;

	for (size_t i = 0; i < rows->n; i++)
		if (n && may_share(rows, &rows->rows[n - 1], &rows->rows[i]))
			path_row_join(&rows->rows[n - 1], &rows->rows[i]);
		else
			rows->rows[n++] = rows->rows[i];
	rows->n = n;
}

static void rows_reduce(struct path_rows *rows)
{
	while (rows->n > PATH_ROWS) {
		rows->least = rows->least ? u64_times(rows->least, 2) : LEAST_FIRST;
		rows_share(rows);
	}
}

/* Adds a leg that ends where the last one began, and sets its parts. Extends the last leg if
 * both are alike. */
static void path_rows_add(struct path_rows *rows, const struct path_row *leg)
{
	uint64_t ns = leg->end - leg->start;
	struct path_row *last = rows->n ? &rows->rows[rows->n - 1] : NULL, *row;

	if (!ns || rows->failed)
		return;
	if (last && last->legs == 1 && are_alike(last, leg)) {
		last->start = leg->start;
		last->states[leg->state] += ns;
		last->mostly += ns;
		return;
	}
	if (rows->n == ROWS_MOST)
		rows_reduce(rows);
	if (ARRAY_GROW(rows->rows, rows->n, rows->capacity)) {
		rows->failed = true;
		return;
	}
	row = &rows->rows[rows->n++];
	*row = *leg;
	row->legs = 1;
	row->mostly = row->states[leg->state] = ns;
	if (rows->n > 1 && may_share(rows, row, row - 1)) {
		path_row_join(row - 1, row);
		rows->n--;
	}
}

/* Moves the rows to a path, in ascending order. Returns 0 or -ENOMEM; then the path has no rows. */
static int path_rows_finish(struct path_rows *rows, struct critical_path *path)
{
	if (rows->failed) {
		free(rows->rows);
		return -ENOMEM;
	}
	rows_reduce(rows);
	for (size_t i = 0, j = rows->n; i + 1 < j; i++) {
		struct path_row row = rows->rows[i];

		rows->rows[i] = rows->rows[--j];
		rows->rows[j] = row;
	}
	path->rows = rows->rows;
	path->n_rows = rows->n;
	for (size_t i = 0; i < rows->n; i++)
		path->legs += rows->rows[i].legs;
	return 0;
}

/* --- The walk --- */

#define DEPTH 64

/* A task that the path is on, or that waits for the tasks after it. */
struct visit {
	struct recorded_thread thread;
	const struct span *states;
	size_t n;
	uint64_t bound;          /* the path goes back no further on this task */
	const struct span *wait; /* wait that the next task ended */
};

struct path_walk {
	const struct recording *recording;
	struct path_rows rows;
	uint64_t at; /* all time after this has its leg */
	struct visit visits[DEPTH];
	unsigned int n;
	/* Of the current state: the CPU on which it runs or waits to run, and its legs as far as
	 * they are alike. */
	uint32_t cpu;
	struct path_row leg;
};

/* The mode of running tasks outside the target is unknown. */
static uint32_t state_of(const struct recorded_thread *thread, uint32_t state)
{
	const struct ledger_words *words = ledger_words_of(state);

	if (kd_is_running(state) && !thread->of_target && !thread->of_kernel)
		return PATH_RUNNING;
	return words ? (uint32_t)(words - ledger_words) : PATH_UNKNOWN;
}

/* Adds a leg from start to where the last one began. */
static void leg_add(struct path_walk *walk, struct path_row leg, uint64_t start)
{
	leg.start = start;
	leg.end = walk->at;
	walk->at = start;
	path_rows_add(&walk->rows, &leg);
}

static struct path_row leg_of(const struct visit *visit, const struct span *state)
{
	return (struct path_row){
		.thread = visit->thread,
		.state = state ? state_of(&visit->thread, state->state) : PATH_UNKNOWN,
		.call = state && state->call >= 0 ? state->call : KD_CALL_NONE,
	};
}

static struct recorded_thread thread_of(const struct recording *recording, pid_t tid)
{
	const struct recorded_thread *recorded = recording_thread(recording, tid);

	return recorded ? *recorded : (struct recorded_thread){ .tid = tid };
}

static void visit_push(struct path_walk *walk, pid_t tid, uint64_t bound)
{
	struct visit *visit = &walk->visits[walk->n++];

	*visit = (struct visit){ .thread = thread_of(walk->recording, tid), .bound = bound };
	visit->states = spans_of_thread(&walk->recording->spans[SPAN_STATES], tid, &visit->n);
}

/* --- What was on a CPU, in pieces from end to start, without gaps --- */

/* Makes legs of a piece from start to where the last leg began. */
typedef void path_piece(struct path_walk *walk, uint64_t start, const struct span *what);

/* Hardirqs interrupt softirqs, and NMIs both. */
#define NESTED 8

/* Interrupts in progress where the walk is, outermost first. */
struct nest {
	const struct span *in[NESTED];
	unsigned int n;
	uint64_t start; /* earliest start of pieces */
	path_piece *piece;
	struct path_walk *walk;
};

static void nest_piece(struct nest *nest, uint64_t start)
{
	start = u64_max(start, nest->start);
	if (start < nest->walk->at)
		nest->piece(nest->walk, start, nest->n ? nest->in[nest->n - 1] : NULL);
}

/* Moves back to a time. */
static void nest_back(struct nest *nest, uint64_t to)
{
	for (; nest->n && nest->in[nest->n - 1]->start >= to; nest->n--)
		nest_piece(nest, nest->in[nest->n - 1]->start);
	nest_piece(nest, to);
}

static void nest_enter(struct nest *nest, const struct span *irq)
{
	nest_back(nest, irq->end);
	if (nest->n < NESTED && irq->start < nest->walk->at)
		nest->in[nest->n++] = irq;
}

/* Lists which interrupt was handled, the innermost of nested ones, or NULL. */
static void path_cpu_irqs(struct path_walk *walk, uint64_t start, path_piece *piece)
{
	const uint32_t cpu = walk->cpu;
	const struct span *irqs = walk->recording->spans[SPAN_IRQS].all;
	size_t n = walk->recording->spans[SPAN_IRQS].n;
	struct nest nest = { .start = start, .piece = piece, .walk = walk };
	size_t ended = ARRAY_SPLIT(
		n, i, irqs[i].cpu < cpu || (irqs[i].cpu == cpu && irqs[i].end <= walk->at));
	size_t later = ended;

	/* Interrupts that went on at the end: an outer one ends after the inner ones. */
	while (later < n && later - ended < NESTED && irqs[later].cpu == cpu)
		later++;
	for (size_t i = later; i > 0; i--) {
		if (irqs[i - 1].cpu != cpu || irqs[i - 1].end <= start)
			break;
		nest_enter(&nest, &irqs[i - 1]);
	}
	nest_back(&nest, start);
}

/* --- Legs on a CPU or a run queue --- */

static struct path_who task_who(const struct recording *recording, pid_t tid)
{
	const struct recorded_thread thread = thread_of(recording, tid);
	struct path_who who = { .kind = CULPRIT_TASK, .tid = tid, .pid = thread.pid };

	memcpy(who.name, thread.name, sizeof(thread.name));
	return who;
}

static struct path_who irq_who(const struct span *irq)
{
	struct path_who who = { .kind = irq->hard ? CULPRIT_HARDIRQ : CULPRIT_SOFTIRQ };

	if (irq->name)
		memcpy(who.name, irq->name, strnlen(irq->name, sizeof(who.name)));
	return who;
}

static void running_piece(struct path_walk *walk, uint64_t start, const struct span *irq)
{
	struct path_row leg = walk->leg;

	if (irq) {
		leg.state = irq->hard ? LEDGER_HARDIRQ : LEDGER_SOFTIRQ;
		leg.by = irq_who(irq);
	}
	leg_add(walk, leg, start);
}

/* run: NULL: not recorded. */
static void run_piece(struct path_walk *walk, uint64_t start, const struct span *run)
{
	const struct recorded_culprit *culprit = run ? recording_culprit(walk->recording, run->key)
						     : NULL;
	struct path_row leg = walk->leg;

	if (start >= walk->at)
		return;
	leg.by = (struct path_who){ .kind = CULPRIT_UNKNOWN };
	if (culprit) {
		leg.by.kind = culprit->is.kind;
		leg.by.tid = culprit->is.tid;
		leg.by.pid = culprit->is.pid;
		memcpy(leg.by.name, culprit->is.name, sizeof(culprit->is.name));
	} else if (run && run->tid) {
		leg.by = task_who(walk->recording, run->tid);
	}
	if (leg.by.kind == CULPRIT_THROTTLED)
		leg.state = LEDGER_THROTTLED;
	leg_add(walk, leg, start);
}

/* What had the CPU that the task waits for: an interrupt, or else tasks, as far as recorded. */
static void ready_piece(struct path_walk *walk, uint64_t start, const struct span *irq)
{
	const struct spans *runs = &walk->recording->spans[SPAN_RUNS];
	const struct span *all = runs->all;
	struct path_row leg = walk->leg;
	size_t i;

	if (irq) {
		leg.by = irq_who(irq);
		leg_add(walk, leg, start);
		return;
	}
	i = ARRAY_SPLIT(runs->n, j,
			all[j].cpu < walk->cpu ||
				(all[j].cpu == walk->cpu && all[j].start < walk->at));
	while (i-- > 0 && walk->at > start && all[i].cpu == walk->cpu) {
		run_piece(walk, u64_max(all[i].end, start), NULL);
		run_piece(walk, u64_max(all[i].start, start), &all[i]);
	}
	run_piece(walk, start, NULL);
}

/* --- Legs of waits --- */

/* True if the path is on this task already, or came from it. */
static bool is_walked(const struct path_walk *walk, pid_t tid)
{
	for (unsigned int i = 0; i < walk->n; i++)
		if (walk->visits[i].thread.tid == tid)
			return true;
	return false;
}

static bool ended_by_task(const struct span *state)
{
	return state->from == KD_FROM_TASK || (state->from == KD_FROM_NETWORK && state->waker);
}

/* Reason not to follow the waker of a wait; PATH_FOLLOWED: follow it. */
static enum path_reason reason_of(const struct path_walk *walk, const struct span *wait)
{
	if (walk->at < wait->end || wait->goes_on)
		return walk->n == 1 ? PATH_GOES_ON : PATH_CONTRADICTION;
	if (wait->from == KD_FROM_UNKNOWN || (wait->from == KD_FROM_TASK && !wait->waker))
		return PATH_NO_WAKER;
	if (!ended_by_task(wait))
		return PATH_FOLLOWED;
	if (is_walked(walk, wait->waker))
		return PATH_CONTRADICTION;
	return walk->n == DEPTH ? PATH_TOO_DEEP : PATH_FOLLOWED;
}

/* Adds a leg for a wait without further details. */
static void wait_leg(struct path_walk *walk, const struct visit *visit, const struct span *wait,
		     enum path_reason reason, uint64_t start)
{
	struct path_row leg = leg_of(visit, wait);

	leg.awaited = wait->awaited < KD_AWAITED_KINDS ? wait->awaited : KD_AWAITED_OTHER;
	leg.ended_by = wait->from < KD_FROM_CONTEXTS ? wait->from : KD_FROM_UNKNOWN;
	leg.reason = reason;
	if (reason == PATH_GOES_ON)
		leg.ended_by = KD_FROM_UNKNOWN;
	else if (wait->waker)
		leg.by = task_who(walk->recording, wait->waker);
	leg_add(walk, leg, start);
}

static void blocked_step(struct path_walk *walk, const struct span *wait, uint64_t start)
{
	struct visit *visit = &walk->visits[walk->n - 1];
	enum path_reason reason = reason_of(walk, wait);

	if (reason || !ended_by_task(wait)) {
		wait_leg(walk, visit, wait, reason, start);
		return;
	}
	visit->wait = wait;
	visit_push(walk, wait->waker, start);
}

/* --- Steps --- */

/* Handles time in which nothing is known of the current task. If it ended a wait, the time
 * belongs to that wait. */
static void unknown_step(struct path_walk *walk, uint64_t start)
{
	const struct visit *visit = &walk->visits[walk->n - 1], *waiting = visit - 1;
	uint64_t from = walk->recording->from;
	enum path_reason reason = visit->thread.of_target || walk->n == 1 ? PATH_UNSEEN
									  : PATH_NOT_FOLLOWED;
	struct path_row leg;

	if (walk->at <= from)
		reason = PATH_BEFORE;
	else
		start = u64_max(start, from);
	if (walk->n > 1) {
		wait_leg(walk, waiting, waiting->wait, reason, start);
		return;
	}
	leg = leg_of(visit, NULL);
	leg.reason = reason;
	leg_add(walk, leg, start);
}

static void state_step(struct path_walk *walk, const struct span *state, uint64_t start)
{
	const struct visit *visit = &walk->visits[walk->n - 1];

	walk->leg = leg_of(visit, state);
	walk->cpu = state->cpu;
	switch (state->state) {
	case KD_BLOCKED:
	case KD_BLOCKED_UNINT:
		blocked_step(walk, state, start);
		break;
	case KD_READY_WOKEN:
	case KD_READY_PREEMPTED:
		path_cpu_irqs(walk, start, ready_piece);
		break;
	case KD_STOPPED:
	case KD_FROZEN:
		leg_add(walk, walk->leg, start);
		break;
	default:
		if (kd_is_running(state->state))
			path_cpu_irqs(walk, start, running_piece);
		else
			unknown_step(walk, start);
	}
}

/* Goes back by one state of the current task, or into its wait. */
static void step(struct path_walk *walk)
{
	struct visit *visit = &walk->visits[walk->n - 1];
	const struct span *states = visit->states;
	size_t i = ARRAY_SPLIT(visit->n, j, states[j].end < walk->at);

	if (i < visit->n && states[i].start < walk->at)
		state_step(walk, &states[i], u64_max(states[i].start, visit->bound));
	else
		unknown_step(walk, i ? u64_max(states[i - 1].end, visit->bound) : visit->bound);
}

int critical_path_find(struct critical_path *path, const struct recording *recording)
{
	struct path_walk walk = { .recording = recording, .at = u64_max(path->start, path->end) };

	path->lost = recording->lost;
	visit_push(&walk, path->thread.tid, path->start);
	walk.visits[0].thread = path->thread;
	while (walk.at > path->start) {
		while (walk.at <= walk.visits[walk.n - 1].bound)
			walk.n--;
		step(&walk);
	}
	return path_rows_finish(&walk.rows, path);
}

void critical_path_clear(struct critical_path *path)
{
	free(path->rows);
	memset(path, 0, sizeof(*path));
}
