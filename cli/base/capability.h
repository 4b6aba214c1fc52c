/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CAPABILITY_H
#define CAPABILITY_H

#include <linux/capability.h>
#include <stdbool.h>

/* Linux 5.8 and 5.9; the headers at build may be older. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

/* Whether this process has it (CAP_...), in its effective set. */
bool capability_has(int capability);

/* Says, as a hint, what it takes to look into another process that the kernel does not let us
 * look into; and, if instead is not NULL, how to do without. */
void capability_hint_ptrace(const char *instead);

#endif
