/* SPDX-License-Identifier: Apache-2.0 */
#include "log.h"

#include <stdio.h>

#include "escape.h"

#define LINE_LEN 1024

static bool debugging, quiet;

/* One write per line, as stderr is not buffered: lines do not mix with those of
 * other processes. */
__attribute__((format(printf, 2, 0))) static void print_line(const char *prefix, const char *fmt,
							     va_list args)
{
	char text[LINE_LEN], line[ESCAPE_SIZE(LINE_LEN)];

	vsnprintf(text, sizeof(text), fmt, args);
	escape_text(line, sizeof(line), text, sizeof(text));
	fprintf(stderr, "%s%s\n", prefix, line);
}

void log_error(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	print_line("kernel_delay: ", fmt, args);
	va_end(args);
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

void log_debug_text(const char *fmt, va_list args)
{
	if (debugging)
		vfprintf(stderr, fmt, args);
}
