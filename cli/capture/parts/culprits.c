// SPDX-License-Identifier: Apache-2.0
/* Reads from the BPF side's tables which tasks had the CPU while threads waited. */
#define _GNU_SOURCE
#include "culprits.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"
#include "cli/base/clock.h"
#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/base/proc_file.h"
#include "cli/capture/session/maps.h"
#include "cli/capture/session/parts.h"
#include "cli/capture/session/types.h"
#include "cli/process/group.h"
#include "kernel_delay.skel.h"

#define READ_TRIES 8
#define PF_KTHREAD 0x200000 /* include/linux/sched.h */

struct culprit_group {
	uint32_t key; /* of the task, as in struct kd_culprit */
	char path[CULPRIT_GROUP_LEN];
	char parent[KD_COMM_LEN]; /* name of the process's parent */
};

struct culprits {
	struct kd_runqueue *runqueues; /* by CPU */
	struct kd_blame *blames;       /* by slot; one set of slots per bank */
	struct kd_culprit *tasks;      /* KD_CULPRITS entries */
	uint32_t cpus, slots;
	char group[CULPRIT_GROUP_LEN]; /* the target's cgroup */
	struct culprit_group *groups;  /* of other processes, by index in tasks */
};

/* Waits are looked at in each tick, of which most kernels have 100 to 1,000 a second; on large
 * machines less often, as a look reads the kernel's memory five times for each CPU. */
#define IDLE_LOOK_NS (NSEC_PER_MSEC * 9 / 10)
#define IDLE_LOOK_CPU_NS (10 * NSEC_PER_USEC)

static exit_status culprits_select(struct session *session)
{
	const uint32_t idle = session->cpus < KD_IDLE_CPUS ? session->cpus : KD_IDLE_CPUS;
	struct culprits *culprits = session->culprits;
	struct kernel_delay *skel = session->skel;

	culprits->cpus = session->cpus;
	culprits->slots = session->slots;
	group_of(session->config->tgid, culprits->group, sizeof(culprits->group));
	culprits->groups = calloc(KD_CULPRITS, sizeof(*culprits->groups));
	if (!culprits->groups)
		return log_no_memory();
	bpf_program__set_autoload(skel->progs.kd_runqueue_find, true);
	skel->rodata->kd_idle_cpus = idle;
	skel->rodata->kd_idle_look_ns = u64_max(IDLE_LOOK_NS, idle * IDLE_LOOK_CPU_NS);
	return session_map_resize(skel->maps.kd_runqueues, session->cpus)
		       ?: session_map_resize(skel->maps.kd_idles, session->cpus)
		       ?: session_map_resize(skel->maps.kd_blames, session->slots * session->banks);
}

/* Has a CPU note where its run queue is: an interrupt. Returns 0, also if it is offline, or a
 * negative errno. */
static int runqueue_find(const struct session *session, uint32_t cpu)
{
	LIBBPF_OPTS(bpf_test_run_opts, options, .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = cpu);
	uint64_t arguments[1] = { 0 };
	int error;

	options.ctx_in = arguments;
	options.ctx_size_in = sizeof(arguments);
	error = bpf_prog_test_run_opts(bpf_program__fd(session->skel->progs.kd_runqueue_find),
				       &options);
	return error == -ENXIO ? 0 : error;
}

/* A run that has given up its privileges may not: then nothing is known of that CPU. */
static int culprits_turn_cpu(struct session *session, int cpu, bool online)
{
	if (online && (uint32_t)cpu < session->skel->rodata->kd_idle_cpus)
		runqueue_find(session, (uint32_t)cpu);
	return 0;
}

