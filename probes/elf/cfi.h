/* SPDX-License-Identifier: Apache-2.0 */
/* The call frame information of an ELF file (.eh_frame_hdr and .eh_frame), which
 * may be made to deceive its reader: what is handed out has been validated.
 * Addresses are those of the file. */
#ifndef CFI_H
#define CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf_file.h"

struct cfi;

/* Reads where the information is. The file must outlive it. Returns 0; -ENOENT if
 * the file has none; -EBADMSG if it is damaged; -E2BIG; -ENOMEM; another -errno. The
 * caller frees *cfi. */
int cfi_open(struct cfi **cfi, const struct elf_file *file);

/* NULL is allowed. */
void cfi_close(struct cfi *cfi);

/* A frame description entry (FDE). */
struct cfi_fde {
	uint64_t address;    /* of the entry itself */
	uint64_t start, end; /* of the code that it describes */
	bool absolute;       /* it says where the code is by address, not by distance */
	bool signal;         /* the code is what a signal's handler returns to */
	bool part;           /* it begins with something on the stack: no function does */
	size_t size;         /* bytes of instructions, those of its CIE included */
};

/* Finds the entry that describes the code at an address. Returns 0; -ENOENT if there
 * is none; -EBADMSG if it is damaged, or not of a kind that libunwind can be given. */
int cfi_find(struct cfi *cfi, uint64_t address, struct cfi_fde *fde);

/* Reads a word of .eh_frame, for libunwind, which reads aligned words: bytes before
 * and behind the section are 0. Returns whether it has any byte of the word. */
bool cfi_word(struct cfi *cfi, uint64_t address, uint64_t *word);

#endif
