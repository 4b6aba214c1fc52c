/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "history.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"

#define UNKNOWN UINT8_MAX
#define WHOLE 200 /* the level of a thread that never ran */
#define GLYPHS 8

struct thread_key history_key(const struct thread_row *thread)
{
	struct thread_key key = { .process_start = thread->process_start, .pid = thread->pid };
	enum ledger_state state;

	key.tid = thread->members == 1               ? thread->tid
		  : thread_is_silent(thread, &state) ? -2 - (pid_t)state
						     : -1; /* that have ended */
	if (key.tid < 0)
		memcpy(key.name, thread->name, sizeof(key.name));
	return key;
}

int history_key_compare(const struct thread_key *a, const struct thread_key *b)
{
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->process_start != b->process_start)
		return a->process_start < b->process_start ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return memcmp(a->name, b->name, sizeof(a->name));
}

static int rows_compare(const void *a, const void *b)
{
	const struct history_row *x = a, *y = b;

	return history_key_compare(&x->key, &y->key);
}

/* Among the first n, which are in order. */
static struct history_row *row_find(const struct history *history, size_t n,
				    const struct thread_key *key)
{
	size_t at = ARRAY_SPLIT(n, i, history_key_compare(&history->rows[i].key, key) < 0);

	return at < n && !history_key_compare(&history->rows[at].key, key) ? &history->rows[at]
									   : NULL;
}

/* What is more than nothing shows. */
static uint8_t level_of(const struct verdict_thread *thread)
{
	uint64_t life = thread->row->ledger.life, kept = u64_min(thread->kept, life);
	double part = life ? (double)kept / (double)life * WHOLE : 0;

	return (uint8_t)ceil(part);
}

static uint8_t *level_at(struct history_row *row, uint64_t window)
{
	return &row->levels[window % HISTORY_WINDOWS];
}

/* A thread without events is in a row of several. If those of its name are all in the same state,
 * it was in that one, too. */
static uint8_t level_among(const struct history *history, size_t n, const struct history_row *row)
{
	const struct thread_key first = { .process_start = row->key.process_start,
					  .pid = row->key.pid,
					  .tid = -1 - LEDGER_STATES };
	size_t at = ARRAY_SPLIT(n, i, history_key_compare(&history->rows[i].key, &first) < 0);
	uint8_t level = UNKNOWN;

	for (;
	     at < n && history->rows[at].key.pid == row->key.pid && history->rows[at].key.tid < -1;
	     at++) {
		struct history_row *several = &history->rows[at];

		if (several->seen != history->windows ||
		    memcmp(several->name, row->name, sizeof(row->name)) != 0)
			continue;
		if (level != UNKNOWN)
			return UNKNOWN;
		level = *level_at(several, history->windows);
	}
	return level;
}

/* Those that were not seen in this window. */
static void others_fill(struct history *history)
{
	size_t kept = 0;

	for (size_t i = 0; i < history->n; i++) {
		struct history_row *row = &history->rows[i];

		if (row->seen != history->windows && row->key.tid > 0 && !row->ended)
			*level_at(row, history->windows) = level_among(history, history->n, row);
	}
	for (size_t i = 0; i < history->n; i++)
		if (history->rows[i].seen + HISTORY_WINDOWS > history->windows)
			history->rows[kept++] = history->rows[i];
	history->n = kept;
}

static int row_add(struct history *history, const struct thread_key *key)
{
	struct history_row *row;

	if (ARRAY_GROW(history->rows, history->n, history->room))
		return -ENOMEM;
	row = &history->rows[history->n++];
	*row = (struct history_row){ .key = *key };
	memset(row->levels, UNKNOWN, sizeof(row->levels));
	return 0;
}

int history_add(struct history *history, const struct verdict *verdict)
{
	size_t known = history->n;

	history->windows++;
	for (size_t i = 0; i < known; i++)
		*level_at(&history->rows[i], history->windows) = UNKNOWN;
	for (size_t i = 0; i < verdict->n_threads; i++) {
		const struct verdict_thread *thread = &verdict->threads[i];
		struct thread_key key = history_key(thread->row);
		struct history_row *row = row_find(history, known, &key);

		if (!row) {
			if (row_add(history, &key))
				return -ENOMEM;
			row = &history->rows[history->n - 1];
		}
		memcpy(row->name, thread->row->name, sizeof(row->name));
		row->seen = history->windows;
		row->ended = thread->row->ended;
		*level_at(row, history->windows) = level_of(thread);
	}
	if (history->n > known)
		qsort(history->rows, history->n, sizeof(*history->rows), rows_compare);
	others_fill(history);
	return 0;
}

int history_copy(struct history *copy, const struct history *history)
{
	if (array_reserve(&copy->rows, history->n, &copy->room, sizeof(*copy->rows)))
		return -ENOMEM;
	if (history->n)
		memcpy(copy->rows, history->rows, history->n * sizeof(*copy->rows));
	copy->n = history->n;
	copy->windows = history->windows;
	return 0;
}

static const char *glyph(uint8_t level, bool ascii)
{
	static const char *const blocks[] = { "·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const plain[] = { ".", "1", "2", "3", "4", "5", "6", "7", "8" };
	size_t height = ((size_t)level * GLYPHS + WHOLE - 1) / WHOLE;

	if (level == UNKNOWN)
		return " ";
	return (ascii ? plain : blocks)[height];
}

void history_bar(const struct history *history, const struct thread_key *key, size_t width,
		 bool ascii, FILE *out)
{
	struct history_row *row = row_find(history, history->n, key);

	for (size_t i = width; i; i--) {
		uint64_t back = i - 1; /* windows before the last one */
		bool known = row && back < HISTORY_WINDOWS && back < history->windows;

		fputs(known ? glyph(*level_at(row, history->windows - back), ascii) : " ", out);
	}
}

void history_clear(struct history *history)
{
	free(history->rows);
	*history = (struct history){ 0 };
}
