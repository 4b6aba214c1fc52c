/* SPDX-License-Identifier: Apache-2.0 */
/* What call frame information libunwind is given: it trusts much of what it reads.
 * Nothing here depends on registers or memory of the target, so that it need be
 * looked at only once. */
#ifndef CFI_VALIDATE_H
#define CFI_VALIDATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CFI_PROGRAM_MAX 65536

struct cfi_program {
	const uint8_t *bytes;
	size_t size;
};

/* Whether the instructions of a CIE, followed by those of an FDE, are known, whole,
 * and lead to rows that libunwind can apply. */
bool cfi_programs_are_valid(struct cfi_program cie, struct cfi_program fde);

/* Whether an FDE's instructions say at once how the stack of a function looks that has been
 * at work: its code is a part that was put elsewhere, as being run rarely. */
bool cfi_program_begins_inside(struct cfi_program fde);

/* Whether a DWARF expression is known, whole, without branches and divisions, and
 * leaves a value. */
bool cfi_expression_is_valid(const uint8_t *bytes, size_t size);

#endif
