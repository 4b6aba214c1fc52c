/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "traces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"
#include "cli/base/clock.h"
#include "cli/base/names.h"
#include "words.h"

/* --- Rows with stacks --- */

void trace_row_clear(struct trace_row *row)
{
	free((char *)row->at);
	free((char *)row->path);
}

int traces_add(struct trace_list *list, const struct trace_row *row)
{
	struct trace_row copy = *row;

	copy.at = row->at ? strdup(row->at) : NULL;
	copy.path = row->path ? strdup(row->path) : NULL;
	if (!copy.at != !row->at || !copy.path != !row->path ||
	    ARRAY_GROW(list->rows, list->n, list->capacity)) {
		trace_row_clear(&copy);
		return -ENOMEM;
	}
	list->rows[list->n++] = copy;
	return 0;
}

static int row_by_end(const void *a, const void *b)
{
	const struct trace_row *x = a, *y = b;

	return ORDER(x->kind, y->kind)
		       ?: ORDER(!x->end, !y->end)
		       ?: ORDER(x->end, y->end)
		       ?: ORDER(x->start, y->start)
		       ?: ORDER(x->tid, y->tid);
}

static int by_thread(const struct trace_row *x, const struct trace_row *y)
{
	return strncmp(x->name, y->name, sizeof(x->name)) ?: ORDER(x->tid, y->tid);
}

void traces_finish(struct trace_list *list)
{
	ARRAY_SORT(list->rows, list->n, row_by_end);
}

void traces_clear(struct trace_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		trace_row_clear(&list->rows[i]);
	free(list->rows);
	memset(list, 0, sizeof(*list));
}

bool trace_is_of(const struct trace_row *row, const char *names)
{
	return !names || names_match_comm(names, row->name);
}

uint64_t trace_duration(const struct trace_list *list, const struct trace_row *row,
			uint64_t window_end)
{
	uint64_t end = row->end ? row->end : window_end;

	if (row->kind == TRACE_SAMPLE)
		return list->profile_hz ? NSEC_PER_SEC / list->profile_hz : 0;
	return end > row->start ? end - row->start : 0;
}

bool frame_set_has(const struct frame_set *set, size_t i)
{
	return i < FRAME_SET_SIZE && set->words[i / 64] >> i % 64 & 1;
}

static int by_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) : (a != NULL) - (b != NULL);
}

/* Frames of the same function are equal at any offset. */
static int by_function(const struct frame *a, const struct frame *b)
{
	return by_text(a->object, b->object) ?: ORDER(a->file, b->file)
		       ?: by_text(a->function, b->function)
		       ?: a->function ? 0 : ORDER(a->offset, b->offset);
}

static int by_stack(bool lines, const struct stack *a, const struct stack *b)
{
	int order = 0;

	if (a == b || !a || !b || lines)
		return ORDER((uintptr_t)a, (uintptr_t)b);
	for (size_t i = 0; !order && i < a->n && i < b->n; i++)
		order = by_function(&a->frames[i], &b->frames[i]);
	return order ?: ORDER(a->n, b->n) ?: ORDER(a->by_frame_pointers, b->by_frame_pointers)
		       ?: by_text(a->stop, b->stop);
}

/* True if the stack means the same in any process; addresses outside files do not. */
static bool stack_is_common(const struct stack *stack)
{
	for (size_t i = 0; i < stack->n; i++)
		if (!stack->frames[i].function && !stack->frames[i].object)
			return false;
	return true;
}

/* Compares threads as far as they are kept apart. */
static int by_threads(const struct traces_merging *merging, const struct trace_row *x,
		      const struct trace_row *y)
{
	switch (merging->threads) {
	case MERGE_IN_ALL:
		return 0;
	case MERGE_IN_NAME:
		return strncmp(x->name, y->name, sizeof(x->name));
	default:
		return by_thread(x, y);
	}
}

static int by_likeness(const struct traces_merging *merging, const struct trace_row *x,
		       const struct trace_row *y)
{
	bool lines = merging->lines;
	int order = by_threads(merging, x, y), processes = ORDER(x->pid, y->pid);

	if (merging->processes)
		order = order ?: processes;
	order = order ?: ORDER(x->call, y->call) ?: ORDER(x->state, y->state)
		       ?: ORDER(x->awaited, y->awaited) ?: by_stack(lines, x->kernel, y->kernel)
		       ?: by_stack(lines, x->user, y->user);
	if (order)
		return order;
	if (!x->user) /* their reasons may differ */
		return ORDER(x->limited, y->limited);
	return processes && !stack_is_common(x->user) ? processes : 0;
}

