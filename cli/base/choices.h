/* SPDX-License-Identifier: Apache-2.0 */
/* A list of what could be meant, for the hint to an error. */
#ifndef CHOICES_H
#define CHOICES_H

#include <stddef.h>

/* Starts as zeroes. */
struct choices {
	char text[2048];
	size_t length;
	size_t n; /* all of them, also those left out of the text */
};

/* Adds one, unless there are many already. */
__attribute__((format(printf, 2, 3))) void choices_add(struct choices *choices, const char *fmt,
						       ...);

void choices_clear(struct choices *choices);

/* Prints them: "choose one: A, B, ...". */
void choices_hint(const struct choices *choices);

#endif
