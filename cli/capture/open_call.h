/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a thread that is in a system call now: its user stack, the path that it has given. */
#ifndef OPEN_CALL_H
#define OPEN_CALL_H

#include <stdint.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"

/* Copies the stack whose registers and bounds a trace has, up to that many bytes,
 * and sets its pages and sizes. Returns the bytes, which the caller frees; NULL if
 * the process's memory cannot be read (another user's, or it has gone) or there is
 * none to read into. The thread may have gone on meanwhile. */
uint8_t *open_call_copy(pid_t pid, struct kd_trace *trace, uint32_t limit);

/* Copies the path at that address. Returns its bytes with the NUL, KD_PATH_BYTES + 1 if it has been
 * cut, or -EFAULT. The thread may have gone on meanwhile. */
int64_t open_call_path(pid_t pid, uint64_t address, char path[static KD_PATH_BYTES + 1]);

#endif
