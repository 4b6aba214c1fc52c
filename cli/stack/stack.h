/* SPDX-License-Identifier: Apache-2.0 */
/* A stack as the reports get it. */
#ifndef STACK_H
#define STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The texts are not escaped. */
struct frame {
	const char *function; /* NULL: unknown */
	uint64_t offset;      /* from the function's start; without it: the address in the object */
	const char *object; /* path, "[vdso]", or the kernel's module; NULL: in none, or vmlinux */
	const char *build_id; /* hexadecimal; NULL: none, or not needed */
	uint32_t file; /* which of the files that processes have at this path; 0: in none, the
			  kernel */
};

/* Immutable, and each stack exists once: those with the same address are the same. */
struct stack {
	const struct frame *frames; /* innermost first */
	size_t n;
	const char *stop; /* why it is incomplete; NULL: it is complete */
	/* Some frames were found by frame pointers: of a function that has none, the caller is
	 * missing. */
	bool by_frame_pointers;
};

#endif
