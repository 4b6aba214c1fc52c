/* SPDX-License-Identifier: Apache-2.0 */
/* Validation of call frame information. */
#ifndef CFI_VALIDATE_H
#define CFI_VALIDATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf_file.h"

/* --- Validation --- */

/* Validates call frame information for libunwind, which trusts much of its input. Nothing here
 * depends on the target's registers or memory, so one check is enough. */

#define CFI_PROGRAM_MAX 65536

struct cfi_program {
	const uint8_t *bytes;
	size_t size;
};

/* --- Bounds-checked reader of call frame information --- */

/* Section of a file, read in pieces on demand. A piece is never read twice: the file may change
 * after validation. */
struct cfi_section {
	const struct elf_file *file;
	uint64_t offset;  /* in the file */
	uint64_t address; /* of its first byte, as in the file */
	size_t size;
	uint8_t *bytes;
	uint8_t *pieces; /* which pieces were read */
};

/* Reads sequentially from an address; after the first error all reads return 0. */
struct cfi_reader {
	const uint8_t *at, *end;
	uint64_t address; /* of at */
	bool failed;
};

uint8_t cfi_read_u8(struct cfi_reader *reader);
uint32_t cfi_read_u32(struct cfi_reader *reader);

/* Pointer encodings, by the Linux Standard Base, Core, 10.5. */
#define CFI_PE_ABSPTR 0x00
#define CFI_PE_UDATA2 0x02
#define CFI_PE_UDATA4 0x03
#define CFI_PE_UDATA8 0x04
#define CFI_PE_SDATA2 0x0a
#define CFI_PE_SDATA4 0x0b
#define CFI_PE_SDATA8 0x0c
#define CFI_PE_FORMAT 0x0f
#define CFI_PE_PCREL 0x10
#define CFI_PE_DATAREL 0x30
#define CFI_PE_BASE 0x70
#define CFI_PE_INDIRECT 0x80
#define CFI_PE_OMIT 0xff

/* True if the instructions of a CIE, followed by those of an FDE, are known and complete, and
 * yield rows that libunwind can apply. */
bool cfi_programs_are_valid(struct cfi_program cie, struct cfi_program fde);

/* True if an FDE's first row describes the stack in the middle of a function: its code is a cold
 * part that was moved away. */
bool cfi_program_begins_inside(struct cfi_program fde);

/* The file must outlive the section. Returns 0; -EBADMSG if it exceeds the file; -E2BIG; -ENOMEM.
 * The caller frees it in either case. */
int cfi_section_open(struct cfi_section *section, const struct elf_file *file, uint64_t offset,
		     uint64_t address, uint64_t size);

void cfi_section_close(struct cfi_section *section);

/* n bytes at an address. NULL if they are outside the section, or unreadable. */
const uint8_t *cfi_bytes_at(struct cfi_section *section, uint64_t address, size_t n);

struct cfi_reader cfi_reader_new(const uint8_t *bytes, size_t size, uint64_t address);

/* Next n bytes; NULL if there are fewer. */
const uint8_t *cfi_read_bytes(struct cfi_reader *reader, uint64_t n);

/* At most the 10 bytes that 64 bits need. */
uint64_t cfi_read_uleb(struct cfi_reader *reader);
int64_t cfi_read_sleb(struct cfi_reader *reader);

/* Reads a pointer that is absolute or relative to its own address; does not follow indirect
 * ones. Other encodings are errors. */
uint64_t cfi_read_pointer(struct cfi_reader *reader, uint8_t encoding);

#endif
