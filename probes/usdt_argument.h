/* SPDX-License-Identifier: Apache-2.0 */
/* Where a USDT probe has an argument, as its note says in the words of the assembler:
 * "-4@%edi 8@-16(%rbp)". https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation */
#ifndef USDT_ARGUMENT_H
#define USDT_ARGUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "registers.h"

#define USDT_ARGUMENTS_MAX 1024 /* bytes of the text */

/* (base + (index << shift) + offset) is the argument, or its address. */
struct usdt_argument {
	uint8_t size; /* bytes: 1, 2, 4, 8 */
	bool is_signed;
	bool in_memory;
	struct register_part base, index; /* of size 0: none */
	uint8_t shift;
	int64_t offset;
	const char *place; /* the words for that, in the text */
	size_t place_length;
};

/* Reads what the note of a probe says of one argument, the first being 0. Returns 0; -ENOENT if
 * it has fewer; -EINVAL if that cannot be understood; -ENOTSUP if it is where no register leads
 * to, or no whole number; *why, a string constant, says more. */
int usdt_argument_read(struct usdt_argument *argument, enum register_machine machine,
		       const char *text, unsigned int number, const char **why);

#endif