static exit_status culprits_attach(struct session *session)
{
	struct culprits *culprits = session->culprits;
	struct kernel_delay *skel = session->skel;
	int error = 0;

	for (uint32_t cpu = 0; cpu < skel->rodata->kd_idle_cpus; cpu++)
		error = runqueue_find(session, cpu) ?: error;
	if (error)
		log_warn("cannot tell whether CPUs were idle while threads waited: %s",
			 strerror(-error));

	culprits->runqueues = session_map(session, skel->maps.kd_runqueues);
	culprits->blames = session_map(session, skel->maps.kd_blames);
	culprits->tasks = session_map(session, skel->maps.kd_culprits);
	return culprits->runqueues && culprits->blames && culprits->tasks ? 0 : EX_OSERR;
}

static void culprits_close(struct session *session)
{
	free(session->culprits->groups);
}

static bool waits(const struct kd_thread *thread)
{
	return kd_is_ready(thread_state(thread));
}

bool culprits_pending(const struct culprits *culprits, const struct session_view *view)
{
	for (uint32_t slot = 1; slot < culprits->slots; slot++)
		if (view->threads[slot].task && waits(&view->threads[slot]) &&
		    view->threads[slot].waiting.mark < view->end)
			return true;
	return false;
}

void culprits_rest(struct culprits *culprits, uint32_t cpus)
{
	for (uint32_t cpu = 0; cpu < cpus; cpu++) {
		struct kd_runqueue *runqueue = &culprits->runqueues[cpu];

		memset(runqueue->waiters, 0, sizeof(runqueue->waiters));
		__atomic_store_n(&runqueue->unlisted, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&runqueue->runs, KD_RUNS_OTHER, __ATOMIC_RELAXED);
	}
}

static void culprits_free_slot(struct session *session, uint32_t slot)
{
	struct kd_blame *blames = session->culprits->blames;

	for (uint32_t bank = 0; bank < session->banks; bank++)
		memset(&blames[(size_t)bank * session->slots + slot], 0, sizeof(*blames));
}

SESSION_PART(culprits) = {
	SESSION_STATE(culprits),         .select = culprits_select,     .attach = culprits_attach,
	.free_slot = culprits_free_slot, .turn_cpu = culprits_turn_cpu, .close = culprits_close,
};

/* Copies a thread's charges and its wait in progress, so that the two fit together. */
static void blame_copy(const struct culprits *culprits, const struct session_view *view,
		       uint32_t slot, struct kd_blame *blame, struct kd_waiting *waiting)
{
	const struct kd_thread *live = &view->threads[slot];

	for (int i = 0; i < READ_TRIES; i++) {
		*waiting = live->waiting;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		*blame = culprits->blames[(size_t)view->bank * culprits->slots + slot];
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&live->waiting.mark, __ATOMIC_RELAXED) == waiting->mark)
			break;
		sched_yield();
	}
	if (blame->gen != view->gen)
		memset(blame, 0, sizeof(*blame));
}

/* A row under construction. */
struct reading {
	const struct culprits *culprits;
	struct thread_row *row;
	uint32_t tid;
	bool real_time; /* the thread has a real-time priority */
};

/* True if a limit of real-time tasks gave the CPU to a task of another class. A real-time thread is
 * preempted by such a task in no other way. A woken one may also wait until the kernel can switch,
 * which takes less than WAKE_UP_NS. */
static bool is_rt_limit(const struct reading *reading, const struct kd_charge *charge)
{
	return reading->real_time &&
	       (charge->preempted > charge->woken || charge->longest >= WAKE_UP_NS);
}

static int row_add(struct reading *reading, struct culprit *culprit, const struct kd_charge *charge)
{
	if (!(charge->woken | charge->preempted))
		return 0;
	culprit->woken_ns = charge->woken;
	culprit->preempted_ns = charge->preempted;
	culprit->longest_ns = charge->longest;
	culprit->longest_began = charge->began;
	return culprits_add(&reading->row->culprits, &reading->row->n_culprits, culprit);
}