/* Sorts similar rows by thread and list order. Stack addresses vary between runs, but only
 * separate different rows. */
static int row_by_likeness(const void *a, const void *b, void *merging)
{
	const struct trace_row *const *x = a, *const *y = b;

	return by_likeness(merging, *x, *y)
		       ?: ORDER((*x)->pid, (*y)->pid)
		       ?: ORDER((*x)->tid, (*y)->tid)
		       ?: ORDER(*x, *y);
}

static int sum_by_total(const void *a, const void *b)
{
	const struct trace_sum *x = a, *y = b;

	return ORDER(y->total, x->total)
		       ?: by_thread(x->longest, y->longest)
		       ?: ORDER(x->longest, y->longest);
}

size_t trace_wakers(const struct trace_row *row)
{
	size_t n = 0;

	while (n < KD_WAKERS && (row->wakers[n].from != KD_FROM_UNKNOWN || row->wakers[n].tid ||
				 row->wakers[n].name[0]))
		n++;
	return n;
}

static bool same_waker(const struct waker *x, const struct waker *y)
{
	return x->tid == y->tid && x->from == y->from &&
	       !strncmp(x->name, y->name, sizeof(x->name));
}

/* Narrows the common wakers by another row. */
static void wakers_compare(struct trace_sum *sum, const struct trace_row *row)
{
	const struct trace_row *longest = sum->longest;
	size_t n = trace_wakers(row), most = sum->same_wakers < n ? sum->same_wakers : n, same = 0;

	while (same < most && same_waker(&longest->wakers[same], &row->wakers[same]))
		same++;
	sum->other_wakers |= same < n || same < sum->same_wakers;
	sum->same_wakers = same;
}

/* Adds frames whose offset differs from that in another stack of the same functions. */
static void frames_compare(struct frame_set *varies, const struct stack *a, const struct stack *b)
{
	if (a == b || !a || !b)
		return;
	for (size_t i = 0; i < a->n && i < b->n && i < FRAME_SET_SIZE; i++)
		if (a->frames[i].offset != b->frames[i].offset)
			varies->words[i / 64] |= 1ULL << i % 64;
}

/* Counts processes; rows of one process are adjacent, last is the row before. */
static void process_count(struct trace_sum *sum, const struct trace_row *row,
			  const struct trace_row *last)
{
	if (sum->count && row->pid == last->pid)
		return;
	if (sum->processes < TRACE_PIDS)
		sum->pids[sum->processes] = row->pid;
	sum->processes++;
}

/* True if both have the same address in one process, or both have none. */
static bool is_same_address(const struct trace_row *a, uint64_t of_a, const struct trace_row *b,
			    uint64_t of_b)
{
	return of_a == of_b && (!of_a || a->pid == b->pid);
}

/* Kernel locks are the same in all processes. */
static bool is_same_lock(const struct trace_row *a, const struct trace_row *b)
{
	const struct blocker *x = &a->blocker, *y = &b->blocker;

	if (x->holder != y->holder || x->kind != y->kind)
		return false;
	return kd_lock_is_kernel(x->kind) ? x->lock == y->lock
					  : is_same_address(a, x->lock, b, y->lock);
}

static bool is_same_disk(const struct blocker *x, const struct blocker *y)
{
	return !x->request == !y->request && !strncmp(x->disk, y->disk, sizeof(x->disk));
}

