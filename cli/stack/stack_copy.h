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

/* Where a function returns to of which this is the return address, with this stack pointer
 * behind it: the same address, unless that is the trampoline's. */
uint64_t stack_copy_return(const struct stack_copy *copy, uint64_t address, uint64_t sp);

/* True if an instruction is the trampoline's: the innermost of the returns is under way. */
bool stack_copy_is_returning(const struct stack_copy *copy, uint64_t ip);

/* The stack pointer behind a return. */
uint64_t stack_copy_behind(const struct kd_return *instance);

/* --- A stack as the reports get it --- */

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

/* --- What a stack is unwound from --- */

/* As long as these registers and words of it are the same, so is the stack, and need not be copied
 * again: the BPF programs look for that. */

struct known {
	struct kd_shape shape; /* what is read */
	uint64_t hash;         /* of it, see kd_known_mix() */
};

/* Begins with nothing but the instruction and the stack pointer. */
void known_begin(struct known *known, const struct stack_copy *copy);

/* A register, or a word of the stack, was read. */
void known_register(struct known *known, unsigned int number);
void known_word(struct known *known, uint64_t address);

/* What was read cannot be told: the stack will not be known. */
void known_refuse(struct known *known);

/* Makes the hash. Returns false if the stack cannot be known. */
bool known_finish(struct known *known, const struct stack_copy *copy);

#endif
