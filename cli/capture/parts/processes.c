// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "processes.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <search.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/array.h"
#include "cli/base/clock.h"
#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/base/parse.h"
#include "cli/base/proc_file.h"
#include "cli/capture/session/maps.h"
#include "cli/capture/session/parts.h"
#include "cli/capture/session/types.h"
#include "cli/process/children.h"
#include "cli/process/target.h"
#include "cli/process/trigger_set.h"
#include "members.h"
#include "kernel_delay.skel.h"

#define CHECK_NS (200 * NSEC_PER_MSEC)
#define REVISIT_NS (10 * NSEC_PER_MSEC) /* SEED_AGE_NS in bpf/seed.bpf.h */

/* With up to this many processes, titles are read again for each sample. */
#define TITLES_FRESH 256
#define DESCRIBED_AT_ONCE 16 /* about 1 ms */

/* Folding pays off from this many ended processes. */
#define FOLD_LEAST 256

struct process_set {
	struct kernel_delay *skel; /* NULL: the target is one process */
	const struct processes *rules;
	struct process_describer describer;
	struct members members;
	size_t fold_at;             /* number of ended processes to fold at */
	struct process_row *folded; /* of the open window */
	size_t n_folded;
	uint64_t folded_gen;     /* generation of that window */
	uint32_t changes, joins; /* counts of the BPF side at the last look */
	uint64_t checked_at;     /* CLOCK_MONOTONIC ns: last check that live ones are alive */
	uint64_t revisit_at;     /* the same: next visit of those that joined; 0: none */
	bool lists_newcomers;
	pid_t *newcomers; /* not taken yet */
	size_t n_newcomers, capacity_newcomers;
};

static int newcomer_add(struct process_set *set, pid_t pid)
{
	if (!set->lists_newcomers)
		return 0;
	return ARRAY_ADD(set->newcomers, set->n_newcomers, set->capacity_newcomers, pid);
}

size_t process_set_newcomers(struct process_set *set, pid_t *pids, size_t capacity)
{
	size_t n = set->n_newcomers < capacity ? set->n_newcomers : capacity;

	set->n_newcomers -= n;
	if (n)
		memcpy(pids, &set->newcomers[set->n_newcomers], n * sizeof(*pids));
	return n;
}

static exit_status process_set_select(struct session *session)
{
	const struct processes *processes = session->config->processes;
	struct process_set *set = session->process_set;
	struct kernel_delay *skel = session->skel;
	bool many = !processes_is_one(processes);
	int status;

	bpf_program__set_autoload(skel->progs.kd_process_exit, many);
	bpf_program__set_autoload(skel->progs.kd_group_attach, many && processes->in_group);
	if (!many)
		return 0;
	set->skel = skel;
	set->rules = processes;
	set->describer.arguments = processes->show_arguments;
	set->fold_at = FOLD_LEAST;
	set->lists_newcomers = session->config->triggers->everywhere;
	skel->rodata->kd_many = skel->rodata->kd_by_thread = 1;
	skel->rodata->kd_self = (uint32_t)getpid();
	skel->rodata->kd_follow_fork = processes->follow_fork;
	status = session_map_resize(skel->maps.kd_processes, KD_PROCESSES)
			 ?: session_map_resize(skel->maps.kd_replaced, KD_REPLACED);
	return !status && processes->in_group ? group_select(skel, &processes->group) : status;
}

/* Adds an existing process to the BPF side's table. Returns 0, -EEXIST if it is there already,
 * -E2BIG if the table is full, or another negative errno. */
static int process_tell(const struct process_set *set, pid_t pid)
{
	static const struct kd_process since_ever = { .mapped_at = 1 };
	int fd = bpf_map__fd(set->skel->maps.kd_processes);

	return bpf_map_update_elem(fd, &pid, &since_ever, BPF_NOEXIST) ? -errno : 0;
}

/* Adds a chosen process, unless it has ended, even if another one has its PID now. */
static int chosen_seed(struct process_set *set, const struct process *process)
{
	struct proc_stat now;
	int error = process_tell(set, process->pid);

	if (error)
		return error == -EEXIST ? 0 : error;
	if (proc_stat_read(&now, process->pid) && now.threads && now.started == process->started)
		return member_get(&set->members, process->pid, 0) ? 0 : -ENOMEM;
	bpf_map_delete_elem(bpf_map__fd(set->skel->maps.kd_processes), &process->pid);
	return 0;
}

/* Adds the cgroup's present processes. *more: set if the BPF side lacked one. *lost: set to how
 * many did not fit. */
