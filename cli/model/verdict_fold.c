// SPDX-License-Identifier: Apache-2.0
#include "verdict_fold.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"

static bool is_same_descriptor(const struct descriptor *x, const struct descriptor *y)
{
	return x && y && x->fd == y->fd && x->inode == y->inode;
}

/* Adds to the time of what has most so far, or returns true if another has more. */
static bool most_add(uint64_t *most, bool is_same, uint64_t ns)
{
	const bool more = !is_same && ns > *most;

	if (is_same || more)
		*most = more ? ns : u64_add(*most, ns);
	return more;
}

void verdict_row_at(struct verdict_row *row, const struct descriptor *at, uint64_t ns)
{
	if (at && most_add(&row->at_ns, is_same_descriptor(row->at, at), ns))
		row->at = at;
}

void verdict_row_wait(struct verdict_row *row, const struct wait_words *wait, uint64_t ns)
{
	const bool is_same = row->wait.words == wait->words && row->wait.did == wait->did &&
			     (wait->words || row->wait.wchan == wait->wchan);
	const bool is_larger = wait->did_ns > row->wait.did_ns ||
			       (wait->did_ns == row->wait.did_ns && !row->wait.function);

	if (most_add(&row->wait_ns, is_same, ns) || (is_same && is_larger))
		row->wait = *wait;
}

void verdict_row_via(struct verdict_row *row, const struct chain_row *via, uint64_t ns)
{
	if (via && most_add(&row->via_ns, row->via && row->via->tid == via->tid, ns))
		row->via = via;
}

void verdict_row_lock(struct verdict_row *row, const struct lock_row *lock, uint64_t ns)
{
	if (lock && most_add(&row->lock_ns, row->lock && row->lock->address == lock->address, ns))
		row->lock = lock;
}

bool verdict_row_is_large(const struct verdict_row *row, uint64_t busy)
{
	bool seldom = row->count && row->count < VERDICT_TIMES;
	unsigned int percent = seldom ? VERDICT_SELDOM_LEAST : VERDICT_LEAST;

	return row->ns && u64_times(row->ns, 100) >= u64_times(busy, percent);
}

/* Keeps what both culprits have in common. */
static void who_join(struct verdict_who *into, const struct verdict_who *from)
{
	struct verdict_who both = { .pid = into->pid == from->pid ? into->pid : 0 };

	if (!strncmp(into->comm, from->comm, sizeof(into->comm)))
		memcpy(both.comm, into->comm, sizeof(both.comm));
	if (!strncmp(into->group, from->group, sizeof(into->group)))
		memcpy(both.group, into->group, sizeof(both.group));
	if (into->parent == from->parent) {
		both.parent = into->parent;
		memcpy(both.parent_name, into->parent_name, sizeof(both.parent_name));
	}
	both.kernel = into->kernel && from->kernel;
	if (!strcmp(into->stopped_by, from->stopped_by))
		memcpy(both.stopped_by, into->stopped_by, sizeof(both.stopped_by));
	if (into->scheduled && from->scheduled && into->policy == from->policy &&
	    into->priority == from->priority) {
		both.scheduled = true;
		both.policy = into->policy;
		both.priority = into->priority;
	}
	*into = both;
}

void verdict_row_add(struct verdict_row *into, const struct verdict_row *from)
{
	who_join(&into->who, &from->who);
	into->common = COMMON_NOTHING;
	into->most = u64_max(into->most, from->most);
	into->culprits += from->culprits;
	into->and_others |= from->and_others;
	into->ns = u64_add(into->ns, from->ns);
	into->count = u64_add(into->count, from->count);
	if (from->longest > into->longest) {
		into->before = from->before;
		into->began = from->began;
	}
	into->longest = u64_max(into->longest, from->longest);
	into->so_far = u64_max(into->so_far, from->so_far);
	verdict_row_at(into, from->at, from->at_ns);
	verdict_row_wait(into, &from->wait, from->wait_ns);
	verdict_row_via(into, from->via, from->via_ns);
	verdict_row_lock(into, from->lock, from->lock_ns);
	into->chained = u64_add(into->chained, from->chained);
	into->seen = u64_add(into->seen, from->seen);
	count_join(&into->requests, &from->requests);
	into->queued = u64_add(into->queued, from->queued);
	for (int i = 0; i < KD_IDLE_KINDS; i++)
		into->idle[i] = u64_add(into->idle[i], from->idle[i]);
}

