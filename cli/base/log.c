/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "log.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blocking.h"
#include "escape.h"

#define LINE_LEN 2048

static bool debugging, quiet;
static int progress_width; /* columns of the current progress line */
static FILE *held;         /* buffer of held messages; NULL: print them */
static char *held_text;
static size_t held_length;

/* Writes each line at once, because stderr is unbuffered: lines do not mix with those of other
 * processes. */
__attribute__((format(printf, 2, 0))) static void print_line(const char *prefix, const char *fmt,
							     va_list args)
{
	char text[LINE_LEN], line[ESCAPE_SIZE(LINE_LEN)];

	vsnprintf(text, sizeof(text), fmt, args);
	escape_text(line, sizeof(line), text, sizeof(text));
	blocking_begin();
	if (!held)
		log_progress_end();
	fprintf(held ? held : stderr, "%s%s\n", prefix, line);
	blocking_end();
}

void log_hold(void)
{
	held = open_memstream(&held_text, &held_length);
}

char *log_take(size_t *size)
{
	char *text;

	if (!held)
		return NULL;
	fclose(held);
	held = NULL;
	text = held_text;
	*size = text ? held_length : 0;
	held_text = NULL;
	return text;
}

void log_release(bool print)
{
	size_t size;
	char *text = log_take(&size);

	if (!text)
		return;
	blocking_begin();
	log_progress_end();
	if (print)
		fwrite(text, 1, size, stderr);
	blocking_end();
	free(text);
}

void log_foreign(const char *text, size_t size)
{
	char piece[LINE_LEN];

	blocking_begin();
	if (!held)
		log_progress_end();
	for (size_t at = 0, n; at < size; at += n) {
		n = size - at < sizeof(piece) ? size - at : sizeof(piece);
		memcpy(piece, text + at, n);
		escape_controls(piece, n);
		fwrite(piece, 1, n, held ? held : stderr);
	}
	blocking_end();
}

void log_error(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	print_line("kernel_delay: ", fmt, args);
	va_end(args);
}

void log_hint_files(void)
{
	log_hint("raise the hard limit: `ulimit -Hn 65536` as root, or LimitNOFILE= of a service");
}

exit_status log_no_memory(void)
{
	log_error("no memory");
	return EX_OSERR;
}

exit_status log_write_failed(const char *what, int error)
{
	if (error == -EPIPE)
		return EX_SIGNALLED + SIGPIPE;
	log_error("cannot write %s: %s", what, strerror(-error));
	return EX_IOERR;
}

void log_hint(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	print_line("  ", fmt, args);
	va_end(args);
}

void log_warn(const char *fmt, ...)
{
	va_list args;

	if (quiet)
		return;
	va_start(args, fmt);
	print_line("kernel_delay: warning: ", fmt, args);
	va_end(args);
}

void log_note(const char *fmt, ...)
{
	va_list args;

	if (quiet)
		return;
	va_start(args, fmt);
	print_line("kernel_delay: ", fmt, args);
	va_end(args);
}

void log_set_quiet(bool on)
{
	quiet = on;
}

void log_set_debug(bool on)
{
	debugging = on;
}

bool log_is_debug(void)
{
	return debugging;
}

void log_debug_text(const char *fmt, va_list args)
{
	if (!debugging)
		return;
	blocking_begin();
	if (!held)
		log_progress_end();
	vfprintf(held ? held : stderr, fmt, args);
	blocking_end();
}

void log_debug(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	log_debug_text(fmt, args);
	va_end(args);
}

void log_progress(const char *fmt, ...)
{
	char text[LINE_LEN];
	va_list args;
	int width;

	va_start(args, fmt);
	width = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	/* Blanks overwrite a longer previous line. The cursor returns to the start, so that a
	 * shell prompt or other text replaces the line. */
	blocking_begin();
	fprintf(stderr, "\r%-*s\r", progress_width, text);
	blocking_end();
	progress_width = width;
}

void log_progress_end(void)
{
	blocking_begin();
	if (progress_width)
		fprintf(stderr, "\r%*s\r", progress_width, "");
	blocking_end();
	progress_width = 0;
}