static int kind_add(struct reading *reading, enum kd_who who, const struct kd_charge *charge)
{
	static const enum culprit_kind kinds[KD_WHO_KINDS] = {
		[KD_WHO_HARDIRQ] = CULPRIT_HARDIRQ, [KD_WHO_SOFTIRQ] = CULPRIT_SOFTIRQ,
		[KD_WHO_IDLE] = CULPRIT_IDLE,       [KD_WHO_THROTTLED] = CULPRIT_THROTTLED,
		[KD_WHO_REST] = CULPRIT_REST,       [KD_WHO_OWN] = CULPRIT_OWN,
		[KD_WHO_UNKNOWN] = CULPRIT_UNKNOWN, [KD_WHO_HYPERVISOR] = CULPRIT_STOLEN,
	};
	struct culprit culprit = { .kind = kinds[who], .own = who == KD_WHO_OWN };

	culprit.rt_limit = reading->real_time && who == KD_WHO_IDLE &&
			   charge->longest >= WAKE_UP_NS;
	return row_add(reading, &culprit, charge);
}

/* Looks up the cgroup of another process and its parent's name, once for each task; they are
 * unknown if the process or its parent has ended. */
static void origin_fill(const struct culprits *culprits, const struct kd_culprit *task,
			struct culprit *culprit)
{
	struct culprit_group *group = &culprits->groups[task->key % KD_CULPRITS];

	if (group->key != task->key) {
		group->key = task->key;
		group_of((pid_t)task->tgid, group->path, sizeof(group->path));
		memset(group->parent, 0, sizeof(group->parent));
		if (task->parent)
			proc_comm_read((pid_t)task->parent, group->parent, sizeof(group->parent));
	}
	culprit->parent = (pid_t)task->parent;
	memcpy(culprit->parent_name, group->parent, sizeof(culprit->parent_name));
	culprit->same_group = *group->path && !strcmp(group->path, culprits->group);
	if (!culprit->same_group)
		memcpy(culprit->group, group->path, CULPRIT_GROUP_LEN);
}

/* Describes a limit: the thread's own runtime, or the quota of its cgroup or one above. If the
 * thread has moved since, only the last component of the cgroup's path is known. */
static void limit_fill(const struct culprits *culprits, const struct kd_culprit *limit, pid_t tid,
		       struct culprit *culprit)
{
	struct culprit_group *group = &culprits->groups[limit->key % KD_CULPRITS];

	culprit->kind = limit->start ? CULPRIT_THROTTLED : CULPRIT_DEADLINE;
	culprit->quota_ns = limit->quota_ns;
	culprit->period_ns = limit->period_ns;
	if (!limit->start)
		return;
	if (group->key != limit->key) {
		if (group_above(tid, limit->start, group->path, sizeof(group->path)))
			group->key = limit->key;
		else
			snprintf(group->path, sizeof(group->path), ".../%.*s",
				 KD_LIMIT_NAME_LEN - 1, limit->comm);
	}
	memcpy(culprit->group, group->path, CULPRIT_GROUP_LEN);
}

/* Returns false if another task has the entry now, or the key belongs to no task. */
static bool task_read(const struct culprits *culprits, uint32_t key, struct kd_culprit *task,
		      struct culprit *culprit)
{
	*culprit = (struct culprit){ .kind = CULPRIT_TASK };
	if (key < KD_WHO_TASK)
		return false;
	*task = culprits->tasks[key % KD_CULPRITS];
	if (task->key != key)
		return false;
	if (key & KD_WHO_LIMIT)
		return true;
	culprit->tid = (int32_t)task->tid;
	culprit->pid = (int32_t)task->tgid;
	memcpy(culprit->name, task->tid ? task->comm : task->process, sizeof(culprit->name));
	culprit_set_priority(culprit, task->policy, task->prio);
	culprit->own = key & KD_WHO_OF_TARGET;
	culprit->kernel = task->flags & PF_KTHREAD;
	culprit->ksoftirqd = key & KD_WHO_SOFTIRQD;
	return true;
}

bool culprits_task(const struct culprits *culprits, uint32_t key, struct culprit *culprit)
{
	struct kd_culprit task;

	return !(key & KD_WHO_LIMIT) && task_read(culprits, key, &task, culprit);
}

