/* SPDX-License-Identifier: Apache-2.0 */
/* The USDT probes (statically defined tracepoints) of an ELF file, from its
 * .note.stapsdt: https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation */
#ifndef USDT_H
#define USDT_H

#include <stdbool.h>
#include <stdint.h>

#include "elf_file.h"

/* One site in the code; a probe may have several, and each comes on its own. The
 * strings are gone when the call returns. */
struct usdt_site {
	const char *provider;
	const char *name;
	const char *arguments;     /* where they are, see usdt_argument.h; "" if it does not say */
	uint64_t address;          /* as in the symbol table */
	uint64_t offset;           /* of the address in the file */
	uint64_t semaphore;        /* its address; 0: none */
	uint64_t semaphore_offset; /* in the file; 0: none */
	bool usable;               /* false: the addresses are not in the file */
};

/* Returns 0 to go on; anything else ends the search. */
typedef int usdt_found(void *context, const struct usdt_site *site);

/* Calls found for every site. Returns 0; what found returned; -EBADMSG if a note
 * is damaged, after the sites before it; -E2BIG if there are more notes than are
 * read; another -errno. */
int usdt_each(const struct elf_file *file, usdt_found *found, void *context);

#endif
