/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Writes a record, and sleeps in the middle of that if the memory that it reads makes it sleep. */
#include "bpf/kernel_types.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");

struct arguments {
	__u64 from; /* address of the record */
};

SEC("syscall") int write_slowly(struct arguments *arguments)
{
	__u64 *record = bpf_ringbuf_reserve(&ring, sizeof(*record), 0);

	if (!record)
		return 1;
	bpf_copy_from_user(record, sizeof(*record), (void *)arguments->from);
	bpf_ringbuf_submit(record, BPF_RB_FORCE_WAKEUP);
	return 0;
}
