// SPDX-License-Identifier: Apache-2.0
/* Perf events, counted per thread on the BPF side. */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/base/log.h"
#include "cli/capture/session/cpus.h"
#include "cli/capture/session/hashes.h"
#include "cli/capture/session/maps.h"
#include "cli/capture/session/parts.h"
#include "cli/capture/session/windows.h"
#include "cli/model/rows.h"
#include "cli/sandbox/confine.h"
#include "kernel_delay.skel.h"

/* Average rows per thread and window with per-cpu. */
#define CPUS_PER_THREAD 4

struct counters {
	struct counter_set set; /* events that this machine has */
	struct bpf_link *link;
	bool unread; /* warned that some cannot be read at a window's edges */
};

static void counters_omit(struct session *session)
{
	struct kernel_delay *skel = session->skel;
	struct bpf_map *const maps[] = { skel->maps.kd_events, skel->maps.kd_counter_cpus,
					 skel->maps.kd_counts, skel->maps.kd_counter_marks };

	session_maps_omit(maps, sizeof(maps) / sizeof(*maps));
}

static exit_status counters_select(struct session *session)
{
	struct counters *counters = session->counters;
	struct kernel_delay *skel = session->skel;
	const struct counter_set *wanted = &session->config->options->counters;
	uint32_t rows = session->slots * session->banks;

	counters->set = *wanted;
	bpf_program__set_autoload(skel->progs.kd_counters_switch, true);
	bpf_program__set_autoload(skel->progs.kd_counters_look, true);
	skel->rodata->kd_counters = (uint32_t)wanted->n;
	skel->rodata->kd_per_cpu = wanted->per_cpu;
	/* Kernels differ in which programs may call this helper. */
	skel->rodata->kd_counters_timed = libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT,
								  BPF_FUNC_perf_event_read_value,
								  NULL) > 0;
	return session_map_resize(skel->maps.kd_events, session->cpus * KD_COUNTERS)
		       ?: session_map_resize(skel->maps.kd_counts,
				       rows * (wanted->per_cpu ? CPUS_PER_THREAD : 1))
		       ?: session_map_resize(skel->maps.kd_counter_marks, session->triggered ? rows : 1);
}

static int event_open(void *context, struct perf_event_attr *attr, int cpu)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	(void)context;
	return fd < 0 ? -errno : fd;
}

/* Puts an event into the map, which holds it as long as the map is open here. */
static int event_put(void *context, size_t event, int cpu, int fd)
{
	const struct session *session = context;
	uint32_t index = (uint32_t)cpu * KD_COUNTERS + (uint32_t)event;
	int error = bpf_map_update_elem(bpf_map__fd(session->skel->maps.kd_events), &index, &fd,
					BPF_ANY);

	close(fd);
	return error;
}

static void missing_tell(const struct counter_set *missing, struct programs *programs)
{
	char list[KD_COUNTERS * (COUNTER_NAME + 2)] = "";

	if (!missing->n)
		return;
	for (size_t i = 0; i < missing->n; i++) {
		strcat(list, i ? ", " : "");
		strcat(list, missing->all[i].name);
	}
	log_warn("this machine cannot count %s", list);
	programs_absent(programs, "THREAD COUNTERS",
			"leaves out events that this machine, or its hypervisor, cannot count");
}

static exit_status refused(int error)
{
	log_error("cannot count perf events: %s", strerror(-error));
	if (error == -EMFILE)
		log_hint_files();
	else
		capability_hint_perf();
	return error == -EPERM || error == -EACCES ? EX_NOPERM : EX_OSERR;
}

/* Attaches before the programs of all runs, so that this one sees a thread's end first. Reports
 * once what this machine cannot count. */
static exit_status counters_attach(struct session *session)
{
	const struct counter_ops ops = { event_open, event_put, session };
	struct counters *counters = session->counters;
	struct counter_set missing;
	int error;

	error = counter_events_open(&counters->set, (int)session->cpus, &ops, &missing);
	if (error)
		return refused(error);
	missing_tell(&missing, &session->programs);
	if (!counters->set.n)
		return 0;
	counters->link = bpf_program__attach_raw_tracepoint(session->skel->progs.kd_counters_switch,
							    "sched_switch");
	return counters->link ? 0 : refused(-errno);
}

