// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/base/arith.h"
#include "cli/base/escape.h"
#include "cli/base/parse.h"
#include "cli/text/text_parts.h"
#include "cli/text/text_processes.h"
#include "cli/text/text_screen.h"
#include "cli/text/text_thread.h"
#include "cli/text/text_traces.h"
#include "view.h"

/* --- Lines cut at the edges of the screen --- */

#define ESCAPE '\033'
#define CHARACTER 4 /* bytes at most */

/* Bytes of the first escape sequence or character. */
static size_t piece_length(const char *text, size_t length)
{
	size_t n = 1;

	if (*text == ESCAPE) {
		while (n < length && text[n - 1] != 'm')
			n++;
		return n;
	}
	while (n < length && n < CHARACTER && ((unsigned char)text[n] & 0xc0) == 0x80)
		n++;
	return n;
}

static size_t piece_width(const char *text, size_t length)
{
	char character[CHARACTER + 1] = "";

	if (*text == ESCAPE)
		return 0;
	if ((unsigned char)*text < 0x80)
		return 1;
	memcpy(character, text, length);
	return escape_width(character);
}

size_t cut_line(const char *text, size_t length, size_t skip, size_t width, bool ascii, FILE *out)
{
	size_t column = 0, written = 0;

	for (size_t n; length; text += n, length -= n) {
		n = piece_length(text, length);
		size_t columns = piece_width(text, n), from = column;

		column += columns;
		if (*text == ESCAPE) {
			fwrite(text, 1, n, out);
			continue;
		}
		if (from < skip || column > skip + width) {
			/* Half of a wide character at the left edge. */
			for (; from < skip && column > skip && written < column - skip; written++)
				putc(' ', out);
			continue;
		}
		if (ascii && (unsigned char)*text >= 0x80)
			for (size_t i = 0; i < columns; i++)
				putc('?', out);
		else
			fwrite(text, 1, n, out);
		written += columns;
	}
	return written;
}

/* --- The live view as lines of text --- */

#define LISTED_LEAST 5  /* threads, on a screen of 24 lines */
#define NAME_COLUMNS 40 /* a thread and its figures, see TEXT_SCREEN_THREADS */
#define BAR_LEAST 10    /* columns */
#define STATES_COLUMNS 30
#define MARGIN 28 /* margin of a thread's sections in the report */

struct layout {
	struct view *view;
	const struct shown *shown;
	FILE *out;
	size_t used; /* lines */
};

/* --- Lines --- */

static void line_end(struct layout *layout)
{
	putc('\n', layout->out);
	layout->used++;
}

/* Writes the lines of a text from line down on, as many as fit above the last lines of the
 * screen. A highlight at the beginning of a line ends with it. */
static void lines_put(struct layout *layout, const char *text, size_t down, size_t last)
{
	const struct view *view = layout->view;
	const char *end;

	for (; *text && layout->used < last; text = *end ? end + 1 : end) {
		end = strchrnul(text, '\n');
		if (down) {
			down--;
			continue;
		}
		cut_line(text, (size_t)(end - text), view->right, view->columns, view->ascii,
			 layout->out);
		if (!strncmp(text, LAYOUT_REVERSE, strlen(LAYOUT_REVERSE)))
			fputs(TEXT_PLAIN, layout->out);
		line_end(layout);
	}
}

/* Writes a line in reverse video across the screen. */
static void bar_put(struct layout *layout, const char *text)
{
	const struct view *view = layout->view;
	size_t width;

	fputs(LAYOUT_REVERSE, layout->out);
	width = cut_line(text, strlen(text), 0, view->columns, view->ascii, layout->out);
	fprintf(layout->out, "%*s" TEXT_PLAIN, (int)(view->columns - width), "");
	line_end(layout);
}

/* Returns what a function writes into a text report, or NULL. The caller frees it. */
typedef int text_writer(struct text *text, const struct layout *layout);

