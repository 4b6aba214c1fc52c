/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELFS_H
#define KERNELFS_H

#include <stdbool.h>

/* Makes sure that libbpf finds the kernel's BTF: /sys/kernel/btf/vmlinux, or
 * the given file in its place if not NULL. Returns 0, or after printing what is
 * wrong EX_OSFILE. */
int btf_provide(const char *file);

/* Makes sure that libbpf finds the classic tracepoints: tracefs is mounted, if
 * need be where nobody else sees it. Returns false if it cannot be had. */
bool tracefs_provide(void);

#endif