/* Adds a row; rows of one thread are adjacent. */
static void sum_add(struct trace_sum *sum, const struct trace_row *row,
		    const struct trace_row *last, uint64_t duration)
{
	sum->threads += !sum->count || row->tid != last->tid;
	process_count(sum, row, last);
	if (!sum->count) {
		sum->longest = row;
		sum->same_wakers = trace_wakers(row);
		sum->same_at = sum->same_path = sum->same_ip = true;
		sum->same_lock = sum->same_disk = true;
	}
	wakers_compare(sum, row);
	sum->same_at = sum->same_at && !by_text(sum->longest->at, row->at);
	sum->same_path = sum->same_path && !by_text(sum->longest->path, row->path);
	sum->same_lock = sum->same_lock && is_same_lock(sum->longest, row);
	sum->same_disk = sum->same_disk && is_same_disk(&sum->longest->blocker, &row->blocker);
	sum->same_ip = sum->same_ip &&
		       is_same_address(sum->longest, sum->longest->user_ip, row, row->user_ip);
	frames_compare(&sum->kernel_varies, sum->longest->kernel, row->kernel);
	frames_compare(&sum->user_varies, sum->longest->user, row->user);
	if (duration > sum->max || (duration == sum->max && row < sum->longest)) {
		sum->longest = row;
		sum->max = duration;
	}
	sum->count++;
	sum->total = u64_add(sum->total, duration);
}

/* Collects the matching rows of a kind and sorts them by similarity. */
static size_t rows_sort(const struct trace_list *list, enum trace_kind kind,
			struct traces_merging *merging, const struct trace_row **rows)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++)
		if (list->rows[i].kind == kind && trace_is_of(&list->rows[i], merging->names))
			rows[n++] = &list->rows[i];
	if (n)
		qsort_r(rows, n, sizeof(*rows), row_by_likeness, merging);
	return n;
}

/* Sets of_thread in the sums of each thread. */
static void threads_count(const struct traces_merging *merging, struct trace_sum *sums, size_t n)
{
	for (size_t i = 0, next; i < n; i = next) {
		uint64_t count = 0;

		for (next = i;
		     next < n && !by_threads(merging, sums[i].longest, sums[next].longest); next++)
			count += sums[next].count;
		for (size_t j = i; j < next; j++)
			sums[j].of_thread = count;
	}
}

int traces_merge(const struct trace_list *list, enum trace_kind kind, uint64_t window_end,
		 struct traces_merging merging, struct trace_sum **sums, size_t *n)
{
	const struct trace_row **rows = NULL;
	size_t n_rows;

	*sums = NULL;
	*n = 0;
	if (!list->n)
		return 0;
	rows = calloc(list->n, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	n_rows = rows_sort(list, kind, &merging, rows);
	if (!n_rows)
		goto out;
	*sums = calloc(n_rows, sizeof(**sums));
	if (!*sums) {
		free(rows);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n_rows; i++) {
		*n += !i || by_likeness(&merging, rows[i - 1], rows[i]);
		sum_add(&(*sums)[*n - 1], rows[i], i ? rows[i - 1] : NULL,
			trace_duration(list, rows[i], window_end));
	}
	threads_count(&merging, *sums, *n);
	ARRAY_SORT(*sums, *n, sum_by_total);
out:
	free(rows);
	return 0;
}

/* --- Filter of listed waits --- */

static const enum kd_state states[] = { KD_BLOCKED,     KD_BLOCKED_UNINT,   KD_STOPPED,
					KD_READY_WOKEN, KD_READY_PREEMPTED, KD_FROZEN };
#define N_STATES (sizeof(states) / sizeof(*states))

const char *wait_filter_word(size_t index)
{
	if (index < N_STATES)
		return ledger_words_of(states[index])->key;
	index -= N_STATES;
	return index < KD_AWAITED_KINDS ? awaited_keys[index] : NULL;
}

bool wait_filter_add(struct wait_filter *filter, const char *word)
{
	bool found = false;
	const char *choice;

	for (size_t i = 0; (choice = wait_filter_word(i)); i++) {
		if (!names_match(word, choice))
			continue;
		if (i < N_STATES)
			filter->states[states[i]] = true;
		else
			filter->awaited[i - N_STATES] = true;
		found = true;
	}
	return found;
}

bool wait_has_kind(uint32_t state)
{
	return state == KD_BLOCKED || state == KD_BLOCKED_UNINT;
}

bool wait_filter_passes(const struct wait_filter *filter, const struct trace_row *row)
{
	bool listed = row->state < KD_STATES && filter->states[row->state];

	if (wait_has_kind(row->state) && row->awaited < KD_AWAITED_KINDS)
		listed |= filter->awaited[row->awaited];
	return listed != filter->others;
}