static char *text_make(const struct layout *layout, text_writer *write)
{
	struct text *text = malloc(sizeof(*text));
	char *written = NULL;
	size_t length;
	FILE *out = text ? open_memstream(&written, &length) : NULL;
	int error = -ENOMEM;

	if (out) {
		*text = (struct text){ .sample = &layout->shown->sample, .bold = true };
		columns_begin(&text->columns, out);
		error = write(text, layout);
		error = columns_end(&text->columns) ?: error;
		error = fclose(out) ? -ENOMEM : error;
	}
	free(text);
	if (!error)
		return written;
	free(written);
	return NULL;
}

/* --- First and last line --- */

static void title(struct layout *layout)
{
	static const char *const sorts[] = {
#define SORT_WORD(sort, key) key,
		REPORT_SORTS(SORT_WORD)
#undef SORT_WORD
	};
	const struct view *view = layout->view;
	const struct shown *shown = layout->shown;
	char filter[ESCAPE_SIZE(VIEW_INPUT)], text[sizeof(filter) + 256], when[32] = "";
	struct tm local;

	if (!shown->filled) {
		bar_put(layout, " kernel_delay: the first window has not ended yet");
		return;
	}
	if (localtime_r(&shown->sample.wall_start.tv_sec, &local))
		strftime(when, sizeof(when), " from %H:%M:%S", &local);
	escape_text(filter, sizeof(filter), view->filter, sizeof(view->filter));
	snprintf(text, sizeof(text), " kernel_delay: %swindow %llu%s, %s; by %s%s%s",
		 view->frozen ? "FROZEN, " : "", (unsigned long long)shown->history.windows, when,
		 AS_TIME(shown->sample.end - shown->sample.start), sorts[view->sort],
		 *filter ? "; only " : "", filter);
	bar_put(layout, text);
}

static void last_line(struct layout *layout)
{
	const struct view *view = layout->view;
	char escaped[ESCAPE_SIZE(VIEW_INPUT)], text[sizeof(escaped) + 256];
	const char *ask = view->prompt == PROMPT_FILTER
				  ? "threads whose names match (nothing: all): "
				  : "write to FORMAT:FILE, as json:window.json: ";
	const char *line = escaped;
	size_t width, skip = 0;

	if (view->prompt) {
		escape_text(escaped, sizeof(escaped), view->input, sizeof(view->input));
		width = escape_width(escaped) + strlen(ask) + 1;
		snprintf(text, sizeof(text), "%s%s" LAYOUT_REVERSE " " TEXT_PLAIN, ask, escaped);
		line = text;
		skip = u64_sub(width, view->columns); /* the end, where the user types */
	} else if (*view->message) {
		escape_text(escaped, sizeof(escaped), view->message, sizeof(view->message));
	} else {
		line = view->page == VIEW_THREADS
			       ? " q quit  ? help  Enter open  s sort  / filter  f freeze  w write"
			       : " q quit  Esc back  Up Down Left Right scroll  f freeze  w write";
	}
	cut_line(line, strlen(line), skip, view->columns, view->ascii, layout->out);
	line_end(layout);
}

/* --- Thread list --- */

static int top_write(struct text *text, const struct layout *layout)
{
	size_t lines = layout->view->lines;

	/* Lines of title, header, threads and last line. */
	lines = lines > LISTED_LEAST + 3 ? lines - LISTED_LEAST - 3 : 1;
	text_screen_top(text, lines);
	return 0;
}

static size_t bar_columns(const struct view *view)
{
	size_t left = view->columns > NAME_COLUMNS + 1 ? view->columns - NAME_COLUMNS - 1 : 0;

	return left < BAR_LEAST ? 0 : u64_min(left, HISTORY_WINDOWS);
}

/* True if states fit after the bar. */
static bool has_states(const struct view *view)
{
	return view->columns >= NAME_COLUMNS + 1 + HISTORY_WINDOWS + 2 + STATES_COLUMNS;
}