static int key_compare(const void *a, const void *b)
{
	const struct recorded_culprit *left = a, *right = b;

	return ORDER(left->key, right->key);
}

size_t culprits_all(const struct culprits *culprits, struct recorded_culprit *rows)
{
	size_t n = 0;

	for (size_t i = 0; i < KD_CULPRITS; i++) {
		rows[n].key = __atomic_load_n(&culprits->tasks[i].key, __ATOMIC_ACQUIRE);
		if (culprits_task(culprits, rows[n].key, &rows[n].is))
			n++;
	}
	ARRAY_SORT(rows, n, key_compare);
	return n;
}

size_t culprits_running(const struct culprits *culprits, const struct session_view *view,
			struct span *rows)
{
	size_t n = 0;

	for (uint32_t slot = 1; slot < view->slots; slot++) {
		const struct kd_thread thread = view->threads[slot];
		const struct kd_waiting *waiting = &thread.waiting;
		struct culprit task;
		size_t i = 0;

		if (!waits(&thread) || !waiting->mark || waiting->iter_mark != waiting->mark ||
		    waiting->cpu >= culprits->cpus)
			continue;
		while (i < n && rows[i].cpu != waiting->cpu)
			i++;
		if (i < n)
			continue;
		rows[n++] = (struct span){
			.start = u64_max(culprits->runqueues[waiting->cpu].since, thread.since),
			.cpu = waiting->cpu,
			.key = waiting->iter_key,
			.tid = culprits_task(culprits, waiting->iter_key, &task) ? task.tid : 0,
		};
	}
	return n;
}

static int task_add(struct reading *reading, uint32_t key, const struct kd_charge *charge)
{
	const struct culprits *culprits = reading->culprits;
	struct culprit culprit;
	struct kd_culprit task;

	if (key < KD_WHO_TASK)
		return kind_add(reading, key < KD_WHO_KINDS ? key : KD_WHO_UNKNOWN, charge);
	if (!task_read(culprits, key, &task, &culprit))
		return kind_add(reading,
				key & KD_WHO_LIMIT       ? KD_WHO_THROTTLED
				: key & KD_WHO_OF_TARGET ? KD_WHO_OWN
							 : KD_WHO_REST,
				charge);
	if (key & KD_WHO_LIMIT) {
		limit_fill(culprits, &task, (pid_t)reading->tid, &culprit);
		return row_add(reading, &culprit, charge);
	}
	culprit.rt_limit = !culprit_prio_is_real_time(task.prio) && is_rt_limit(reading, charge);
	if (!culprit.own && !culprit.kernel)
		origin_fill(culprits, &task, &culprit);
	return row_add(reading, &culprit, charge);
}

/* Returns the length of a CPU's present run, if it is of this kind. */
static uint64_t run_ns(const struct kd_runqueue *runqueue, enum kd_runs runs, uint64_t now)
{
	return runqueue->runs == runs ? u64_sub(now, runqueue->since) : 0;
}

/* A wait that goes on at the window's end: the time since its last charge. */
struct pending {
	struct kd_waiting *waiting; /* a copy */
	uint64_t ns;                /* in the window */
	uint64_t before;            /* before the window */
	bool woken, iterated;
};

/* Adds the share of a pending wait in which this key had the CPU. More than half of it also gets
 * the time before the window, for its longest wait. */
static int share_add(struct reading *reading, const struct pending *pending, uint32_t key,
		     uint64_t ns)
{
	uint64_t before = ns > pending->ns / 2 ? pending->before : 0;
	struct kd_charge charge = { .woken = pending->woken ? ns : 0,
				    .preempted = pending->woken ? 0 : ns,
				    .began = pending->waiting->began };

	if (!ns)
		return 0;
	charge.longest = kd_taker_add(&pending->waiting->takers, key, ns + before);
	return task_add(reading, key, &charge);
}

