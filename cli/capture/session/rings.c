// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "rings.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include "cli/base/clock.h"
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

#define UNFINISHED_NS (50 * NSEC_PER_USEC)

/* A record that is still being written counts as data that can be read (ringbuf_map_poll_kern() in
 * kernel/bpf/ringbuf.c). Its program may have been preempted, and by this process: one of real-time
 * priority that polls on would keep the CPU from it for ever. */
static void unfinished_await(struct record_ring *ring)
{
	struct pollfd readable = { ring_buffer__epoll_fd(ring->ring), POLLIN, 0 };

	if (poll(&readable, 1, 0) > 0)
		nanosleep(&(struct timespec){ .tv_nsec = UNFINISHED_NS }, NULL);
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
	if (!result)
		unfinished_await(ring);
	return result < 0 ? result : 0;
}
