// SPDX-License-Identifier: Apache-2.0
/* Programs that leave traces, and their ring. */
#define _GNU_SOURCE
#include "tracing.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/base/array.h"
#include "cli/base/clock.h"
#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/capture/session/maps.h"
#include "cli/capture/session/parts.h"
#include "cli/capture/session/rings.h"
#include "cli/sandbox/confine.h"
#include "classes.h"
#include "processes.h"
#include "kernel_delay.skel.h"

struct tracing {
	struct kernel_delay *skel;
	struct bpf_link *open_calls; /* iterator */
	struct bpf_link **samplers;  /* by CPU; NULL: offline */
	int n_samplers;              /* possible CPUs */
	unsigned int hz;
	uint64_t maps_lost; /* already reported */
};

#define SCRATCHES_PER_CPU 2 /* bpf/stack.bpf.h */

/* Returns the share of each of the programs' accounts: calls and waits in them, waits in user mode,
 * and samples. 0: no limit. */
static uint64_t stack_share(const struct tracing_config *wanted)
{
	bool waits = wanted->wait_ns != KD_UNWANTED;
	bool calls = wanted->call_ns != KD_UNWANTED || waits;
	uint64_t share = wanted->share / ((uint64_t)calls + waits + (wanted->profile_hz > 0));

	return share || !wanted->share ? share : 1;
}

static void tracing_tell(struct kernel_delay *skel, const struct tracing_config *wanted)
{
	skel->rodata->kd_tracing = 1;
	skel->rodata->kd_call_ns = wanted->call_ns;
	skel->rodata->kd_wait_ns = wanted->wait_ns;
	if (wanted->call_ns != KD_UNWANTED)
		skel->rodata->kd_call_wait_ns = wanted->call_ns / 2;
	skel->rodata->kd_note_ns = skel->rodata->kd_call_wait_ns;
	if (wanted->wait_ns < skel->rodata->kd_note_ns)
		skel->rodata->kd_note_ns = wanted->wait_ns;
	skel->rodata->kd_kernel_stacks = wanted->kernel_stacks;
	skel->rodata->kd_user_bytes = wanted->user_bytes;
	skel->rodata->kd_ring_half = wanted->ring_bytes / 2;
	skel->rodata->kd_stack_share = stack_share(wanted);
	skel->rodata->kd_stack_burst = NSEC_PER_SEC;
	classes_set_traced(skel, wanted->calls);
}

static exit_status tracing_select(struct session *session)
{
	const struct tracing_config *wanted = &session->config->tracing;
	struct kernel_delay *skel = session->skel;

	session->tracing->skel = skel;
	tracing_tell(skel, wanted);
	bpf_program__set_autoload(skel->progs.kd_sample, wanted->profile_hz > 0);
	bpf_program__set_autoload(skel->progs.kd_open_calls_iter, wanted->call_ns != KD_UNWANTED);
	return session_map_resize(skel->maps.kd_scratches, session->cpus * SCRATCHES_PER_CPU + 1)
		       ?: session_map_resize(skel->maps.kd_waits, session->slots)
		       ?: session_map_resize(skel->maps.kd_shapes, wanted->user_bytes ? KD_SHAPES : 1)
		       ?: session_map_resize(skel->maps.kd_cached, wanted->user_bytes ? KD_CACHED : 1)
		       ?: session_map_resize(skel->maps.kd_traces, wanted->ring_bytes);
}

static exit_status sampler_failed(int error, unsigned int hz)
{
	log_error("cannot sample running code at %u Hz: %s", hz, strerror(error));
	if (error == EINVAL)
		log_hint("see the limit in /proc/sys/kernel/perf_event_max_sample_rate");
	else
		capability_hint_perf();
	return error == EPERM || error == EACCES ? EX_NOPERM : EX_OSERR;
}

/* Samples whatever runs on a CPU: threads born later could get no sampler of their own. Returns 0,
 * also for an offline CPU, or a negative errno. */
static int sampler_attach(struct tracing *tracing, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = tracing->hz,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	int error;

	if (fd < 0)
		return errno == ENODEV ? 0 : -errno;
	tracing->samplers[cpu] = bpf_program__attach_perf_event(tracing->skel->progs.kd_sample,
								fd); /* owns fd */
	if (tracing->samplers[cpu])
		return 0;
	error = -errno;
	close(fd);
	return error;
}

