// SPDX-License-Identifier: Apache-2.0
/* Upcalls of openvswitch. */
#define _GNU_SOURCE
#include "upcalls.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "cli/base/array.h"
#include "cli/capture/session/maps.h"
#include "cli/capture/session/parts.h"
#include "cli/capture/session/types.h"
#include "kernel_delay.skel.h"

static exit_status upcalls_select(struct session *session)
{
	bpf_program__set_autoload(session->skel->progs.kd_upcall, true);
	return session_map_resize(session->skel->maps.kd_upcalls, session->cpus * session->banks);
}

static exit_status upcalls_attach(struct session *session)
{
	programs_attach_upcalls(&session->programs);
	return 0;
}

SESSION_PART(upcalls) = {
	.scans = SCAN_UPCALLS,
	.select = upcalls_select,
	.attach = upcalls_attach,
};

/* Adds one CPU's counts in a window's bank. */
static int upcalls_add(const struct kd_upcalls *counts, uint32_t cpu, struct sample *sample)
{
	for (uint32_t i = 0; i < KD_ERRNOS; i++) {
		struct upcall_row row = { cpu, i, counts->count[i] };

		if (counts->count[i] && !ARRAY_APPEND(sample->upcalls, sample->n_upcalls, &row))
			return -ENOMEM;
	}
	return 0;
}

int session_upcalls(const struct session *session, const struct session_view *view,
		    struct sample *sample)
{
	const struct kernel_delay *skel = session->skel;
	uint32_t cpus = session->cpus;
	int fd = bpf_map__fd(skel->maps.kd_upcalls), result = 0;
	struct kd_upcalls counts;

	sample->has_upcalls = skel->links.kd_upcall != NULL;
	for (uint32_t cpu = 0; sample->has_upcalls && cpu < cpus && !result; cpu++) {
		uint32_t index = view->bank * cpus + cpu;

		if (!bpf_map_lookup_elem(fd, &index, &counts) && counts.gen == view->gen)
			result = upcalls_add(&counts, cpu, sample);
	}
	return result;
}