static int group_seed(struct process_set *set, bool *more, uint64_t *lost)
{
	size_t n;
	pid_t *pids;
	int error = group_processes(&set->rules->group, &pids, &n), failed;

	*more = false;
	*lost = 0;
	for (size_t i = 0; i < n && !error; i++) {
		if (member_find(&set->members, pids[i], 0) ||
		    (!processes_have(set->rules, pids[i]) && !target_can_be(pids[i])))
			continue;
		failed = process_tell(set, pids[i]);
		if (failed == -E2BIG)
			++*lost;
		else if (failed && failed != -EEXIST)
			error = failed;
		else if (!failed && !member_get(&set->members, pids[i], 0))
			error = -ENOMEM;
		else if (!failed && !processes_have(set->rules, pids[i]))
			error = newcomer_add(set, pids[i]);
		*more |= !failed;
	}
	free(pids);
	return error;
}

/* From its birth on, or as it was chosen. */
static bool is_watched(const void *context, pid_t pid)
{
	const struct process_set *set = context;
	struct kd_process process;

	return !bpf_map_lookup_elem(bpf_map__fd(set->skel->maps.kd_processes), &pid, &process);
}

/* Lists the existing processes for the BPF side. Runs with the programs attached, and before
 * threads get slots, so that no process born meanwhile is left out. */
static exit_status process_set_attach(struct session *session)
{
	struct process_set *set = session->process_set;
	bool more = set->skel && set->rules->in_group;
	uint64_t lost = 0;
	int error = 0;

	if (!set->skel)
		return 0;
	set->members.epoch = session->epoch;
	for (size_t i = 0; i < set->rules->n && !more && !error; i++)
		error = chosen_seed(set, &set->rules->all[i]);
	/* Repeats this: a process may have had a child after it was read and before it was
	 * listed. */
	while (more && !error)
		error = group_seed(set, &more, &lost);
	if (lost)
		__atomic_fetch_add(&set->skel->bss->kd_losses[KD_LOSS_THREADS], lost,
				   __ATOMIC_RELAXED);
	if (!error)
		return set->rules->follow_fork ? children_note(set->rules, is_watched, set) : 0;
	if (error == -E2BIG) {
		log_error("the target has more than %d processes", KD_PROCESSES);
		log_hint("give fewer of them, or a control group below this one");
	} else {
		log_error("cannot tell the kernel side which processes are the target: %s",
			  strerror(-error));
	}
	return EX_OSERR;
}

/* Reads the BPF side's entry for a process. Returns 0 or a negative errno. */
static int process_look(struct process_set *set, pid_t pid, const struct kd_process *now)
{
	struct member *member = member_get(&set->members, pid, now->began);

	if (!member)
		return -ENOMEM;
	if (now->joined && !member->joined && newcomer_add(set, pid))
		return -ENOMEM;
	member->joined = now->joined;
	if (now->execs != member->execs)
		member_renew(&set->members, member);
	member->execs = now->execs;
	if (now->ended) {
		if (*now->comm) /* the newest: it may have called execve */
			memcpy(member->row.name, now->comm, sizeof(member->row.name));
		member_end(&set->members, member, now->ended);
	}
	return 0;
}

/* True if what was read under its PID is its own: it is not ending, which loses the title, its PID
 * is not another's, and it has not called execve. */
static bool is_unchanged(const struct process_set *set, const struct member *member)
{
	int fd = bpf_map__fd(set->skel->maps.kd_processes);
	uint32_t key = (uint32_t)member->pid;
	struct kd_process now;

	return !bpf_map_lookup_elem(fd, &key, &now) && !now.ended && now.began == member->began &&
	       now.execs == member->execs;
}

/* Describes a process; if it changed meanwhile, what was read of it stays. */
static void member_describe(struct process_set *set, struct member *member)
{
	struct process_row row = member->row;
	char id[CONTAINER_ID + 1];

	memcpy(id, member->id, sizeof(id));
	process_describe(&set->describer, &row, id, member->pid);
	if (is_unchanged(set, member)) {
		member->row = row;
		memcpy(member->id, id, sizeof(id));
	}
	member_described(&set->members, member);
}

static void member_name(struct process_set *set, struct member *member)
{
	struct process_row row = member->row;

	process_name(&row, member->pid);
	if (is_unchanged(set, member))
		member->row = row;
}

/* Describes up to DESCRIBED_AT_ONCE processes, the newest first: the end of a window should not
 * wait for all. One that ends earlier has its name from the BPF side. */
static void living_describe(struct process_set *set)
{
	size_t left = DESCRIBED_AT_ONCE;

	for (struct member *member = set->members.living; member && set->members.plain && left;
	     member = member->next) {
		if (member->is_described)
			continue;
		member_describe(set, member);
		left--;
	}
}

