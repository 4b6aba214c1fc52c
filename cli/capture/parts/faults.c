// SPDX-License-Identifier: Apache-2.0
/* Times page faults, unless there are too many, and reclaim. */
#define _GNU_SOURCE
#include "faults.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "cli/base/log.h"
#include "cli/capture/session/maps.h"
#include "cli/capture/session/parts.h"
#include "cli/sandbox/confine.h"
#include "kernel_delay.skel.h"

#define SECTION "THREAD TIME"
#define LACK "has no reclaim: this kernel lacks its tracepoints"

#define FAULTS_PAUSES 64 /* as they fill up, pairs of pauses are combined */

/* A time without timed faults, ns of CLOCK_MONOTONIC. to: KD_NEVER if it goes on. ns: the sum of
 * the pauses that were combined in it. */
struct faults_pause {
	uint64_t from, to, ns;
};

/* Time that timing faults took on one CPU beyond its share, ns. */
struct faults_account {
	uint64_t target;          /* share of the run time of the target's threads */
	uint64_t foreign;         /* share of all time, for faults of others */
	struct kd_fault_cpu paid; /* counts already charged */
};

enum { EVENT_MINOR, EVENT_MAJOR, EVENT_BEGIN, EVENTS };

struct faults {
	struct kernel_delay *skel;
	/* Faults begin at a perf event, where there is no tracepoint for it (x86 alone has one).
	 * The kernel counts it before it handles the fault; nothing tells whether the page was
	 * there. */
	bool by_event;
	int *events; /* perf events: EVENTS for each CPU; -1: none */
	size_t n_events;
	struct kd_fault_cpu *cpus; /* memory of kd_fault_cpus */
	struct faults_account *accounts;
	uint32_t n_cpus;
	uint64_t looked_at; /* last look, ns of CLOCK_MONOTONIC */
	struct faults_pause pauses[FAULTS_PAUSES];
	size_t n_pauses;
	bool timed;
};

/* Timing may take 5 % of the time, plus a credit for thousands of faults, as at a program's
 * start. */
#define LOOK_NS (10 * NSEC_PER_MSEC)
#define EARNED 20 /* the share: one part in this many */
#define DEBT_NS (5 * NSEC_PER_MSEC)

/* Cost of a fault, relative to that of a system call: higher than measured (see OVERHEAD in the
 * manual page). */
#define TARGET_PRICE(call_ns) u64_max(2 * (call_ns), 300)
#define FOREIGN_PRICE(call_ns) u64_max((call_ns) / 2, 100)

/* Time for faults in progress to end: afterwards, only threads that sleep are still in one. */
#define DRAIN_NS NSEC_PER_MSEC

/* Pairs of tracepoints of reclaim, all hit by the thread that allocates memory. */
static const struct {
	const char *begin, *end;
	bool node; /* reclaims from one node, to avoid memory of another */
} reclaims[] = {
	{ "mm_vmscan_direct_reclaim_begin", "mm_vmscan_direct_reclaim_end", false },
	{ "mm_vmscan_memcg_reclaim_begin", "mm_vmscan_memcg_reclaim_end", false },
	{ "mm_vmscan_node_reclaim_begin", "mm_vmscan_node_reclaim_end", true },
	{ "mm_compaction_begin", "mm_compaction_end", false },
};

static exit_status faults_select(struct session *session)
{
	struct kernel_delay *skel = session->skel;
	struct bpf_program *programs[] = { skel->progs.kd_minor_fault, skel->progs.kd_major_fault,
					   skel->progs.kd_reclaim_begin,
					   skel->progs.kd_reclaim_end };

	session->faults->skel = skel;
	session->faults->by_event = !btf_has_tracepoint(&session->btf, "page_fault_user");
	if (session->faults->by_event) {
		bpf_program__set_autoload(skel->progs.kd_page_fault_user, false);
		bpf_program__set_autoload(skel->progs.kd_fault_begin, true);
	}
	session->faults->n_cpus = session->cpus;
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		bpf_program__set_autoload(programs[i], true);
	return session_map_resize(skel->maps.kd_fault_cpus, session->cpus);
}

/* Returns a descriptor or a negative errno. */
static int event_open(const struct bpf_program *program, int cpu, uint64_t config)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = config,
		.sample_period = 1,
		.disabled = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (!ioctl(fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(program)) &&
	    !ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		return fd;
	cpu = -errno;
	close(fd);
	return cpu;
}

static void cpu_close(struct faults *faults, int cpu)
{
	faults->cpus[cpu].visible = 0;
	for (int i = 0; i < EVENTS; i++) {
		int *event = &faults->events[EVENTS * cpu + i];

		if (*event >= 0)
			close(*event);
		*event = -1;
	}
}

/* Opens the events of a CPU, for all that runs there. Events of threads would need as many for each
 * thread, and cost time at every switch. Returns 0 or a negative errno. */
