// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* kernel_delay.bpf.c with the code for traces. All else is the same: the same programs,
 * maps and variables. Runs without traces start sooner with an object of their own, as
 * libbpf relocates functions, unlike programs, whether they are needed or not, and searches
 * all of the kernel's BTF for each type that they use. */
#define KD_TRACES 1
#include "kernel_delay.bpf.c"
