// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#define NCURSES_WIDECHAR 1
#define NCURSES_NOMACROS 1
#include "screen.h"

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "cli/base/log.h"
#include "cli/text/text_parts.h"
#include "view.h"

#include <term.h> /* last, because its macros would clash */
#undef columns
#undef lines

#define PATIENCE 1      /* s */
#define ESCAPE_DELAY 25 /* ms to wait for the rest of a key's sequence */

struct screen {
	SCREEN *terminal;
	struct termios before;
	timer_t patience; /* timer for a write in progress */
	bool has_patience;
	bool taken;   /* the terminal is in use */
	bool pressed; /* unread keys are pending */
	bool ascii;
};

exit_status screen_check(void)
{
	const char *name = getenv("TERM");
	int error = 0;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		log_error("option --live needs a terminal: standard %s is none",
			  isatty(STDIN_FILENO) ? "output" : "input");
		log_hint("with ssh give -t; without a terminal leave out --live, and give "
			 "--sample-count 0 and -o");
		return EX_USAGE;
	}
	if (name && *name && setupterm(name, STDOUT_FILENO, &error) == OK && tigetstr("cup") &&
	    tigetstr("cup") != (char *)-1)
		return 0;
	log_error("option --live needs a terminal whose cursor it can move: TERM is '%s'",
		  name ? name : "");
	log_hint("say what terminal it is, as in: TERM=xterm");
	return EX_USAGE;
}

static void nothing(int number)
{
	(void)number;
}

/* newterm() installs handlers for signals with default actions. This program handles signals in
 * other ways. Where it has one for SIGTSTP, it would also ignore that in each refresh(), and so
 * discard a pending one (lib_tstp.c). */
static SCREEN *newterm_without_handlers(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGTSTP, SIGWINCH };
	struct sigaction before[sizeof(numbers) / sizeof(*numbers)];
	SCREEN *terminal;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		sigaction(numbers[i], &(struct sigaction){ .sa_handler = nothing }, &before[i]);
	terminal = newterm(NULL, stdout, stdin);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		sigaction(numbers[i], &before[i], NULL);
	return terminal;
}

static bool is_foreground(void)
{
	return tcgetpgrp(STDIN_FILENO) == getpgrp();
}

/* --- Blocked terminals --- */

/* The other end of a connection may be gone, so that a write blocks forever. Signals that end
 * the run are only handled after the write: check for them here. */
static void stuck(int number, siginfo_t *info, void *context)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	const struct screen *screen = info->si_value.sival_ptr;
	int error = errno;
	sigset_t pending;

	(void)number;
	(void)context;
	if (info->si_code == SI_TIMER && !sigpending(&pending)) {
		for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
			if (!sigismember(&pending, ends[i]))
				continue;
			if (is_foreground()) /* or it would be stopped here */
				tcsetattr(STDIN_FILENO, TCSANOW, &screen->before);
			sigprocmask(SIG_UNBLOCK, &pending, NULL);
		}
	}
	errno = error;
}

static void patience_open(struct screen *screen)
{
	struct sigaction action = { .sa_sigaction = stuck, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL,
				  .sigev_signo = SIGALRM,
				  .sigev_value.sival_ptr = screen };

	sigaction(SIGALRM, &action, NULL);
	screen->has_patience = !timer_create(CLOCK_MONOTONIC, &event, &screen->patience);
}

/* Seconds to wait again and again; 0: no more. */
static void patience_set(const struct screen *screen, time_t seconds)
{
	const struct itimerspec each = { { .tv_sec = seconds }, { .tv_sec = seconds } };

	if (screen->has_patience)
		timer_settime(screen->patience, 0, &each, NULL);
}

static void patience_close(struct screen *screen)
{
	if (screen->has_patience)
		timer_delete(screen->patience);
	signal(SIGALRM, SIG_DFL);
}

/* --- Taking and restoring the terminal --- */

/* Ctrl-S would stop the output, and so this program. */
static void flow_ignore(void)
{
	struct termios now;

	if (tcgetattr(STDIN_FILENO, &now))
		return;
	now.c_iflag &= ~(tcflag_t)(IXON | IXOFF);
	tcsetattr(STDIN_FILENO, TCSANOW, &now);
	def_prog_mode();
}

exit_status screen_open(struct screen **out)
{
	struct screen *screen = *out = calloc(1, sizeof(*screen));

	if (!screen)
		return log_no_memory();
	setlocale(LC_CTYPE, "");
	patience_open(screen);
	screen->ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
	if (!tcgetattr(STDIN_FILENO, &screen->before))
		screen->terminal = newterm_without_handlers();
	if (!screen->terminal) {
		log_error("cannot take the terminal");
		return EX_OSERR;
	}
	screen->taken = true;
	cbreak();
	noecho();
	nonl();
	flow_ignore();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	scrollok(stdscr, FALSE);
	set_escdelay(ESCAPE_DELAY);
	curs_set(0);
	return 0;
}

static bool takes_output(void)
{
	struct pollfd terminal = { STDOUT_FILENO, POLLOUT, 0 };

	return poll(&terminal, 1, 0) > 0 && !(terminal.revents & (POLLERR | POLLHUP | POLLNVAL));
}

