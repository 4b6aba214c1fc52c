/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELFS_H
#define KERNELFS_H

#include <stdint.h>

#include "cli/base/exit_status.h"

/* The kernel's BTF. */
#define BTF_DIR "/sys/kernel/btf"
#define BTF_FILE BTF_DIR "/vmlinux"

/* Makes sure that libbpf finds the kernel's BTF: /sys/kernel/btf/vmlinux, or
 * the given file in its place if not NULL. Returns 0, or after printing what is
 * wrong EX_OSFILE. */
exit_status btf_provide(const char *file);

/* Makes sure that libbpf finds the classic tracepoints: tracefs is mounted, if
 * need be where nobody else sees it. Returns 0; -EACCES if it is there, but this process may
 * not read it; or another negative errno: it cannot be mounted. */
int tracefs_provide(void);

/* kernel.perf_event_paranoid; the largest number if it cannot be read. */
int kernel_perf_paranoid(void);

#endif
