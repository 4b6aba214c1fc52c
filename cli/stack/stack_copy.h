/* SPDX-License-Identifier: Apache-2.0 */
/* A thread's user registers and a copy of the live part of its stack, which may
 * have holes: pages that were not in memory when it was taken. */
#ifndef STACK_COPY_H
#define STACK_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../bpf/kernel_delay.h"

struct stack_copy {
	uint64_t regs[KD_REGS];         /* by DWARF number */
	uint64_t start;                 /* address of the first byte of the copy */
	uint64_t pages[KD_STACK_WORDS]; /* bitmap: page i after the one of start was copied */
	const uint8_t *data;            /* what was copied, without the holes; not owned */
	size_t size;                    /* of data, in bytes */
};

/* Reads a word of the user's memory. Returns whether it was copied. */
bool stack_copy_read(const struct stack_copy *copy, uint64_t address, uint64_t *word);

#endif