static int counters_turn_cpu(struct session *session, int cpu, bool online)
{
	const struct counter_ops ops = { event_open, event_put, session };
	const struct counters *counters = session->counters;

	return online && counters->link ? counter_events_open_cpu(&counters->set, cpu, &ops) : 0;
}

static bool runs(const struct kd_thread *thread)
{
	return thread->task && !thread->died &&
	       (thread->state == KD_UNSEEN ? (bool)kd_is_running(thread->seed_state)
					   : thread->on_cpu);
}

/* Reports once that counters cannot be read, unless the CPU is offline, which runs no thread. */
static void unread_tell(struct counters *counters, uint32_t cpu, int error)
{
	if (counters->unread || error == -ENXIO)
		return;
	counters->unread = true;
	log_warn("cannot read the counters of CPU %" PRIu32 ": %s: those of threads that run at "
		 "the edge of a sample may be too low or too high",
		 cpu, strerror(-error));
}

/* Makes CPUs that run target threads now read their counters: an interrupt for each. Reports once
 * if one cannot be read. */
static void counters_look(struct session *session)
{
	struct session_view view = session_window_now(session);
	struct counters *counters = session->counters;
	LIBBPF_OPTS(bpf_test_run_opts, options, .flags = BPF_F_TEST_RUN_ON_CPU);
	uint64_t arguments[1] = { 0 }, done[KD_CPU_WORDS] = { 0 };
	int error;

	if (!counters->link)
		return;
	options.ctx_in = arguments;
	options.ctx_size_in = sizeof(arguments);
	for (uint32_t slot = 1; slot < view.slots; slot++) {
		uint32_t cpu = view.threads[slot].cpu;

		if (!runs(&view.threads[slot]) || cpu >= KD_CPU_WORDS * 64 ||
		    done[cpu / 64] >> cpu % 64 & 1)
			continue;
		done[cpu / 64] |= 1ULL << cpu % 64;
		options.cpu = cpu;
		error = bpf_prog_test_run_opts(
			bpf_program__fd(session->skel->progs.kd_counters_look), &options);
		if (error)
			unread_tell(counters, cpu, error);
	}
}

static int counts_found(const struct session_hash *hash, const void *key_, const void *value,
			struct thread_row *row)
{
	const struct kd_row_key *key = key_;
	const struct kd_counts *counts = value;
	const struct counter_set *set = hash->context;
	int error = 0;

	for (size_t i = 0; i < set->n && !error; i++) {
		const struct kd_counted *counted = &counts->of[i];
		struct counter_row found = {
			.cpu = key->rest == KD_ANY_CPU ? -1 : (int32_t)key->rest,
			.value = counter_scale(counted),
			.enabled_ns = counted->enabled,
			.running_ns = counted->running,
			.scaled = counted->running < counted->enabled,
		};

		memcpy(found.name, set->all[i].name, sizeof(found.name));
		error = row_list_add(&counter_list, &row->counters, &row->n_counters, &found);
	}
	return error;
}

/* Adds zeros for a thread that did not run: its counts are 0, not unknown. */
static int nothing_counted(const struct counter_set *set, struct thread_row *row)
{
	int error = 0;

	for (size_t i = 0; i < set->n && !error; i++) {
		struct counter_row none = { .cpu = -1 };

		memcpy(none.name, set->all[i].name, sizeof(none.name));
		error = row_list_add(&counter_list, &row->counters, &row->n_counters, &none);
	}
	return error;
}

static int counters_read(struct session *session, struct session_hash hash)
{
	struct counters *counters = session->counters;
	int error;

	if (!counters->link)
		return 0;
	hash.context = &counters->set;
	error = TABLE_READ(session, &hash, kd_counts, counts_found);
	for (uint32_t slot = 1; slot < hash.view->slots && !error; slot++)
		if (hash.row_of[slot] && !counters->set.per_cpu)
			error = nothing_counted(&counters->set, session_hash_row(&hash, slot));
	return error;
}

static void counters_close(struct session *session)
{
	bpf_link__destroy(session->counters->link);
}

SESSION_PART(counters) = {
	SESSION_STATE(counters),   .scans = SCAN_COUNTERS,        .omit = counters_omit,
	.select = counters_select, .attach = counters_attach,     .read = counters_read,
	.look = counters_look,     .turn_cpu = counters_turn_cpu, .close = counters_close,
};
