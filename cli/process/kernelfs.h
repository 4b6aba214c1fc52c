/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELFS_H
#define KERNELFS_H

#include <stdint.h>

#include "cli/base/exit_status.h"

/* The kernel's BTF. */
#define BTF_DIR "/sys/kernel/btf"
#define BTF_FILE BTF_DIR "/vmlinux"

/* Makes the kernel's BTF available to libbpf: /sys/kernel/btf/vmlinux, or the given file in its
 * place if not NULL. Returns 0, or EX_OSFILE after printing what is wrong. */
exit_status btf_provide(const char *file);

/* Makes the classic tracepoints available to libbpf: mounts tracefs if necessary, visible only
 * to this process. Returns 0; -EACCES if tracefs is there but unreadable; or another negative
 * errno: cannot be mounted. */
int tracefs_provide(void);

/* kernel.perf_event_paranoid; INT_MAX if unreadable. */
int kernel_perf_paranoid(void);

#endif
