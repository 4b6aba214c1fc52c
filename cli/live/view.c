/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "view.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"
#include "cli/base/names.h"

/* --- History: share of each recent window in which threads were kept from running --- */

#define UNKNOWN UINT8_MAX
#define LEVEL_MAX 200 /* level of a thread that never ran */
#define GLYPHS 8

struct thread_key history_key(const struct thread_row *thread)
{
	struct thread_key key = { .process_start = thread->process_start, .pid = thread->pid };
	enum ledger_state state;

	key.tid = thread->members == 1               ? thread->tid
		  : thread_is_silent(thread, &state) ? -2 - (pid_t)state
						     : -1; /* ended ones */
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

/* Searches the first n rows, which are sorted. */
static struct history_row *row_find(const struct history *history, size_t n,
				    const struct thread_key *key)
{
	size_t at = ARRAY_SPLIT(n, i, history_key_compare(&history->rows[i].key, key) < 0);

	return at < n && !history_key_compare(&history->rows[at].key, key) ? &history->rows[at]
									   : NULL;
}

/* Anything above 0 is visible. */
static uint8_t level_of(const struct verdict_thread *thread)
{
	uint64_t life = thread->row->ledger.life, delay = u64_min(thread->delay, life);
	double part = life ? (double)delay / (double)life * LEVEL_MAX : 0;

	return (uint8_t)ceil(part);
}

static uint8_t *level_at(struct history_row *row, uint64_t window)
{
	return &row->levels[window % HISTORY_WINDOWS];
}

/* A thread without events is in a row of several. If all of its name share a state, the thread
 * was in it too. */
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
		struct history_row *multiple = &history->rows[at];

		if (multiple->latest != history->windows ||
		    memcmp(multiple->name, row->name, sizeof(row->name)) != 0)
			continue;
		if (level != UNKNOWN)
			return UNKNOWN;
		level = *level_at(multiple, history->windows);
	}
	return level;
}

/* Adds the window to threads that were not in it. */
static void others_fill(struct history *history)
{
	size_t n = 0;

	for (size_t i = 0; i < history->n; i++) {
		struct history_row *row = &history->rows[i];

		if (row->latest != history->windows && row->key.tid > 0 && !row->ended)
			*level_at(row, history->windows) = level_among(history, history->n, row);
	}
	for (size_t i = 0; i < history->n; i++)
		if (history->rows[i].latest + HISTORY_WINDOWS > history->windows)
			history->rows[n++] = history->rows[i];
	history->n = n;
}

static int row_add(struct history *history, const struct thread_key *key)
{
	struct history_row row = { .key = *key };

	memset(row.levels, UNKNOWN, sizeof(row.levels));
	return ARRAY_ADD(history->rows, history->n, history->capacity, row);
}

int history_add(struct history *history, const struct verdict *verdict)
{
	size_t before = history->n;

	history->windows++;
	for (size_t i = 0; i < before; i++)
		*level_at(&history->rows[i], history->windows) = UNKNOWN;
	for (size_t i = 0; i < verdict->n_threads; i++) {
		const struct verdict_thread *thread = &verdict->threads[i];
		struct thread_key key = history_key(thread->row);
		struct history_row *row = row_find(history, before, &key);

		if (!row) {
			if (row_add(history, &key))
				return -ENOMEM;
			row = &history->rows[history->n - 1];
		}
		memcpy(row->name, thread->row->name, sizeof(row->name));
		row->latest = history->windows;
		row->ended = thread->row->ended;
		*level_at(row, history->windows) = level_of(thread);
	}
	if (history->n > before)
		qsort(history->rows, history->n, sizeof(*history->rows), rows_compare);
	others_fill(history);
	return 0;
}

int history_copy(struct history *copy, const struct history *history)
{
	if (array_reserve(&copy->rows, history->n, &copy->capacity, sizeof(*copy->rows)))
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
	size_t height = ((size_t)level * GLYPHS + LEVEL_MAX - 1) / LEVEL_MAX;

	if (level == UNKNOWN)
		return " ";
	return (ascii ? plain : blocks)[height];
}

