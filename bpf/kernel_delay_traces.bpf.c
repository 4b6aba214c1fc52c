// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* kernel_delay.bpf.c with the code for traces: the same programs, maps and variables. Runs
 * without traces start sooner with an object of their own: libbpf relocates functions, unlike
 * programs, whether needed or not, and searches the kernel's entire BTF for each type that they
 * use. */
#define KD_TRACES 1
#include "kernel_delay.bpf.c"
