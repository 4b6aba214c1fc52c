/* SPDX-License-Identifier: Apache-2.0 */
/* A thread's user registers and a copy of the live part of its stack, which may
 * have holes: pages that were not in memory when it was taken. */
#ifndef STACK_COPY_H
#define STACK_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/kernel_delay.h"

struct stack_copy {
	uint64_t regs[KD_REGS];         /* by DWARF number */
	uint64_t start;                 /* address of the first byte of the copy */
	uint64_t pages[KD_STACK_WORDS]; /* bitmap: page i after the one of start was copied */
	/* The copied parts of those pages, one after the other; not owned. The part of
	 * page 0 begins at start, and the last one may end before its page does. */
	const uint8_t *data;
	size_t size; /* of them in data, in bytes; without the other part */
	/* In a signal's handler with a stack of its own: the outermost part of the
	 * thread's, in up to 64 pages, whose bytes are in data behind the first part.
	 * other_start is a multiple of KD_STACK_PAGE; 0: there is none. */
	uint64_t other_start;
	uint64_t other_pages; /* bitmap */
	size_t other_size;
	/* Functions with return probes, innermost first. The trampoline's address is in found of
	 * theirs on the stack; 0: there is none. */
	uint64_t trampoline;
	uint64_t mapped_at; /* see struct kd_trace; 0: the stack need not be known later */
	uint64_t process;   /* its PID; 0: the only one, or the first */
	size_t n_returns;
	struct kd_return returns[KD_RETURNS];
};

enum stack_copy_found {
	STACK_COPY_THERE,
	STACK_COPY_HOLE,   /* in a page that was not copied, or nothing was */
	STACK_COPY_BEYOND, /* behind the last byte that was copied */
	STACK_COPY_BEFORE, /* before the first: in no live part of this stack */
};

/* Reads a word of the user's memory, at any alignment. Says where it is; it was read
 * if it is there. */
enum stack_copy_found stack_copy_find(const struct stack_copy *copy, uint64_t address,
				      uint64_t *word);

/* Reads a word of the user's memory. Returns whether it was copied. */
bool stack_copy_read(const struct stack_copy *copy, uint64_t address, uint64_t *word);

/* Where a function returns to of which this is the return address, with this stack pointer
 * behind it: the same address, unless that is the trampoline's. */
uint64_t stack_copy_return(const struct stack_copy *copy, uint64_t address, uint64_t sp);

/* True if an instruction is the trampoline's: the innermost of the returns is under way. */
bool stack_copy_is_returning(const struct stack_copy *copy, uint64_t ip);

/* The stack pointer behind a return. */
uint64_t stack_copy_behind(const struct kd_return *instance);

#endif
