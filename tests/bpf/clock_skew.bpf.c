/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The offset between two clocks is given a wrong value, and measured by a new visit: what the run
 * time of this thread is by either. */
#include "bpf/kernel_types.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "bpf/thread.bpf.h"

char LICENSE[] SEC("license") = "GPL";

__u64 exec_wrong, exec_right; /* ns */

SEC("raw_tp/sys_enter") int BPF_PROG(skew, s64 ns)
{
	u64 task = bpf_get_current_task();

	kd_clock_skew.ns = ns;
	kd_clock_skew.visit = kd_visits;
	exec_wrong = exec_ns_now(task);
	kd_visits++;
	exec_clock_read();
	exec_right = exec_ns_now(task);
	return 0;
}