static bool is_text(const char *x, const char *y, size_t size)
{
	return *x && !strncmp(x, y, size);
}

static bool is_named(const struct verdict_row *row)
{
	return row->common != COMMON_NOTHING || row->who.tid || row->who.pid || *row->who.comm;
}

/* Moves unnamed rows first; each cause has at most one. */
static void unnamed_first(struct folding *folding)
{
	size_t n = 0;

	for (size_t i = 0; i < folding->n; i++) {
		const struct verdict_row row = folding->rows[i];

		if (is_named(&row))
			continue;
		folding->rows[i] = folding->rows[n];
		folding->rows[n++] = row;
	}
}

static bool is_alone(const struct verdict_row *row, uint64_t busy)
{
	return u64_times(row->ns, 100) >= u64_times(busy, VERDICT_ALONE_LEAST);
}

static void rows_without_time_drop(struct folding *folding)
{
	size_t left = 0;

	for (size_t i = 0; i < folding->n; i++)
		if (folding->rows[i].ns)
			folding->rows[left++] = folding->rows[i];
	folding->n = left;
}

/* --- Interrupts --- */

/* Joins the rows of a kind of interrupts, whoever waited or ran when they came: one culprit, named
 * after what has more than half of the time. The others of them are left without time. */
static void interrupts_join(struct folding *folding, enum cause cause, size_t *joined)
{
	static const struct verdict_who unknown;
	struct verdict_row *into = NULL;
	struct verdict_who most = unknown;
	uint64_t most_ns = 0;

	for (size_t i = 0; i < folding->n; i++) {
		struct verdict_row *row = &folding->rows[i];

		if (row->cause != cause)
			continue;
		if (row->ns > most_ns) {
			most = row->who;
			most_ns = row->ns;
		}
		if (!into) {
			into = row;
			continue;
		}
		verdict_row_add(into, row);
		joined[row->number] = into->number;
		row->ns = 0;
	}
	if (!into)
		return;
	into->who = most_ns > into->ns / 2 ? most : unknown;
	into->culprits = 1;
	into->and_others = false;
}

static void interrupts_fold(struct folding *folding, size_t *joined)
{
	interrupts_join(folding, CAUSE_HARDIRQ, joined);
	interrupts_join(folding, CAUSE_SOFTIRQ, joined);
	rows_without_time_drop(folding);
}

/* --- One that has had several names --- */

/* Joins the rows of a thread that changed its name, or executed another program: it is one culprit,
 * by the name under which it took most. The others of them are left without time. */
static void renamed_fold(struct folding *folding, size_t *joined)
{
	for (size_t i = 0; i < folding->n; i++) {
		struct verdict_row *into = &folding->rows[i];
		uint64_t most = into->ns;

		for (size_t j = i + 1; into->ns && into->who.tid && j < folding->n; j++) {
			struct verdict_row *row = &folding->rows[j];
			const struct verdict_who who = row->ns > most ? row->who : into->who;

			if (!row->ns || row->cause != into->cause ||
			    row->who.tid != into->who.tid || row->who.pid != into->who.pid ||
			    row->culprits != 1 || into->culprits != 1 || *row->who.stopped_by ||
			    *into->who.stopped_by)
				continue;
			most = u64_max(most, row->ns);
			verdict_row_add(into, row);
			into->who = who;
			into->culprits = 1;
			into->most = into->ns;
			joined[row->number] = into->number;
			row->ns = 0;
		}
	}
	rows_without_time_drop(folding);
}

/* --- Children of one program --- */

/* Joins the rows of children that were awaited one after the other, the last maybe still: which one
 * that was says less, unless it was followed. The others of them are left without time. */
