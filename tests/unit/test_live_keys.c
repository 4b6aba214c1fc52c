/* SPDX-License-Identifier: Apache-2.0 */
/* What keys make of the live view. */
#include <stdlib.h>

#include "cli/live/keys.h"
#include "tap.h"
#include "verdict_sample.h"

enum { THREADS = 8 };
#define CONTROL_L ('L' - 'A' + 1)
#define CONTROL_U ('U' - 'A' + 1)
#define ESCAPE 27

struct fixture {
	struct thread_row rows[THREADS];
	struct verdict_thread threads[THREADS];
	const struct verdict_thread *order[THREADS];
	struct shown shown;
	struct view view;
};

static void fixture_fill(struct fixture *fixture)
{
	*fixture = (struct fixture){ .view = { .lines = 24, .columns = 80, .listed = 3 } };
	for (size_t i = 0; i < THREADS; i++) {
		fixture->rows[i] = runner((pid_t)(4711 + i), "thread");
		fixture->threads[i].row = &fixture->rows[i];
		fixture->order[i] = &fixture->threads[i];
	}
	fixture->shown.order = fixture->order;
	fixture->shown.n = THREADS;
	fixture->shown.known = true;
}

static enum view_action press(struct fixture *fixture, uint32_t key)
{
	return keys_press(&fixture->view, &fixture->shown, key);
}

static void type(struct fixture *fixture, const char *text)
{
	for (; *text; text++)
		is_i64(press(fixture, (uint32_t)*text), VIEW_NOTHING, "%c is typed", *text);
}

static void is_at(struct fixture *fixture, uint32_t key, size_t want)
{
	is_i64(press(fixture, key), VIEW_NOTHING, "a key is pressed");
	is_u64(fixture->view.cursor, want, "the cursor is at %zu", want);
}

TEST(cursor)
{
	struct fixture fixture;

	fixture_fill(&fixture);
	is_at(&fixture, VIEW_KEY_UP, 0);
	is_at(&fixture, VIEW_KEY_DOWN, 1);
	is_at(&fixture, 'j', 2);
	is_at(&fixture, 'k', 1);
	is_at(&fixture, VIEW_KEY_PAGE_DOWN, 4);
	is_at(&fixture, VIEW_KEY_PAGE_DOWN, 7);
	is_at(&fixture, VIEW_KEY_PAGE_DOWN, 7);
	is_at(&fixture, VIEW_KEY_PAGE_UP, 4);
	is_at(&fixture, 'G', 7);
	is_at(&fixture, VIEW_KEY_HOME, 0);
	is_at(&fixture, VIEW_KEY_END, 7);
	is_at(&fixture, VIEW_KEY_OTHER, 7);
	fixture.shown.n = 0;
	keys_follow(&fixture.view, &fixture.shown);
	is_u64(fixture.view.cursor, 0, "of no threads there is no last one");
	is_at(&fixture, VIEW_KEY_DOWN, 0);
	is_at(&fixture, VIEW_KEY_ENTER, 0);
	is_i64(fixture.view.page, VIEW_THREADS, "none is opened");
}

/* It stays with its thread; at the top, it stays there. */
TEST(follows)
{
	struct fixture fixture;
	const struct verdict_thread *first;

	fixture_fill(&fixture);
	first = fixture.order[0];
	fixture.order[0] = fixture.order[5];
	fixture.order[5] = first;
	keys_follow(&fixture.view, &fixture.shown);
	is_u64(fixture.view.cursor, 0, "the top is the top");
	is_at(&fixture, VIEW_KEY_DOWN, 1);
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
	struct fixture fixture;

	fixture_fill(&fixture);
	is_at(&fixture, VIEW_KEY_DOWN, 1);
	press(&fixture, VIEW_KEY_ENTER);
	is_i64(fixture.view.page, VIEW_THREAD, "Enter opens a thread");
	is_i64(fixture.view.opened.tid, 4712, "the one at the cursor");
	fixture.view.down_most = 30;
	press(&fixture, VIEW_KEY_PAGE_DOWN);
	is_u64(fixture.view.down, 21, "a page is scrolled");
	press(&fixture, VIEW_KEY_END);
	is_u64(fixture.view.down, 30, "to the end");
	press(&fixture, VIEW_KEY_DOWN);
	is_u64(fixture.view.down, 30, "and no more");
	press(&fixture, VIEW_KEY_RIGHT);
	press(&fixture, VIEW_KEY_RIGHT);
	press(&fixture, VIEW_KEY_LEFT);
	is_u64(fixture.view.right, 8, "to the right and back");
	press(&fixture, VIEW_KEY_LEFT);
	press(&fixture, VIEW_KEY_LEFT);
	is_u64(fixture.view.right, 0, "and no more");
	press(&fixture, ESCAPE);
	is_i64(fixture.view.page, VIEW_THREADS, "Esc goes back");
	is_u64(fixture.view.cursor, 1, "to where it was");
	press(&fixture, '?');
	is_i64(fixture.view.page, VIEW_HELP, "? opens the help");
	press(&fixture, '?');
	is_i64(fixture.view.page, VIEW_THREADS, "and closes it");
}