static int thread_write(struct text *text, const struct layout *layout, size_t i)
{
	const struct verdict_thread *thread = layout->shown->order[i];
	struct columns *columns = &text->columns;
	struct thread_key key = history_key(thread->row);
	size_t width = bar_columns(layout->view);
	int error;

	text_screen_thread(columns, thread);
	columns_add(columns, " ");
	error = columns_end(columns); /* because the bar goes to the stream */
	columns_begin(columns, columns->out);
	history_bar(&layout->shown->history, &key, width, layout->view->ascii, columns->out);
	if (has_states(layout->view)) {
		columns_add(columns, "  ");
		text_thread_states(columns, &thread->row->ledger);
		columns_add(columns, thread->row->ended ? ", ended" : "");
		text_process_of(text, thread->row);
	}
	columns_add(columns, "\n");
	return error;
}

/* First thread to list, so that the cursor's is visible. */
static size_t first_listed(const struct view *view, size_t n)
{
	size_t first = view->cursor >= view->listed ? view->cursor - view->listed / 2 : 0;

	if (!view->listed)
		return n;
	return first + view->listed > n && n > view->listed ? n - view->listed : first;
}

static int list_write(struct text *text, const struct layout *layout)
{
	const struct view *view = layout->view;
	const struct shown *shown = layout->shown;
	int error = 0;

	for (size_t i = first_listed(view, shown->n), n = 0; i < shown->n && n < view->listed;
	     i++, n++) {
		if (i == view->cursor)
			columns_add(&text->columns, LAYOUT_REVERSE);
		error = error ?: thread_write(text, layout, i);
	}
	return error;
}

static void list_header(struct layout *layout)
{
	char text[256];
	size_t width = bar_columns(layout->view);

	snprintf(text, sizeof(text), TEXT_BOLD "%s %-*.*s%s" TEXT_PLAIN, TEXT_SCREEN_THREADS,
		 (int)width, (int)width, "IN EACH WINDOW, THE LAST AT THE RIGHT",
		 has_states(layout->view) ? "  STATES" : "");
	cut_line(text, strlen(text), 0, layout->view->columns, layout->view->ascii, layout->out);
	line_end(layout);
}

static int threads_page(struct layout *layout, size_t last)
{
	struct view *view = layout->view;
	char *top = text_make(layout, top_write), *list = NULL;

	if (!top)
		return -ENOMEM;
	view->right = 0;
	lines_put(layout, top, 0, last > LISTED_LEAST ? last - LISTED_LEAST - 1 : last / 2);
	free(top);
	view->listed = last > layout->used + 1 ? last - layout->used - 1 : 0;
	if (view->listed) {
		list_header(layout);
		list = text_make(layout, list_write);
		if (!list)
			return -ENOMEM;
		lines_put(layout, layout->shown->n ? list : "  No thread has such a name.", 0,
			  last);
	}
	free(list);
	return 0;
}

/* --- One thread --- */

/* Finds a thread by its key; else a row of several that may include it. */
static const struct verdict_thread *thread_find(const struct layout *layout, bool *among)
{
	const struct shown *shown = layout->shown;
	const struct thread_key *wanted = &layout->view->opened;
	const struct verdict *verdict = &shown->verdict;
	const char *name = wanted->name;

	*among = false;
	for (size_t i = 0; i < verdict->n_threads; i++) {
		struct thread_key key = history_key(verdict->threads[i].row);

		if (!history_key_compare(&key, wanted))
			return &verdict->threads[i];
	}
	*among = true;
	for (size_t i = 0; i < shown->history.n; i++)
		if (!history_key_compare(&shown->history.rows[i].key, wanted))
			name = shown->history.rows[i].name;
	for (size_t i = 0; i < verdict->n_threads; i++) {
		const struct thread_row *row = verdict->threads[i].row;

		if (row->members > 1 && row->pid == wanted->pid &&
		    !strncmp(row->name, name, KD_COMM_LEN))
			return &verdict->threads[i];
	}
	return NULL;
}

