// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "session.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/capture/parts/culprits.h"
#include "cli/capture/parts/faults.h"
#include "cli/capture/parts/processes.h"
#include "cli/capture/parts/recorder.h"
#include "cli/capture/parts/triggers.h"
#include "cli/capture/session/config.h"
#include "cli/capture/session/cpus.h"
#include "cli/capture/session/file_names.h"
#include "cli/capture/session/maps.h"
#include "cli/capture/session/parts.h"
#include "cli/capture/session/rings.h"
#include "cli/capture/session/slots.h"
#include "cli/capture/session/types.h"
#include "cli/process/preflight.h"
#include "cli/process/trigger_set.h"
#include "kernel_delay.skel.h"

/* Time after an edge until programs that began before it have surely ended. */
#define SETTLE_NS (100 * NSEC_PER_USEC)

static int print_debug(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	log_debug_text(format, args);
	return 0;
}

/* Chooses the programs, and sets what all parts need. */
static exit_status base_select(struct session *session)
{
	const struct session_config *config = session->config;
	struct kernel_delay *skel = session->skel;
	/* Slots for present threads, later ones, and those that end before the collector's next
	 * pass. More threads do not mean that more end. */
	uint64_t slots = config->threads + 768, rings;
	int status = programs_select(&session->programs);

	if (status)
		return status;
	if (slots > KD_SLOTS_MAX)
		slots = KD_SLOTS_MAX;
	session->slots = (uint32_t)slots;
	rings = kd_ring_of(session->slots).first;
	session->banks = config->banks;
	session->cpus = (uint32_t)libbpf_num_possible_cpus();
	session->triggered = !trigger_set_is_empty(config->triggers);
	session->restful = !(config->scans & ~(unsigned int)SCAN_HISTOGRAMS);
	session->epoch = clock_monotonic();
	skel->rodata->kd_epoch = session->epoch;
	skel->rodata->kd_stack_size = KD_STACK_SIZE((uint64_t)sysconf(_SC_PAGESIZE));
	skel->rodata->kd_slots = session->slots;
	skel->rodata->kd_banks = session->banks;
	skel->rodata->kd_cpus = session->cpus;
	skel->rodata->kd_detail_ns = config->options->detail;
#if defined(__aarch64__)
	skel->rodata->kd_timer_line = timer_line();
	skel->rodata->kd_swaps = kernel_has_swap();
#else
	skel->rodata->kd_swaps = session->triggered && kernel_has_swap();
#endif
	return session_map_resize(skel->maps.kd_threads, session->slots)
		       ?: session_map_resize(skel->maps.kd_free_slots, session->slots)
		       ?: session_map_resize(skel->maps.kd_records, session->slots * session->banks)
		       ?: session_map_resize(skel->maps.kd_long_sleeps, rings)
		       ?: session_map_resize(skel->maps.kd_user_ticks, rings)
		       ?: tids_select(skel, session->slots);
}

static exit_status base_attach(struct session *session)
{
	session->windows = (struct windows){
		.held = KD_NO_BANK,
		.shared = session->skel->data_word,
		.banks = session->banks,
		.epoch = session->epoch,
		.pairs = session->config->triggers->same_thread,
		.token = triggers_token(session->triggers),
	};
	session_memory_keep(session->skel->obj);
	session->threads = session_map(session, session->skel->maps.kd_threads);
	session->records = session_map(session, session->skel->maps.kd_records);
	session->long_sleeps = session_map(session, session->skel->maps.kd_long_sleeps);
	session->user_ticks = session_map(session, session->skel->maps.kd_user_ticks);
	if (!session->threads || !session->records || !session->long_sleeps || !session->user_ticks)
		return EX_OSERR;
	for (uint32_t slot = 1; slot < session->slots; slot++) {
		if (queue_put(bpf_map__fd(session->skel->maps.kd_free_slots), slot)) {
			log_error("cannot fill the list of free slots: %s", strerror(errno));
			return EX_OSERR;
		}
	}
	return 0;
}

/* Reports a sched_ext scheduler, with which a thread may wait for more than one CPU. The kernel's
 * own keeps it at one. */
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

