// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "attach_cost.h"

#include <unistd.h>

#include "../cli/clock.h"
#include "attach.h"
#include "self_probe.h"

#define BATCHES 8
#define CALLS 32

/* The quickest of some batches: whatever disturbs comes on top. */
static uint64_t call_ns(void)
{
	uint64_t best = UINT64_MAX;

	for (int batch = 0; batch < BATCHES; batch++) {
		uint64_t began = clock_monotonic(), took;

		for (int i = 0; i < CALLS; i++)
			self_probe_call();
		took = clock_monotonic() - began;
		if (took < best)
			best = took;
	}
	return best / CALLS;
}

static uint64_t cost_measure(struct attachment **attachment, const struct bpf_program *program,
			     const struct trigger *trigger)
{
	struct place place;
	uint64_t bare, with = 0;

	if (self_probe_find(&place))
		return 0;
	bare = call_ns();
	if (!attachment_open_one(attachment, program, trigger, &place, getpid()))
		with = call_ns();
	close(place.fd);
	return with > bare ? with - bare : 0;
}

uint64_t attach_cost(struct attachment **attachment, const struct bpf_program *program,
		     const struct trigger *trigger)
{
	uint64_t measured = trigger_is_user(trigger) ? cost_measure(attachment, program, trigger)
						     : 0;

	if (measured)
		return measured;
	switch (trigger->kind) {
	case TRIGGER_UPROBE:
	case TRIGGER_USDT:
		return 1500;
	case TRIGGER_URETPROBE:
		return 2000;
	case TRIGGER_KPROBE:
		return 200;
	case TRIGGER_KRETPROBE:
		return 400;
	case TRIGGER_TRACEPOINT:
		return 150;
	}
	return 0;
}
