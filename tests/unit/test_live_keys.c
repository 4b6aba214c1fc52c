/* SPDX-License-Identifier: Apache-2.0 */
/* What keys make of the live view. */
#include <stdlib.h>

#include "cli/live/view.h"
#include "cases.h"
#include "say.h"
#include "verdict_sample.h"

enum { THREADS = 8 };
#define CONTROL_L ('L' - 'A' + 1)
#define CONTROL_U ('U' - 'A' + 1)
#define ESCAPE 27

static struct fixture {
	struct thread_row rows[THREADS];
	struct verdict_thread threads[THREADS];
	const struct verdict_thread *order[THREADS];
	struct shown shown;
	struct view view;
} fixture;

static void fixture_fill(void)
{
	fixture = (struct fixture){ .view = { .lines = 24, .columns = 80, .listed = 3 } };
	for (size_t i = 0; i < THREADS; i++) {
		fixture.rows[i] = runner((pid_t)(4711 + i), "thread");
		fixture.threads[i].row = &fixture.rows[i];
		fixture.order[i] = &fixture.threads[i];
	}
	fixture.shown.order = fixture.order;
	fixture.shown.n = THREADS;
	fixture.shown.known = true;
}

static enum view_action press(uint32_t key)
{
	return keys_press(&fixture.view, &fixture.shown, key);
}

/* A character, or a name of a key. */
static uint32_t key_of(const char *word)
{
	static const struct {
		const char *name;
		uint32_t key;
	} keys[] = { { "up", VIEW_KEY_UP },
		     { "down", VIEW_KEY_DOWN },
		     { "left", VIEW_KEY_LEFT },
		     { "right", VIEW_KEY_RIGHT },
		     { "home", VIEW_KEY_HOME },
		     { "end", VIEW_KEY_END },
		     { "pgup", VIEW_KEY_PAGE_UP },
		     { "pgdn", VIEW_KEY_PAGE_DOWN },
		     { "enter", VIEW_KEY_ENTER },
		     { "back", VIEW_KEY_BACK },
		     { "other", VIEW_KEY_OTHER },
		     { "esc", ESCAPE },
		     { "space", ' ' },
		     { "^L", CONTROL_L },
		     { "^U", CONTROL_U },
		     { "e-acute", 0xe9 },
		     { "euro", 0x20ac },
		     { "smile", 0x1f600 },
		     { "bell", 7 } };

	for (size_t i = 0; i < COUNT(keys); i++)
		if (!strcmp(word, keys[i].name))
			return keys[i].key;
	if (word[1])
		abort();
	return (unsigned char)*word;
}

/* What keys have led to: where the cursor is, and what differs from the first view; behind an
 * arrow, what the last one asks for. */
static const char *view_after(const char *keys)
{
	static const char *const asks[] = { [VIEW_QUIT] = "quit",
					    [VIEW_REDRAW] = "redraw",
					    [VIEW_ORDER] = "order",
					    [VIEW_FREEZE] = "freeze",
					    [VIEW_WRITE] = "write" };
	static char text[SAY_LEN];
	const struct view *view = &fixture.view;
	enum view_action action = VIEW_NOTHING;
	char copy[CASE_LEN], *rest = strcpy(copy, keys), *word;

	while ((word = strsep(&rest, " ")))
		action = press(key_of(word));
	*text = '\0';
	say(text, "%zu", view->cursor);
	if (view->page == VIEW_THREAD)
		say(text, " thread %d", view->opened.tid);
	if (view->page == VIEW_HELP)
		say(text, " help");
	if (view->page == VIEW_THREAD && (view->down || view->right))
		say(text, " down %zu right %zu", view->down, view->right);
	if (view->sort)
		say(text, " sort %d", (int)view->sort);
	say(text, view->frozen ? " frozen" : "");
	if (*view->filter)
		say(text, " [%s]", view->filter);
	if (view->prompt)
		say(text, " ? %s", view->input);
	if (action)
		say(text, " > %s", asks[action]);
	return text;
}

static void are(const char *cases)
{
	cases_check(cases, view_after, "keys");
}

TEST(cursor)
{
	fixture_fill();
	are("up = 0|down = 1|j = 2|k = 1|pgdn = 4|pgdn = 7|pgdn = 7|pgup = 4|G = 7|home = 0|end = 7"
	    "|other = 7");
	fixture.shown.n = 0;
	keys_follow(&fixture.view, &fixture.shown);
	is_u64(fixture.view.cursor, 0, "of no threads there is no last one");
	are("down = 0|enter = 0"); /* none is opened */
}