TEST(actions)
{
	struct fixture fixture;

	fixture_fill(&fixture);
	is_i64(press(&fixture, 'q'), VIEW_QUIT, "q quits");
	is_i64(press(&fixture, CONTROL_L), VIEW_REDRAW, "Ctrl-L redraws");
	is_i64(press(&fixture, 's'), VIEW_ORDER, "s orders");
	is_i64(fixture.view.sort, SORT_LONGEST, "by the next key");
	press(&fixture, 'S');
	is_i64(press(&fixture, 'S'), VIEW_ORDER, "S goes back");
	is_i64(fixture.view.sort, SORTS - 1, "around");
	is_i64(press(&fixture, 's'), VIEW_ORDER, "so does s");
	is_i64(fixture.view.sort, SORT_KEPT, "to the first");
	is_i64(press(&fixture, 'f'), VIEW_FREEZE, "f freezes");
	ok(fixture.view.frozen, "the view");
	is_i64(press(&fixture, ' '), VIEW_FREEZE, "space goes on");
	ok(!fixture.view.frozen, "with the view");
	fixture.shown.known = false;
	press(&fixture, 'f');
	press(&fixture, 'w');
	ok(!fixture.view.frozen && !fixture.view.prompt, "of nothing there is nothing to keep");
}

TEST(filter)
{
	struct fixture fixture;

	fixture_fill(&fixture);
	press(&fixture, '/');
	type(&fixture, "worq");
	is_i64(press(&fixture, VIEW_KEY_BACK), VIEW_NOTHING, "the last one is removed");
	type(&fixture, "k");
	is_i64(press(&fixture, VIEW_KEY_ENTER), VIEW_ORDER, "Enter takes it");
	is_str(fixture.view.filter, "*work*", "a part of names");
	ok(!fixture.view.prompt, "the question is gone");
	press(&fixture, '/');
	type(&fixture, "w?rk*");
	press(&fixture, VIEW_KEY_ENTER);
	is_str(fixture.view.filter, "w?rk*", "a pattern");
	press(&fixture, '/');
	type(&fixture, "q");
	is_i64(press(&fixture, ESCAPE), VIEW_NOTHING, "Esc asks no more");
	is_str(fixture.view.filter, "w?rk*", "the pattern stays");
	press(&fixture, '/');
	is_i64(press(&fixture, VIEW_KEY_ENTER), VIEW_ORDER, "nothing is taken, too");
	is_str(fixture.view.filter, "", "and stands for all");
}

TEST(input)
{
	struct fixture fixture;

	fixture_fill(&fixture);
	press(&fixture, 'w');
	is_i64(press(&fixture, VIEW_KEY_ENTER), VIEW_NOTHING, "nothing is not written");
	press(&fixture, 'w');
	press(&fixture, 0xe9);
	press(&fixture, 0x20ac);
	press(&fixture, 0x1f600);
	press(&fixture, 7);
	press(&fixture, VIEW_KEY_UP);
	is_str(fixture.view.input, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "characters are UTF-8");
	press(&fixture, VIEW_KEY_BACK);
	press(&fixture, VIEW_KEY_BACK);
	is_str(fixture.view.input, "\xc3\xa9", "removed whole");
	press(&fixture, CONTROL_U);
	is_str(fixture.view.input, "", "Ctrl-U removes all");
	press(&fixture, VIEW_KEY_BACK);
	ok(!fixture.view.prompt, "of nothing, the question");
	press(&fixture, 'w');
	for (int i = 0; i < 2 * VIEW_INPUT; i++)
		press(&fixture, 0x20ac);
	is_u64(strlen(fixture.view.input), (VIEW_INPUT - 1) / 3 * 3, "there is an end of the room");
	is_i64(press(&fixture, VIEW_KEY_ENTER), VIEW_WRITE, "Enter writes");
	press(&fixture, '/');
	for (int i = 0; i < VIEW_INPUT; i++)
		press(&fixture, 'x');
	press(&fixture, VIEW_KEY_ENTER);
	ok(strlen(fixture.view.filter) < VIEW_INPUT && *fixture.view.filter == '*',
	   "a pattern that long fits");
}

/* Any keys in any order. */
TEST(any)
{
	struct fixture fixture;
	uint32_t state = 1;
	bool sound = true;

	fixture_fill(&fixture);
	for (int i = 0; i < 200000 && sound; i++) {
		uint32_t key;

		state = state * 1664525 + 1013904223;
		key = state >> 8;
		key = key % 3   ? key / 3 % 128
		      : key % 2 ? KEY_SPECIAL + key / 6 % 12
				: key / 6 % 0x120000;
		fixture.shown.n = state >> 28 ? THREADS : state >> 24 & 7;
		fixture.view.down_most = state >> 20 & 63;
		press(&fixture, key);
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
