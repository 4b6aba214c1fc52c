// SPDX-License-Identifier: Apache-2.0
/* Histograms of durations on the BPF side, if any. */
#define _GNU_SOURCE
#include "histograms.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/log.h"
#include "cli/capture/session/maps.h"
#include "cli/capture/session/parts.h"
#include "cli/capture/session/types.h"
#include "kernel_delay.skel.h"

/* Histograms of a slot's thread: runs, waits, and some system calls. */
#define CAPACITY_PER_SLOT 8
#define CAPACITY_MAX 32768 /* 84 MB per bank */

struct histograms {
	struct kd_histogram_set *sets; /* by slot */
	struct kd_histogram *memory;   /* capacity for each bank */
	uint32_t capacity;
};

static exit_status histograms_select(struct session *session)
{
	struct kernel_delay *skel = session->skel;
	uint32_t capacity = session->slots * CAPACITY_PER_SLOT;

	capacity = capacity < CAPACITY_MAX ? capacity : CAPACITY_MAX;
	session->histograms->capacity = skel->rodata->kd_histograms_max = capacity;
	return session_map_resize(skel->maps.kd_histogram_sets, session->slots)
		       ?: session_map_resize(skel->maps.kd_histograms, session->banks * capacity)
		       ?: session_map_resize(skel->maps.kd_free_histograms, capacity);
}

static int free_list(const struct session *session)
{
	return bpf_map__fd(session->skel->maps.kd_free_histograms);
}

static exit_status histograms_attach(struct session *session)
{
	struct histograms *histograms = session->histograms;

	histograms->sets = session_map(session, session->skel->maps.kd_histogram_sets);
	histograms->memory = session_map(session, session->skel->maps.kd_histograms);
	if (!histograms->sets || !histograms->memory)
		return EX_OSERR;
	for (uint32_t index = 1; index < histograms->capacity; index++) {
		if (queue_put(free_list(session), index)) {
			log_error("cannot fill the list of free histograms: %s", strerror(errno));
			return EX_OSERR;
		}
	}
	return 0;
}

static struct kd_histogram *histogram_of(const struct histograms *histograms, uint32_t bank,
					 uint32_t index)
{
	return &histograms->memory[(size_t)bank * histograms->capacity + index];
}

int session_histogram(const struct session *session, const struct session_view *view, uint32_t slot,
		      uint32_t kind, struct distribution *distribution)
{
	const struct histograms *histograms = session->histograms;
	const struct kd_histogram *histogram;
	uint32_t index;
	int error = 0;

	if (!histograms)
		return 0;
	index = histograms->sets[slot].of[kind];
	if (index == KD_HISTOGRAM_NONE || index >= histograms->capacity)
		return 0;
	histogram = histogram_of(histograms, view->bank, index);
	if (histogram->gen != view->gen)
		return 0;
	for (unsigned int i = 0; i + 1 < KD_HISTOGRAM_BUCKETS && !error; i++)
		error = distribution_append(distribution, distribution_limit(i, KD_HISTOGRAM_BITS),
					    histogram->count[i]);
	if (!error)
		error = distribution_append(distribution, UINT64_MAX,
					    histogram->count[KD_HISTOGRAM_BUCKETS - 1]);
	return error;
}

int session_histogram_add(const struct session *session, struct distribution *distribution,
			  uint64_t ns)
{
	if (!session->histograms)
		return 0;
	return distribution_add(distribution, KD_HISTOGRAM_BITS, KD_HISTOGRAM_BUCKETS, ns);
}

static void histograms_free_slot(struct session *session, uint32_t slot)
{
	struct histograms *histograms = session->histograms;

	for (uint32_t kind = 0; kind < KD_HISTOGRAMS; kind++) {
		uint32_t index = histograms->sets[slot].of[kind];

		histograms->sets[slot].of[kind] = KD_HISTOGRAM_NONE;
		if (index == KD_HISTOGRAM_NONE || index >= histograms->capacity)
			continue;
		for (uint32_t bank = 0; bank < session->banks; bank++)
			histogram_of(histograms, bank, index)->gen = 0;
		if (queue_put(free_list(session), index))
			log_warn("cannot give back a histogram: %s; there is one less",
				 strerror(errno));
	}
}

SESSION_PART(histograms) = {
	SESSION_STATE(histograms),   .scans = SCAN_HISTOGRAMS,          .select = histograms_select,
	.attach = histograms_attach, .free_slot = histograms_free_slot,
};
