// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "session.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/process/kernelfs.h"
#include "file_names.h"
#include "session_btf.h"
#include "session_counters.h"
#include "session_culprits.h"
#include "session_entry.h"
#include "session_faults.h"
#include "session_hash.h"
#include "session_interruptions.h"
#include "session_locks.h"
#include "session_members.h"
#include "session_memory.h"
#include "session_processes.h"
#include "session_programs.h"
#include "session_recorder.h"
#include "session_resources.h"
#include "session_tracing.h"
#include "session_triggers.h"
#include "session_windows.h"
#include "kernel_delay.skel.h"

/* After an edge, until programs that began before it have surely ended. */
#define SETTLE_NS (100 * NSEC_PER_USEC)

struct session {
	struct session_btf btf;
	struct kernel_delay *skel;
	struct programs programs;
	struct bpf_link *iter;
	struct kd_thread *threads;
	struct kd_record *records;
	size_t threads_size, records_size;
	struct windows windows;
	struct triggers triggers;
	struct tracing tracing;
	struct histograms histograms;
	struct interruption_ring interruptions;
	struct resources resources;
	struct recorder recorder;
	struct counters counters;
	struct faults faults;
	struct session_online online;
	struct culprits culprits;
	struct several several;
	struct file_names *file_names;
	struct entry_cost entry;
	uint64_t epoch;
	uint32_t slots, banks;
	bool triggered;                                /* triggers open or close its windows */
	uint64_t losses[KD_LOSSES], skipped, resynced; /* already told */
};

static int print_debug(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	log_debug_text(format, args);
	return 0;
}

/* Everything that must be known before the programs are loaded. */
static exit_status session_size(struct session *session, const struct session_config *config)
{
	struct kernel_delay *skel = session->skel;
	/* Room for the threads there are, for more to come, and for those that
	 * end until the collector next looks after them, which are no more where
	 * there are many. */
	uint64_t slots = config->threads + config->threads / 16 + 768;
	uint32_t cpus = (uint32_t)libbpf_num_possible_cpus();
	int error;

	if (slots > KD_SLOTS_MAX)
		slots = KD_SLOTS_MAX;
	session->slots = (uint32_t)slots;
	session->banks = config->banks;
	session->triggered = config->triggers[KD_START].n_sets || config->triggers[KD_STOP].n_sets;
	session->epoch = clock_monotonic();
	skel->rodata->kd_epoch = session->epoch;
	skel->rodata->kd_stack_size = KD_STACK_SIZE((uint64_t)sysconf(_SC_PAGESIZE));
	skel->rodata->kd_slots = session->slots;
	skel->rodata->kd_banks = session->banks;
	skel->rodata->kd_detail_ns = config->detail_ns;
	classes_set(skel);
	locks_select(skel, config->tgid, config->processes);
	movers_select(skel);
	bpf_program__set_autoload(skel->progs.kd_upcall, config->upcalls);
	skel->rodata->kd_cpus = cpus;
	if (config->upcalls)
		bpf_map__set_max_entries(skel->maps.kd_upcalls, cpus * session->banks);
	error = bpf_map__set_max_entries(skel->maps.kd_threads, session->slots) ?:
		bpf_map__set_max_entries(skel->maps.kd_free_slots, session->slots) ?:
		bpf_map__set_max_entries(skel->maps.kd_records, session->slots * session->banks) ?:
		files_select(skel, session->slots) ?:
		tids_select(skel, session->slots) ?:
		steal_select(skel, cpus);
	if (error)
		log_error("cannot size the BPF maps: %s", strerror(-error));
	return error ? EX_OSERR : 0;
}

