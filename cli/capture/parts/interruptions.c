// SPDX-License-Identifier: Apache-2.0
/* The ring of interruptions. */
#define _GNU_SOURCE
#include <bpf/libbpf.h>
#include <unistd.h>

#include "cli/capture/session/maps.h"
#include "cli/capture/session/parts.h"
#include "cli/capture/session/rings.h"
#include "kernel_delay.skel.h"

/* Holds 72-byte records for the 20 ms until the next read: about 700,000 a second. */
#define RING_BYTES (1U << 20)

/* The map exists nevertheless: before Linux 6.8 the verifier also checks uncalled global functions
 * (2afae08c9dcb), and refuses a missing map. */
static void interruptions_omit(struct session *session)
{
	bpf_map__set_max_entries(session->skel->maps.kd_interruptions,
				 (uint32_t)sysconf(_SC_PAGESIZE));
}

static exit_status interruptions_select(struct session *session)
{
	session->skel->rodata->kd_interruptions_wanted = true;
	return session_map_resize(session->skel->maps.kd_interruptions, RING_BYTES);
}

static exit_status interruptions_attach(struct session *session)
{
	return session_ring_open(session, RING_INTERRUPTIONS, session->skel->maps.kd_interruptions,
				 sizeof(struct kd_interruption));
}

SESSION_PART(interruptions) = {
	.scans = SCAN_INTERRUPTIONS,
	.omit = interruptions_omit,
	.select = interruptions_select,
	.attach = interruptions_attach,
};