SESSION_PART(base) = { .select = base_select, .attach = base_attach, .look = scheduler_look };

static exit_status events_attach(struct session *session)
{
	return programs_attach(&session->programs);
}

static void events_close(struct session *session)
{
	programs_close(&session->programs);
}

SESSION_PART(events) = { .attach = events_attach, .close = events_close };

/* Finds the target's threads; from then on, the fork handler adds new ones. Visits twice, as the
 * first visit may find a thread during a switch. */
static exit_status threads_find(struct session *session)
{
	int error;

	__atomic_store_n(&session->skel->data_word->kd_tgid, (uint32_t)session->tgid,
			 __ATOMIC_SEQ_CST);
	session->skel->data->kd_attached_at = clock_monotonic();
	error = session_visit(session, KD_VISIT_OPEN);
	session_settle(session);
	if (!error) /* titles can be read until a process ends */
		error = session_visit(session, KD_VISIT_OPEN)
				?: process_set_look(session->process_set);
	if (error) {
		log_error("cannot read the target's threads: %s", strerror(-error));
		if (error == -EMFILE)
			log_hint_files();
		return EX_OSERR;
	}
	session->skel->bss->kd_seeded = 1;
	return 0;
}

/* True if the kernel lets this program see what a process has open. */
static bool descriptors_are_seen(pid_t pid)
{
	char path[32], target[8];
	int folder;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return errno != EACCES;
	close(folder);
	/* What it takes to follow each of the links in there. */
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	return readlink(path, target, sizeof(target)) >= 0 || errno != EACCES;
}

static exit_status target_attach(struct session *session)
{
	int status;

	session->tgid = session->config->tgid;
	if (session->tgid && !descriptors_are_seen(session->tgid))
		programs_absent(&session->programs, "THREAD SLEEP STATISTICS",
				"has numbers of descriptors only, not whose other end is waited "
				"for: this needs CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH");
	session->iter = iterator_attach(session->skel->progs.kd_task_iter,
					session_visited(session));
	status = session->iter ? threads_find(session) : EX_OSERR;
	if (!status && session->recorder)
		session->recorder->began = clock_monotonic(); /* all threads have slots */
	return status;
}

static void target_close(struct session *session)
{
	bpf_link__destroy(session->iter);
}

SESSION_PART(target) = { .attach = target_attach, .close = target_close };

#define PART_POINTER(name) &name##_part,
static const struct session_part *const all_parts[] = { SESSION_PARTS_IN_ORDER(PART_POINTER) NULL };
#undef PART_POINTER

static exit_status btf_failed(int error)
{
	if (error == -ENOMEM)
		return log_no_memory();
	log_error("cannot read the kernel's BTF: %s", strerror(-error));
	return EX_OSFILE;
}

static exit_status session_skeleton(struct session *session)
{
	unsigned int scans = session->config->scans;
	int error = btf_open(&session->btf);

	if (error)
		return btf_failed(error);
	session->skel = skeleton_open(scans & (SCAN_TRACES | SCAN_RECORDING), &session->btf);
	if (!session->skel) {
		log_error("cannot open the BPF object: %s", strerror(errno));
		return EX_OSERR;
	}
	session->programs.skel = session->skel;
	session->programs.btf = &session->btf;
	session->programs.btf_file = session->config->options->btf_file;
	error = btf_search(&session->btf, session->skel->obj);
	return error ? btf_failed(error) : 0;
}

static exit_status session_start(struct session *session)
{
	int status = btf_provide(session->config->options->btf_file)
			     ?: session_skeleton(session)
			     ?: parts_select(session);

	if (status)
		return status;
	session_memory_tell(session);
	return programs_load(&session->programs) ?: parts_attach(session);
}

