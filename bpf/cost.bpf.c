// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* Program that the tool hits itself to measure the cost of a hit: about the work of one that
 * neither opens nor closes a window (trigger_hit()). In an object of its own, only loaded on
 * demand. */
#include <linux/types.h>
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

#define COUNTS 12 /* atomic operations; a real hit has fewer, on more cache lines */

struct counts {
	__u64 count[COUNTS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct counts);
} kd_cost_tallies SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct counts);
} kd_cost_threads SEC(".maps");

SEC("kprobe") int kd_cost(void *ctx)
{
	__u32 zero = 0;
	struct counts *tally = bpf_map_lookup_elem(&kd_cost_tallies, &zero);
	struct counts *thread = bpf_map_lookup_elem(&kd_cost_threads, &zero);

	if (!tally || !thread)
		return 0;
	thread->count[0] = bpf_get_current_pid_tgid();
	thread->count[1] = bpf_ktime_get_ns();
	for (__u32 i = 0; i < COUNTS; i++)
		__sync_fetch_and_add(&tally->count[i], 1);
	return 0;
}
