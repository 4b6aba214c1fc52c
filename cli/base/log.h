/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to the operator on stderr. Each is one line: control characters and invalid UTF-8 are
 * escaped, so arguments may be any text. */
#ifndef LOG_H
#define LOG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "exit_status.h"

/* An error and its cause: "kernel_delay: <text>". */
__attribute__((format(printf, 1, 2))) void log_error(const char *fmt, ...);

/* Reports that memory ran out. Returns EX_OSERR. */
exit_status log_no_memory(void);

/* Reports a failed write to standard output, by a negative errno. A closed pipe is no error and
 * prints nothing: head(1) and pagers exit early. Returns the exit status. */
exit_status log_write_failed(const char *what, int error);

/* What to do about the previous error: " <text>". */
__attribute__((format(printf, 1, 2))) void log_hint(const char *fmt, ...);

/* Hint for too many open files, when the limit is already raised. */
void log_hint_files(void);

/* A problem that does not end the run: "kernel_delay: warning: <text>". */
__attribute__((format(printf, 1, 2))) void log_warn(const char *fmt, ...);

/* Normal progress: "kernel_delay: <text>". */
__attribute__((format(printf, 1, 2))) void log_note(const char *fmt, ...);

/* A short line of progress on a terminal, replacing the previous one. The next message erases
 * it. */
__attribute__((format(printf, 1, 2))) void log_progress(const char *fmt, ...);

/* Erases that line; call before other output to the same terminal. */
void log_progress_end(void);

/* Ends log_hold(). Returns the held messages and their size; the caller frees them. NULL: none. */
char *log_take(size_t *size);

/* Prints held lines of another process of this program, which may be compromised: control
 * characters are replaced. */
void log_foreign(const char *text, size_t size);

/* Holds errors, hints, warnings, notes and debugging messages from now on. Without memory, they
 * are printed. */
void log_hold(void);

/* Ends log_hold(); prints or drops the messages. */
void log_release(bool print);

/* Turns off warnings and notes, or on. */
void log_set_quiet(bool on);

/* Turns debugging messages on or off; initially off. */
void log_set_debug(bool on);
bool log_is_debug(void);

/* Prints text verbatim if debugging is on; it may have several lines and needs its own line
 * feeds. For messages of libraries and the kernel's verifier. */
__attribute__((format(printf, 1, 0))) void log_debug_text(const char *fmt, va_list args);
__attribute__((format(printf, 1, 2))) void log_debug(const char *fmt, ...);

#endif
