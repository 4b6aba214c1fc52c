/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel stacks: from addresses to names, by /proc/kallsyms. Each stack is kept
 * once. */
#ifndef KERNEL_SYMBOLS_H
#define KERNEL_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stack_copy.h"

struct kernel_symbols;

/* Reads the symbols, from path (NULL: /proc/kallsyms), in some 50 ms; to be called
 * when the first stack is there. Room: how many different stacks are kept. Returns
 * 0 or a negative errno; *symbols can be used if the kernel hides the addresses. The
 * caller frees it. */
int kernel_symbols_open(struct kernel_symbols **symbols, const char *path, size_t room);

/* The same from an open file, which stays open. */
int kernel_symbols_read(struct kernel_symbols **symbols, int fd, size_t room);

/* Frees all stacks, too. NULL is allowed. */
void kernel_symbols_close(struct kernel_symbols *symbols);

/* True if the kernel hides the addresses of its functions (kptr_restrict). */
bool kernel_symbols_hidden(const struct kernel_symbols *symbols);

/* The stack with these frames, innermost first. NULL if there is no room for
 * another or no memory, which is counted. */
const struct stack *kernel_symbols_stack(struct kernel_symbols *symbols, const uint64_t *ips,
					 size_t n);

/* Of words that lie on a thread's stack inside of its frames, innermost first, keeps those that
 * are return addresses of functions which the kernel leaves out of stacks: the scheduler's, and
 * those of its locks, which lie in one place. Without those that only switch threads. Returns
 * how many are left; 0 if the kernel hides where they are. */
size_t kernel_symbols_sched(const struct kernel_symbols *symbols, uint64_t *words, size_t n);

/* How many of a stack's innermost frames are those of a BPF program that was run
 * there and of what ran it: without them it begins at the tracepoint. */
size_t kernel_symbols_tracing(const struct kernel_symbols *symbols, const uint64_t *ips, size_t n);

/* Tells what is this program's own code in the kernel: a function of one of its BPF
 * programs, size bytes from an address on. By address, as others may have functions of the
 * same names. Returns 0 or -ENOMEM. */
int kernel_symbols_add_own(struct kernel_symbols *symbols, uint64_t address, uint64_t size);

/* How many of a sample's innermost frames are our own: of such code, what that had called,
 * and how the kernel comes to it. Those of other programs, and what they have called, are
 * none of ours. */
size_t kernel_symbols_own(const struct kernel_symbols *symbols, const uint64_t *ips, size_t n);

/* How many stacks found no room. */
uint64_t kernel_symbols_beyond(const struct kernel_symbols *symbols);

#endif
