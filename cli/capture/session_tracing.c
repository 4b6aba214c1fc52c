// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "session_tracing.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/base/clock.h"
#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "session_classes.h"
#include "session_iterator.h"
#include "session_programs.h"
#include "kernel_delay.skel.h"

#define SCRATCHES_PER_CPU 2 /* bpf/stack.bpf.h */

/* Each of the programs' accounts gets the same part: of calls and waits in them, of waits
 * in user mode, and of samples. 0: there is no limit. */
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

exit_status tracing_select(struct tracing *tracing, struct kernel_delay *skel,
			   const struct tracing_config *wanted, uint32_t slots)
{
	uint32_t scratches = (uint32_t)libbpf_num_possible_cpus() * SCRATCHES_PER_CPU + 1;
	int error;

	tracing->skel = skel;
	error = wakers_select(&tracing->wakers, skel, wanted, slots);
	if (error)
		log_error("cannot size the BPF map of wakers: %s", strerror(-error));
	if (error || !wanted->on)
		return error ? EX_OSERR : 0;
	tracing->on = true;
	tracing_tell(skel, wanted);
	bpf_program__set_autoload(skel->progs.kd_sample, wanted->profile_hz > 0);
	bpf_program__set_autoload(skel->progs.kd_open_calls_iter, wanted->call_ns != KD_UNWANTED);
	error = bpf_map__set_max_entries(skel->maps.kd_scratches, scratches) ?:
		bpf_map__set_max_entries(skel->maps.kd_waits, slots) ?:
		bpf_map__set_max_entries(skel->maps.kd_shapes,
					 wanted->user_bytes ? KD_SHAPES : 1) ?:
		bpf_map__set_max_entries(skel->maps.kd_known, wanted->user_bytes ? KD_KNOWN : 1) ?:
		bpf_map__set_max_entries(skel->maps.kd_traces, wanted->ring_bytes);
	if (error)
		log_error("cannot size the BPF maps for stacks: %s", strerror(-error));
	return error ? EX_OSERR : 0;
}

static int trace_found(void *context, void *data, size_t size)
{
	struct tracing *tracing = context;

	if (size < offsetof(struct kd_trace, kernel))
		return 0;
	return tracing->found(tracing->context, data, size);
}

static exit_status sampler_failed(int error, unsigned int hz)
{
	log_error("cannot sample running code at %u Hz: %s", hz, strerror(error));
	if (error == EINVAL)
		log_hint("see the limit in /proc/sys/kernel/perf_event_max_sample_rate");
	else
		log_hint("does a container or a security module forbid perf_event_open()?");
	return error == EPERM || error == EACCES ? EX_NOPERM : EX_OSERR;
}

/* For whatever runs there: one that follows a thread could not be made for those that are born
 * later. Returns 0, also for a CPU that is offline, or a negative errno. */
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

int tracing_cpu_online(struct tracing *tracing, int cpu)
{
	if (cpu >= tracing->n_samplers)
		return 0;
	bpf_link__destroy(tracing->samplers[cpu]); /* it ended when the CPU went offline */
	tracing->samplers[cpu] = NULL;
	return sampler_attach(tracing, cpu);
}

exit_status tracing_attach(struct tracing *tracing, struct programs *programs,
			   const struct tracing_config *wanted, pid_t tgid, uint64_t epoch)
{
	int status = wakers_attach(&tracing->wakers, programs);

	if (status || !tracing->on)
		return status;
	tracing->ring = ring_buffer__new(bpf_map__fd(tracing->skel->maps.kd_traces), trace_found,
					 tracing, NULL);
	if (!tracing->ring) {
		log_error("cannot read the BPF ring buffer: %s", strerror(errno));
		return EX_OSERR;
	}
	if (wanted->call_ns != KD_UNWANTED) {
		tracing->open_calls = iterator_attach(tracing->skel->progs.kd_open_calls_iter,
						      tgid);
		if (!tracing->open_calls)
			return EX_OSERR;
	}
	tracing->skel->data->kd_traces_from = clock_monotonic() - epoch;
	return wanted->profile_hz ? samplers_attach(tracing, wanted->profile_hz) : 0;
}

