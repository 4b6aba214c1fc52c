// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "session_recorder.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "cli/base/log.h"
#include "session_memory.h"
#include "kernel_delay.skel.h"

#define SPARE_PARTS 16 /* of a ring, about, for events that interrupt others */
#define SPARE_LEAST 64

exit_status recorder_select(struct recorder *recorder, struct kernel_delay *skel, uint64_t bytes)
{
	uint32_t cpus = skel->rodata->kd_cpus;
	uint64_t entries = bytes / sizeof(struct kd_recorded) / cpus;
	uint32_t spare = SPARE_LEAST;
	int error;

	if (!bytes)
		return 0;
	while ((uint64_t)spare * 2 * SPARE_PARTS <= entries)
		spare *= 2;
	recorder->skel = skel;
	recorder->rings.cpus = cpus;
	recorder->rings.spare = spare;
	recorder->rings.room = entries > 2 * spare ? (uint32_t)entries - spare : spare;
	skel->rodata->kd_recorder_wanted = true;
	recorder->ended = calloc(ENDED_NAMES, sizeof(*recorder->ended));
	if (!recorder->ended)
		return log_no_memory();
	error = bpf_map__set_max_entries(skel->maps.kd_recorded,
					 cpus * (recorder->rings.room + spare)) ?:
		bpf_map__set_max_entries(skel->maps.kd_recorders, cpus) ?:
		bpf_map__set_max_entries(skel->maps.kd_followed, KD_FOLLOWED);
	if (error)
		log_error("cannot size the BPF maps for --record: %s", strerror(-error));
	return error ? EX_OSERR : 0;
}

exit_status recorder_map(struct recorder *recorder)
{
	if (!recorder->skel)
		return 0;
	recorder->rings.events = session_memory_map(recorder->skel->maps.kd_recorded,
						    recorder_bytes(recorder));
	recorder->rings.positions =
		session_memory_map(recorder->skel->maps.kd_recorders,
				   recorder->rings.cpus * sizeof(*recorder->rings.positions));
	recorder->followed = session_memory_map(recorder->skel->maps.kd_followed,
						KD_FOLLOWED * sizeof(*recorder->followed));
	if (!recorder->rings.events || !recorder->rings.positions || !recorder->followed) {
		log_error("cannot map the BPF maps for --record: %s", strerror(errno));
		return EX_OSERR;
	}
	recorder_rings_begin(&recorder->rings);
	return 0;
}

void recorder_begin(struct recorder *recorder)
{
	recorder->began = clock_monotonic();
}

uint64_t recorder_bytes(const struct recorder *recorder)
{
	return (uint64_t)recorder->rings.cpus * (recorder->rings.room + recorder->rings.spare) *
	       sizeof(*recorder->rings.events);
}

void recorder_note(struct recorder *recorder, const struct kd_thread *thread)
{
	struct ended_name *name;

	if (!recorder->skel || !thread->tid)
		return;
	name = &recorder->ended[recorder->n_ended++ % ENDED_NAMES];
	name->tid = thread->tid;
	name->tgid = thread->tgid;
	memcpy(name->comm, thread->comm, sizeof(name->comm));
}

void recorder_close(struct recorder *recorder)
{
	if (recorder->rings.events)
		munmap(recorder->rings.events, recorder_bytes(recorder));
	if (recorder->rings.positions)
		munmap(recorder->rings.positions,
		       recorder->rings.cpus * sizeof(*recorder->rings.positions));
	if (recorder->followed)
		munmap(recorder->followed, KD_FOLLOWED * sizeof(*recorder->followed));
	free(recorder->ended);
}
