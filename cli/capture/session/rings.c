// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "rings.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "cli/base/log.h"
#include "parts.h"

static int record_found(void *context, void *data, size_t size)
{
	struct record_ring *ring = context;

	return size < ring->least ? 0 : ring->found(ring->context, data, size);
}

exit_status session_ring_open(struct session *session, enum session_ring which,
			      const struct bpf_map *map, size_t least)
{
	struct record_ring *ring = &session->rings[which];

	ring->least = least;
	ring->ring = ring_buffer__new(bpf_map__fd(map), record_found, ring, NULL);
	if (ring->ring)
		return 0;
	log_error("cannot read the BPF ring buffer: %s", strerror(errno));
	return EX_OSERR;
}

void session_rings_close(struct session *session)
{
	for (int i = 0; i < SESSION_RINGS; i++)
		ring_buffer__free(session->rings[i].ring);
}

int session_ring_fd(const struct session *session, enum session_ring which)
{
	const struct record_ring *ring = &session->rings[which];

	return ring->ring ? ring_buffer__epoll_fd(ring->ring) : -1;
}

int session_ring_read(struct session *session, enum session_ring which, record_found_fn *found,
		      void *context)
{
	struct record_ring *ring = &session->rings[which];
	int result;

	if (!ring->ring)
		return 0;
	ring->found = found;
	ring->context = context;
	result = ring_buffer__consume(ring->ring);
	return result < 0 ? result : 0;
}
