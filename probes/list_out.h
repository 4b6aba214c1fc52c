/* SPDX-License-Identifier: Apache-2.0 */
/* The text of lists of probes. */
#ifndef LIST_OUT_H
#define LIST_OUT_H

#include <stddef.h>
#include <stdio.h>

#define LIST_TEXT_MAX (3 * 4096) /* of a trigger: path or provider, and name */

struct list_out {
	FILE *file;
	int error; /* of the file, a negative errno; 0: none so far */
};

/* Text of foreign origin as it is printed; not on the stack, which may be small. NULL: no memory.
 * The caller frees it. */
char *list_escaped(const char *text);

/* Prints, unless that has failed before. */
__attribute__((format(printf, 2, 3))) void list_print(struct list_out *out, const char *fmt, ...);

/* The same for text of foreign origin, escaped and filled up with blanks to a width in columns. */
void list_print_text(struct list_out *out, const char *text, size_t width);

#endif
