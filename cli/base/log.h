/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to the operator, on stderr. Each is one line: control characters and
 * invalid UTF-8 in it are escaped, so any text can be an argument as it is. */
#ifndef LOG_H
#define LOG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "exit_status.h"

/* What failed and why: "kernel_delay: <text>". */
__attribute__((format(printf, 1, 2))) void log_error(const char *fmt, ...);

/* Says that there is no memory. Returns EX_OSERR. */
exit_status log_no_memory(void);

/* Prints that something could not be written to standard output, by a negative errno. That its
 * reader has gone is no error, and nothing is printed: head(1) and pagers end so. Returns the exit
 * status. */
exit_status log_write_failed(const char *what, int error);

/* What to do about the error before it: "  <text>". */
__attribute__((format(printf, 1, 2))) void log_hint(const char *fmt, ...);

/* The same where there are too many open files: as many as may be were asked for. */
void log_hint_files(void);

/* What the operator should know although the run goes on: "kernel_delay:
 * warning: <text>". */
__attribute__((format(printf, 1, 2))) void log_warn(const char *fmt, ...);

/* What goes on, as it should: "kernel_delay: <text>". */
__attribute__((format(printf, 1, 2))) void log_note(const char *fmt, ...);

/* A short line on a terminal, about what is going on, in place of the one before. The next
 * message erases it. */
__attribute__((format(printf, 1, 2))) void log_progress(const char *fmt, ...);

/* Erases it: before something else is written that may go to the same terminal. */
void log_progress_end(void);

/* Ends log_hold(), and returns what was kept, with its size; the caller frees it. NULL: nothing. */
char *log_take(size_t *size);

/* Prints such lines of another process of this program, which may have been made to lie: control
 * characters are replaced. */
void log_foreign(const char *text, size_t size);

/* Errors, hints, warnings, notes and debugging messages are kept from now on, not printed. Where
 * there is no memory for that, they are printed. */
void log_hold(void);

/* Ends that: what was kept is printed, or dropped. */
void log_release(bool print);

/* Warnings and notes are left out from now on, or not. */
void log_set_quiet(bool on);

/* Switches debugging messages on or off; they are off at first. */
void log_set_debug(bool on);
bool log_is_debug(void);

/* With debugging on the text as it is, which may be several lines and needs its
 * own line feeds: for what libraries and the kernel's verifier say. */
__attribute__((format(printf, 1, 0))) void log_debug_text(const char *fmt, va_list args);
__attribute__((format(printf, 1, 2))) void log_debug(const char *fmt, ...);

#endif
