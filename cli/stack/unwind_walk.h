/* SPDX-License-Identifier: Apache-2.0 */
/* A walk from frame to frame, for those who take its steps: unwind.c by call frame
 * information, unwind_plain.c without. */
#ifndef UNWIND_WALK_H
#define UNWIND_WALK_H

#include <libunwind.h>

#include "probes/elf/cfi.h"
#include "unwind.h"

#if defined(__x86_64__)
#define REG_RETURN UNW_X86_64_RIP
#define REG_FRAME UNW_X86_64_RBP
#define ADDRESS_MASK UINT64_MAX
#define LEAF_NEEDS_STACK true /* its return address is there */
#else
#define REG_RETURN UNW_AARCH64_X30
#define REG_FRAME UNW_AARCH64_X29
#define ADDRESS_MASK ((1ULL << 48) - 1) /* above are the bits of pointer authentication */
#define LEAF_NEEDS_STACK false
#endif

/* What is known of an address of code: how to get from there to the caller. */
struct rule {
	uint64_t address;
	uint64_t generation; /* of the unwinder; another one: nothing is known */
	struct unwind_object object;
	bool mapped; /* there is code */
	struct cfi_fde fde;
	enum unwind_stop stop; /* UNWIND_COMPLETE: there is a row */
	/* Of a function in Go, which has neither: how much it has on the stack. */
	bool is_go, go_outermost, go_switches, go_leaves, go_injected;
	uint32_t go_frame;
	/* Of the instruction before the next address, if it was looked at. */
	bool looked, calls;
	uint64_t target; /* where the call goes; 0: unknown */
};

/* The context of libunwind's call-backs: a stack being unwound or, without a copy, a
 * rule being looked up. */
struct walk {
	struct unwinder *unwinder;
	const struct stack_copy *copy;
	struct known *known;     /* of a stack: what is read of it */
	const struct rule *rule; /* whose information is being read */
	uint64_t regs[KD_REGS];
	uint64_t missing; /* bitmap of registers that are not known */
	unsigned int *steps;
	enum unwind_stop failure; /* why a read failed; UNWIND_COMPLETE: none did */
	bool elsewhere;           /* a signal's handler ran on a stack of its own */
	bool exact;               /* the frame's instruction itself was interrupted */
	bool by_frame_pointers;   /* some of the frames were found so */
	bool left_goroutine;      /* what is on another stack does not wait for this one */
	bool through_made;        /* some are code that is in no file that can be read */
	uint64_t ip, sp;
	bool begun; /* the cursor has the registers, and regs those that it began with */
	unw_cursor_t cursor;
};

/* The rule of an address, which stays until the next call. */
struct rule *rule_find(struct unwinder *unwinder, uint64_t address, unsigned int *steps);

/* Reads a register of the frame. Returns whether it is known. */
bool walk_register(struct walk *walk, unsigned int number, uint64_t *value);

/* Reads a word of the stack, and notes that it matters, or why it is not there. */
bool walk_word(struct walk *walk, uint64_t address, uint64_t *word);

#define WALK_ON UNWIND_STOPS /* it does not stop here */

/* Goes from a frame of code without call frame information, that of walk->rule, to its caller.
 * Returns WALK_ON; UNWIND_COMPLETE if there is none; or why that cannot be done: stop, if it is for
 * want of such information. */
enum unwind_stop walk_plainly(struct walk *walk, enum unwind_stop stop);

/* Finds out what Go's table says of a rule's address, and counts what that took. Returns whether it
 * is there. */
bool rule_explore_go(struct rule *rule, unsigned int *steps);

/* Goes from a frame of such code to its caller: a return address is above what is on the stack.
 * Returns as walk_plainly(). */
enum unwind_stop walk_by_go(struct walk *walk);

#endif