exit_status session_open(struct session **out, const struct session_config *config)
{
	struct session *session = calloc(1, sizeof(*session));
	int status;

	if (!session)
		return log_no_memory();
	libbpf_set_print(print_debug);
	session->parts = all_parts;
	session->config = config;
	online_cpus_open(&session->online, "/sys/devices/system/cpu/online");
	session->file_names = file_names_new();
	status = session->file_names ? session_start(session) : log_no_memory();
	session->config = NULL;
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
	parts_close(session);
	file_names_free(session->file_names);
	online_cpus_close(&session->online);
	session_rings_close(session);
	session_unmap(session);
	kernel_delay__destroy(session->skel);
	btf_close(&session->btf);
	free(session);
}

#define PART(type)                                                                                 \
	struct type *session_##type(struct session *session)                                       \
	{                                                                                          \
		return session->type;                                                              \
	}
PART(triggers)
PART(tracing)
PART(process_set)
PART(culprits)
PART(recorder)
PART(file_names)
#undef PART

struct windows *session_windows(struct session *session)
{
	return &session->windows;
}

struct programs *session_programs(struct session *session)
{
	return &session->programs;
}

uint32_t session_cpus(const struct session *session)
{
	return session->cpus;
}

const struct entry_cost *session_entry(const struct session *session)
{
	return &session->entry;
}

static void cpu_changed(void *context, int cpu, bool is_online)
{
	int error = parts_turn_cpu(context, cpu, is_online);

	if (error)
		log_warn("CPU %d has come online, and its perf events cannot be had: %s: what runs "
			 "there is missing in counters and profiles%s",
			 cpu, strerror(-error),
			 error == -EPERM || error == -EACCES
				 ? ", unless the run keeps the right to have them "
				   "(--debug=0,keep-privileges)"
				 : "");
}

int session_tick(struct session *session)
{
	int error = process_set_look(session->process_set);

	online_cpus_look(&session->online, cpu_changed, session);
	if (!error && process_set_joined(session->process_set))
		error = session_visit(session, KD_VISIT_JOIN);
	faults_look(session, session->entry.call_ns);
	faults_resume(session, session->triggered ? NSEC_PER_SEC : FAULTS_PAUSE_NS);
	return error;
}

void session_look(struct session *session)
{
	parts_look(session);
}

bool session_can_rest(const struct session *session)
{
	const struct kernel_delay__rodata *constants = session->skel->rodata;

	return session->restful && !session->triggered && !constants->kd_by_thread &&
	       !constants->kd_many;
}

/* Once no thread is the target's, no program uses a slot any more. */
void session_rest(struct session *session)
{
	struct kernel_delay *skel = session->skel;

	__atomic_store_n(&skel->data_word->kd_tgid, KD_TGID_NONE, __ATOMIC_SEQ_CST);
	skel->data->kd_attached_at = KD_NEVER;
	skel->bss->kd_seeded = 0;
	session_settle(session);
	culprits_rest(session->culprits, session->cpus);
	tids_clear(skel);
	skel->bss->kd_exec_slot = KD_SLOT_FREE;
	for (uint32_t slot = 1; slot < session->slots; slot++)
		if (session->threads[slot].task)
			session_slot_free(session, slot);
}

exit_status session_wake(struct session *session)
{
	return threads_find(session);
}

bool session_detach_end(struct session *session)
{
	if (!triggers_detach_end(session->triggers))
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
	session->skel->bss->kd_visits++;
	sched_yield(); /* updates the clock of this CPU's run queue, see exec_clock_read() */
	session->skel->bss->kd_real_time = clock_ns(&wall) - now; /* it may be set at any time */
	return iterator_run(session->iter);
}

int session_hashes(struct session *session, const struct session_view *view,
		   struct thread_row *rows, const uint32_t *row_of, struct lock_callers *callers)
{
	const struct session_hash hash = { .windows = &session->windows,
					   .view = view,
					   .callers = callers,
					   .rows = rows,
					   .row_of = row_of };

	return parts_read(session, hash);
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

bool session_has_lost(const struct session *session, enum kd_loss reason)
{
	return __atomic_load_n(&session->skel->bss->kd_losses[reason], __ATOMIC_RELAXED) >
	       session->losses[reason];
}

bool session_has_frozen(const struct session *session)
{
	return __atomic_load_n(&session->skel->bss->kd_any_frozen, __ATOMIC_RELAXED);
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
