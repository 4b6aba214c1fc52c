// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "session_counters.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/base/log.h"
#include "cli/model/rows.h"
#include "counter_events.h"
#include "session_faults.h"
#include "session_programs.h"
#include "session_tracing.h"
#include "kernel_delay.skel.h"

/* --- Counters --- */

/* Rows of a thread with --per-cpu, in a window, on average. */
#define CPUS_PER_THREAD 4

exit_status counters_select(struct counters *counters, struct kernel_delay *skel,
			    const struct session_config *config, uint32_t slots, uint32_t banks)
{
	struct bpf_map *const maps[] = { skel->maps.kd_events, skel->maps.kd_counter_cpus,
					 skel->maps.kd_counts, skel->maps.kd_counter_marks };
	const struct counter_set *wanted = config->counters;
	bool triggers = config->triggers[KD_START].n_sets || config->triggers[KD_STOP].n_sets;
	int error;

	counters->skel = skel;
	counters->on = wanted && wanted->n;
	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
		bpf_map__set_autocreate(maps[i], counters->on);
	if (!counters->on)
		return 0;
	counters->set = *wanted;
	bpf_program__set_autoload(skel->progs.kd_counters_switch, true);
	bpf_program__set_autoload(skel->progs.kd_counters_look, true);
	skel->rodata->kd_counters = (uint32_t)wanted->n;
	skel->rodata->kd_per_cpu = wanted->per_cpu;
	/* Kernels differ in which programs may call it. */
	skel->rodata->kd_counters_timed = libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT,
								  BPF_FUNC_perf_event_read_value,
								  NULL) > 0;
	error = bpf_map__set_max_entries(skel->maps.kd_events,
					 (uint32_t)libbpf_num_possible_cpus() * KD_COUNTERS)
			?: bpf_map__set_max_entries(
				   skel->maps.kd_counts,
				   slots * banks * (wanted->per_cpu ? CPUS_PER_THREAD : 1))
			?: bpf_map__set_max_entries(skel->maps.kd_counter_marks,
						    triggers ? slots * banks : 1);
	if (error)
		log_error("cannot size the BPF maps: %s", strerror(-error));
	return error ? EX_OSERR : 0;
}

static int event_open(void *context, struct perf_event_attr *attr, int cpu)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	(void)context;
	return fd < 0 ? -errno : fd;
}

