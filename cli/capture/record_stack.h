/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel stacks of records. */
#ifndef RECORD_STACK_H
#define RECORD_STACK_H

#include <stddef.h>
#include <stdint.h>

struct kernel_symbols;
struct programs;
struct stack;

/* Reads the kernel's symbols, unless that was done; room: how many stacks are kept. Reading
 * them takes a while: not before there is a stack. Where they cannot be read at all, they are
 * as good as hidden. Returns 0 or a negative errno. */
int record_symbols_open(struct kernel_symbols **symbols, const struct programs *programs,
			size_t room);

/* The stack of n frames, with what the kernel left out of it: that is among the n_words, see
 * struct kd_trace. NULL: there is no room for another. */
const struct stack *record_kernel_stack(struct kernel_symbols *symbols, const uint64_t *words,
					size_t n_words, const uint64_t *frames, size_t n);

#endif