static exit_status session_map(struct session *session)
{
	session_memory_keep(session->skel->obj);
	session->threads_size = session->slots * sizeof(*session->threads);
	session->records_size = (size_t)session->slots * session->banks * sizeof(*session->records);
	session->threads = session_memory_map(session->skel->maps.kd_threads,
					      session->threads_size);
	session->records = session_memory_map(session->skel->maps.kd_records,
					      session->records_size);
	if (!session->threads || !session->records) {
		log_error("cannot map the BPF maps: %s", strerror(errno));
		return EX_OSERR;
	}
	for (uint32_t slot = 1; slot < session->slots; slot++) {
		if (queue_put(bpf_map__fd(session->skel->maps.kd_free_slots), slot)) {
			log_error("cannot fill the list of free slots: %s", strerror(errno));
			return EX_OSERR;
		}
	}
	return 0;
}

/* See session_entry.h. */
static void session_measure(struct session *session, const struct entry_bare *bare)
{
	int free_slots = bpf_map__fd(session->skel->maps.kd_free_slots);
	uint32_t slot;

	if (queue_take(free_slots, &slot))
		return;
	session->entry = entry_measure(bare, session->skel, slot, &session->threads[slot],
				       &session->records[slot]);
	session_slot_free(session, slot);
}

/* From now on forks are the fork handler's. */
static exit_status session_attach(struct session *session, const struct session_config *config)
{
	const struct entry_bare bare = entry_bare();
	int status = programs_attach(&session->programs);
	programs_attach_upcalls(&session->programs);
	if (!status)
		status = faults_attach(&session->faults, &session->programs);
	if (!status)
		session_measure(session, &bare);
	if (!status)
		status = several_seed(&session->several);
	if (!status)
		status = filter_seed(session->skel, &config->filter);
	__atomic_store_n(&session->skel->data_word->kd_tgid, (uint32_t)config->tgid,
			 __ATOMIC_SEQ_CST);
	session->skel->data->kd_attached_at = clock_monotonic();
	return status;
}

/* Twice: the first visit may find a thread in the middle of a switch. */
static exit_status session_seed(struct session *session, pid_t tgid)
{
	int error;

	session->iter = iterator_attach(session->skel->progs.kd_task_iter,
					session->several.skel ? 0 : tgid);
	if (!session->iter)
		return EX_OSERR;
	error = session_visit(session, KD_VISIT_OPEN);
	session_settle(session);
	if (!error) /* titles can be read as long as a process has not ended */
		error = session_visit(session, KD_VISIT_OPEN) ?: several_look(&session->several);
	if (error) {
		log_error("cannot read the target's threads: %s", strerror(-error));
		if (error == -EMFILE)
			log_hint_files();
		return EX_OSERR;
	}
	session->skel->bss->kd_seeded = 1;
	recorder_begin(&session->recorder);
	steal_tell(session->skel, &session->programs);
	return 0;
}

static exit_status btf_failed(int error)
{
	if (error == -ENOMEM)
		return log_no_memory();
	log_error("cannot read the kernel's BTF: %s", strerror(-error));
	return EX_OSFILE;
}

static exit_status session_skeleton(struct session *session, const struct session_config *config)
{
	int error = btf_open(&session->btf);

	if (error)
		return btf_failed(error);
	session->skel = skeleton_open(config->tracing.on || config->tracing.record_bytes,
				      &session->btf);
	if (!session->skel) {
		log_error("cannot open the BPF object: %s", strerror(errno));
		return EX_OSERR;
	}
	session->programs.skel = session->skel;
	session->programs.btf = &session->btf;
	error = btf_search(&session->btf, session->skel->obj);
	return error ? btf_failed(error) : 0;
}