static int cpu_open(struct faults *faults, int cpu)
{
	const struct {
		const struct bpf_program *program;
		uint64_t config;
	} events[EVENTS] = {
		[EVENT_MINOR] = { faults->skel->progs.kd_minor_fault,
				  PERF_COUNT_SW_PAGE_FAULTS_MIN },
		[EVENT_MAJOR] = { faults->skel->progs.kd_major_fault,
				  PERF_COUNT_SW_PAGE_FAULTS_MAJ },
		[EVENT_BEGIN] = { faults->skel->progs.kd_fault_begin, PERF_COUNT_SW_PAGE_FAULTS },
	};

	for (int i = 0; i < (faults->by_event ? EVENTS : EVENT_BEGIN); i++) {
		int fd = event_open(events[i].program, cpu, events[i].config);

		if (fd == -ENODEV) /* offline */
			return 0;
		if (fd < 0)
			return fd;
		faults->events[EVENTS * cpu + i] = fd;
	}
	faults->cpus[cpu].visible = 1;
	return 0;
}

static int events_open(struct faults *faults)
{
	int error = 0;

	faults->events = calloc(EVENTS * (size_t)faults->n_cpus, sizeof(*faults->events));
	if (!faults->events)
		return -ENOMEM;
	faults->n_events = EVENTS * (size_t)faults->n_cpus;
	for (size_t i = 0; i < faults->n_events; i++)
		faults->events[i] = -1;
	for (uint32_t cpu = 0; cpu < faults->n_cpus && !error; cpu++)
		error = cpu_open(faults, (int)cpu);
	return error;
}

static void events_close(struct faults *faults)
{
	for (size_t i = 0; i < faults->n_events; i++)
		if (faults->events[i] >= 0)
			close(faults->events[i]);
	free(faults->events);
	faults->events = NULL;
	faults->n_events = 0;
}