/* Adds its longest wait with stacks. */
static void longest_wait(struct text *text, const struct thread_row *thread)
{
	const struct report_options options = { .waits_per_thread = true };
	const struct trace_list *traces = &text->sample->traces;
	struct sample only = *text->sample;
	struct trace_row row = { 0 };
	uint64_t longest = 0;

	for (size_t i = 0; i < traces->n; i++) {
		uint64_t ns = trace_duration(traces, &traces->rows[i], text->sample->end);

		if (traces->rows[i].kind != TRACE_WAIT || traces->rows[i].tid != thread->tid ||
		    thread->members > 1 || ns <= longest)
			continue;
		row = traces->rows[i];
		longest = ns;
	}
	only.traces = (struct trace_list){
		.rows = &row,
		.n = 1,
		.waits_wanted = true,
		.wait_threshold = traces->wait_threshold,
		.kernel_stacks_wanted = traces->kernel_stacks_wanted,
		.user_stacks_wanted = traces->user_stacks_wanted,
	};
	if (longest)
		text_traces(&text->columns, &only, &options);
	else if (traces->waits_wanted)
		columns_add(&text->columns, "\nNo wait of this thread is listed in this window.\n");
	else
		columns_add(&text->columns, "\nFor its longest wait, with stacks, start with "
					    "--off-cpu=1ms as well.\n");
}

static int opened_write(struct text *text, const struct layout *layout)
{
	bool among;
	const struct verdict_thread *thread = thread_find(layout, &among);
	struct columns *columns = &text->columns;
	int error;

	if (!thread) {
		columns_add(columns, "This thread is not in this window: it has ended, or is not "
				     "watched any more.\n");
		return 0;
	}
	text_bold(text, TEXT_SCREEN_THREADS);
	columns_add(columns, "\n");
	text_screen_thread(columns, thread);
	columns_add(columns, " ");
	error = columns_end(columns);
	columns_begin(columns, columns->out);
	history_bar(&layout->shown->history, &layout->view->opened, bar_columns(layout->view),
		    layout->view->ascii, columns->out);
	columns_add(columns, "\n");
	if (among)
		columns_add(columns, "It had no event in this window; so had all of these:\n");
	columns_add(columns, "\n");
	if (text_is_multiprocess(text->sample))
		text_process_heading(text, thread->row);
	text_thread(text, thread->row);
	longest_wait(text, thread->row);
	return error;
}

/* Removes the margin, which narrow terminals cannot fit. */
static void margin_remove(char *text)
{
	char *to = text;

	for (const char *from = text, *end; *from; from = *end ? end + 1 : end) {
		size_t skip = strspn(from, " ");

		end = strchrnul(from, '\n');
		from += skip >= MARGIN ? MARGIN : 0;
		memmove(to, from, (size_t)(end - from) + 1);
		to += end - from + (*end ? 1 : 0);
	}
	*to = '\0';
}

static int page_put(struct layout *layout, char *text, size_t last)
{
	struct view *view = layout->view;
	size_t lines = 0, left = last - layout->used;

	if (!text)
		return -ENOMEM;
	margin_remove(text);
	for (const char *at = text; (at = strchr(at, '\n')); at++)
		lines++;
	view->down_most = u64_sub(lines, left);
	view->down = u64_min(view->down, view->down_most);
	lines_put(layout, text, view->down, last);
	free(text);
	return 0;
}

static int help_write(struct text *text, const struct layout *layout)
{
	const char *line;

	for (size_t i = 0; (line = keys_help(i)); i++)
		columns_print(&text->columns, "  %s\n", line);
	return layout->out ? 0 : -EINVAL;
}

int layout_write(struct view *view, const struct shown *shown, FILE *out)
{
	struct layout layout = { view, shown, out, 0 };
	size_t last = view->lines ? view->lines - 1 : 0;
	int error = 0;

	if (view->lines > 1)
		title(&layout);
	if (view->page == VIEW_HELP)
		error = page_put(&layout, text_make(&layout, help_write), last);
	else if (view->page == VIEW_THREAD && shown->filled)
		error = page_put(&layout, text_make(&layout, opened_write), last);
	else if (shown->filled && view->lines > 1)
		error = threads_page(&layout, last);
	while (layout.used < last)
		line_end(&layout);
	if (view->lines)
		last_line(&layout);
	if (!error && ferror(out))
		error = -EIO;
	return error;
}