static exit_status session_start(struct session *session, const struct session_config *config)
{
	int status = btf_provide(config->btf_file);

	if (!status)
		status = session_skeleton(session, config);
	if (status)
		return status;
	status = programs_select(&session->programs)
			 ?: session_size(session, config)
			 ?: several_select(&session->several, session->skel, config)
			 ?: filter_select(session->skel, &config->filter)
			 ?: faults_select(&session->faults, session->skel)
			 ?: culprits_select(&session->culprits, session->skel, config->tgid,
					    session->skel->rodata->kd_cpus, session->slots,
					    session->banks)
			 ?: interruption_ring_select(session->skel, config->interruptions)
			 ?: resources_select(&session->resources, &session->programs,
					     config->resources, session->slots, session->banks)
			 ?: counters_select(&session->counters, session->skel, config,
					    session->slots, session->banks);
	if (!status && config->histograms)
		status = histograms_select(&session->histograms, session->skel, session->slots,
					   session->banks);
	if (!status)
		status = triggers_select(&session->triggers, &session->programs, config)
				 ?: tracing_select(&session->tracing, session->skel,
						   &config->tracing, session->slots)
				 ?: recorder_select(&session->recorder, session->skel,
						    config->tracing.record_bytes);
	if (status)
		return status;
	session_memory_tell(session->skel, config, session->slots);
	status = programs_load(&session->programs);
	if (status)
		return status;
	session->windows = (struct windows){
		.held = KD_NO_BANK,
		.shared = session->skel->data_word,
		.banks = session->banks,
		.epoch = session->epoch,
		.pairs = config->same_thread,
		.token = triggers_token(&session->triggers),
	};
	return session_map(session)
		       ?: histograms_map(&session->histograms)
		       ?: culprits_map(&session->culprits)
		       ?: recorder_map(&session->recorder)
		       ?: interruption_ring_open(&session->interruptions, session->skel,
						 config->interruptions)
		       ?: resources_attach(&session->resources, &session->programs)
		       ?: counters_attach(&session->counters, &session->programs)
		       ?: session_attach(session, config)
		       ?: session_seed(session, config->tgid)
		       ?: tracing_attach(&session->tracing, &session->programs, &config->tracing,
					 session->several.skel ? 0 : config->tgid, session->epoch)
		       ?: triggers_attach(&session->triggers, &session->programs);
}

exit_status session_open(struct session **out, const struct session_config *config)
{
	struct session *session = calloc(1, sizeof(*session));
	int status;

	if (!session)
		return log_no_memory();
	libbpf_set_print(print_debug);
	session_online_open(&session->online, &session->faults, &session->counters,
			    &session->tracing);
	session->file_names = file_names_new(config->tgid);
	status = session->file_names ? session_start(session, config) : log_no_memory();
	if (status) {
		session_close(session);
		session = NULL;
	}
	*out = session;
	return status;
}

void session_close(struct session *session)
{
	if (!session)
		return;
	triggers_close(&session->triggers);
	tracing_close(&session->tracing);
	histograms_close(&session->histograms);
	interruption_ring_close(&session->interruptions);
	resources_close(&session->resources);
	recorder_close(&session->recorder);
	counters_close(&session->counters);
	faults_close(&session->faults);
	culprits_close(&session->culprits);
	several_close(&session->several);
	file_names_free(session->file_names);
	session_online_close(&session->online);
	bpf_link__destroy(session->iter);
	programs_close(&session->programs);
	if (session->threads)
		munmap(session->threads, session->threads_size);
	if (session->records)
		munmap(session->records, session->records_size);
	kernel_delay__destroy(session->skel);
	btf_close(&session->btf);
	free(session);
}

#define PART(type, part)                                                                           \
	struct type *session_##part(struct session *session)                                       \
	{                                                                                          \
		return &session->part;                                                             \
	}
PART(windows, windows)
PART(triggers, triggers)
PART(tracing, tracing)
PART(histograms, histograms)
PART(interruption_ring, interruptions)
PART(several, several)
PART(culprits, culprits)
PART(resources, resources)
PART(recorder, recorder)
PART(programs, programs)
#undef PART

const struct entry_cost *session_entry(const struct session *session)
{
	return &session->entry;
}

int session_tick(struct session *session)
{
	int error = several_look(&session->several);

	session_online_look(&session->online);
	if (!error && several_joined(&session->several))
		error = session_visit(session, KD_VISIT_JOIN);
	faults_look(&session->faults, session->entry.call_ns);
	faults_resume(&session->faults, session->triggered ? NSEC_PER_SEC : FAULTS_PAUSE_NS);
	return error;
}

uint64_t session_faults_untimed(const struct session *session, uint64_t start, uint64_t end)
{
	return faults_untimed(&session->faults, start, end);
}