/* Charges a wait without an entry on its run queue. The CPU's sums reach beyond the window's end,
 * so the wait is split in the proportions that they have until now. */
static int unlisted_add(struct reading *reading, const struct pending *pending, uint64_t now)
{
	static const enum kd_who whose[] = { KD_WHO_HARDIRQ, KD_WHO_SOFTIRQ, KD_WHO_OWN,
					     KD_WHO_IDLE };
	const struct kd_waiting *waiting = pending->waiting;
	const struct kd_runqueue *runqueue = &reading->culprits->runqueues[waiting->cpu];
	const uint64_t waited = now > waiting->mark ? now - waiting->mark : 1;
	uint64_t left = pending->ns;
	const uint64_t sums[][2] = {
		{ waiting->hard_ns, runqueue->hard_ns },
		{ waiting->soft_ns, runqueue->soft_ns },
		{ waiting->own_ns, runqueue->own_ns + run_ns(runqueue, KD_RUNS_OWN, now) },
		{ waiting->idle_ns, runqueue->idle_ns + run_ns(runqueue, KD_RUNS_IDLE, now) },
	};
	int error = 0;

	if (pending->iterated) {
		double share = (double)u64_min(waiting->iter_limited, waited) / (double)waited;
		uint64_t inside = u64_min((uint64_t)(share * (double)pending->ns), left);

		left -= inside;
		error = share_add(reading, pending, waiting->iter_limit, inside);
	}
	for (size_t i = 0; i < sizeof(whose) / sizeof(*whose) && !error; i++) {
		double share = (double)u64_min(u64_sub(sums[i][1], sums[i][0]), waited) /
			       (double)waited;
		uint64_t inside = u64_min((uint64_t)(share * (double)pending->ns), left);

		left -= inside;
		error = share_add(reading, pending, whose[i], inside);
	}
	return error ?: share_add(reading, pending, KD_WHO_REST, left);
}

/* Charges a wait with an entry on its run queue: its CPU has not switched since the last charge. */
static int listed_add(struct reading *reading, const struct pending *pending)
{
	const struct culprits *culprits = reading->culprits;
	const struct kd_waiting *waiting = pending->waiting;
	uint64_t limited = 0, hard = 0, soft = 0, left = pending->ns;

	if (pending->iterated)
		limited = u64_min(waiting->iter_limited, left);
	left -= limited;
	if (waiting->cpu < culprits->cpus) {
		const struct kd_runqueue *runqueue = &culprits->runqueues[waiting->cpu];

		hard = u64_min(u64_sub(runqueue->hard_ns, waiting->hard_ns), left);
		left -= hard;
		if (!(pending->iterated && waiting->iter_key & KD_WHO_SOFTIRQD))
			soft = u64_min(u64_sub(runqueue->soft_ns, waiting->soft_ns), left);
		left -= soft;
	}
	return share_add(reading, pending, waiting->iter_limit, limited)
		       ?: share_add(reading, pending, KD_WHO_HARDIRQ, hard)
		       ?: share_add(reading, pending, KD_WHO_SOFTIRQ, soft)
		       ?: share_add(reading, pending,
				   pending->iterated ? waiting->iter_key : KD_WHO_UNKNOWN, left);
}

static struct kd_charge charged(const struct thread_row *row)
{
	struct kd_charge sum = { 0 };

	for (size_t i = 0; i < row->n_culprits; i++) {
		sum.woken += row->culprits[i].woken_ns;
		sum.preempted += row->culprits[i].preempted_ns;
	}
	return sum;
}

/* Takes what exceeds the ledger's wait from the rows: of a thread that turned out to have run since
 * a switch that was not reported (tail_book() in cli/model/ledger.c). */
