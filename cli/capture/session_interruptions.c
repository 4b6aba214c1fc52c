// SPDX-License-Identifier: Apache-2.0
/* The ring of interruptions of threads. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/log.h"
#include "session_memory.h"
#include "session_parts.h"
#include "session_reads.h"
#include "kernel_delay.skel.h"

/* Holds 72-byte records for the 20 ms until the next read: about 700,000 a second. */
#define RING_BYTES (1U << 20)

/* Zeroed: no ring. */
struct interruption_ring {
	struct ring_buffer *ring;
	interruption_fn *found; /* of the walk in progress */
	void *context;
};

static exit_status interruptions_select(struct session *session)
{
	bool wanted = session->config->interruptions;

	session->skel->rodata->kd_interruptions_wanted = wanted;
	/* The map always exists: before Linux 6.8 the verifier also checks uncalled global
	 * functions (2afae08c9dcb), and refuses a missing map. */
	return session_map_resize(session->skel->maps.kd_interruptions,
				  wanted ? RING_BYTES : (uint64_t)sysconf(_SC_PAGESIZE));
}

static int part_found(void *context, void *data, size_t size)
{
	struct interruption_ring *ring = context;

	return size < sizeof(struct kd_interruption) ? 0 : ring->found(ring->context, data);
}

static exit_status interruptions_attach(struct session *session)
{
	struct interruption_ring *ring = session->interruption_ring;

	if (!session->config->interruptions)
		return 0;
	ring->ring = ring_buffer__new(bpf_map__fd(session->skel->maps.kd_interruptions), part_found,
				      ring, NULL);
	if (ring->ring)
		return 0;
	log_error("cannot read the BPF ring buffer: %s", strerror(errno));
	return EX_OSERR;
}

int session_interruptions(struct session *session, interruption_fn *found, void *context)
{
	struct interruption_ring *ring = session->interruption_ring;
	int result;

	if (!ring->ring)
		return 0;
	ring->found = found;
	ring->context = context;
	result = ring_buffer__consume(ring->ring);
	return result < 0 ? result : 0;
}

static void interruptions_close(struct session *session)
{
	ring_buffer__free(session->interruption_ring->ring);
}

const struct session_part interruptions_part = {
	SESSION_STATE(interruption_ring),
	.select = interruptions_select,
	.attach = interruptions_attach,
	.close = interruptions_close,
};
