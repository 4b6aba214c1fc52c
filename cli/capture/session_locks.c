// SPDX-License-Identifier: Apache-2.0
#include "session_locks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/base/arith.h"
#include "cli/base/proc_file.h"
#include "cli/base/syscall_names.h"
#include "cli/model/doing.h"
#include "lock_callers.h"
#include "kernel_delay.skel.h"

static bool is_in_namespace(pid_t pid, const char *kind, const struct stat *namespace)
{
	struct stat theirs;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)proc_thread(pid), kind);
	if (stat(path, &theirs))
		return errno == ENOENT; /* it has ended: it is nobody's by now */
	return theirs.st_dev == namespace->st_dev && theirs.st_ino == namespace->st_ino;
}

/* Those of all processes that there are, and ours. Kernels without time namespaces
 * (CONFIG_TIME_NS) have one for all. */
static bool same_namespaces(pid_t tgid, const struct processes *processes, const char *kind)
{
	struct stat ours;
	char path[64];
	bool same;

	snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
	if (stat(path, &ours))
		return errno == ENOENT;
	same = is_in_namespace(tgid, kind, &ours);
	for (size_t i = 0; same && i < processes->n && !processes_is_one(processes); i++)
		same = is_in_namespace(processes->all[i].pid, kind, &ours);
	return same;
}

void locks_select(struct kernel_delay *skel, pid_t tgid, const struct processes *processes)
{
	int futex = syscall_number("futex");

	if (futex >= 0)
		skel->rodata->kd_futex_call = futex;
	skel->rodata->kd_tids_are_ours = same_namespaces(tgid, processes, "pid");
	skel->rodata->kd_clocks_are_ours = same_namespaces(tgid, processes, "time");
}

void locks_name_read(pid_t pid, pid_t tid, char name[static KD_COMM_LEN])
{
	char path[64], text[KD_COMM_LEN + 1];
	FILE *file;
	size_t length;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)pid, (int)tid);
	file = fopen(path, "re");
	if (!file)
		return;
	/* The line feed at the end is not of the name; others may be. */
	length = fread(text, 1, sizeof(text), file);
	fclose(file);
	if (length > 0 && length <= KD_COMM_LEN)
		memcpy(name, text, length - 1);
}

/* The name that a thread of the target has now; "" if it has ended. pid: of the one that waits
 * for it. */
static void name_of(const struct session_view *view, pid_t pid, uint32_t tid,
		    char name[static KD_COMM_LEN])
{
	for (uint32_t slot = 1; tid && slot < view->slots; slot++) {
		const struct kd_thread *thread = &view->threads[slot];

		if (thread->tid != tid || !thread->task)
			continue;
		memcpy(name, thread->comm, KD_COMM_LEN);
		return;
	}
	if (tid)
		locks_name_read(pid, (pid_t)tid, name);
}

static int row_add(const struct session_view *view, const struct kd_lock_key *key,
		   const struct kd_lock_waits *waits, struct thread_row *row)
{
	struct lock_row lock = {
		.address = key->address,
		.kind = key->kind < KD_LOCK_KINDS ? key->kind : KD_LOCK_NO_OWNER,
		.holder = (pid_t)key->holder,
		.holder_pid = (pid_t)waits->holder_tgid,
		.waits = waits->waits,
		.meanwhile = waits->meanwhile,
		.others = waits->others,
		.slept_in = waits->slept_in < 0 ? KD_CALL_NONE : waits->slept_in,
		.released_by = (pid_t)waits->released_by,
	};

	if (waits->holder_tgid)
		memcpy(lock.holder_name, waits->holder_comm, sizeof(lock.holder_name));
	else
		name_of(view, (pid_t)view->threads[key->slot].tgid, key->holder, lock.holder_name);
	memcpy(lock.released_name, waits->released_comm, sizeof(lock.released_name));
	return thread_add_lock(row, &lock);
}

