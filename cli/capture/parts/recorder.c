// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "recorder.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/log.h"
#include "cli/capture/session/maps.h"
#include "cli/capture/session/parts.h"
#include "kernel_delay.skel.h"

#define SPARE_PARTS 16 /* about one in this many entries is for events that interrupt others */
#define SPARE_LEAST 64

static exit_status recorder_select(struct session *session)
{
	struct recorder *recorder = session->recorder;
	struct kernel_delay *skel = session->skel;
	uint64_t bytes = session->config->tracing.record_bytes;
	uint32_t cpus = session->cpus;
	uint64_t entries = bytes / sizeof(struct kd_recorded) / cpus;
	uint32_t spare = SPARE_LEAST;

	while ((uint64_t)spare * 2 * SPARE_PARTS <= entries)
		spare *= 2;
	recorder->rings.cpus = cpus;
	recorder->rings.spare = spare;
	recorder->rings.capacity = entries > 2 * spare ? (uint32_t)entries - spare : spare;
	skel->rodata->kd_recorder_wanted = true;
	recorder->ended = calloc(ENDED_NAMES, sizeof(*recorder->ended));
	if (!recorder->ended)
		return log_no_memory();
	return session_map_resize(skel->maps.kd_recorded, (uint64_t)cpus * (recorder->rings.capacity + spare))
		       ?: session_map_resize(skel->maps.kd_recorders, cpus)
		       ?: session_map_resize(skel->maps.kd_followed, KD_FOLLOWED);
}

static exit_status recorder_attach(struct session *session)
{
	struct recorder *recorder = session->recorder;

	recorder->rings.events = session_map(session, session->skel->maps.kd_recorded);
	recorder->rings.positions = session_map(session, session->skel->maps.kd_recorders);
	recorder->followed = session_map(session, session->skel->maps.kd_followed);
	if (!recorder->rings.events || !recorder->rings.positions || !recorder->followed)
		return EX_OSERR;
	recorder_rings_begin(&recorder->rings);
	return 0;
}

uint64_t recorder_bytes(const struct recorder *recorder)
{
	return (uint64_t)recorder->rings.cpus * (recorder->rings.capacity + recorder->rings.spare) *
	       sizeof(*recorder->rings.events);
}

/* Keeps the name of the slot's thread. */
static void recorder_free_slot(struct session *session, uint32_t slot)
{
	struct recorder *recorder = session->recorder;
	const struct kd_thread *thread = &session->threads[slot];
	struct recorded_thread *name;

	if (!thread->tid)
		return;
	name = &recorder->ended[recorder->n_ended++ % ENDED_NAMES];
	*name = (struct recorded_thread){ .tid = (pid_t)thread->tid,
					  .pid = (pid_t)thread->tgid,
					  .of_target = true };
	memcpy(name->name, thread->comm, sizeof(name->name));
}

static void recorder_close(struct session *session)
{
	free(session->recorder->ended);
}

SESSION_PART(recorder) = {
	SESSION_STATE(recorder),   .scans = SCAN_RECORDING,         .select = recorder_select,
	.attach = recorder_attach, .free_slot = recorder_free_slot, .close = recorder_close,
};