/* The map keeps the event, as long as it is open here. */
static int event_put(void *context, size_t event, int cpu, int fd)
{
	const struct counters *counters = context;
	uint32_t index = (uint32_t)cpu * KD_COUNTERS + (uint32_t)event;
	int error = bpf_map_update_elem(bpf_map__fd(counters->skel->maps.kd_events), &index, &fd,
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
		log_hint("does lockdown, a container or a security module forbid "
			 "perf_event_open()?");
	return error == -EPERM || error == -EACCES ? EX_NOPERM : EX_OSERR;
}

exit_status counters_attach(struct counters *counters, struct programs *programs)
{
	const struct counter_ops ops = { event_open, event_put, counters };
	struct counter_set missing;
	int error;

	if (!counters->on)
		return 0;
	error = counter_events_open(&counters->set, libbpf_num_possible_cpus(), &ops, &missing);
	if (error)
		return refused(error);
	missing_tell(&missing, programs);
	if (!counters->set.n)
		return 0;
	counters->link = bpf_program__attach_raw_tracepoint(
		counters->skel->progs.kd_counters_switch, "sched_switch");
	return counters->link ? 0 : refused(-errno);
}

/* Counts on a CPU that has come online, too. Returns 0 or a negative errno. */
static int counters_cpu_online(struct counters *counters, int cpu)
{
	const struct counter_ops ops = { event_open, event_put, counters };

	return counters->link ? counter_events_open_cpu(&counters->set, cpu, &ops) : 0;
}

static bool runs(const struct kd_thread *thread)
{
	return thread->task && !thread->died &&
	       (thread->state == KD_UNSEEN ? (bool)kd_is_running(thread->seed_state)
					   : thread->on_cpu);
}

/* One that has gone offline runs no thread. */
static void unread_tell(struct counters *counters, uint32_t cpu, int error)
{
	if (counters->unread || error == -ENXIO)
		return;
	counters->unread = true;
	log_warn("cannot read the counters of CPU %" PRIu32 ": %s: those of threads that run at "
		 "the edge of a sample may be too low or too high",
		 cpu, strerror(-error));
}

void counters_look(struct counters *counters, const struct session_view *view)
{
	LIBBPF_OPTS(bpf_test_run_opts, options, .flags = BPF_F_TEST_RUN_ON_CPU);
	uint64_t arguments[1] = { 0 }, done[KD_CPU_WORDS] = { 0 };
	int error;

	if (!counters->link)
		return;
	options.ctx_in = arguments;
	options.ctx_size_in = sizeof(arguments);
	for (uint32_t slot = 1; slot < view->slots; slot++) {
		uint32_t cpu = view->threads[slot].cpu;

		if (!runs(&view->threads[slot]) || cpu >= KD_CPU_WORDS * 64 ||
		    done[cpu / 64] >> cpu % 64 & 1)
			continue;
		done[cpu / 64] |= 1ULL << cpu % 64;
		options.cpu = cpu;
		error = bpf_prog_test_run_opts(
			bpf_program__fd(counters->skel->progs.kd_counters_look), &options);
		if (error)
			unread_tell(counters, cpu, error);
	}
}

static int counts_found(const struct session_hash *hash, const void *key_, const void *value,
			struct thread_row *row)
{
	const struct kd_counts_key *key = key_;
	const struct kd_counts *counts = value;
	const struct counter_set *set = hash->context;
	int error = 0;

	for (size_t i = 0; i < set->n && !error; i++) {
		const struct kd_counted *counted = &counts->of[i];
		struct counter_row found = {
			.cpu = key->cpu == KD_ANY_CPU ? -1 : (int32_t)key->cpu,
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

/* Threads that did not run have counted nothing: that is known, too. */
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

int counters_read(const struct counters *counters, struct session_hash hash)
{
	int error = 0;

	if (!counters->link)
		return 0;
	hash.map = counters->skel->maps.kd_counts;
	hash.context = &counters->set;
	if (__atomic_load_n(&counters->skel->bss->kd_counts_used, __ATOMIC_RELAXED))
		error = session_hash_read(&hash, counts_found, NULL);
	for (uint32_t slot = 1; slot < hash.view->slots && !error; slot++)
		if (hash.row_of[slot] && !counters->set.per_cpu)
			error = nothing_counted(&counters->set, &hash.rows[hash.row_of[slot] - 1]);
	return error;
}

void counters_close(struct counters *counters)
{
	bpf_link__destroy(counters->link);
}

/* --- Perf events of CPUs that come online during a run, or go offline --- */

/* Part of the session. */

void session_online_open(struct session_online *online, struct faults *faults,
			 struct counters *counters, struct tracing *tracing)
{
	online->faults = faults;
	online->counters = counters;
	online->tracing = tracing;
	online_cpus_open(&online->cpus, "/sys/devices/system/cpu/online");
}

static void cpu_changed(void *context, int cpu, bool is_online)
{
	const struct session_online *online = context;
	int error;

	faults_cpu_change(online->faults, cpu, is_online);
	if (!is_online)
		return;
	error = counters_cpu_online(online->counters, cpu)
			?: tracing_cpu_online(online->tracing, cpu);
	if (error)
		log_warn("CPU %d has come online, and its perf events cannot be had: %s: what runs "
			 "there is missing in counters and profiles%s",
			 cpu, strerror(-error),
			 error == -EPERM || error == -EACCES
				 ? ", unless the run keeps the right to have them "
				   "(--keep-privileges)"
				 : "");
}

void session_online_look(struct session_online *online)
{
	online_cpus_look(&online->cpus, cpu_changed, online);
}

void session_online_close(struct session_online *online)
{
	online_cpus_close(&online->cpus);
}
