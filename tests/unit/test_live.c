/* SPDX-License-Identifier: Apache-2.0 */
/* The live view: the bars of its threads against what each window had; what keys make of it; and
 * what it looks like, against golden files, in which reversed lines begin with "> " and what is
 * bold stands in underscores. It fits terminals of any size, whatever there is in it.
 * UPDATE_GOLDEN=1 in the environment rewrites them. */
#include <stdlib.h>

#include "cli/base/escape.h"
#include "cli/live/view.h"
#include "cli/text/text_parts.h"
#include "cases.h"
#include "golden.h"
#include "say.h"
#include "tap.h"
#include "verdict_sample.h"
#include "cli/live/layout.h"

/* --- Bars --- */

/* Adds a window of these threads, of which each was kept from running for so much. */
static void window(struct history *history, struct thread_row *rows, const uint64_t *kept, size_t n)
{
	struct verdict_thread threads[8];
	struct verdict verdict = { .threads = threads, .n_threads = n };

	for (size_t i = 0; i < n; i++)
		threads[i] = (struct verdict_thread){ .row = &rows[i], .delay = kept[i] };
	is_i64(history_add(history, &verdict), 0, "window %d", (int)history->windows);
}

static void is_bar(const struct history *history, const struct thread_row *row, bool ascii,
		   const char *want)
{
	struct thread_key key = history_key(row);
	char *text = NULL;
	size_t length, width = 0;
	FILE *out = open_memstream(&text, &length);

	for (const char *at = want; *at; at++)
		width += ((unsigned char)*at & 0xc0) != 0x80;
	history_bar(history, &key, width, ascii, out);
	fclose(out);
	is_str(text, want, "the bar of %.16s", row->name);
	free(text);
}

TEST(levels)
{
	static const uint64_t kept[] = { 0,           1,           125 * MILLI,
					 126 * MILLI, 500 * MILLI, 874 * MILLI,
					 999 * MILLI, SECOND,      2 * SECOND };
	struct thread_row row = runner(4711, "main"), other = runner(4712, "other");
	struct history history = { 0 };

	is_bar(&history, &row, false, "     ");
	for (size_t i = 0; i < COUNT(kept); i++)
		window(&history, &row, &kept[i], 1);
	is_bar(&history, &row, false, "   ·▁▁▂▄▇███");
	is_bar(&history, &row, true, "   .11247888");
	is_bar(&history, &row, true, "7888");
	is_bar(&history, &row, true, "");
	is_bar(&history, &other, true, "    ");
	row.ledger.life = 0;
	window(&history, &row, &kept[0], 1);
	is_bar(&history, &row, true, "888.");
	history_clear(&history);
}

/* Threads come, are away and end. */
TEST(absence)
{
	static const uint64_t kept[] = { SECOND, SECOND };
	struct thread_row rows[] = { runner(4711, "main"), runner(4712, "other") };
	struct history history = { 0 }, copy = { 0 };

	window(&history, rows, kept, 1);
	window(&history, rows, kept, 2);
	window(&history, rows, kept, 1);
	is_i64(history_copy(&copy, &history), 0, "it is copied");
	window(&history, rows, kept, 2);
	is_bar(&history, &rows[0], true, " 8888");
	is_bar(&history, &rows[1], true, "  8 8");
	is_bar(&copy, &rows[1], true, "  8 ");
	for (int i = 0; i < HISTORY_WINDOWS - 1; i++)
		window(&history, rows, kept, 1);
	is_u64(history.n, 2, "it is known for so many windows");
	window(&history, rows, kept, 1);
	is_u64(history.n, 1, "and then forgotten");
	is_u64(copy.n, 2, "the copy is as it was");
	history_clear(&history);
	history_clear(&copy);
}

