/* SPDX-License-Identifier: Apache-2.0 */
/* The call frame information of an ELF file (.eh_frame_hdr and .eh_frame), which
 * may be made to deceive its reader: what is handed out has been validated. */
#ifndef CFI_H
#define CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../probes/elf_file.h"

struct cfi;

/* Reads where the information is. The file must outlive it. Returns 0; -ENOENT if
 * the file has none; -EBADMSG if it is damaged; -E2BIG; -ENOMEM; another -errno. The
 * caller frees *cfi. */
int cfi_open(struct cfi **cfi, const struct elf_file *file);

/* NULL is allowed. */
void cfi_close(struct cfi *cfi);

#endif
