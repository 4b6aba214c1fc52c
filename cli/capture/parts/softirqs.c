// SPDX-License-Identifier: Apache-2.0
/* How late softirqs run, on all CPUs. */
#define _GNU_SOURCE
#include "softirqs.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"
#include "cli/capture/session/maps.h"
#include "cli/capture/session/parts.h"
#include "kernel_delay.skel.h"

struct softirqs {
	struct kd_raised *raised;              /* by CPU and vector */
	const struct kd_softirq_delay *delays; /* by bank, then the same */
	bool attached;
};

static void softirqs_omit(struct session *session)
{
	struct kernel_delay *skel = session->skel;
	struct bpf_map *const maps[] = { skel->maps.kd_raised, skel->maps.kd_softirq_delays };

	session_maps_omit(maps, sizeof(maps) / sizeof(*maps));
}

static exit_status softirqs_select(struct session *session)
{
	const uint64_t rows = (uint64_t)session->cpus * KD_SOFTIRQS_PADDED;
	struct kernel_delay *skel = session->skel;

	bpf_program__set_autoload(skel->progs.kd_softirq_raise, true);
	bpf_program__set_autoload(skel->progs.kd_softirq_begin, true);
	return session_map_resize(skel->maps.kd_raised, rows)
		       ?: session_map_resize(skel->maps.kd_softirq_delays, rows * session->banks);
}

static exit_status softirqs_attach(struct session *session)
{
	const struct kernel_delay *skel = session->skel;
	const struct {
		const struct bpf_program *program;
		const char *tracepoint;
	} hooks[] = { { skel->progs.kd_softirq_raise, "softirq_raise" },
		      { skel->progs.kd_softirq_begin, "softirq_entry" } };
	struct softirqs *softirqs = session->softirqs;
	int status = 0;

	softirqs->raised = session_map(session, skel->maps.kd_raised);
	softirqs->delays = session_map(session, skel->maps.kd_softirq_delays);
	if (!softirqs->raised || !softirqs->delays)
		return EX_OSERR;
	for (size_t i = 0; i < sizeof(hooks) / sizeof(*hooks) && !status; i++)
		status = programs_hook(&session->programs, hooks[i].program, hooks[i].tracepoint,
				       "SOFT IRQ DELAYS",
				       "is left out: this kernel lacks its tracepoints");
	softirqs->attached = !status;
	return status > 0 ? status : 0;
}

/* Not all that is raised on a CPU is run before it goes offline. */
static int softirqs_turn_cpu(struct session *session, int cpu, bool online)
{
	struct kd_raised *raised = &session->softirqs->raised[(size_t)cpu * KD_SOFTIRQS_PADDED];

	for (size_t i = 0; i < KD_SOFTIRQS_PADDED && !online; i++)
		__atomic_store_n(&raised[i].at, 0, __ATOMIC_RELAXED);
	return 0;
}

SESSION_PART(softirqs) = {
	SESSION_STATE(softirqs),   .scans = SCAN_INTERRUPTIONS, .omit = softirqs_omit,
	.select = softirqs_select, .attach = softirqs_attach,   .turn_cpu = softirqs_turn_cpu,
};

static bool cpu_is_online(const struct session *session, uint32_t cpu)
{
	return cpu < ONLINE_CPUS_MAX && session->online.now[cpu / 64] >> cpu % 64 & 1;
}

/* Counts one that has waited since then and had not run at the window's end. */
static void open_add(struct softirq_delay *row, uint64_t since, uint64_t end,
		     const struct kd_task_name *raised)
{
	const uint64_t ns = end - since;

	row->delays.count++;
	row->delays.total += ns;
	if (ns < row->delays.max)
		return;
	row->delays.max = ns;
	row->delays.began = since;
	row->open = true;
	row->raised = *raised;
	row->ran = (struct kd_task_name){ 0 };
}

/* Fills in a vector of a CPU. */
static void delay_read(const struct session *session, const struct session_view *view,
		       struct softirq_delay *row)
{
	const size_t cpus = session->cpus, at = row->cpu * KD_SOFTIRQS_PADDED + row->vector;
	const struct kd_softirq_delay *delay =
		&session->softirqs->delays[view->bank * cpus * KD_SOFTIRQS_PADDED + at];
	const struct kd_raised *raised = &session->softirqs->raised[at];
	uint64_t since;

	if (delay->gen == view->gen) {
		row->delays = delay->delays;
		row->raised = delay->raised;
		row->ran = delay->ran;
	}
	/* One that runs between these two is in neither. */
	since = __atomic_load_n(&raised->at, __ATOMIC_ACQUIRE);
	if (since && since < view->end && cpu_is_online(session, row->cpu))
		open_add(row, u64_max(since, view->start), view->end, &raised->by);
	if (row->delays.began)
		row->delays.began += view->epoch;
}

static int by_longest(const void *a, const void *b)
{
	const struct softirq_delay *x = a, *y = b;

	return ORDER(y->delays.max, x->delays.max)
		       ?: ORDER(x->cpu, y->cpu) ?: ORDER(x->vector, y->vector);
}

int session_softirq_delays(const struct session *session, const struct session_view *view,
			   struct sample *sample)
{
	size_t capacity = 0;

	sample->has_softirq_delays = session->softirqs && session->softirqs->attached;
	if (!sample->has_softirq_delays)
		return 0;
	for (uint32_t i = 0; i < session->cpus * SOFTIRQS; i++) {
		struct softirq_delay row = { .cpu = i / SOFTIRQS, .vector = i % SOFTIRQS };

		delay_read(session, view, &row);
		if (!row.delays.count)
			continue;
		snprintf(row.name, sizeof(row.name), "%s", softirq_names[row.vector]);
		if (ARRAY_ADD(sample->softirq_delays, sample->n_softirq_delays, capacity, row))
			return -ENOMEM;
	}
	ARRAY_SORT(sample->softirq_delays, sample->n_softirq_delays, by_longest);
	return 0;
}
