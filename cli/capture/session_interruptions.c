// SPDX-License-Identifier: Apache-2.0
#include "session_interruptions.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/log.h"
#include "kernel_delay.skel.h"

/* Parts of 72 bytes in the 20 ms until they are read: some 700,000 a second. */
#define RING_BYTES (1U << 20)

exit_status interruption_ring_select(struct kernel_delay *skel, bool wanted)
{
	int error;

	skel->rodata->kd_interruptions_wanted = wanted;
	/* There is always one: before Linux 6.8 the verifier looks at global functions that nobody
	 * calls, too (2afae08c9dcb), and refuses a map that does not exist. */
	error = bpf_map__set_max_entries(skel->maps.kd_interruptions,
					 wanted ? RING_BYTES : (uint32_t)sysconf(_SC_PAGESIZE));
	if (!error)
		return 0;
	log_error("cannot size the BPF map of interruptions: %s", strerror(-error));
	return EX_OSERR;
}

static int part_found(void *context, void *data, size_t size)
{
	struct interruption_ring *ring = context;

	return size < sizeof(struct kd_interruption) ? 0 : ring->found(ring->context, data);
}

exit_status interruption_ring_open(struct interruption_ring *ring, struct kernel_delay *skel,
				   bool wanted)
{
	if (!wanted)
		return 0;
	ring->ring = ring_buffer__new(bpf_map__fd(skel->maps.kd_interruptions), part_found, ring,
				      NULL);
	if (ring->ring)
		return 0;
	log_error("cannot read the BPF ring buffer: %s", strerror(errno));
	return EX_OSERR;
}

int interruption_ring_read(struct interruption_ring *ring, interruption_fn *found, void *context)
{
	int result;

	if (!ring->ring)
		return 0;
	ring->found = found;
	ring->context = context;
	result = ring_buffer__consume(ring->ring);
	return result < 0 ? result : 0;
}

void interruption_ring_close(struct interruption_ring *ring)
{
	ring_buffer__free(ring->ring);
}
