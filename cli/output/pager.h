/* SPDX-License-Identifier: Apache-2.0 */
/* Standard output where it is a terminal: bold text, and a pager for what is longer than the
 * screen. */
#ifndef PAGER_H
#define PAGER_H

#include <stdbool.h>
#include <stddef.h>

enum color_when { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

/* Whether a standard stream gets bold text; auto: if it is a terminal that has it, and
 * NO_COLOR does not forbid it. */
bool pager_color(enum color_when when, int fd);

/* Whether a pager can be used: standard output is a terminal of known size, and this process
 * is in its foreground. */
bool pager_is_usable(void);

/* Writes a text to standard output, through a pager if it is longer than the terminal, and
 * waits until that has ended. The pager has no privileges: under sudo, doas or pkexec it runs as
 * the user who called them, otherwise as this user without any capability. Returns 0 or a
 * negative errno of standard output; a pager that ends early is no error. */
int pager_show(const char *text, size_t length);

#endif