void history_bar(const struct history *history, const struct thread_key *key, size_t width,
		 bool ascii, FILE *out)
{
	struct history_row *row = row_find(history, history->n, key);

	for (size_t i = width; i; i--) {
		uint64_t back = i - 1; /* number of windows before the last one */
		bool recorded = row && back < HISTORY_WINDOWS && back < history->windows;

		fputs(recorded ? glyph(*level_at(row, history->windows - back), ascii) : " ", out);
	}
}

void history_clear(struct history *history)
{
	free(history->rows);
	*history = (struct history){ 0 };
}

/* --- Keys --- */

#define ESCAPE 27
#define CONTROL(letter) ((letter) - 'A' + 1)
#define COLUMNS_AT_ONCE 8

static const char *const help[] = {
	"q           quit",
	"Up Down     choose a thread; also k and j, PgUp, PgDn, Home and End",
	"Enter       open it: who had its CPU, its locks, its longest wait; Esc: back",
	"Left Right  see what is beyond the edges of an opened thread",
	"s S         the next or the previous order of threads",
	"/           list only threads whose names match a pattern, or have it in them",
	"f Space     freeze this window, or go on with the present one",
	"w           write this window to a file, in any format of --output",
	"Ctrl-L      draw everything anew",
	"Ctrl-Z      suspend; the shell's fg goes on",
	"? h         this help",
	"",
	"A bar has a character for each window, the last one at the right: the higher,",
	"the longer the thread was kept from running; dot: not at all; blank: unknown.",
};

const char *keys_help(size_t line)
{
	return line < sizeof(help) / sizeof(*help) ? help[line] : NULL;
}

/* --- Thread list --- */

void keys_follow(struct view *view, const struct shown *shown)
{
	for (size_t i = 0; view->follows && i < shown->n; i++) {
		struct thread_key key = history_key(shown->order[i]->row);

		if (!history_key_compare(&key, &view->followed)) {
			view->cursor = i;
			return;
		}
	}
	if (view->cursor >= shown->n)
		view->cursor = shown->n ? shown->n - 1 : 0;
}

/* At the top of the list the cursor stays there, whichever thread that is. */
static void cursor_move(struct view *view, const struct shown *shown, size_t to)
{
	view->cursor = !shown->n ? 0 : to < shown->n ? to : shown->n - 1;
	view->follows = view->cursor > 0;
	if (view->follows)
		view->followed = history_key(shown->order[view->cursor]->row);
}

/* Target of a key from a place in a list of n. */
static size_t moved(size_t from, size_t n, size_t page, uint32_t key)
{
	size_t last = n ? n - 1 : 0, to = from;

	switch (key) {
	case 'k':
	case VIEW_KEY_UP:
		to = from ? from - 1 : 0;
		break;
	case 'j':
	case VIEW_KEY_DOWN:
		to = from + 1;
		break;
	case VIEW_KEY_PAGE_UP:
		to = from > page ? from - page : 0;
		break;
	case VIEW_KEY_PAGE_DOWN:
		to = from + page;
		break;
	case 'g':
	case VIEW_KEY_HOME:
		to = 0;
		break;
	case 'G':
	case VIEW_KEY_END:
		to = last;
		break;
	}
	return to < last ? to : last;
}

static enum view_action threads_press(struct view *view, const struct shown *shown, uint32_t key)
{
	size_t to = moved(view->cursor, shown->n, view->listed ? view->listed : 1, key);

	if (key == VIEW_KEY_ENTER && view->cursor < shown->n) {
		view->opened = history_key(shown->order[view->cursor]->row);
		view->page = VIEW_THREAD;
		view->down = view->right = 0;
	} else if (to != view->cursor || key == VIEW_KEY_HOME || key == 'g') {
		cursor_move(view, shown, to);
	}
	return VIEW_NOTHING;
}

/* --- Other pages --- */

static enum view_action page_press(struct view *view, uint32_t key)
{
	size_t page = view->lines > 3 ? view->lines - 3 : 1;