/* The wait at the window's end is in the row already if it still went on when that was made. */
static int lock_found(const struct session_hash *hash, const void *key, const void *value,
		      struct thread_row *row)
{
	const struct kd_lock_key *of = key;

	return of->in_progress && row->lock_in_progress ? 0 : row_add(hash->view, key, value, row);
}

struct callers_hash {
	struct session_hash hash; /* first: what is found gets this */
	struct lock_callers *callers;
};

static int caller_found(const struct session_hash *hash, const void *key_, const void *value,
			struct thread_row *row)
{
	struct lock_callers *callers = ((const struct callers_hash *)hash)->callers;
	const struct kd_caller_key *key = key_;

	return lock_callers_add(callers, (pid_t)hash->view->threads[key->slot].tgid, key->address,
				value, row);
}

int locks_read(const struct kernel_delay *skel, struct session_hash hash,
	       struct lock_callers *callers)
{
	struct callers_hash found = { .hash = hash, .callers = callers };
	int result;

	if (!__atomic_load_n(&skel->bss->kd_locks_used, __ATOMIC_RELAXED))
		return 0;
	hash.map = skel->maps.kd_locks;
	result = session_hash_read(&hash, lock_found, NULL);
	if (result || !__atomic_load_n(&skel->bss->kd_callers_used, __ATOMIC_RELAXED))
		return result;
	found.hash.map = skel->maps.kd_callers;
	return session_hash_read(&found.hash, caller_found, NULL);
}

/* What a thread has done until t, as lock.bpf.h has it. */
static struct kd_doing doing_until(const struct kd_thread *thread, uint64_t t)
{
	struct kd_doing doing = { thread->run_ns, thread->ready_ns, thread->asleep_ns };
	uint32_t state = thread->state == KD_UNSEEN ? thread->seed_state : thread->state;
	uint64_t so_far = t > thread->since ? t - thread->since : 0;

	if (kd_is_running(state))
		doing.running += t > thread->run_since ? t - thread->run_since : 0;
	else if (kd_is_ready(state))
		doing.ready += so_far;
	else if (state == KD_BLOCKED || state == KD_BLOCKED_UNINT)
		doing.asleep += so_far;
	return doing;
}

static uint64_t above(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

int locks_read_open(const struct session_view *view, uint32_t slot, const struct kd_thread *thread,
		    struct thread_row *row)
{
	const struct kd_locked *locked = &thread->locked;
	struct kd_lock_waits waits = { .slept_in = KD_CALL_NONE };
	struct kd_lock_key key = { .address = locked->address,
				   .holder = locked->holder,
				   .slot = slot,
				   .kind = locked->kind };
	uint64_t ns = above(view->end, thread->since);

	if (!locked->address || !ns || thread->died ||
	    (thread->state != KD_BLOCKED && thread->state != KD_BLOCKED_UNINT))
		return 0;
	row->lock_in_progress = true;
	waits.waits = (struct kd_count){ 1, ns, ns };
	waits.holder_tgid = locked->holder_tgid;
	memcpy(waits.holder_comm, locked->holder_comm, sizeof(waits.holder_comm));
	if (locked->holder && locked->slot < view->slots &&
	    view->threads[locked->slot].tid == locked->holder) {
		struct kd_thread holder = view->threads[locked->slot];
		struct kd_doing now = doing_until(&holder, view->end);
		struct kd_doing *meanwhile = &waits.meanwhile;

		meanwhile->running = above(now.running, locked->before.running);
		meanwhile->ready = above(now.ready, locked->before.ready);
		meanwhile->asleep = above(now.asleep, locked->before.asleep);
		/* It is looked at later than the window's end, on a busy machine by much. */
		doing_limit(meanwhile, ns);
		if (meanwhile->asleep)
			waits.slept_in = holder.state == KD_UNSEEN ? holder.seed_call
								   : holder.slept_in;
	}
	return row_add(view, &key, &waits, row);
}
