/* SPDX-License-Identifier: Apache-2.0 */
/* Symbolizes kernel stacks by /proc/kallsyms, and stores each stack once. */
#ifndef KERNEL_SYMBOLS_H
#define KERNEL_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stack_copy.h"

struct kernel_symbols;

/* Opens the symbols at path (NULL: /proc/kallsyms), which needs the right to see addresses; reading
 * them later does not. capacity: distinct stacks stored. Returns 0 or -ENOMEM: a file that cannot
 * be opened or read hides all addresses. The caller frees them. */
int kernel_symbols_open(struct kernel_symbols **symbols, const char *path, size_t capacity);

/* The same for the kernel's variables, instead of its functions. Kernels without
 * CONFIG_KALLSYMS_ALL hide them all. */
int kernel_symbols_open_variables(struct kernel_symbols **symbols, const char *path);

/* Begins to read them in a thread of its own, which takes some 40 ms, nearly all of it in the
 * kernel: while it verifies the BPF programs, say, on another CPU. Harmless if it cannot. */
void kernel_symbols_begin(struct kernel_symbols *symbols);

/* Reads them, or waits for the thread that does; at once if they were read. Call it before what is
 * below. Returns 0 or -ENOMEM. */
int kernel_symbols_read(struct kernel_symbols *symbols);

/* Frees all stacks, too. NULL is allowed. */
void kernel_symbols_close(struct kernel_symbols *symbols);

/* True if they were read, and the kernel hides their addresses (kptr_restrict). */
bool kernel_symbols_hidden(const struct kernel_symbols *symbols);

/* Returns the stack with these frames, innermost first. NULL without space, which is counted, or
 * without memory. */
const struct stack *kernel_symbols_stack(struct kernel_symbols *symbols, const uint64_t *ips,
					 size_t n);

/* Returns the name of the function at an address; "" if unknown. It lives as long as the symbols.
 */
const char *kernel_symbols_name(const struct kernel_symbols *symbols, uint64_t address);

/* Where an address is: in which variable, and of which module; NULL: of the kernel itself. */
struct kernel_variable {
	const char *name, *module; /* live as long as the symbols */
	uint64_t offset;
};

/* Finds the variable that contains an address. Returns false if none is known. */
bool kernel_symbols_variable(const struct kernel_symbols *symbols, uint64_t address,
			     struct kernel_variable *variable);

/* Filters words from inside a thread's kernel stack frames, innermost first. Keeps return
 * addresses of functions that the kernel leaves out of stacks: the scheduler's and its locks',
 * which share a section. Drops those that only switch threads. Returns how many are left; 0 if
 * the kernel hides the section. */
size_t kernel_symbols_sched(const struct kernel_symbols *symbols, uint64_t *words, size_t n);

/* Number of innermost frames of a BPF program, this program's or another's, and its invocation:
 * without them, the stack begins at the tracepoint. */
size_t kernel_symbols_tracing(const struct kernel_symbols *symbols, const uint64_t *ips, size_t n);

/* Adds a function of one of this program's BPF programs by address, because other programs may
 * use the same names, and these may be loaded after the symbols were read. Returns 0 or -ENOMEM. */
int kernel_symbols_add_own(struct kernel_symbols *symbols, uint64_t address, uint64_t size);

/* Number of a sample's innermost frames that are this program's own: such functions, their
 * callees, and the frames that invoked them. Other BPF programs and their callees do not count. */
size_t kernel_symbols_own(const struct kernel_symbols *symbols, const uint64_t *ips, size_t n);

/* Number of stacks that did not fit. */
uint64_t kernel_symbols_beyond(const struct kernel_symbols *symbols);

#endif