static void children_fold(struct folding *folding, size_t *joined)
{
	for (size_t i = 0; i < folding->n; i++) {
		struct verdict_row *into = &folding->rows[i];

		for (size_t j = i + 1; into->ns && j < folding->n; j++) {
			struct verdict_row *row = &folding->rows[j];

			if (!row->ns || into->cause != CAUSE_CHILD || row->cause != CAUSE_CHILD ||
			    into->chained || row->chained ||
			    !is_text(into->who.comm, row->who.comm, sizeof(row->who.comm)))
				continue;
			verdict_row_add(into, row);
			into->who.tid = into->who.pid = 0;
			into->culprits = 1;
			into->most = into->ns;
			joined[row->number] = into->number;
			row->ns = 0;
		}
	}
	rows_without_time_drop(folding);
}

/* --- By what they have in common --- */

#define INIT 1 /* the parent of all services: its children have little in common */

static bool are_children(const struct verdict_who *x, const struct verdict_who *y)
{
	return x->parent > INIT && x->parent == y->parent;
}

static bool are_alike(const struct verdict_who *x, const struct verdict_who *y,
		      enum verdict_common common)
{
	switch (common) {
	case COMMON_GROUP:
		return strncmp(x->group, "/", sizeof(x->group)) &&
		       is_text(x->group, y->group, sizeof(x->group));
	case COMMON_CHILDREN:
		return are_children(x, y) && is_text(x->comm, y->comm, sizeof(x->comm));
	case COMMON_PROGRAM:
		return is_text(x->comm, y->comm, sizeof(x->comm));
	case COMMON_PARENT:
		return are_children(x, y);
	case COMMON_NOTHING:
	case COMMONS:
		break;
	}
	return false;
}

/* True if it may share a row: one thread or process that is not too large. */
static bool may_share(const struct verdict_row *row, uint64_t busy)
{
	return row->ns && row->common == COMMON_NOTHING && row->who.tid && row->culprits == 1 &&
	       u64_times(row->ns, 100) < u64_times(busy, VERDICT_COMMON_MOST);
}

/* Keeps the names of those that took most. */
static void members_set(struct verdict_row *into, const struct verdict_row *const most[])
{
	for (size_t i = 0; i < VERDICT_MEMBERS; i++)
		if (most[i])
			memcpy(into->members[i], most[i]->who.comm, KD_COMM_LEN);
}

/* Joins rows with the same in common as the row at first, if they are many and none has half of
 * it. The others of them are left without time. */
static void alike_join(struct folding *folding, size_t first, enum verdict_common common,
		       size_t *joined)
{
	struct verdict_row *into = &folding->rows[first];
	const struct verdict_row *most[VERDICT_MEMBERS] = { NULL };
	struct verdict_who who = into->who;
	uint64_t sum = 0;
	unsigned int n = 0;

	for (size_t i = first; i < folding->n; i++) {
		const struct verdict_row *row = &folding->rows[i];

		if (row->cause != into->cause || !may_share(row, folding->busy) ||
		    !are_alike(&into->who, &row->who, common))
			continue;
		n++;
		sum = u64_add(sum, row->ns);
		for (size_t j = 0; j < VERDICT_MEMBERS; j++) {
			if (most[j] && row->ns <= most[j]->ns)
				continue;
			memmove(most + j + 1, most + j, (VERDICT_MEMBERS - 1 - j) * sizeof(*most));
			most[j] = row;
			break;
		}
	}
	if (n < VERDICT_GROUP || most[0]->ns > sum / 2)
		return;
	members_set(into, most);
	for (size_t i = first + 1; i < folding->n; i++) {
		struct verdict_row *row = &folding->rows[i];

		if (row->cause != into->cause || !may_share(row, folding->busy) ||
		    !are_alike(&who, &row->who, common))
			continue;
		verdict_row_add(into, row);
		joined[row->number] = into->number;
		row->ns = 0;
	}
	into->common = common;
}

/* Sets the number of the row that each one is in now, by its own. */
static void common_fold(struct folding *folding, size_t *joined)
{
	for (enum verdict_common common = COMMON_GROUP; common < COMMONS; common++) {
		for (size_t i = 0; i < folding->n; i++)
			if (may_share(&folding->rows[i], folding->busy))
				alike_join(folding, i, common, joined);
		rows_without_time_drop(folding);
	}
}