static exit_status samplers_attach(struct tracing *tracing, unsigned int hz)
{
	int cpus = libbpf_num_possible_cpus(), error = 0;

	tracing->samplers = calloc((size_t)cpus, sizeof(*tracing->samplers));
	if (!tracing->samplers)
		return sampler_failed(ENOMEM, hz);
	tracing->n_samplers = cpus;
	tracing->hz = hz;
	for (int cpu = 0; cpu < cpus && !error; cpu++)
		error = sampler_attach(tracing, cpu);
	return error ? sampler_failed(-error, hz) : 0;
}

static int tracing_turn_cpu(struct session *session, int cpu, bool online)
{
	struct tracing *tracing = session->tracing;

	if (!online || cpu >= tracing->n_samplers)
		return 0;
	bpf_link__destroy(tracing->samplers[cpu]); /* went offline with the CPU */
	tracing->samplers[cpu] = NULL;
	return sampler_attach(tracing, cpu);
}

static exit_status tracing_attach(struct session *session)
{
	const struct tracing_config *wanted = &session->config->tracing;
	struct tracing *tracing = session->tracing;
	int status = session_ring_open(session, RING_TRACES, tracing->skel->maps.kd_traces,
				       offsetof(struct kd_trace, kernel));

	if (status)
		return status;
	if (wanted->call_ns != KD_UNWANTED) {
		tracing->open_calls = iterator_attach(tracing->skel->progs.kd_open_calls_iter,
						      session_visited(session));
		if (!tracing->open_calls)
			return EX_OSERR;
	}
	tracing->skel->data->kd_traces_from = clock_monotonic() - session->epoch;
	return wanted->profile_hz ? samplers_attach(tracing, wanted->profile_hz) : 0;
}

int tracing_visit(struct tracing *tracing)
{
	return tracing->open_calls ? iterator_run(tracing->open_calls) : 0;
}

uint64_t tracing_maps_lost(struct tracing *tracing)
{
	uint64_t lost, last;

	if (!tracing)
		return 0;
	last = tracing->maps_lost;
	lost = __atomic_load_n(&tracing->skel->bss->kd_maps_lost, __ATOMIC_RELAXED);
	tracing->maps_lost = lost;
	return lost - last;
}

/* Adds a shape, unless it is there. If its ways are all taken, the hash chooses the one to
 * replace. */
static void shape_put(const struct tracing *tracing, const struct kd_shape *shape, uint64_t hash)
{
	int fd = bpf_map__fd(tracing->skel->maps.kd_shapes);
	__u32 first = kd_shape_index(shape->ip, shape->sp), index = first + hash % KD_SHAPE_WAYS;
	struct kd_shape there;

	for (__u32 way = first; way < first + KD_SHAPE_WAYS; way++) {
		if (bpf_map_lookup_elem(fd, &way, &there) || !memcmp(&there, shape, sizeof(there)))
			return;
		if (!there.sp)
			index = way;
	}
	bpf_map_update_elem(fd, &index, shape, BPF_ANY);
}

void tracing_cache_stack(const struct tracing *tracing, const struct kd_shape *shape, uint64_t hash,
			 uint64_t stack, uint64_t mapped_at)
{
	const struct kd_cached_stack cached = {
		.check = kd_hash_check(hash, stack, mapped_at),
		.stack = stack,
	};
	__u32 index = hash % KD_CACHED;

	/* If that fails, the stack is copied again. */
	shape_put(tracing, shape, hash);
	bpf_map_update_elem(bpf_map__fd(tracing->skel->maps.kd_cached), &index, &cached, BPF_ANY);
}

static void tracing_close(struct session *session)
{
	struct tracing *tracing = session->tracing;

	for (int cpu = 0; cpu < tracing->n_samplers; cpu++)
		bpf_link__destroy(tracing->samplers[cpu]);
	free(tracing->samplers);
	bpf_link__destroy(tracing->open_calls);
}

SESSION_PART(tracing) = {
	SESSION_STATE(tracing),   .scans = SCAN_TRACES,         .select = tracing_select,
	.attach = tracing_attach, .turn_cpu = tracing_turn_cpu, .close = tracing_close,
};
