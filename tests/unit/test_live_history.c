/* SPDX-License-Identifier: Apache-2.0 */
/* The bars of the live view, against what each window had. */
#include <stdlib.h>

#include "cli/live/view.h"
#include "tap.h"
#include "verdict_sample.h"

/* Adds a window of these threads, of which each was kept from running for so much. */
static void window(struct history *history, struct thread_row *rows, const uint64_t *kept, size_t n)
{
	struct verdict_thread threads[8];
	struct verdict verdict = { .threads = threads, .n_threads = n };

	for (size_t i = 0; i < n; i++)
		threads[i] = (struct verdict_thread){ .row = &rows[i], .kept = kept[i] };
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
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
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
				.row = &rows[i], .kept = i % (window_number + 1) ? SECOND : 0
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