/* Notes an end that the BPF side did not report: some kernels hide tasks from tracing. */
static void member_check(struct process_set *set, struct member *member)
{
	int fd = bpf_map__fd(set->skel->maps.kd_processes);
	uint32_t key = (uint32_t)member->pid;
	struct kd_process now;

	if (!kill(member->pid, 0) || errno != ESRCH)
		return;
	if (!bpf_map_lookup_elem(fd, &key, &now) && (now.ended || now.began != member->began))
		return; /* reported by now: the next look reads it */
	member_end(&set->members, member, clock_monotonic() - set->skel->rodata->kd_epoch);
	bpf_map_delete_elem(fd, &key);
}

static void living_check(struct process_set *set)
{
	struct member *next;

	for (struct member *member = set->members.living; member; member = next) {
		next = member->next;
		member_check(set, member);
	}
}

/* Reads all entries of the BPF side, and removes ended ones. */
static int table_read(struct process_set *set)
{
	int fd = bpf_map__fd(set->skel->maps.kd_processes);
	int replaced = bpf_map__fd(set->skel->maps.kd_replaced), error = 0;
	uint32_t *keys = NULL;
	size_t n = 0, capacity = 0;
	struct kd_process now;

	while (!error && !bpf_map_lookup_and_delete_elem(replaced, NULL, &now))
		error = process_look(set, (pid_t)now.tgid, &now);
	while (!error && n < KD_PROCESSES) {
		error = ARRAY_GROW(keys, n, capacity);
		if (error || bpf_map_get_next_key(fd, n ? &keys[n - 1] : NULL, &keys[n]))
			break;
		n++;
	}
	for (size_t i = 0; i < n && !error; i++) {
		if (bpf_map_lookup_elem(fd, &keys[i], &now))
			continue;
		error = process_look(set, (pid_t)keys[i], &now);
		if (now.ended)
			bpf_map_delete_elem(fd, &keys[i]);
	}
	free(keys);
	return error;
}

bool process_set_joined(struct process_set *set)
{
	uint32_t joins;

	if (!set->skel)
		return false;
	joins = __atomic_load_n(&set->skel->bss->kd_processes_joined, __ATOMIC_ACQUIRE);
	if (joins != set->joins) {
		set->joins = joins;
		set->revisit_at = clock_monotonic() + REVISIT_NS;
		return true;
	}
	if (!set->revisit_at || clock_monotonic() < set->revisit_at)
		return false;
	set->revisit_at = 0;
	return true;
}

int process_set_look(struct process_set *set)
{
	uint32_t changes;
	int error = 0;

	if (!set->skel)
		return 0;
	changes = __atomic_load_n(&set->skel->bss->kd_processes_changed, __ATOMIC_ACQUIRE);
	if (changes != set->changes)
		error = table_read(set);
	set->changes = changes;
	living_describe(set);
	if (clock_monotonic() < set->checked_at + CHECK_NS)
		return error;
	set->checked_at = clock_monotonic();
	living_check(set);
	return error;
}

/* True if the cgroup exists. Another one under its path has another inode. */
static bool group_is_there(const struct control_group *group)
{
	struct stat status;

	return !stat(group->directory, &status) && status.st_ino == group->id;
}

pid_t session_visited(const struct session *session)
{
	return process_set_is_used(session->process_set) ? 0 : session->config->tgid;
}

bool process_set_is_used(const struct process_set *set)
{
	return set->skel;
}

bool process_set_go_on(const struct process_set *set)
{
	return !set->skel || set->members.alive ||
	       (set->rules->in_group && group_is_there(&set->rules->group));
}

struct collecting {
	struct process_set *set;
	const struct session_view *view;
	struct sample *sample;
	uint64_t since;       /* processes that ended earlier belong to no window */
	struct member **over; /* processes to forget */
	size_t n_over, capacity_over, capacity;
	int error;
};

static void over_add(struct collecting *collecting, struct member *member)
{
	collecting->error = ARRAY_ADD(collecting->over, collecting->n_over,
				      collecting->capacity_over, member);
}

static void row_add(struct collecting *collecting, const struct member *member)
{
	const struct session_view *view = collecting->view;
	struct sample *sample = collecting->sample;
	struct process_row row = member->row;

	row.began = member->began >= view->start && member->began <= view->end;
	row.ended = member->ended >= view->start && member->ended <= view->end;
	collecting->error = ARRAY_ADD(sample->processes, sample->n_processes, collecting->capacity,
				      row);
}

