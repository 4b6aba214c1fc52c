// SPDX-License-Identifier: Apache-2.0
#include "session_wakers.h"

#include <bpf/libbpf.h>

#include "session_programs.h"
#include "kernel_delay.skel.h"

struct hook {
	struct bpf_program *program;
	const char *tracepoint;
};

static struct hook hook_of(const struct kernel_delay *skel, size_t i)
{
	const struct hook hooks[WAKERS_PROGRAMS] = {
		{ skel->progs.kd_timer_begin, "hrtimer_expire_entry" },
		{ skel->progs.kd_timer_end, "hrtimer_expire_exit" },
		{ skel->progs.kd_request_completed, "block_rq_complete" },
		{ skel->progs.kd_packet_queued, "netif_rx" },
	};

	return hooks[i];
}

int wakers_select(struct wakers *wakers, struct kernel_delay *skel,
		  const struct tracing_config *wanted, uint32_t slots)
{
	wakers->skel = skel;
	wakers->on = wanted->wait_ns != KD_UNWANTED || wanted->record_bytes;
	if (!wakers->on)
		return 0;
	for (size_t i = 0; i < WAKERS_PROGRAMS; i++)
		bpf_program__set_autoload(hook_of(skel, i).program, true);
	if (wanted->wait_ns == KD_UNWANTED)
		return 0;
	skel->rodata->kd_all_wakers = wanted->all_wakers;
	return bpf_map__set_max_entries(skel->maps.kd_wakers,
					slots + (wanted->all_wakers ? KD_WAKERS_OF_OTHERS : 0));
}

exit_status wakers_attach(struct wakers *wakers, struct programs *programs)
{
	int status = 0;

	for (size_t i = 0; wakers->on && i < WAKERS_PROGRAMS && !status; i++) {
		struct hook hook = hook_of(wakers->skel, i);

		wakers->links[i] = bpf_program__attach_raw_tracepoint(hook.program,
								      hook.tracepoint);
		if (!wakers->links[i])
			status = programs_unattached(
				programs, hook.tracepoint, "OFF-CPU WAITS",
				"may call a timer or a disk an interrupt, and does not name "
				"who sent a packet: this kernel lacks their tracepoints");
	}
	return status;
}

void wakers_close(struct wakers *wakers)
{
	for (size_t i = 0; i < WAKERS_PROGRAMS; i++)
		bpf_link__destroy(wakers->links[i]);
}
