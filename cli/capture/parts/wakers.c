// SPDX-License-Identifier: Apache-2.0
/* Who woke whom, and from what kind of interrupt. */
#define _GNU_SOURCE
#include <bpf/libbpf.h>

#include "cli/capture/session/maps.h"
#include "cli/capture/session/parts.h"
#include "kernel_delay.skel.h"

#define WAKERS_PROGRAMS 4

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

static exit_status wakers_select(struct session *session)
{
	const struct tracing_config *wanted = &session->config->tracing;
	struct kernel_delay *skel = session->skel;

	for (size_t i = 0; i < WAKERS_PROGRAMS; i++)
		bpf_program__set_autoload(hook_of(skel, i).program, true);
	if (wanted->wait_ns == KD_UNWANTED)
		return 0;
	skel->rodata->kd_all_wakers = wanted->all_wakers;
	return session_map_resize(skel->maps.kd_wakers,
				  session->slots + (wanted->all_wakers ? KD_WAKERS_OF_OTHERS : 0));
}

/* Attaches what the kernel has. Notes what it lacks. */
static exit_status wakers_attach(struct session *session)
{
	int status = 0;

	for (size_t i = 0; i < WAKERS_PROGRAMS && status <= 0; i++) {
		struct hook hook = hook_of(session->skel, i);

		status = programs_hook(
			&session->programs, hook.program, hook.tracepoint, "OFF-CPU WAITS",
			"may call a timer or a disk an interrupt, and does not name who sent a "
			"packet: this kernel lacks their tracepoints");
	}
	return status > 0 ? status : 0;
}

SESSION_PART(wakers) = {
	.scans = SCAN_WAITS | SCAN_RECORDING,
	.select = wakers_select,
	.attach = wakers_attach,
};