/* A row of several threads without events has those that it had before. */
TEST(silent)
{
	static const uint64_t kept[] = { 500 * MILLI, 0, SECOND };
	struct thread_row rows[] = { runner(4711, "worker"), runner(0, "worker"),
				     runner(0, "worker") };
	struct thread_row ended = runner(4719, "worker");
	struct history history = { 0 };

	for (size_t i = 1; i < 3; i++) {
		enum ledger_state state = i == 1 ? LEDGER_BLOCKED : LEDGER_STOPPED;

		rows[i].members = 5;
		rows[i].run.count = 0;
		rows[i].ledger.ns[LEDGER_USER] = 0;
		rows[i].ledger.ns[state] = rows[i].ledger.life = 5 * SECOND;
	}
	ended.ended = true;
	window(&history, &rows[0], kept, 1);
	window(&history, &ended, kept, 1);
	window(&history, &rows[1], &kept[1], 1);
	is_bar(&history, &rows[0], true, "4 .");
	is_bar(&history, &ended, true, " 4 ");
	is_bar(&history, &rows[1], true, "  .");
	window(&history, &rows[1], &kept[1], 2);
	is_bar(&history, &rows[0], true, "4 . ");
	is_bar(&history, &rows[1], true, "  ..");
	is_bar(&history, &rows[2], true, "   2");
	window(&history, rows, kept, 3);
	is_bar(&history, &rows[0], true, "4 . 4");
	history_clear(&history);
}

/* Many, in any order, of several processes. */
TEST(many)
{
	enum { MANY = 3000 };
	struct thread_row *rows = calloc(MANY, sizeof(*rows));
	struct verdict_thread *threads = calloc(MANY, sizeof(*threads));
	struct verdict verdict = { .threads = threads, .n_threads = MANY };
	struct history history = { 0 };
	bool same = true;

	for (size_t i = 0; i < MANY; i++) {
		rows[i] = runner((pid_t)(1 + i * 1009 % MANY), "t");
		rows[i].pid = (pid_t)(i % 7);
	}
	for (uint64_t window_number = 1; window_number <= 3; window_number++) {
		for (size_t i = 0; i < MANY; i++)
			threads[i] = (struct verdict_thread){
				.row = &rows[i], .delay = i % (window_number + 1) ? SECOND : 0
			};
		is_i64(history_add(&history, &verdict), 0, "a window of many");
	}
	is_u64(history.n, MANY, "each has a row");
	for (size_t i = 0; i < MANY && same; i++) {
		struct thread_key key = history_key(&rows[i]);
		char text[8] = "";
		FILE *out = fmemopen(text, sizeof(text), "w");

		history_bar(&history, &key, 3, true, out);
		fclose(out);
		for (size_t at = 0; at < 3; at++)
			same &= text[at] == (i % (at + 2) ? '8' : '.');
	}
	ok(same, "each has what it had in each window");
	history_clear(&history);
	free(threads);
	free(rows);
}

/* --- Keys --- */

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
	fixture.shown.filled = true;
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
	need(!word[1]);
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

TEST(page_keys)
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
	is_i64(SORT_DELAY, 0, "the first order");
	are("q = 0 > quit|^L = 0 > redraw|s = 0 sort 1 > order");
	is_i64(fixture.view.sort, SORT_LONGEST, "the next one");
	are("S = 0 > order");
	is_i64((press('S'), fixture.view.sort), SORTS - 1, "around");
	are("s = 0 > order|f = 0 frozen > freeze|space = 0 > freeze");
	fixture.shown.filled = false;
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

/* --- As text --- */

static void shown_fill(struct shown *shown, const struct sample *sample, const struct view *view)
{
	const struct report_options options = { .sort = view->sort,
						.threads = *view->filter ? view->filter : NULL };

	*shown = (struct shown){ .sample = *sample, .filled = true };
	is_i64(verdict_find(&shown->verdict, &shown->sample), 0, "a verdict is found");
	is_i64(history_add(&shown->history, &shown->verdict), 0, "a window is added");
	shown->order = text_threads_order(&shown->sample, &options, &shown->n);
	ok(shown->order, "threads are put in order");
}

/* All but the sample, which is the test's. */
static void shown_release(struct shown *shown)
{
	free(shown->order);
	verdict_clear(&shown->verdict);
	history_clear(&shown->history);
}

