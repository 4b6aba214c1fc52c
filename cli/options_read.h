/* SPDX-License-Identifier: Apache-2.0 */
/* Values of options, from text. All return 0; or, after printing what is wrong with
 * the value of this option and what to give, an exit status. */
#ifndef OPTIONS_READ_H
#define OPTIONS_READ_H

#include <stdint.h>

#include "options.h"

/* A hint to the error before it. Returns the exit status of a wrong command line. */
int options_see_help(void);

/* A whole number from min to max. */
int read_number(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *number);

/* At least min ns; bare: what a number without a unit counts, in ns. */
int read_duration(const char *option, const char *text, uint64_t bare, uint64_t min, uint64_t *ns);

/* A number of bytes, or with K, up to max. */
int read_bytes(const char *option, const char *text, uint64_t max, uint64_t *bytes);

/* A thread name, as long as the kernel keeps them. */
int read_name(const char *option, const char *text, const char **name);

/* A trigger, whose text is not looked at; only one of each role. */
int read_trigger(const char *option, const char *text, const char **trigger);

int read_file(const char *option, const char *text, const char **file);

/* Which system calls; only once. */
int read_calls(const char *option, const char *text, struct options *options);

#endif