int tracing_fd(const struct tracing *tracing)
{
	return tracing->ring ? ring_buffer__epoll_fd(tracing->ring) : -1;
}

int tracing_read(struct tracing *tracing, trace_fn *found, void *context)
{
	int result;

	if (!tracing->ring)
		return 0;
	tracing->found = found;
	tracing->context = context;
	result = ring_buffer__consume(tracing->ring);
	return result < 0 ? result : 0;
}

int tracing_visit(struct tracing *tracing)
{
	return tracing->open_calls ? iterator_run(tracing->open_calls) : 0;
}

uint64_t tracing_maps_lost(struct tracing *tracing)
{
	uint64_t lost, last = tracing->maps_lost;

	if (!tracing->on)
		return 0;
	lost = __atomic_load_n(&tracing->skel->bss->kd_maps_lost, __ATOMIC_RELAXED);
	tracing->maps_lost = lost;
	return lost - last;
}

/* Makes sure that there is such a shape; of those that it shares its ways with the hash
 * chooses the one that it replaces. */
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

void tracing_known(const struct tracing *tracing, const struct kd_shape *shape, uint64_t hash,
		   uint64_t stack, uint64_t mapped_at)
{
	const struct kd_known known = {
		.check = kd_known_check(hash, stack, mapped_at),
		.stack = stack,
	};
	__u32 index = hash % KD_KNOWN;

	/* If that fails, it is copied again. */
	shape_put(tracing, shape, hash);
	bpf_map_update_elem(bpf_map__fd(tracing->skel->maps.kd_known), &index, &known, BPF_ANY);
}

void tracing_close(struct tracing *tracing)
{
	for (int cpu = 0; cpu < tracing->n_samplers; cpu++)
		bpf_link__destroy(tracing->samplers[cpu]);
	free(tracing->samplers);
	wakers_close(&tracing->wakers);
	bpf_link__destroy(tracing->open_calls);
	ring_buffer__free(tracing->ring);
}

/* --- Who woke whom, and from what kind of interrupt --- */

struct hook {
	struct bpf_program *program;
	const char *tracepoint;
};

static struct hook hook_of(const struct kernel_delay *skel, size_t i)
{
	const struct hook hooks[WAKERS_PROGRAMS] = {
		{ skel->progs.kd_timer_begin, "hrtimer_expire_entry" },
		{ skel->progs.kd_timer_end, "hrtimer_expire_exit" },
		{ skel->progs.kd_request_completed, "block_rq_complete" },
		{ skel->progs.kd_packet_queued, "netif_rx" },
	};

	return hooks[i];
}

int wakers_select(struct wakers *wakers, struct kernel_delay *skel,
		  const struct tracing_config *wanted, uint32_t slots)
{
	wakers->skel = skel;
	wakers->on = wanted->wait_ns != KD_UNWANTED || wanted->record_bytes;
	if (!wakers->on)
		return 0;
	for (size_t i = 0; i < WAKERS_PROGRAMS; i++)
		bpf_program__set_autoload(hook_of(skel, i).program, true);
	if (wanted->wait_ns == KD_UNWANTED)
		return 0;
	skel->rodata->kd_all_wakers = wanted->all_wakers;
	return bpf_map__set_max_entries(skel->maps.kd_wakers,
					slots + (wanted->all_wakers ? KD_WAKERS_OF_OTHERS : 0));
}

exit_status wakers_attach(struct wakers *wakers, struct programs *programs)
{
	int status = 0;

	for (size_t i = 0; wakers->on && i < WAKERS_PROGRAMS && !status; i++) {
		struct hook hook = hook_of(wakers->skel, i);

		wakers->links[i] = bpf_program__attach_raw_tracepoint(hook.program,
								      hook.tracepoint);
		if (!wakers->links[i])
			status = programs_unattached(
				programs, hook.tracepoint, "OFF-CPU WAITS",
				"may call a timer or a disk an interrupt, and does not name "
				"who sent a packet: this kernel lacks their tracepoints");
	}
	return status;
}

void wakers_close(struct wakers *wakers)
{
	for (size_t i = 0; i < WAKERS_PROGRAMS; i++)
		bpf_link__destroy(wakers->links[i]);
}
