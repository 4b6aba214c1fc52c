/* SPDX-License-Identifier: Apache-2.0 */
/* The live view as text, against golden files, in which reversed lines begin with "> " and what is
 * bold stands in underscores; and that it fits terminals of any size, whatever there is in it.
 * UPDATE_GOLDEN=1 in the environment rewrites them. */
#include <stdlib.h>

#include "cli/base/escape.h"
#include "cli/live/layout.h"
#include "cli/text/text_parts.h"
#include "cli/text/text_short.h"
#include "golden.h"
#include "tap.h"
#include "verdict_sample.h"

static void shown_fill(struct shown *shown, const struct sample *sample, const struct view *view)
{
	const struct report_options options = { .sort = view->sort,
						.threads = *view->filter ? view->filter : NULL };

	*shown = (struct shown){ .sample = *sample, .known = true };
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
	sample.traces = (struct trace_list){ .rows = waits, .n = 4, .waits_asked = true };
	starve(rows);
	shown_fill(&shown, &sample, &view);
	view.opened = history_key(&rows[0]);
	is_drawn(&view, &shown, "live_longest");
	shown_release(&shown);
}

TEST(pages)
{
	struct view view = { .lines = 24, .columns = 80 };
	struct shown shown = { .known = false };

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
