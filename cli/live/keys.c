/* SPDX-License-Identifier: Apache-2.0 */
#include "keys.h"

#include <stdio.h>
#include <string.h>

#include "cli/base/names.h"

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

/* --- The list of threads --- */

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

/* At the top of the list it stays there, whichever thread that is. */
static void cursor_move(struct view *view, const struct shown *shown, size_t to)
{
	view->cursor = !shown->n ? 0 : to < shown->n ? to : shown->n - 1;
	view->follows = view->cursor > 0;
	if (view->follows)
		view->followed = history_key(shown->order[view->cursor]->row);
}

/* Where a key leads from a place in a list of n. */
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

/* The last character, which may have several bytes. */
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

/* A text without wildcards may be any part of a name. */
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

/* --- All --- */

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
		if (!shown->known)
			return VIEW_NOTHING;
		view->frozen = !view->frozen;
		return VIEW_FREEZE;
	case 'w':
		if (shown->known)
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
