/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the kernel's functions, by return addresses. */
#ifndef SESSION_FUNCTION_NAMES_H
#define SESSION_FUNCTION_NAMES_H

#include <stdint.h>

struct function_names;
struct kernel_delay;
struct kernel_symbols;

/* Asks the kernel by a program of the loaded skeleton, or else the symbols, which are read at the
 * first name. Both must outlive the names. Returns NULL without memory. */
struct function_names *function_names_new(const struct kernel_delay *skel,
					  struct kernel_symbols *symbols);

/* Returns the name of the function that made a call which returns to this address, as the kernel
 * writes it: perhaps with its module, "pipe_read [fuse]". "" if unknown; valid until the next call.
 */
const char *function_names_find(struct function_names *names, uint64_t address);

/* NULL is allowed. */
void function_names_free(struct function_names *names);

#endif
