// SPDX-License-Identifier: Apache-2.0
#include "session_upcalls.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "kernel_delay.skel.h"

/* One CPU's counts in a window's bank. */
static int upcalls_add(const struct kd_upcalls *counts, uint32_t cpu, struct sample *sample)
{
	for (uint32_t i = 0; i < KD_ERRNOS; i++) {
		struct upcall_row row = { cpu, i, counts->count[i] };

		if (counts->count[i] && sample_add_upcalls(sample, &row))
			return -ENOMEM;
	}
	return 0;
}

int upcalls_read(const struct kernel_delay *skel, const struct session_view *view,
		 struct sample *sample)
{
	uint32_t cpus = skel->rodata->kd_cpus;
	int fd = bpf_map__fd(skel->maps.kd_upcalls), result = 0;
	struct kd_upcalls counts;

	sample->upcalls_known = skel->links.kd_upcall != NULL;
	for (uint32_t cpu = 0; sample->upcalls_known && cpu < cpus && !result; cpu++) {
		uint32_t index = view->bank * cpus + cpu;

		if (!bpf_map_lookup_elem(fd, &index, &counts) && counts.gen == view->gen)
			result = upcalls_add(&counts, cpu, sample);
	}
	return result;
}