uint64_t session_window_open(struct session *session, uint64_t at)
{
	faults_resume(&session->faults, 0);
	return windows_open(&session->windows, u64_sub(at, session->epoch)) + session->epoch;
}

uint64_t session_window_close(struct session *session)
{
	uint64_t end = windows_close(&session->windows);

	session->skel->bss->kd_visit_end = end;
	return end ? end + session->epoch : 0;
}

uint64_t session_window_turn(struct session *session, uint64_t at)
{
	uint64_t edge;

	faults_resume(&session->faults, 0);
	edge = windows_turn(&session->windows, u64_sub(at, session->epoch));
	session->skel->bss->kd_visit_end = edge;
	return edge ? edge + session->epoch : 0;
}

static struct session_view view_of(const struct session *session, uint32_t bank,
				   const struct kd_window *window)
{
	struct session_view view = {
		.threads = session->threads,
		.records = session->records,
		.slots = session->slots,
		.bank = bank,
		.epoch = session->epoch,
		.fault_gen = __atomic_load_n(&session->skel->data_word->kd_fault_gen,
					     __ATOMIC_RELAXED),
	};

	if (bank == KD_NO_BANK)
		return view;
	view.records += (size_t)bank * session->slots;
	view.start = window->start;
	view.end = window->end;
	view.gen = window->gen;
	view.opened_by = window->opened_by;
	view.closed_by = window->closed_by;
	return view;
}

struct session_view session_window_now(const struct session *session)
{
	struct kd_window window = { 0 };
	uint32_t bank = windows_current(&session->windows, &window);

	return view_of(session, bank, &window);
}

bool session_window_at(const struct session *session, uint32_t bank, struct session_view *view)
{
	struct kd_window window;

	if (bank >= session->banks || !windows_at(&session->windows, bank, &window))
		return false;
	*view = view_of(session, bank, &window);
	return true;
}

bool session_window_hold(struct session *session, struct session_view *view)
{
	uint32_t bank = windows_hold(&session->windows);

	session_look(session);
	return bank != KD_NO_BANK && session_window_at(session, bank, view);
}

void session_window_let_go(struct session *session)
{
	windows_let_go(&session->windows);
	session_look(session);
}

bool session_window_next(const struct session *session, struct session_view *view)
{
	struct kd_window window = { 0 };
	uint32_t bank = windows_closed(&session->windows, &window);

	*view = view_of(session, bank, &window);
	return bank != KD_NO_BANK;
}

bool session_detach_end(struct session *session)
{
	if (!triggers_detach_end(&session->triggers))
		return false;
	for (uint32_t slot = 0; slot < session->slots; slot++)
		session->threads[slot].pair = 0;
	return true;
}

bool session_call_goes_on(const struct session *session, uint32_t tid, int32_t call, uint64_t since)
{
	for (uint32_t slot = 1; slot < session->slots; slot++) {
		const struct kd_thread *thread = &session->threads[slot];

		if (__atomic_load_n(&thread->tid, __ATOMIC_RELAXED) == tid && !thread->died)
			return __atomic_load_n(&thread->call, __ATOMIC_ACQUIRE) == call &&
			       __atomic_load_n(&thread->call_since, __ATOMIC_RELAXED) == since;
	}
	return false;
}

void session_settle(struct session *session)
{
	session_settle_after(session, clock_monotonic());
}

void session_settle_after(struct session *session, uint64_t edge)
{
	(void)session;
	if (clock_monotonic() < edge + SETTLE_NS)
		clock_wait_until(edge + SETTLE_NS);
}

int session_visit(struct session *session, enum kd_visit visit)
{
	uint64_t now = clock_monotonic();
	struct timespec wall = clock_wall_at(now);

	session->skel->bss->kd_visit = visit;
	session->skel->bss->kd_real_time = clock_ns(&wall) - now; /* it may be set at any time */
	return iterator_run(session->iter);
}

