/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BTF_H
#define BTF_H

/* Makes sure that libbpf finds the kernel's BTF: /sys/kernel/btf/vmlinux, or
 * the given file in its place if not NULL. Returns 0, or after printing what is
 * wrong EX_OSFILE. */
int btf_provide(const char *file);

#endif