/* Switches the events of all CPUs from one kind on. */
static void events_switch(const struct faults *faults, size_t first, bool on)
{
	for (size_t i = 0; i < faults->n_events; i++)
		if (faults->events[i] >= 0 && i % EVENTS >= first)
			ioctl(faults->events[i],
			      on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

/* Opens or closes a CPU's events as it comes online or goes offline. Without the events, faults
 * that begin there are ignored. */
static int faults_turn_cpu(struct session *session, int cpu, bool online)
{
	struct faults *faults = session->faults;

	if (!faults->n_events || cpu >= (int)faults->n_cpus)
		return 0;
	cpu_close(faults, cpu);
	if (online && cpu_open(faults, cpu))
		cpu_close(faults, cpu);
	if (!faults->timed)
		events_switch(faults, EVENT_MINOR, false);
	return 0;
}

static void generation_turn(struct faults *faults)
{
	__atomic_add_fetch(&faults->skel->data_word->kd_fault_gen, 1, __ATOMIC_SEQ_CST);
}

static void begin_detach(struct faults *faults)
{
	events_switch(faults, EVENT_BEGIN, false);
	bpf_link__destroy(faults->skel->links.kd_page_fault_user);
	faults->skel->links.kd_page_fault_user = NULL;
}

/* True if nodes reclaim from themselves, as on few machines (node_reclaim_enabled() in
 * include/linux/swap.h). */
static bool nodes_reclaim(void)
{
	FILE *file = fopen("/proc/sys/vm/zone_reclaim_mode", "re");
	int mode = 0;

	if (file && fscanf(file, "%d", &mode) != 1)
		mode = 0;
	if (file)
		fclose(file);
	return mode;
}

static exit_status reclaims_attach(struct programs *programs)
{
	const struct bpf_program *begin = programs->skel->progs.kd_reclaim_begin;
	const struct bpf_program *end = programs->skel->progs.kd_reclaim_end;
	bool nodes = nodes_reclaim();
	int status = 0;

	for (size_t i = 0; i < sizeof(reclaims) / sizeof(*reclaims) && status <= 0; i++) {
		const char *section = i ? NULL : SECTION;

		/* Attaches no begin without an end. */
		if (!reclaims[i].node || nodes)
			status = programs_hook(programs, end, reclaims[i].end, section, LACK)
					 ?: programs_hook(programs, begin, reclaims[i].begin,
							  section, LACK);
	}
	return status > 0 ? status : 0;
}

/* Attaches what this kernel has, and notes what it lacks. */
static exit_status faults_attach(struct session *session)
{
	struct faults *faults = session->faults;
	int error = reclaims_attach(&session->programs);

	if (error || !(faults->by_event || faults->skel->links.kd_page_fault_user))
		return error; /* what is missing has been noted */
	faults->cpus = session_map(session, faults->skel->maps.kd_fault_cpus);
	if (!faults->cpus)
		return EX_OSERR;
	faults->accounts = calloc(faults->n_cpus, sizeof(*faults->accounts));
	if (!faults->accounts)
		return log_no_memory();
	error = events_open(faults);
	if (error) {
		log_warn("cannot time page faults: perf_event_open: %s", strerror(-error));
		if (error == -EPERM || error == -EACCES)
			capability_hint_perf();
		events_close(faults);
		begin_detach(faults);
		programs_absent(&session->programs, SECTION,
				"has no page faults, they are in running user: the kernel refuses "
				"perf's events of them");
		return 0;
	}
	faults->looked_at = clock_monotonic();
	faults->timed = true;
	generation_turn(faults);
	return 0;
}

/* Combines pauses in pairs, which frees half of the entries. */
static void pauses_thin(struct faults *faults)
{
	struct faults_pause *pauses = faults->pauses;

	for (size_t i = 0; i < FAULTS_PAUSES / 2; i++)
		pauses[i] = (struct faults_pause){ pauses[2 * i].from, pauses[2 * i + 1].to,
						   pauses[2 * i].ns + pauses[2 * i + 1].ns };
	faults->n_pauses = FAULTS_PAUSES / 2;
}

/* Stops timing: detaches the begin, and disables the ends once faults in progress have ended. */
static void faults_stop(struct faults *faults, uint64_t now)
{
	if (faults->n_pauses == FAULTS_PAUSES)
		pauses_thin(faults);
	begin_detach(faults);
	clock_wait_until(now + DRAIN_NS);
	generation_turn(faults);
	events_switch(faults, EVENT_MINOR, false);
	faults->pauses[faults->n_pauses++] = (struct faults_pause){ now, KD_NEVER, 0 };
	faults->timed = false;
}

/* Charges an account for new faults. While faults are not timed, the target's run time is unknown:
 * the time that passed earns in its place. */
static void account_settle(struct faults_account *account, const struct kd_fault_cpu *cpu,
			   uint64_t call_ns, uint64_t passed, bool timed)
{
	const struct kd_fault_cpu now = {
		.target = __atomic_load_n(&cpu->target, __ATOMIC_RELAXED),
		.foreign = __atomic_load_n(&cpu->foreign, __ATOMIC_RELAXED),
		.ran = __atomic_load_n(&cpu->ran, __ATOMIC_RELAXED),
	};
	uint64_t ran = timed ? now.ran - account->paid.ran : passed;

	account->target += (now.target - account->paid.target) * TARGET_PRICE(call_ns);
	account->target = u64_sub(account->target, ran / EARNED);
	account->foreign += (now.foreign - account->paid.foreign) * FOREIGN_PRICE(call_ns);
	account->foreign = u64_sub(account->foreign, passed / EARNED);
	account->paid = now;
}

void faults_look(struct session *session, uint64_t call_ns)
{
	struct faults *faults = session->faults;
	uint64_t now = clock_monotonic(), most = 0;

	if (!faults->n_events || now < faults->looked_at + LOOK_NS)
		return;
	for (uint32_t cpu = 0; cpu < faults->n_cpus; cpu++) {
		struct faults_account *account = &faults->accounts[cpu];

		account_settle(account, &faults->cpus[cpu], call_ns, now - faults->looked_at,
			       faults->timed);
		most = u64_max(most, u64_max(account->target, account->foreign));
	}
	faults->looked_at = now;
	if (faults->timed && most > DEBT_NS)
		faults_stop(faults, now);
}

void faults_resume(struct session *session, uint64_t pause_ns)
{
	struct faults *faults = session->faults;
	struct kernel_delay *skel = faults->skel;
	struct faults_pause *pause;

	if (!faults->n_events || faults->timed || !faults->n_pauses)
		return;
	pause = &faults->pauses[faults->n_pauses - 1];
	if (clock_monotonic() < pause->from + pause_ns)
		return;
	for (uint32_t cpu = 0; cpu < faults->n_cpus; cpu++)
		if (faults->accounts[cpu].target || faults->accounts[cpu].foreign)
			return;
	events_switch(faults, EVENT_MINOR, true);
	if (!faults->by_event)
		skel->links.kd_page_fault_user =
			bpf_program__attach(skel->progs.kd_page_fault_user);
	if (!faults->by_event && !skel->links.kd_page_fault_user) {
		events_switch(faults, EVENT_MINOR, false);
		return;
	}
	generation_turn(faults);
	pause->to = clock_monotonic();
	pause->ns = pause->to - pause->from;
	faults->timed = true;
}

uint64_t session_faults_untimed(const struct session *session, uint64_t start, uint64_t end)
{
	const struct faults *faults = session->faults;
	uint64_t ns = 0;

	for (size_t i = 0; i < faults->n_pauses; i++) {
		const struct faults_pause *pause = &faults->pauses[i];
		uint64_t inside = u64_sub(u64_min(pause->to, end), u64_max(pause->from, start));
		uint64_t length = pause->to - pause->from;

		ns += pause->ns && pause->ns < length
			      ? (uint64_t)((double)inside * (double)pause->ns / (double)length)
			      : inside;
	}
	return ns;
}

static void faults_close(struct session *session)
{
	struct faults *faults = session->faults;

	events_close(faults);
	free(faults->accounts);
}

static void faults_open(struct session *session)
{
	faults_resume(session, 0);
}

SESSION_PART(faults) = {
	SESSION_STATE(faults), .select = faults_select,     .attach = faults_attach,
	.open = faults_open,   .turn_cpu = faults_turn_cpu, .close = faults_close,
};