static void excess_take(struct thread_row *row, uint64_t excess, bool woken)
{
	culprits_sort(row->culprits, row->n_culprits);
	for (size_t i = 0; i < row->n_culprits && excess; i++) {
		struct culprit *culprit = &row->culprits[i];
		uint64_t *ns = woken ? &culprit->woken_ns : &culprit->preempted_ns;
		uint64_t taken = u64_min(*ns, excess);

		*ns -= taken;
		excess -= taken;
		culprit->longest_ns = u64_min(culprit->longest_ns, culprit_ns(culprit));
	}
}

/* Makes the rows add up to the ledger's waits, and moves time taken by limits to their line. */
static int ledger_settle(struct reading *reading)
{
	struct thread_row *row = reading->row;
	uint64_t *woken = &row->ledger.ns[LEDGER_READY_WOKEN];
	uint64_t *preempted = &row->ledger.ns[LEDGER_READY_PREEMPTED];
	struct kd_charge sum = charged(row), missing = { 0 };

	if (sum.woken > *woken)
		excess_take(row, sum.woken - *woken, true);
	if (sum.preempted > *preempted)
		excess_take(row, sum.preempted - *preempted, false);
	missing.woken = u64_sub(*woken, sum.woken);
	missing.preempted = u64_sub(*preempted, sum.preempted);
	missing.longest = u64_max(missing.woken, missing.preempted);
	for (size_t i = 0; i < row->n_culprits; i++) {
		const struct culprit *culprit = &row->culprits[i];

		if (culprit->kind != CULPRIT_THROTTLED && culprit->kind != CULPRIT_DEADLINE)
			continue;
		*woken -= culprit->woken_ns;
		*preempted -= culprit->preempted_ns;
		row->ledger.ns[LEDGER_THROTTLED] += culprit_ns(culprit);
	}
	return kind_add(reading, KD_WHO_UNKNOWN, &missing);
}

/* No more than all of the waits. */
static void idle_read(struct thread_row *row, const __u64 idle[static KD_IDLE_KINDS])
{
	uint64_t left = u64_add(row->ledger.ns[LEDGER_READY_WOKEN],
				row->ledger.ns[LEDGER_READY_PREEMPTED]);

	row->waited_idle_allowed = u64_min(idle[KD_IDLE_ALLOWED], left);
	left -= row->waited_idle_allowed;
	row->waited_idle_barred = u64_min(idle[KD_IDLE_BARRED], left);
	left -= row->waited_idle_barred;
	row->waited_idle_none = u64_min(idle[KD_IDLE_NONE], left);
}

int culprits_read(const struct culprits *culprits, const struct session_view *view, uint32_t slot,
		  const struct kd_thread *thread, struct thread_row *row)
{
	struct kd_waiting waiting;
	struct reading reading = { .culprits = culprits, .row = row, .tid = thread->tid };
	struct kd_blame blame;
	int error = 0;

	blame_copy(culprits, view, slot, &blame, &waiting);
	reading.real_time = waiting.mark && culprit_prio_is_real_time(waiting.prio);
	for (uint32_t i = 0; i < KD_WHO_KINDS && !error; i++)
		error = kind_add(&reading, i, &blame.kinds[i]);
	for (uint32_t i = 0; i < KD_BLAMED && !error; i++)
		if (blame.keys[i])
			error = task_add(&reading, blame.keys[i], &blame.tasks[i]);
	if (!error && waits(thread) && waiting.mark && waiting.mark < view->end) {
		struct pending pending = {
			.waiting = &waiting,
			.ns = view->end - u64_max(waiting.mark, view->start),
			.woken = thread_state(thread) == KD_READY_WOKEN,
			.iterated = waiting.iter_mark == waiting.mark,
		};

		pending.before = view->end - waiting.mark - pending.ns;
		if (waiting.index == KD_UNLISTED && waiting.cpu < culprits->cpus)
			error = unlisted_add(&reading, &pending, clock_monotonic() - view->epoch);
		else
			error = listed_add(&reading, &pending);
	}
	error = error ?: ledger_settle(&reading);
	idle_read(row, blame.idle);
	return error;
}
