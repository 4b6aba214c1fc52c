// SPDX-License-Identifier: Apache-2.0
#include "futex_look.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/proc_file.h"
#include "cli/base/syscall_set.h"
#include "pids.h"

static bool is_thread_of(pid_t pid, pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)pid, (int)tid);
	return !access(path, F_OK);
}

/* The TID that the process, whose PID namespace may be another one, has as this; of its own
 * threads, or if others may hold the lock, of first threads. 0: none. */
static pid_t tid_find(pid_t pid, pid_t tid, pid_t owner, bool shared)
{
	pid_t found = 0;
	char tasks[64];

	if (proc_same_namespace(pid, "pid") == 1)
		return owner;
	snprintf(tasks, sizeof(tasks), "/proc/%d/task", (int)pid);
	if (!pid_namespace_find(tasks, tid, owner, &found) ||
	    (shared && !pid_namespace_find("/proc", pid, owner, &found)))
		return found;
	return 0;
}

/* Notes a holder in another process. */
static bool outside_take(struct kd_locked *locked, pid_t holder)
{
	const pid_t pid = (pid_t)proc_status_number(holder, "Tgid:");
	char comm[KD_COMM_LEN + 1] = "";
	struct proc_stat stat;

	if (!pid || !proc_stat_read(&stat, pid) || proc_comm_read(holder, comm, sizeof(comm)) < 0)
		return false;
	locked->holder_tgid = (uint32_t)pid;
	locked->holder_parent = (uint32_t)stat.parent;
	memcpy(locked->holder_comm, comm, sizeof(locked->holder_comm));
	return true;
}

/* True for memory that is a mutex of glibc (2.25 and later), and not just anything: its owner
 * counts even if there is no such thread any more. */
static bool is_mutex(const uint32_t words[static KD_FUTEX_WORDS])
{
	return words[KD_MUTEX_OWNER] && words[KD_MUTEX_OWNER] <= KD_FUTEX_TID &&
	       words[KD_MUTEX_USERS] == 1 && !(words[KD_MUTEX_KIND] & ~KD_MUTEX_KINDS) &&
	       !words[KD_MUTEX_LIST] && !words[KD_MUTEX_LIST + 1];
}

bool futex_look(struct kd_locked *locked, pid_t pid, pid_t tid)
{
	uint32_t words[KD_FUTEX_WORDS] = { 0 }, operation, value, kind, shared;
	struct proc_call now;
	uint64_t address;
	pid_t holder;

	if (!proc_call_read(&now, tid) || now.number != syscall_find(SYSCALL_NATIVE, "futex"))
		return false;
	address = now.arguments[0];
	operation = (uint32_t)now.arguments[1];
	value = (uint32_t)now.arguments[2];
	if (!kd_futex_is_pi(operation) && !(kd_futex_waits(operation) && kd_futex_is_held(value)))
		return false;
	if (!remote_read(pid, address, words, sizeof(words)) &&
	    !remote_read(pid, address, words, sizeof(*words)))
		return false;
	holder = (pid_t)kd_futex_holder(words, operation, value, &kind, &shared);
	holder = holder ? tid_find(pid, tid, holder, shared) : 0;
	*locked =
		(struct kd_locked){ .address = address, .kind = kind, .holder = (uint32_t)holder };
	if (holder <= 0)
		return false;
	if (holder != tid &&
	    (is_thread_of(pid, holder) || (shared && outside_take(locked, holder))))
		return true;
	return kind == KD_LOCK_MUTEX && is_mutex(words);
}