	if (key == ESCAPE || key == VIEW_KEY_BACK || (view->page == VIEW_HELP && key == '?')) {
		view->page = VIEW_THREADS;
		return VIEW_NOTHING;
	}
	if (key == VIEW_KEY_LEFT)
		view->right -= view->right < COLUMNS_AT_ONCE ? view->right : COLUMNS_AT_ONCE;
	else if (key == VIEW_KEY_RIGHT && view->right < VIEW_INPUT)
		view->right += COLUMNS_AT_ONCE;
	else
		view->down = moved(view->down, view->down_most + 1, page, key);
	return VIEW_NOTHING;
}

/* --- Prompts --- */

static void prompt_open(struct view *view, enum view_prompt prompt)
{
	view->prompt = prompt;
	*view->input = '\0';
}

/* Removes the last character, which may have several bytes. */
static void input_shorten(char *input)
{
	size_t length = strlen(input);

	while (length && ((unsigned char)input[length - 1] & 0xc0) == 0x80)
		length--;
	input[length ? length - 1 : 0] = '\0';
}

static void input_add(char input[static VIEW_INPUT], uint32_t code)
{
	size_t length = strlen(input), more = code < 0x80      ? 1
					      : code < 0x800   ? 2
					      : code < 0x10000 ? 3
							       : 4;
	static const unsigned char leads[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

	if (code < ' ' || code == 0x7f || length + more >= VIEW_INPUT)
		return;
	for (size_t i = more; i > 1; i--, code >>= 6)
		input[length + i - 1] = (char)(0x80 | (code & 0x3f));
	input[length] = (char)(leads[more] | code);
	input[length + more] = '\0';
}

/* Text without wildcards matches any part of a name. */
static void filter_set(struct view *view)
{
	if (!*view->input || names_is_glob(view->input))
		snprintf(view->filter, sizeof(view->filter), "%s", view->input);
	else
		snprintf(view->filter, sizeof(view->filter), "*%.*s*", VIEW_INPUT - 3, view->input);
}

static enum view_action prompt_press(struct view *view, uint32_t key)
{
	enum view_prompt prompt = view->prompt;

	if (key == ESCAPE || (key == VIEW_KEY_BACK && !*view->input)) {
		view->prompt = PROMPT_NONE;
	} else if (key == VIEW_KEY_BACK) {
		input_shorten(view->input);
	} else if (key == CONTROL('U')) {
		*view->input = '\0';
	} else if (key == VIEW_KEY_ENTER) {
		view->prompt = PROMPT_NONE;
		if (prompt == PROMPT_WRITE)
			return *view->input ? VIEW_WRITE : VIEW_NOTHING;
		filter_set(view);
		return VIEW_ORDER;
	} else if (key < KEY_SPECIAL) {
		input_add(view->input, key);
	}
	return VIEW_NOTHING;
}

/* --- All keys --- */

enum view_action keys_press(struct view *view, const struct shown *shown, uint32_t key)
{
	*view->message = '\0';
	if (key == CONTROL('L'))
		return VIEW_REDRAW;
	if (view->prompt)
		return prompt_press(view, key);
	switch (key) {
	case 'q':
	case 'Q':
		return VIEW_QUIT;
	case 's':
		view->sort = (view->sort + 1) % SORTS;
		return VIEW_ORDER;
	case 'S':
		view->sort = (view->sort + SORTS - 1) % SORTS;
		return VIEW_ORDER;
	case '/':
		prompt_open(view, PROMPT_FILTER);
		return VIEW_NOTHING;
	case 'f':
	case ' ':
		if (!shown->filled)
			return VIEW_NOTHING;
		view->frozen = !view->frozen;
		return VIEW_FREEZE;
	case 'w':
		if (shown->filled)
			prompt_open(view, PROMPT_WRITE);
		return VIEW_NOTHING;
	case '?':
	case 'h':
		if (view->page == VIEW_HELP)
			break;
		view->page = VIEW_HELP;
		view->down = view->right = 0;
		return VIEW_NOTHING;
	}
	return view->page == VIEW_THREADS ? threads_press(view, shown, key) : page_press(view, key);
}
