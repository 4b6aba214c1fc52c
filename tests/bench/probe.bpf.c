/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What the programs of triggers are compared with: the least that can be attached
 * to a function's entry and return. */
#include "bpf/kernel_types.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("kprobe") int empty_entry(void *ctx)
{
	return 0;
}

SEC("kprobe") int empty_return(void *ctx)
{
	return 0;
}
