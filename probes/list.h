/* SPDX-License-Identifier: Apache-2.0 */
/* Tells which probes there are, and what triggers mean. */
#ifndef LIST_H
#define LIST_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "resolve.h"
#include "trigger.h"

/* Prints what can be a trigger; each line begins with the text of the trigger, and
 * lines that begin with # are headings. Without glob (NULL): the USDT probes of the
 * process, how many functions its objects have, and how many tracepoints the systems
 * of the kernel. With glob: all that match it, functions of the kernel too; it is
 * compared with the whole text, with the text after the kind, and with the name
 * alone. A kind at its beginning, in any spelling, leaves only such. With pid 0 only
 * what the kernel has is listed.
 * Returns 0; after printing what is wrong an exit status; or a negative errno if out
 * failed, of which nothing is printed. */
int probes_list(FILE *out, pid_t pid, const char *glob);

/* Prints what a trigger means: kind, for whom it fires, every site, and what a hit of
 * each costs, in ns. Role is such as "start". Returns 0, or a negative errno if out
 * failed. */
int triggers_check(FILE *out, const char *role, const struct trigger *trigger,
		   const struct sites *sites, bool target_only, const uint64_t *costs);

/* --- The text of lists, for --check, too --- */

struct list_out {
	FILE *file;
	int error; /* of the file, a negative errno; 0: none so far */
};

/* Prints, unless that has failed before. */
__attribute__((format(printf, 2, 3))) void list_print(struct list_out *out, const char *fmt, ...);

/* The same for text of foreign origin, escaped and filled up with blanks to a width in columns. */
void list_print_text(struct list_out *out, const char *text, size_t width);

#endif
