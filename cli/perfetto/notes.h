/* SPDX-License-Identifier: Apache-2.0 */
/* What several kinds of slices say of themselves. */
#ifndef NOTES_H
#define NOTES_H

#include "pftrace.h"

/* What a system call is called, see KD_CALL_NONE. Returns name. */
#define CALL_NAME 48
const char *call_name(const struct pftrace *trace, char name[static CALL_NAME], int32_t call);

/* Of which mode it is, if not of the kernel's own. */
void call_mode_note(struct pftrace *trace, int32_t call);

/* Where it really began and how long it took, if the slice does not show that. end 0: it has
 * none. */
void times_note(struct pftrace *trace, const struct span *span, uint64_t start, uint64_t end);

#endif