/* It stays with its thread; at the top, it stays there. */
TEST(follows)
{
	const struct verdict_thread *first;

	fixture_fill();
	first = fixture.order[0];
	fixture.order[0] = fixture.order[5];
	fixture.order[5] = first;
	keys_follow(&fixture.view, &fixture.shown);
	is_u64(fixture.view.cursor, 0, "the top is the top");
	are("down = 1");
	fixture.order[7] = fixture.order[1];
	fixture.order[1] = first;
	keys_follow(&fixture.view, &fixture.shown);
	is_u64(fixture.view.cursor, 7, "it is where the thread is");
	fixture.shown.n = 4;
	keys_follow(&fixture.view, &fixture.shown);
	is_u64(fixture.view.cursor, 3, "or at the end, if that is gone");
}

TEST(pages)
{
	fixture_fill();
	are("down = 1|enter = 1 thread 4712");
	fixture.view.down_most = 30;
	are("pgdn = 1 thread 4712 down 21 right 0|end = 1 thread 4712 down 30 right 0"
	    "|down = 1 thread 4712 down 30 right 0"
	    "|right right left = 1 thread 4712 down 30 right 8"
	    "|left left = 1 thread 4712 down 30 right 0|esc = 1|? = 1 help|? = 1");
}

TEST(actions)
{
	fixture_fill();
	is_i64(SORT_KEPT, 0, "the first order");
	are("q = 0 > quit|^L = 0 > redraw|s = 0 sort 1 > order");
	is_i64(fixture.view.sort, SORT_LONGEST, "the next one");
	are("S = 0 > order");
	is_i64((press('S'), fixture.view.sort), SORTS - 1, "around");
	are("s = 0 > order|f = 0 frozen > freeze|space = 0 > freeze");
	fixture.shown.known = false;
	are("f = 0|w = 0"); /* of nothing there is nothing to keep */
}

TEST(filter)
{
	fixture_fill();
	are("/ w o r q = 0 ? worq|back = 0 ? wor|k = 0 ? work|enter = 0 [*work*] > order"
	    "|/ w ? r k * = 0 [*work*] ? w?rk*|enter = 0 [w?rk*] > order"
	    "|/ q = 0 [w?rk*] ? q|esc = 0 [w?rk*]|/ enter = 0 > order");
}

TEST(input)
{
	fixture_fill();
	are("w enter = 0|w e-acute euro smile bell up = 0 ? \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"
	    "|back back = 0 ? \xc3\xa9|^U = 0 ? |back = 0");
	press('w');
	for (int i = 0; i < 2 * VIEW_INPUT; i++)
		press(0x20ac);
	is_u64(strlen(fixture.view.input), (VIEW_INPUT - 1) / 3 * 3, "there is an end of the room");
	is_i64(press(VIEW_KEY_ENTER), VIEW_WRITE, "Enter writes");
	press('/');
	for (int i = 0; i < VIEW_INPUT; i++)
		press('x');
	press(VIEW_KEY_ENTER);
	ok(strlen(fixture.view.filter) < VIEW_INPUT && *fixture.view.filter == '*',
	   "a pattern that long fits");
}

/* Any keys in any order. */
TEST(any)
{
	uint32_t state = 1;
	bool sound = true;

	fixture_fill();
	for (int i = 0; i < 200000 && sound; i++) {
		uint32_t key;

		state = state * 1664525 + 1013904223;
		key = state >> 8;
		key = key % 3   ? key / 3 % 128
		      : key % 2 ? KEY_SPECIAL + key / 6 % 12
				: key / 6 % 0x120000;
		fixture.shown.n = state >> 28 ? THREADS : state >> 24 & 7;
		fixture.view.down_most = state >> 20 & 63;
		press(key);
		keys_follow(&fixture.view, &fixture.shown);
		sound = (fixture.view.cursor < fixture.shown.n || !fixture.view.cursor) &&
			fixture.view.sort < SORTS && memchr(fixture.view.input, 0, VIEW_INPUT) &&
			memchr(fixture.view.filter, 0, VIEW_INPUT);
	}
	ok(sound, "nothing is out of bounds");
}

TEST(help)
{
	size_t n = 0;

	for (const char *line; (line = keys_help(n)); n++)
		ok(strlen(line) <= 78, "%s fits", line);
	ok(n > 10 && n < 22, "so do all lines");
}
