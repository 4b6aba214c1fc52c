/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "live.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/blocking.h"
#include "cli/base/clock.h"
#include "cli/base/log.h"
#include "cli/options/options_table.h"
#include "cli/text/text.h"
#include "cli/text/text_parts.h"
#include "layout.h"
#include "screen.h"
#include "view.h"

#define DRAW_NS (100 * NSEC_PER_MSEC) /* least time between two drawn windows */
#define MESSAGES_MOST (1 << 16)       /* bytes kept */

struct live {
	const struct outputs_config *outputs;
	struct signals *signals;
	live_recorder *record; /* NULL: no recording */
	void *record_context;
	struct screen *screen;
	int signal_fd; /* signals of the terminal, except those that end the run */
	struct view view;
	struct shown shown;
	struct history history; /* up to the current window */
	uint64_t drawn;         /* time of the last drawing, CLOCK_MONOTONIC ns */
	bool over;              /* the run should end, and the terminal has been restored */
	bool stale;             /* the screen is outdated, */
	bool stale_all;         /* and its contents are unknown */
	char *messages;         /* printed at the end; NULL: none */
	size_t messages_length;
};

exit_status live_check(void)
{
	return screen_check();
}

/* --- Messages --- */

/* Shows the last line, except hints. */
static void message_show(struct view *view, const char *text, size_t length)
{
	for (const char *line = text, *end; line < text + length; line = end + 1) {
		end = memchr(line, '\n', (size_t)(text + length - line)) ?: text + length;
		if (*line != ' ')
			snprintf(view->message, sizeof(view->message), "%.*s", (int)(end - line),
				 line);
	}
}

/* Takes the messages logged since the last call. Those caused by a key are not kept for later. */
static void messages_take(struct live *live, bool by_key)
{
	size_t length = 0;
	char *text = log_take(&length), *all;

	log_hold();
	if (length && !by_key && live->messages_length + length <= MESSAGES_MOST) {
		all = realloc(live->messages, live->messages_length + length);
		if (all) {
			memcpy(all + live->messages_length, text, length);
			live->messages = all;
			live->messages_length += length;
		}
	}
	if (length) {
		message_show(&live->view, text, length);
		live->stale = true;
	}
	free(text);
}

/* --- Shown window --- */

static void shown_clear(struct shown *shown)
{
	free(shown->order);
	verdict_clear(&shown->verdict);
	sample_clear(&shown->sample);
	*shown = (struct shown){ .history = shown->history };
}

static int shown_order(struct shown *shown, struct view *view)
{
	const struct report_options options = {
		.sort = view->sort,
		.threads = *view->filter ? view->filter : NULL,
	};
	const struct verdict_thread **order;
	size_t n;

	if (!shown->filled)
		return 0;
	order = text_threads_order(&shown->sample, &options, &n);
	if (!order)
		return -ENOMEM;
	free(shown->order);
	shown->order = order;
	shown->n = n;
	keys_follow(view, shown);
	return 0;
}

void live_record_with(struct live *live, live_recorder *record, void *context)
{
	live->record = record;
	live->record_context = context;
}

int live_show(struct live *live, struct sample *sample, struct verdict *verdict)
{
	struct shown *shown;
	int error;

	if (!live)
		return 0;
	shown = &live->shown;
	error = history_add(&live->history, verdict);
	if (!error && !(live->view.frozen && shown->filled && !sample->target_exited)) {
		shown_clear(shown);
		shown->sample = *sample;
		shown->verdict = *verdict;
		shown->sample.verdict = &shown->verdict;
		shown->filled = true;
		*sample = (struct sample){ 0 };
		*verdict = (struct verdict){ 0 };
		live->stale = true;
		error = history_copy(&shown->history, &live->history)
				?: shown_order(shown, &live->view);
	}
	return error;
}

static int draw(struct live *live)
{
	char *text = NULL;
	size_t length;
	FILE *out;
	int error;

	messages_take(live, false);
	if (!live->stale)
		return 0;
	screen_size(live->screen, &live->view.lines, &live->view.columns);
	out = open_memstream(&text, &length);
	if (!out)
		return -ENOMEM;
	error = layout_write(&live->view, &live->shown, out);
	if (fclose(out))
		error = -ENOMEM;
	/* A terminal that is busy gets it later. */
	if (!error && screen_draw(live->screen, text, live->stale_all))
		live->stale = live->stale_all = false;
	live->drawn = clock_monotonic();
	free(text);
	return error;
}

/* --- Writing --- */

static exit_status sample_write(const struct outputs_config *config, const struct sample *sample)
{
	struct outputs *outputs = NULL;
	int status = outputs_open(&outputs, config, sample->pid, NULL)
			     ?: outputs_write(outputs, sample)
			     ?: outputs_finish(outputs);

	outputs_close(outputs);
	return status;
}

/* Adds its recording, which is not kept. */
static exit_status shown_write(const struct live *live, const struct outputs_config *config)
{
	struct sample sample = live->shown.sample;
	int error, status;

	if (!live->record || sample.recording)
		return sample_write(config, &sample);
	error = live->record(live->record_context, &sample);
	status = error ? log_no_memory() : sample_write(config, &sample);
	if (sample.recording)
		recording_clear(sample.recording);
	free(sample.recording);
	critical_path_clear(&sample.path);
	return status;
}

