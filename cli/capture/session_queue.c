// SPDX-License-Identifier: Apache-2.0
#include "session_queue.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdbool.h>

#include "cli/base/clock.h"

#define TRIES 1000
#define PAUSE_NS (100 * NSEC_PER_USEC)

/* Waits before the next try, if there is one. */
static bool again(unsigned int tries)
{
	if (errno != EBUSY || tries + 1 >= TRIES)
		return false;
	clock_wait_until(clock_monotonic() + PAUSE_NS);
	return true;
}

int queue_put(int fd, uint32_t number)
{
	for (unsigned int tries = 0; bpf_map_update_elem(fd, NULL, &number, BPF_ANY); tries++)
		if (!again(tries))
			return -1;
	return 0;
}

int queue_take(int fd, uint32_t *number)
{
	for (unsigned int tries = 0; bpf_map_lookup_and_delete_elem(fd, NULL, number); tries++)
		if (!again(tries))
			return -1;
	return 0;
}
