/* SPDX-License-Identifier: Apache-2.0 */
/* Call frame information of an ELF file (.eh_frame_hdr and .eh_frame), which may be hostile:
 * results are validated. Addresses are those of the file. */
#ifndef CFI_H
#define CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf_file.h"

struct cfi;

/* Finds the information in a file, which must outlive it. Returns 0; -ENOENT: none; -EBADMSG:
 * damaged; -E2BIG; -ENOMEM; another -errno. The caller frees *cfi. */
int cfi_open(struct cfi **cfi, const struct elf_file *file);

/* NULL is allowed. */
void cfi_close(struct cfi *cfi);

/* A frame description entry (FDE). */
struct cfi_fde {
	uint64_t address;    /* of the entry itself */
	uint64_t start, end; /* of the code it covers */
	bool absolute;       /* gives the code's address, not a distance */
	bool signal;         /* the code is the return target of a signal handler */
	bool begins_inside;  /* begins with data on the stack, so not at a function's entry */
	size_t size;         /* bytes of instructions, including its CIE's */
};

/* Finds the entry for the code at an address. Returns 0; -ENOENT: none; -EBADMSG: damaged, or
 * unsuitable for libunwind. */
int cfi_find(struct cfi *cfi, uint64_t address, struct cfi_fde *fde);

/* Reads an aligned word of .eh_frame for libunwind; bytes outside the section are 0. Returns
 * false if the entire word is outside. */
bool cfi_word(struct cfi *cfi, uint64_t address, uint64_t *word);

#endif
