// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "session.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../clock.h"
#include "../exit_status.h"
#include "../log.h"
#include "../syscall_names.h"
#include "kernelfs.h"
#include "session_histograms.h"
#include "session_iterator.h"
#include "session_programs.h"
#include "session_tracing.h"
#include "session_triggers.h"
#include "session_windows.h"
#include "kernel_delay.skel.h"

/* After an edge, until programs that began before it have surely ended. */
#define SETTLE_NS (100 * NSEC_PER_USEC)

struct session {
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
	uint64_t epoch;
	uint32_t slots, banks;
	uint64_t losses[KD_LOSSES], skipped, resynced; /* already told */
};

static int print_debug(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	log_debug_text(format, args);
	return 0;
}

static void class_set(struct session *session, const char *name, __u8 class)
{
	int number = syscall_number(name);

	if (number >= 0 && number < KD_CLASSES)
		session->skel->rodata->kd_class[number] |= class;
}

static uint32_t pid_max(void)
{
	FILE *file = fopen("/proc/sys/kernel/pid_max", "re");
	unsigned int value = 0;

	if (!file || fscanf(file, "%u", &value) != 1)
		value = 4U << 20; /* PID_MAX_LIMIT */
	if (file)
		fclose(file);
	return value;
}

/* Everything that must be known before the programs are loaded. */
static int session_size(struct session *session, const struct session_config *config)
{
	struct kernel_delay *skel = session->skel;
	/* Room for the threads there are, for more to come, and for those that
	 * end until the collector next looks after them. */
	uint64_t slots = config->threads + config->threads / 4 + 768;
	uint32_t cpus = (uint32_t)libbpf_num_possible_cpus();
	int error;

	if (slots > KD_SLOTS_MAX)
		slots = KD_SLOTS_MAX;
	session->slots = (uint32_t)slots;
	session->banks = config->banks;
	session->epoch = clock_monotonic();
	skel->rodata->kd_tgid = (__u32)config->tgid;
	skel->rodata->kd_epoch = session->epoch;
	skel->rodata->kd_slots = session->slots;
	skel->rodata->kd_banks = session->banks;
	class_set(session, "poll", KD_CLASS_POLL);
	class_set(session, "ppoll", KD_CLASS_POLL);
	class_set(session, "uretprobe", KD_CLASS_IGNORED);
	class_set(session, "uprobe", KD_CLASS_IGNORED);
	class_set(session, "execve", KD_CLASS_EXEC);
	class_set(session, "execveat", KD_CLASS_EXEC);
	class_set(session, "restart_syscall", KD_CLASS_RESTART);
	bpf_program__set_autoload(skel->progs.kd_upcall, config->upcalls);
	skel->rodata->kd_cpus = cpus;
	if (config->upcalls)
		bpf_map__set_max_entries(skel->maps.kd_upcalls, cpus * session->banks);
	error = bpf_map__set_max_entries(skel->maps.kd_tids, pid_max() / KD_TID_PAGE + 1) ?:
		bpf_map__set_max_entries(skel->maps.kd_threads, session->slots) ?:
		bpf_map__set_max_entries(skel->maps.kd_free_slots, session->slots) ?:
		bpf_map__set_max_entries(skel->maps.kd_records, session->slots * session->banks);
	if (error)
		log_error("cannot size the BPF maps: %s", strerror(-error));
	return error ? EX_OSERR : 0;
}

/* In this mode no program may read the kernel's memory. */
static bool kernel_is_locked_down(void)
{
	char mode[128] = "";
	FILE *file = fopen("/sys/kernel/security/lockdown", "re");

	if (!file)
		return false;
	if (!fgets(mode, sizeof(mode), file))
		*mode = '\0';
	fclose(file);
	return strstr(mode, "[confidentiality]");
}

static int load_failed(int error)
{
	if (kernel_is_locked_down()) {
		log_error("the kernel is locked down: BPF programs may not read its memory");
		log_hint("boot it without lockdown=confidentiality, or with lockdown=integrity");
		return EX_NOPERM;
	}
	switch (-error) {
	case EPERM:
		log_error("the kernel refused to load the BPF programs: %s", strerror(-error));
		log_hint(
			"a container, a security module or seccomp may forbid bpf(): run it on the "
			"host; before Linux 5.11 `ulimit -l` may be too small, too");
		return EX_NOPERM;
	case EMFILE:
		log_error("too many open files");
		log_hint("raise the limit: ulimit -n 1024");
		return EX_OSERR;
	case ENOMEM:
		log_error("no memory for the BPF maps");
		log_hint("raise the memory limit of this session's cgroup or `ulimit -l`");
		return EX_OSERR;
	case ESRCH:
	case ENOENT:
		log_error("the kernel's BTF lacks what the BPF programs ask for");
		log_hint("a kernel of 5.10 or later with CONFIG_DEBUG_INFO_BTF=y is needed; "
			 "--debug shows libbpf's messages");
		return EX_OSFILE;
	default:
		log_error("the kernel refused the BPF programs: %s", strerror(-error));
		log_hint("kernel too old (5.10 or later is needed)? --debug shows the verifier's "
			 "messages");
		return EX_OSERR;
	}
}