/* Calls visit() for each process, and forgets those marked. */
static void collecting_walk(struct collecting *collecting,
			    void (*visit)(const void *node, VISIT order, void *collecting))
{
	struct process_set *set = collecting->set;

	twalk_r(set->members.by_identity, visit, collecting);
	for (size_t i = 0; i < collecting->n_over; i++)
		member_forget(&set->members, collecting->over[i]);
	free(collecting->over);
	set->fold_at = set->members.ended + set->n_folded + FOLD_LEAST;
}

/* --- Folding --- */

bool process_set_fold_due(const struct process_set *set)
{
	return set->skel && set->members.ended >= set->fold_at;
}

void process_set_keep(struct process_set *set, const struct kd_thread *thread)
{
	struct member *member = member_find(&set->members, (pid_t)thread->tgid,
					    thread->process_began);

	if (member)
		member->has_unread = true;
}

void process_set_use(struct process_set *set, const struct thread_row *thread)
{
	uint64_t began = member_began(&set->members, thread->process_start);
	struct member *member = member_find(&set->members, thread->pid, began);

	if (member)
		member->is_used = true;
}

static void member_fold(const void *node, VISIT visit, void *collecting_)
{
	struct member *member = *(struct member *const *)node;
	struct collecting *collecting = collecting_;
	uint64_t gen = collecting->view->gen, start = collecting->view->start;
	bool has_unread = member->has_unread, is_used = member->is_used;

	if ((visit != postorder && visit != leaf) || collecting->error)
		return;
	member->has_unread = member->is_used = false;
	/* Leaves what ended before the window to process_set_collect(). */
	if (has_unread || !member->ended || (gen && member->ended < start))
		return;
	over_add(collecting, member);
	if (!collecting->error && is_used)
		row_add(collecting, member);
}

/* Moves folded processes of the window into the sample; forgets those of a window never read. */
static void folded_move(struct process_set *set, const struct session_view *view,
			struct sample *sample)
{
	if (set->folded_gen != view->gen)
		process_set_fold_forget(set);
	sample->processes = set->folded;
	sample->n_processes = set->n_folded;
	set->folded = NULL;
	set->n_folded = 0;
}

int process_set_fold_begin(struct process_set *set, const struct session_view *view,
			   struct sample *sample)
{
	struct collecting collecting = { .set = set, .view = view, .sample = sample };

	folded_move(set, view, sample);
	set->folded_gen = view->gen;
	collecting.capacity = sample->n_processes;
	collecting_walk(&collecting, member_fold);
	return collecting.error;
}

void process_set_fold_end(struct process_set *set, struct sample *sample)
{
	set->folded = sample->processes;
	set->n_folded = sample->n_processes;
	set->fold_at = set->members.ended + set->n_folded + FOLD_LEAST;
	sample->processes = NULL;
	sample->n_processes = 0;
}

void process_set_fold_forget(struct process_set *set)
{
	free(set->folded);
	set->folded = NULL;
	set->n_folded = 0;
}

/* --- A sample --- */

static void member_collect(const void *node, VISIT visit, void *collecting_)
{
	struct member *member = *(struct member *const *)node;
	struct collecting *collecting = collecting_;
	struct process_set *set = collecting->set;

	if ((visit != postorder && visit != leaf) || collecting->error)
		return;
	if (!member->is_used) { /* no thread of it is in the window */
		if (member->ended && member->ended < collecting->since)
			over_add(collecting, member);
		return;
	}
	member->is_used = false;
	if (!member->ended && (set->members.alive <= TITLES_FRESH || !member->is_described))
		member_describe(set, member);
	else if (!member->ended)
		member_name(set, member);
	row_add(collecting, member);
}

int process_set_collect(struct process_set *set, const struct session_view *view, uint64_t since,
			struct sample *sample)
{
	struct collecting collecting = {
		.set = set, .view = view, .sample = sample, .since = since
	};
	struct member *member;
	int error;

	if (!set->skel)
		return 0;
	error = process_set_look(set);
	folded_move(set, view, sample);
	processes_sort_rows(sample);
	collecting.capacity = sample->n_processes;
	for (size_t i = 0; i < sample->n_threads && !error; i++) {
		const struct thread_row *thread = &sample->threads[i];

		if (process_of(sample, thread))
			continue; /* it is folded */
		member = member_get(&set->members, thread->pid,
				    member_began(&set->members, thread->process_start));
		if (member)
			member->is_used = true;
		else
			error = -ENOMEM;
	}
	collecting.error = error;
	collecting_walk(&collecting, member_collect);
	return collecting.error;
}

static void process_set_close(struct session *session)
{
	struct process_set *set = session->process_set;

	process_set_fold_forget(set);
	members_clear(&set->members);
	free(set->newcomers);
}

SESSION_PART(process_set) = {
	SESSION_STATE(process_set),
	.select = process_set_select,
	.attach = process_set_attach,
	.close = process_set_close,
};