/* Without its sequences; *width is what the widest line takes, -1 if other sequences are left. */
static char *plain(const char *text, size_t *lines, int *width)
{
	static const struct {
		const char *sequence, *sign;
	} signs[] = { { LAYOUT_REVERSE, "> " }, { TEXT_BOLD, "" }, { TEXT_PLAIN, "" } };
	char *out = calloc(2, strlen(text) + 1), *to = out, *line = out;
	size_t more = 0;

	*lines = 0;
	*width = 0;
	while (*text) {
		size_t i = 0;

		while (i < 3 && strncmp(text, signs[i].sequence, strlen(signs[i].sequence)) != 0)
			i++;
		if (i < 3) {
			text += strlen(signs[i].sequence);
			to = stpcpy(to, signs[i].sign);
			more += strlen(signs[i].sign);
			continue;
		}
		*to = *text++;
		if (*to != '\n') {
			if ((unsigned char)*to < ' ' || *to == 0x7f)
				*width = INT32_MAX;
			to++;
			continue;
		}
		*to = '\0';
		if (*width < (int)(escape_width(line) - more))
			*width = (int)(escape_width(line) - more);
		*to++ = '\n';
		line = to;
		more = 0;
		++*lines;
	}
	return out;
}

/* Draws it, looks whether it fits, and compares it with a golden file if there is a name. */
static void is_drawn(struct view *view, const struct shown *shown, const char *name)
{
	char *text = NULL, *readable;
	size_t length, lines;
	int width;
	FILE *out = open_memstream(&text, &length);

	is_i64(layout_write(view, shown, out), 0, "%s is drawn", name ? name : "it");
	fclose(out);
	readable = plain(text, &lines, &width);
	is_u64(lines, view->lines, "in %zu lines", view->lines);
	ok(width <= (int)view->columns, "in %zu columns: %d", view->columns, width);
	if (name) {
		out = tmpfile();
		fputs(readable, out);
		golden_compare(out, name);
	}
	free(readable);
	free(text);
}

/* Three threads that wait for a CPU and one that is healthy. */
static void starve(struct thread_row rows[static 4])
{
	static const char *const names[] = { "main", "worker1", "worker2", "idle" };
	static struct culprit culprit = { .kind = CULPRIT_TASK,
					  .tid = 812,
					  .pid = 812,
					  .name = "backup-agent",
					  .woken_ns = 400 * MILLI,
					  .longest_ns = 20 * MILLI };

	for (size_t i = 0; i < 4; i++)
		rows[i] = runner((pid_t)(4711 + i), names[i]);
	for (size_t i = 0; i < 3; i++) {
		spend(&rows[i], LEDGER_READY_WOKEN, (3 - i) * 210 * MILLI);
		rows[i].ready = times(40, (3 - i) * 210 * MILLI, (3 - i) * 10 * MILLI);
	}
	rows[0].culprits = &culprit, rows[0].n_culprits = 1;
	rows[3].run.count = 0;
	spend(&rows[3], LEDGER_BLOCKED, SECOND);
}

TEST(threads)
{
	struct thread_row rows[4];
	struct sample sample = verdict_sample(rows, 4);
	struct view view = { .lines = 24, .columns = 80 };
	struct shown shown;

	sample.wall_start = (struct timespec){ .tv_sec = 1795218874 };
	starve(rows);
	shown_fill(&shown, &sample, &view);
	is_drawn(&view, &shown, "live_80x24");
	is_u64(view.listed, 10, "there is room for threads");
	view.ascii = true;
	view.frozen = true;
	is_drawn(&view, &shown, "live_ascii");
	view = (struct view){ .lines = 60, .columns = 200 };
	is_drawn(&view, &shown, "live_200x60");
	shown_release(&shown);
	view = (struct view){ .lines = 24, .columns = 80, .sort = SORT_TID, .filter = "*ork*" };
	shown_fill(&shown, &sample, &view);
	view.prompt = PROMPT_WRITE;
	strcpy(view.input, "json:a.json");
	is_drawn(&view, &shown, "live_filter");
	shown_release(&shown);
	strcpy(view.filter, "nobody");
	view.prompt = PROMPT_NONE;
	strcpy(view.message, "kernel_delay: cannot write \033[2J: No such file or directory");
	shown_fill(&shown, &sample, &view);
	is_drawn(&view, &shown, "live_none");
	shown_release(&shown);
}

TEST(opened)
{
	struct thread_row rows[4];
	struct sample sample = verdict_sample(rows, 4);
	struct view view = { .lines = 40, .columns = 80, .page = VIEW_THREAD };
	struct shown shown;

	starve(rows);
	shown_fill(&shown, &sample, &view);
	view.opened = history_key(&rows[0]);
	is_drawn(&view, &shown, "live_opened");
	view.right = 30;
	view.down = SIZE_MAX;
	is_drawn(&view, &shown, "live_scrolled");
	view.right = 0;
	view.opened.tid = 1;
	is_drawn(&view, &shown, "live_gone");
	shown_release(&shown);
}