/* Readers of a pipe may block this program, and the terminal is in use. */
static bool is_file(const struct output *output)
{
	struct stat there;

	if (!output->file) {
		log_error("cannot write to standard output: the view is there");
		return false;
	}
	if (!stat(output->file, &there) && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode)) {
		log_error("cannot write to %s: it is no file", output->file);
		return false;
	}
	return true;
}

/* Writes the sample as --output would. */
static void write_shown(struct live *live)
{
	struct options *options = calloc(1, sizeof(*options)); /* a large structure */
	struct outputs_config config = *live->outputs;
	const struct option_row *row = option_row_find('o');
	int status;

	if (!options) {
		log_no_memory();
		return;
	}
	status = row->read(row, live->view.input, options);
	if (!status && !is_file(&options->outputs.all[0]))
		status = EX_USAGE;
	config.all[0] = options->outputs.all[0];
	config.all[0].settings = config.settings;
	config.n = 1;
	config.listen = config.live = false;
	config.compare = NULL;
	if (!status)
		status = shown_write(live, &config);
	messages_take(live, true); /* errors */
	if (!status)
		snprintf(live->view.message, sizeof(live->view.message), "window %llu is in %s",
			 (unsigned long long)live->shown.history.windows, config.all[0].file);
	free(options);
}

/* --- Keys and signals --- */

/* Returns as live_tick(). */
static int key_do(struct live *live, uint32_t key)
{
	live->stale = true;
	switch (keys_press(&live->view, &live->shown, key)) {
	case VIEW_NOTHING:
	case VIEW_FREEZE:
		return 0;
	case VIEW_REDRAW:
		live->stale_all = true;
		return 0;
	case VIEW_ORDER:
		return shown_order(&live->shown, &live->view);
	case VIEW_WRITE:
		write_shown(live);
		return 0;
	case VIEW_QUIT:
		return 1;
	}
	return 0;
}

/* Stops as SIGTSTP does by default, with the terminal restored. Returns on SIGCONT, or at once
 * without a shell to send it. */
static void stop(struct live *live)
{
	sigset_t set;

	screen_restore(live->screen);
	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	sigprocmask(SIG_BLOCK, &set, NULL);
	screen_resume(live->screen);
	live->stale = live->stale_all = true;
}

static void signals_take(struct live *live)
{
	struct signalfd_siginfo info;

	while (read(live->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGTSTP)
			stop(live);
		else if (info.ssi_signo == SIGCONT)
			screen_resume(live->screen); /* a shell may have changed it */
		live->stale = live->stale_all = true;
	}
}

int live_tick(struct live *live)
{
	uint32_t key;
	int done = 0;
	bool pressed = false;

	if (!live || live->over)
		return 0;
	signals_take(live);
	if (!screen_look(live->screen))
		return 1;
	while (!done && screen_key(live->screen, &key)) {
		done = key_do(live, key);
		pressed = true;
	}
	if (done)
		return done;
	if (pressed || clock_monotonic() - live->drawn >= DRAW_NS)
		return draw(live);
	return 0;
}

/* --- Opening and closing --- */

/* Blocks the signals of the terminal, or lets them through. */
static sigset_t signals_mask(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	sigaddset(&set, SIGCONT);
	sigaddset(&set, SIGWINCH);
	sigprocmask(how, &set, NULL);
	return set;
}

static exit_status signals_watch(struct live *live)
{
	const sigset_t set = signals_mask(SIG_BLOCK);

	live->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (live->signal_fd >= 0)
		return 0;
	log_error("cannot wait for signals: %s", strerror(errno));
	return EX_OSERR;
}

static void signals_forget(struct live *live)
{
	signals_restore_first(live->signals, NULL, NULL);
	signals_mask(SIG_UNBLOCK);
	if (live->signal_fd >= 0)
		close(live->signal_fd);
}

/* The next signal may end the process at once. */
static void restore(void *context)
{
	struct live *live = context;

	live->over = true;
	screen_restore(live->screen);
}

exit_status live_open(struct live **out, const struct outputs_config *outputs,
		      struct signals *signals)
{
	struct live *live = *out = calloc(1, sizeof(*live));
	int status;

	if (!live)
		return log_no_memory();
	live->outputs = outputs;
	live->signals = signals;
	live->view.sort = outputs->settings.report.sort;
	live->stale = true;
	status = signals_watch(live) ?: signals_restore_first(signals, restore, live)
				     ?: screen_open(&live->screen);
	if (status)
		return status;
	live->view.ascii = screen_is_ascii(live->screen);
	log_hold();
	return draw(live) ? log_no_memory() : 0;
}

/* Prints the last view, which would disappear with the terminal's screen. */
static void last_print(const struct shown *shown)
{
	const struct report_options options = { .extent = REPORT_SUMMARY };

	if (!shown->filled || !shown->sample.target_exited)
		return;
	log_note("the process has ended; this was its last window:");
	blocking_begin();
	report_text(&shown->sample, &options, stdout);
	blocking_end();
}

void live_close(struct live *live)
{
	if (!live)
		return;
	if (live->screen) {
		messages_take(live, false);
		log_release(false);
	}
	screen_close(live->screen);
	signals_forget(live);
	if (live->messages)
		log_foreign(live->messages, live->messages_length);
	last_print(&live->shown);
	shown_clear(&live->shown);
	history_clear(&live->shown.history);
	history_clear(&live->history);
	free(live->messages);
	free(live);
}