static void *map_memory(const struct bpf_map *map, size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static int session_map(struct session *session)
{
	session->threads_size = session->slots * sizeof(*session->threads);
	session->records_size = (size_t)session->slots * session->banks * sizeof(*session->records);
	session->threads = map_memory(session->skel->maps.kd_threads, session->threads_size);
	session->records = map_memory(session->skel->maps.kd_records, session->records_size);
	if (!session->threads || !session->records) {
		log_error("cannot map the BPF maps: %s", strerror(errno));
		return EX_OSERR;
	}
	for (uint32_t slot = 1; slot < session->slots; slot++) {
		if (bpf_map_update_elem(bpf_map__fd(session->skel->maps.kd_free_slots), NULL, &slot,
					BPF_ANY)) {
			log_error("cannot fill the list of free slots: %s", strerror(errno));
			return EX_OSERR;
		}
	}
	return 0;
}

/* From now on forks are the fork handler's. */
static int session_attach(struct session *session)
{
	int status = programs_attach(&session->programs);

	programs_attach_upcalls(&session->programs);
	session->skel->data->kd_attached_at = clock_monotonic();
	return status;
}

/* Twice: the first visit may find a thread in the middle of a switch. */
static int session_seed(struct session *session, pid_t tgid)
{
	int error;

	session->iter = iterator_attach(session->skel->progs.kd_task_iter, tgid);
	if (!session->iter)
		return EX_OSERR;
	error = session_visit(session, KD_AT_OPEN);
	session_settle(session);
	if (!error)
		error = session_visit(session, KD_AT_OPEN);
	if (error) {
		log_error("cannot read the target's threads: %s", strerror(-error));
		return EX_OSERR;
	}
	session->skel->bss->kd_seeded = 1;
	return 0;
}

static int session_start(struct session *session, const struct session_config *config)
{
	int status, error;

	status = btf_provide(config->btf_file);
	if (status)
		return status;
	session->skel = kernel_delay__open();
	if (!session->skel) {
		log_error("cannot open the BPF object: %s", strerror(errno));
		return EX_OSERR;
	}
	session->programs.skel = session->skel;
	status = programs_select(&session->programs);
	if (!status)
		status = session_size(session, config);
	if (!status && config->histograms)
		status = histograms_select(&session->histograms, session->skel, session->slots,
					   session->banks);
	if (!status)
		status = triggers_select(&session->triggers, session->skel,
					 session->programs.classic, config);
	if (!status)
		status = tracing_select(&session->tracing, session->skel, &config->tracing,
					session->slots);
	if (status)
		return status;
	error = kernel_delay__load(session->skel);
	if (error)
		return load_failed(error);
	session->windows = (struct windows){
		.shared = session->skel->data_word,
		.banks = session->banks,
		.epoch = session->epoch,
		.token = triggers_token(&session->triggers),
	};
	status = session_map(session);
	if (!status)
		status = histograms_map(&session->histograms);
	if (!status)
		status = session_attach(session);
	if (!status)
		status = session_seed(session, config->tgid);
	if (!status)
		status = tracing_attach(&session->tracing, &config->tracing, config->tgid,
					session->epoch);
	if (!status)
		status = triggers_attach(&session->triggers, config);
	return status;
}

int session_open(struct session **out, const struct session_config *config)
{
	struct session *session = calloc(1, sizeof(*session));
	int status;

	if (!session) {
		log_error("no memory");
		return EX_OSERR;
	}
	libbpf_set_print(print_debug);
	status = session_start(session, config);
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
	bpf_link__destroy(session->iter);
	if (session->threads)
		munmap(session->threads, session->threads_size);
	if (session->records)
		munmap(session->records, session->records_size);
	kernel_delay__destroy(session->skel);
	free(session);
}

uint64_t session_window_open(struct session *session)
{
	return windows_open(&session->windows) + session->epoch;
}

uint64_t session_window_close(struct session *session)
{
	uint64_t end = windows_close(&session->windows);

	return end ? end + session->epoch : 0;
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

struct session_view session_view(const struct session *session)
{
	struct kd_window window = { 0 };
	uint32_t bank = windows_current(&session->windows, &window);

	return view_of(session, bank, &window);
}

bool session_window_next(const struct session *session, struct session_view *view)
{
	struct kd_window window = { 0 };
	uint32_t bank = windows_closed(&session->windows, &window);

	*view = view_of(session, bank, &window);
	return bank != KD_NO_BANK;
}

void session_window_release(struct session *session, const struct session_view *view)
{
	windows_release(&session->windows, view->bank);
}

bool session_has_window(const struct session *session, uint64_t gen)
{
	return windows_have(&session->windows, gen);
}

void session_arm(struct session *session, uint64_t windows)
{
	__atomic_store_n(&session->skel->data_word->kd_wanted, windows, __ATOMIC_SEQ_CST);
	__atomic_store_n(&session->skel->data_word->kd_armed, 1, __ATOMIC_SEQ_CST);
}

uint64_t session_wanted(const struct session *session)
{
	return __atomic_load_n(&session->skel->data_word->kd_wanted, __ATOMIC_SEQ_CST);
}

void session_pause(struct session *session, uint64_t until)
{
	__atomic_store_n(&session->skel->data_word->kd_not_before, until - session->epoch,
			 __ATOMIC_SEQ_CST);
}

bool session_is_open(const struct session *session)
{
	return __atomic_load_n(&session->skel->data_word->kd_word, __ATOMIC_SEQ_CST) & KD_WORD_OPEN;
}

void session_disarm(struct session *session)
{
	__atomic_store_n(&session->skel->data_word->kd_armed, 0, __ATOMIC_SEQ_CST);
}

void session_keep(struct session *session, uint64_t ns)
{
	__atomic_store_n(&session->skel->data_word->kd_keep, ns, __ATOMIC_SEQ_CST);
}

void session_detach_triggers(struct session *session)
{
	triggers_detach(&session->triggers);
}

int session_events_fd(const struct session *session)
{
	return triggers_events_fd(&session->triggers);
}

int session_events(struct session *session, session_event_fn *found, void *context)
{
	return triggers_events(&session->triggers, found, context);
}

int session_traces_fd(const struct session *session)
{
	return tracing_fd(&session->tracing);
}

int session_traces(struct session *session, session_trace_fn *found, void *context)
{
	return tracing_read(&session->tracing, found, context);
}

int session_visit_calls(struct session *session)
{
	return tracing_visit(&session->tracing);
}

uint64_t session_traces_lost(struct session *session)
{
	return tracing_lost(&session->tracing);
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

uint64_t session_hit_cost(struct session *session, enum kd_role role)
{
	return triggers_hit_cost(&session->triggers, role);
}

uint64_t session_triggers_skipped(const struct session *session)
{
	return triggers_skipped(&session->triggers);
}

int session_tally(const struct session *session, struct kd_tally *tally)
{
	return triggers_tally(&session->triggers, tally);
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

int session_visit(struct session *session, enum kd_reading_edge edge)
{
	session->skel->bss->kd_edge = edge;
	return iterator_run(session->iter);
}

void session_slot_free(struct session *session, uint32_t slot)
{
	memset(&session->threads[slot], 0, sizeof(session->threads[slot]));
	for (uint32_t bank = 0; bank < session->banks; bank++)
		memset(&session->records[(size_t)bank * session->slots + slot], 0,
		       sizeof(*session->records));
	histograms_free_slot(&session->histograms, slot);
	bpf_map_update_elem(bpf_map__fd(session->skel->maps.kd_free_slots), NULL, &slot, BPF_ANY);
}

int session_overflow(struct session *session, session_overflow_fn *found, void *context)
{
	int fd = bpf_map__fd(session->skel->maps.kd_overflow);
	uint32_t room = bpf_map__max_entries(session->skel->maps.kd_overflow), n = 0;
	struct kd_overflow_key *keys;
	struct kd_count count;
	int result = 0;

	if (!__atomic_load_n(&session->skel->bss->kd_overflowed, __ATOMIC_RELAXED))
		return 0;
	keys = calloc(room, sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	while (n < room && !bpf_map_get_next_key(fd, n ? &keys[n - 1] : NULL, &keys[n]))
		n++;
	for (uint32_t i = 0; i < n && result >= 0; i++) {
		if (bpf_map_lookup_elem(fd, &keys[i], &count))
			continue;
		result = found(context, &keys[i], &count);
		if (result > 0)
			bpf_map_delete_elem(fd, &keys[i]);
	}
	free(keys);
	return result < 0 ? result : 0;
}

/* One CPU's counts in a window's bank. */
static int upcalls_add(const struct kd_upcalls *counts, uint32_t cpu, struct sample *sample)
{
	for (uint32_t i = 0; i < KD_ERRNOS; i++) {
		struct upcall_row row = { cpu, i, counts->count[i] };

		if (counts->count[i] && sample_add_upcalls(sample, &row))
			return -ENOMEM;
	}
	return 0;
}

int session_upcalls(const struct session *session, const struct session_view *view,
		    struct sample *sample)
{
	uint32_t cpus = session->skel->rodata->kd_cpus;
	int fd = bpf_map__fd(session->skel->maps.kd_upcalls), result = 0;
	struct kd_upcalls counts;

	sample->upcalls_known = session->skel->links.kd_upcall != NULL;
	for (uint32_t cpu = 0; sample->upcalls_known && cpu < cpus && !result; cpu++) {
		uint32_t index = view->bank * cpus + cpu;

		if (!bpf_map_lookup_elem(fd, &index, &counts) && counts.gen == view->gen)
			result = upcalls_add(&counts, cpu, sample);
	}
	return result;
}

int session_durations(const struct session *session, const struct session_view *view, uint32_t slot,
		      uint32_t kind, struct distribution *distribution)
{
	return histograms_read(&session->histograms, view, slot, kind, distribution);
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