/* --- All others --- */

/* Merges small culprits of a cause into one row: each says little, but together they may be
 * much. One that has half of what they took stays alone. The unnamed row, if any, comes first. The
 * merged row names a culprit only if that has nearly all the time. Sets the place of each row by
 * its number. */
static void small_fold(struct folding *folding, size_t *places)
{
	struct verdict_row *first[CAUSES] = { NULL };
	struct verdict_row most[CAUSES] = { { .ns = 0 } };
	unsigned int n_small[CAUSES] = { 0 };
	uint64_t small_ns[CAUSES] = { 0 };
	size_t left = 0;

	unnamed_first(folding);
	for (size_t i = 0; i < folding->n; i++) {
		const struct verdict_row *row = &folding->rows[i];

		if (is_alone(row, folding->busy) || row->common != COMMON_NOTHING)
			continue;
		n_small[row->cause]++;
		small_ns[row->cause] = u64_add(small_ns[row->cause], row->ns);
	}
	for (size_t i = 0; i < folding->n; i++) {
		struct verdict_row *row = &folding->rows[i], **small = &first[row->cause];
		struct verdict_row *part = &most[row->cause];
		bool folds = !verdict_row_is_large(row, folding->busy) || !is_named(row) ||
			     (n_small[row->cause] >= VERDICT_GROUP &&
			      row->common == COMMON_NOTHING && !is_alone(row, folding->busy) &&
			      row->ns < small_ns[row->cause] / 2);

		if (folds && row->ns > part->ns)
			*part = *row;
		if (folds && *small) {
			places[row->number] = (size_t)(*small - folding->rows);
			verdict_row_add(*small, row);
			if (part->common == COMMON_NOTHING &&
			    part->ns >= (*small)->ns - (*small)->ns / 10)
				(*small)->who = part->who;
			continue;
		}
		places[row->number] = left;
		folding->rows[left] = *row;
		if (folds)
			*small = &folding->rows[left];
		left++;
	}
	folding->n = left;
}

/* True for several culprits that have nothing in common, some of which may be unknown. */
static bool is_mixed(const struct verdict_row *row)
{
	bool unknown = row->cause == CAUSE_TASK || row->cause == CAUSE_OWN_THREADS;

	return row->common == COMMON_NOTHING && !row->who.tid &&
	       (row->culprits > 1 || (row->and_others && (row->culprits || unknown)));
}

static void rows_rank(struct folding *folding)
{
	for (size_t i = 0; i < folding->n; i++)
		folding->rows[i].rank = folding->rows[i].ns;
	for (size_t i = 0; i < folding->n; i++) {
		struct verdict_row *row = &folding->rows[i];

		for (size_t j = 0; is_mixed(row) && j < folding->n; j++) {
			const struct verdict_row *other = &folding->rows[j];

			if (other->cause == row->cause && !is_mixed(other) && is_named(other) &&
			    is_alone(other, folding->busy) && other->most > row->most)
				row->rank = u64_min(row->rank, other->ns - 1);
		}
	}
}

int verdict_fold(struct folding *folding, size_t *places)
{
	const size_t n = folding->n;
	size_t *joined = calloc(n ?: 1, sizeof(*joined)), *folded = calloc(n ?: 1, sizeof(*folded));
	const bool enough = joined && folded;

	for (size_t i = 0; enough && i < n; i++) {
		struct verdict_row *row = &folding->rows[i];

		joined[i] = i;
		if (is_named(row))
			row->most = row->ns;
	}
	if (enough) {
		interrupts_fold(folding, joined);
		renamed_fold(folding, joined);
		children_fold(folding, joined);
		common_fold(folding, joined);
		small_fold(folding, folded);
		rows_rank(folding);
		for (size_t i = 0; i < n; i++)
			places[i] = folded[joined[joined[i]]]; /* one with several names may share a
								  row */
	}
	free(joined);
	free(folded);
	return enough ? 0 : -ENOMEM;
}
