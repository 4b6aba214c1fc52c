/* SPDX-License-Identifier: Apache-2.0 */
/* A thread's user registers and a copy of the live part of its stack, with holes for pages that
 * were not in memory. */
#ifndef STACK_COPY_H
#define STACK_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/kernel_delay.h"

struct stack_copy {
	uint64_t regs[KD_REGS];         /* by DWARF number */
	uint64_t missing;               /* bitmap of registers that are unknown */
	uint64_t start;                 /* address of the first byte */
	uint64_t pages[KD_STACK_WORDS]; /* bitmap: page i after that of start was copied */
	/* Copied parts of those pages, concatenated; not owned. That of page 0 begins at start;
	 * the last one may end within its page. */
	const uint8_t *data;
	size_t size; /* bytes of data, without the other part */
	/* In a signal handler on its own stack: the outermost part of the thread's stack, in up
	 * to 64 pages, which follow the first part in data. other_start is a multiple of
	 * KD_STACK_PAGE; 0: none. */
	uint64_t other_start;
	uint64_t other_pages; /* bitmap */
	size_t other_size;
	/* Functions with return probes, innermost first. Their return addresses on the stack are
	 * replaced by the trampoline's; 0: none. */
	uint64_t trampoline;
	uint64_t mapped_at; /* see struct kd_trace; 0: the stack need not be recognized later */
	uint64_t process;   /* PID; 0: the only process, or the first */
	size_t n_returns;
	struct kd_return returns[KD_RETURNS];
};

enum stack_copy_found {
	STACK_COPY_THERE,
	STACK_COPY_HOLE,   /* in a page that was not copied, or no copy at all */
	STACK_COPY_BEYOND, /* after the last byte copied */
	STACK_COPY_BEFORE, /* before the first byte: not in the live stack */
};

/* Reads a word of user memory at any alignment. Returns its place; only STACK_COPY_THERE sets
 * *word. */
enum stack_copy_found stack_copy_find(const struct stack_copy *copy, uint64_t address,
				      uint64_t *word);

/* Actual target of a return address, where sp is the stack pointer after the return. Differs
 * from the address only for the trampoline. */
uint64_t stack_copy_return(const struct stack_copy *copy, uint64_t address, uint64_t sp);

/* True if an instruction is in the trampoline: the innermost return is in progress. */
bool stack_copy_is_returning(const struct stack_copy *copy, uint64_t ip);

/* Stack pointer after a return. */
uint64_t stack_copy_behind(const struct kd_return *instance);

/* --- Stacks in reports --- */

#define FRAME_BEYOND "[not read]" /* the object: there are too many */

/* Texts are not escaped. */
struct frame {
	const char *function; /* NULL: unknown */
	uint64_t offset;      /* from the function's start; without a function, the address in
			       * the object */
	const char *object;   /* path, "[vdso]", FRAME_BEYOND or kernel module; NULL: none, or
			       * vmlinux */
	const char *build_id; /* hexadecimal; NULL: none, or not needed */
	uint32_t file;        /* distinguishes files with the same path; 0: none, or kernel */
};

/* Immutable and unique: equal stacks have the same address. */
struct stack {
	const struct frame *frames; /* innermost first */
	size_t n;
	const char *stop; /* why it is incomplete; NULL: complete */
	/* Some frames were found by frame pointers: a function without one hides its caller. */
	bool by_frame_pointers;
};

/* True if some of its code is in files that are not read, so that functions have no names. */
bool stack_is_beyond(const struct stack *stack);

/* Outcomes of submitted copies in the run: resolved, beyond the limit, or failed. */
struct stack_counts {
	uint64_t resolved;   /* got a stack */
	uint64_t incomplete; /* subset of resolved: stacks with a reason to stop */
	uint64_t beyond;     /* not stored: too many distinct ones */
	uint64_t failed;     /* not resolved: the child died or was killed after a timeout, or
			      * stacks_submit() failed */
};

/* --- Data that a stack is unwound from --- */

/* While these registers and stack words are unchanged, so is the stack, and it needs no new
 * copy: the BPF programs check this. */

struct digest {
	struct kd_shape shape; /* what is read */
	uint64_t hash;         /* see kd_hash_mix() */
};

/* Receives what a stack was unwound from. */
typedef void stacks_digested(void *context, const struct digest *digest, const struct stack *stack,
			     uint64_t mapped_at);

/* Starts with only the instruction and the stack pointer. */
void digest_begin(struct digest *digest, const struct stack_copy *copy);

/* Note that a register or a stack word was read. */
void digest_register(struct digest *digest, unsigned int number);
void digest_word(struct digest *digest, uint64_t address);

/* Something read cannot be described: the stack will not be recognized. */
void digest_refuse(struct digest *digest);

/* Computes the hash. Returns false if the stack cannot be recognized. */
bool digest_finish(struct digest *digest, const struct stack_copy *copy);

#endif
