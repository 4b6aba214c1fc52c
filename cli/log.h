/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to the operator, on stderr. Each is one line: control characters and
 * invalid UTF-8 in it are escaped, so any text can be an argument as it is. */
#ifndef LOG_H
#define LOG_H

#include <stdarg.h>
#include <stdbool.h>

/* What failed and why: "kernel_delay: <text>". */
__attribute__((format(printf, 1, 2))) void log_error(const char *fmt, ...);

/* What to do about the error before it: "  <text>". */
__attribute__((format(printf, 1, 2))) void log_hint(const char *fmt, ...);

/* What the operator should know although the run goes on: "kernel_delay:
 * warning: <text>". */
__attribute__((format(printf, 1, 2))) void log_warn(const char *fmt, ...);

/* What goes on, as it should: "kernel_delay: <text>". */
__attribute__((format(printf, 1, 2))) void log_note(const char *fmt, ...);

/* Warnings and notes are left out from now on, or not. */
void log_set_quiet(bool on);

/* Switches debugging messages on or off; they are off at first. */
void log_set_debug(bool on);

/* With debugging on the text as it is, which may be several lines and needs its
 * own line feeds: for what libraries and the kernel's verifier say. */
__attribute__((format(printf, 1, 0))) void log_debug_text(const char *fmt, va_list args);

#endif