/* The longest wait of this thread alone. */
TEST(longest)
{
	struct thread_row rows[4];
	struct sample sample = verdict_sample(rows, 4);
	struct view view = { .lines = 60, .columns = 180, .page = VIEW_THREAD };
	struct shown shown;
	struct trace_row waits[4];

	for (size_t i = 0; i < 4; i++)
		waits[i] = (struct trace_row){ .kind = TRACE_WAIT,
					       .tid = i == 3 ? 4712 : 4711,
					       .name = "main",
					       .start = 100 * SECOND,
					       .end = 100 * SECOND + (i == 1 ? 70 : 20 * i) * MILLI,
					       .state = KD_READY_WOKEN,
					       .call = KD_CALL_NONE };
	sample.traces = (struct trace_list){ .rows = waits, .n = 4, .waits_wanted = true };
	starve(rows);
	shown_fill(&shown, &sample, &view);
	view.opened = history_key(&rows[0]);
	is_drawn(&view, &shown, "live_longest");
	shown_release(&shown);
}

TEST(pages)
{
	struct view view = { .lines = 24, .columns = 80 };
	struct shown shown = { .filled = false };

	is_drawn(&view, &shown, "live_first");
	view.page = VIEW_HELP;
	is_drawn(&view, &shown, "live_help");
}

/* Whatever threads are called, and however small or large the terminal is. */
TEST(hostile)
{
	static const size_t sizes[] = { 0, 1, 2, 3, 4, 7, 10, 24, 41, 50, 80, 103, 139, 200, 500 };
	struct thread_row rows[HOSTILE];
	struct sample sample = hostile_sample(rows);
	struct view view = { .lines = 24, .columns = 80, .filter = "*" };
	struct shown shown;

	shown_fill(&shown, &sample, &view);
	is_drawn(&view, &shown, "live_hostile");
	for (size_t i = 0; i < COUNT(sizes); i++) {
		for (size_t j = 0; j < 30; j++) {
			view.lines = sizes[i] < 120 ? sizes[i] : 120;
			view.columns = sizes[(i * 7 + j) % (COUNT(sizes))];
			view.page = (enum view_page)(j % 3);
			view.opened = history_key(&rows[j % HOSTILE]);
			view.cursor = j % HOSTILE;
			view.ascii = j % 2;
			view.prompt = (enum view_prompt)(j / 3 % 3);
			view.down = j;
			view.right = j / 4;
			snprintf(view.input, sizeof(view.input), "%0*d\033中", (int)(j * 20), 1);
			snprintf(view.message, sizeof(view.message), "\r\n\033[1m%0*d",
				 (int)(j * 10), 1);
			is_drawn(&view, &shown, NULL);
		}
	}
	shown_release(&shown);
}

static void is_cut(const char *text, size_t left, size_t width, bool ascii, const char *want)
{
	char *written = NULL;
	size_t length, columns;
	FILE *out = open_memstream(&written, &length);

	columns = cut_line(text, strlen(text), left, width, ascii, out);
	fclose(out);
	is_str(written, want, "cut at %zu, %zu wide", left, width);
	ok(columns <= width, "it takes %zu columns", columns);
	free(written);
}

TEST(cut)
{
	is_cut("hello", 0, 80, false, "hello");
	is_cut("hello", 1, 3, false, "ell");
	is_cut("hello", 9, 3, false, "");
	is_cut("hello", 0, 0, false, "");
	is_cut("a中b", 0, 2, false, "a");
	is_cut("a中b", 0, 3, false, "a中");
	is_cut("a中b", 1, 2, false, "中");
	is_cut("a中b", 2, 2, false, " b");
	is_cut("a中b", 3, 2, false, "b");
	is_cut("a中b", 0, 9, true, "a??b");
	is_cut("e\xcc\x81x", 0, 1, false, "e\xcc\x81");
	is_cut(TEXT_BOLD "ab" TEXT_PLAIN "c", 1, 1, false, TEXT_BOLD "b" TEXT_PLAIN);
	is_cut("\xff\xff", 0, 9, true, "??");
	is_cut("a\033", 0, 9, false, "a\033");
}
