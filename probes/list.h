/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the probes there are. */
#ifndef LIST_H
#define LIST_H

#include <stdio.h>
#include <sys/types.h>

/* Prints possible triggers. Each line begins with the trigger's text; lines that begin with #
 * are headings. Without glob (NULL): the USDT probes of the process, how many functions its
 * objects have, and how many tracepoints each system of the kernel has. With glob: all that
 * match, including kernel functions. The glob is compared with the full text, the text after the
 * kind, and the name alone. A kind at its beginning, in any spelling, restricts the list to that
 * kind. With pid 0 only the kernel is listed. Returns 0; an exit status after printing what is
 * wrong; or a negative errno if out failed, without printing it. */
int probes_list(FILE *out, pid_t pid, const char *glob);

/* --- Text of lists, for --check too --- */

struct list_out {
	FILE *file;
	int error; /* of the file, a negative errno; 0: none so far */
};

/* Prints, unless an earlier write failed. */
__attribute__((format(printf, 2, 3))) void list_print(struct list_out *out, const char *fmt, ...);

/* Like list_print(), for untrusted text: escaped, and padded to a width in columns. */
void list_print_text(struct list_out *out, const char *text, size_t width);

#endif
