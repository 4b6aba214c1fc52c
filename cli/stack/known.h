/* SPDX-License-Identifier: Apache-2.0 */
/* What a stack is unwound from. As long as these registers and words of it are the same,
 * so is the stack, and need not be copied again: the BPF programs look for that. */
#ifndef KNOWN_H
#define KNOWN_H

#include "stack_copy.h"

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