/* A shell has changed the terminal's settings, and changing them from the background would stop
 * this process. */
static void background_restore(void)
{
	if (!takes_output() || !exit_ca_mode || !cursor_normal)
		return;
	putp(exit_ca_mode);
	putp(cursor_normal);
	if (keypad_local)
		putp(keypad_local);
	fflush(stdout);
}

void screen_restore(struct screen *screen)
{
	if (!screen || !screen->taken)
		return;
	screen->taken = false;
	if (!is_foreground()) {
		background_restore();
		return;
	}
	patience_set(screen, PATIENCE);
	if (takes_output())
		endwin();
	patience_set(screen, 0);
	tcsetattr(STDIN_FILENO, TCSANOW, &screen->before);
}

void screen_resume(struct screen *screen)
{
	screen->taken = true;
	reset_prog_mode();
	curs_set(0);
}

void screen_size(struct screen *screen, size_t *lines, size_t *columns)
{
	struct winsize size = { 0 };

	if (screen->taken && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_row &&
	    size.ws_col && (size.ws_row != LINES || size.ws_col != COLS))
		resizeterm(size.ws_row, size.ws_col);
	*lines = (size_t)LINES;
	*columns = (size_t)COLS;
}

bool screen_is_ascii(const struct screen *screen)
{
	return screen->ascii;
}

/* --- Output --- */

static void line_draw(const char *text, size_t length)
{
	static const struct {
		const char *sequence;
		attr_t on;
	} attributes[] = { { TEXT_BOLD, A_BOLD },
			   { LAYOUT_REVERSE, A_REVERSE },
			   { TEXT_PLAIN, A_NORMAL } };

	attrset(A_NORMAL);
	while (length) {
		const char *next = memchr(text, '\033', length) ?: text + length;

		addnstr(text, (int)(next - text));
		length -= (size_t)(next - text);
		text = next;
		for (size_t i = 0; length && i < sizeof(attributes) / sizeof(*attributes); i++) {
			size_t n = strlen(attributes[i].sequence);

			if (n > length || memcmp(text, attributes[i].sequence, n) != 0)
				continue;
			if (attributes[i].on == A_NORMAL)
				attrset(A_NORMAL);
			else
				attron((int)attributes[i].on);
			text += n;
			length -= n;
		}
		/* Nothing else is escaped that way, see layout_write(). */
		if (length && text == next) {
			text++;
			length--;
		}
	}
	attrset(A_NORMAL);
}

bool screen_draw(struct screen *screen, const char *text, bool all)
{
	const char *end;

	if (!screen->taken || !takes_output())
		return false;
	patience_set(screen, PATIENCE);
	erase();
	for (int line = 0; *text && line < LINES; line++, text = *end ? end + 1 : end) {
		end = strchrnul(text, '\n');
		move(line, 0);
		line_draw(text, (size_t)(end - text));
	}
	if (all)
		clearok(stdscr, TRUE);
	refresh();
	patience_set(screen, 0);
	return true;
}

/* --- Keys --- */

bool screen_look(struct screen *screen)
{
	struct pollfd terminal = { STDIN_FILENO, POLLIN, 0 };

	if (!screen->taken || poll(&terminal, 1, 0) <= 0)
		return true;
	screen->pressed |= terminal.revents & POLLIN;
	return !(terminal.revents & (POLLHUP | POLLERR | POLLNVAL));
}

static uint32_t function_key(wint_t key)
{
	static const struct {
		wint_t theirs;
		uint32_t ours;
	} keys[] = {
		{ KEY_UP, VIEW_KEY_UP },         { KEY_DOWN, VIEW_KEY_DOWN },
		{ KEY_PPAGE, VIEW_KEY_PAGE_UP }, { KEY_NPAGE, VIEW_KEY_PAGE_DOWN },
		{ KEY_HOME, VIEW_KEY_HOME },     { KEY_END, VIEW_KEY_END },
		{ KEY_LEFT, VIEW_KEY_LEFT },     { KEY_RIGHT, VIEW_KEY_RIGHT },
		{ KEY_ENTER, VIEW_KEY_ENTER },   { KEY_BACKSPACE, VIEW_KEY_BACK },
		{ KEY_DC, VIEW_KEY_BACK },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (keys[i].theirs == key)
			return keys[i].ours;
	return VIEW_KEY_OTHER;
}

/* ncurses parses key sequences, and may have read several at once. */
bool screen_key(struct screen *screen, uint32_t *key)
{
	wint_t got;
	int kind;

	if (!screen->taken || !screen->pressed)
		return false;
	kind = get_wch(&got);
	screen->pressed = kind != ERR;
	if (kind == ERR)
		return false;
	if (kind == KEY_CODE_YES)
		*key = function_key(got);
	else if (got == '\r' || got == '\n')
		*key = VIEW_KEY_ENTER;
	else if (got == '\b' || got == 0x7f)
		*key = VIEW_KEY_BACK;
	else
		*key = got < KEY_SPECIAL ? (uint32_t)got : VIEW_KEY_OTHER;
	return true;
}

void screen_close(struct screen *screen)
{
	if (!screen)
		return;
	screen_restore(screen);
	if (screen->terminal)
		delscreen(screen->terminal);
	patience_close(screen);
	free(screen);
}