void session_slot_free(struct session *session, uint32_t slot)
{
	recorder_note(&session->recorder, &session->threads[slot]);
	memset(&session->threads[slot], 0, sizeof(session->threads[slot]));
	for (uint32_t bank = 0; bank < session->banks; bank++)
		memset(&session->records[(size_t)bank * session->slots + slot], 0,
		       sizeof(*session->records));
	histograms_free_slot(&session->histograms, slot);
	culprits_free_slot(&session->culprits, slot);
	resources_free_slot(&session->resources, slot);
	if (queue_put(bpf_map__fd(session->skel->maps.kd_free_slots), slot))
		log_warn("cannot give back a slot: %s; there is room for one thread less",
			 strerror(errno));
}

int session_overflow(struct session *session, session_overflow_fn *found, void *context)
{
	return overflow_read(session->skel, found, context);
}

int session_upcalls(const struct session *session, const struct session_view *view,
		    struct sample *sample)
{
	return upcalls_read(session->skel, view, sample);
}

int session_hashes(const struct session *session, const struct session_view *view,
		   struct thread_row *rows, const uint32_t *row_of, struct lock_callers *callers)
{
	const struct session_hash hash = {
		.windows = &session->windows, .view = view, .rows = rows, .row_of = row_of
	};

	return locks_read(session->skel, hash, callers) ?: stops_read(session->skel, hash) ?:
	       movers_read(session->skel, hash) ?:
	       resources_read(&session->resources, hash) ?:
	       counters_read(&session->counters, hash) ?:
	       files_read(session->skel, hash, session->file_names);
}

/* A scheduler of sched_ext may let a thread wait for several CPUs; that of the kernel leaves it at
 * one. */
static void scheduler_look(struct session *session)
{
	FILE *file = fopen("/sys/kernel/sched_ext/state", "re");
	char state[16] = "";

	if (!file)
		return;
	if (fgets(state, sizeof(state), file) && !strncmp(state, "enabled", strlen("enabled")))
		programs_absent(&session->programs, "READY: WHO HAD THE CPU",
				"has who ran on the CPU that a thread was on last: with sched_ext "
				"it may have waited for any");
	fclose(file);
}

void session_look(struct session *session)
{
	struct session_view view = session_window_now(session);

	counters_look(&session->counters, &view);
	scheduler_look(session);
}

int session_resent(struct session *session, const struct session_view *view, struct sample *sample)
{
	return resources_read_resent(&session->resources, &session->windows, view,
				     session->file_names, sample);
}

bool session_files_pending(const struct session *session, const struct session_view *view)
{
	return files_pending(session->skel, view);
}

struct file_names *session_file_names(struct session *session)
{
	return session->file_names;
}

void session_irq_name(struct session *session, uint64_t key, char name[KD_IRQ_NAME_LEN])
{
	struct kd_irq_name found = { "" };

	bpf_map_lookup_elem(bpf_map__fd(session->skel->maps.kd_irq_names), &key, &found);
	memcpy(name, found.text, KD_IRQ_NAME_LEN);
	name[KD_IRQ_NAME_LEN - 1] = '\0';
}

uint64_t session_losses(struct session *session, uint64_t losses[KD_LOSSES])
{
	uint64_t before = session->skipped;

	for (int i = 0; i < KD_LOSSES; i++) {
		uint64_t now = __atomic_load_n(&session->skel->bss->kd_losses[i], __ATOMIC_RELAXED);

		losses[i] = now - session->losses[i];
		session->losses[i] = now;
	}
	session->skipped = programs_skipped(&session->programs);
	return session->skipped - before;
}

bool session_has_frozen(const struct session *session)
{
	return __atomic_load_n(&session->skel->bss->kd_frozen_seen, __ATOMIC_RELAXED);
}

uint64_t session_resynced(struct session *session)
{
	uint64_t before = session->resynced;

	session->resynced = __atomic_load_n(&session->skel->bss->kd_resynced, __ATOMIC_RELAXED);
	return session->resynced - before;
}

const struct absence *session_absences(const struct session *session, size_t *count)
{
	*count = session->programs.n_absences;
	return session->programs.absences;
}
