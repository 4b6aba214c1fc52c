/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What a blocked thread waits for: by its system call or, for calls on any descriptor, by the
 * file behind it. Looked up at switch-out, so that only threads that block pay.
 *
 * Following a descriptor to its file costs as much as the rest of a switch, so it is deferred
 * until the wait is long (kd_detail_ns). Until then, the descriptor is assumed to be what it was
 * at the last look in this window. */
#ifndef AWAITED_BPF_H
#define AWAITED_BPF_H

#include "compat.bpf.h"
#include "maps.bpf.h"
#include "thread.bpf.h"

/* Names of files that share an inode, by their first eight bytes. */
#define NAME_EVENTFD 0x6466746e6576655bULL  /* "[eventfd" */
#define NAME_TIMERFD 0x646672656d69745bULL  /* "[timerfd" */
#define NAME_SIGNALFD 0x666c616e6769735bULL /* "[signalf" */

/* enum kd_awaited, or KD_AWAITED_BY_*; with KD_AWAITED_AT_FILE. */
static __always_inline u32 call_awaits(s32 call)
{
	return call_entry(call, kd_call_awaits, kd_compat_call_awaits);
}

/* The shared inode had no type before 6.17 (cfd86ef7e8e7), and is a regular file since. A real
 * file may also have such a name, made to be taken for the other. */
static __always_inline u32 name_awaits(struct file *file)
{
	const unsigned char *name = BPF_CORE_READ(file, f_path.dentry, d_name.name);
	u64 word = 0;

	bpf_probe_read_kernel(&word, sizeof(word), name);
	return word == NAME_EVENTFD    ? KD_AWAITED_EVENTFD
	       : word == NAME_TIMERFD  ? KD_AWAITED_TIMER
	       : word == NAME_SIGNALFD ? KD_AWAITED_SIGNAL
				       : KD_AWAITED_FILE;
}

static __always_inline u32 device_awaits(u32 device)
{
	u32 major = device >> MINORBITS;

	return major == TTY_MAJOR || major == TTYAUX_MAJOR ||
			       (major >= UNIX98_PTY_MASTER_MAJOR && major <= UNIX98_PTY_LAST_MAJOR)
		       ? KD_AWAITED_TTY
		       : KD_AWAITED_OTHER;
}

/* Address of the file behind a thread's descriptor; 0: none. Global, to be verified once; avoids
 * typed pointers, since the verifier searches the kernel's BTF for each. */
__noinline u64 descriptor_file(u64 address, u32 fd)
{
	struct task_struct *task = (void *)address;
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file *file = NULL, **files = BPF_CORE_READ(table, fd);

	if (fd >= BPF_CORE_READ(table, max_fds) ||
	    bpf_probe_read_kernel(&file, sizeof(file), &files[fd]))
		return 0;
	return (u64)file;
}

/* What a thread at this file waits for. */
__noinline int file_awaits(u64 address)
{
	struct file *file = (struct file *)address;
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	u32 mode = BPF_CORE_READ(inode, i_mode) & S_IFMT;

	if (!file)
		return KD_AWAITED_OTHER;
	if (mode == S_IFIFO)
		return KD_AWAITED_PIPE;
	if (mode == S_IFSOCK)
		return KD_AWAITED_SOCKET;
	if (mode == S_IFCHR)
		return device_awaits(BPF_CORE_READ(inode, i_rdev));
	return mode && mode != S_IFREG ? KD_AWAITED_FILE : name_awaits(file);
}

/* True if it probably sleeps in a page fault: one has begun, if faults are timed, and the
 * registers are not those of a call that is about to begin or has ended. */
static __always_inline bool is_in_fault(struct kd_thread *thread, struct task_struct *task)
{
	return !(task->flags & PF_EXITING) && task_call(task) < 0 &&
	       (thread->state == KD_UNSEEN || !(READ_ONCE(kd_fault_gen) & KD_FAULTS_TIMED) ||
		thread->fault_at);
}

/* Outside of system calls, or in one without a number. */
static __always_inline u32 kernel_awaits(struct kd_thread *thread, struct task_struct *task,
					 s32 call, u32 task_state)
{
	if (task_state & TASK_FROZEN || task->jobctl & JOBCTL_TRAP_FREEZE)
		return KD_AWAITED_OTHER;
	if (task_is_idle_worker(task, thread->task, task_state))
		return KD_AWAITED_WORK;
	if (call == KD_CALL_NONE && is_in_fault(thread, task))
		return KD_AWAITED_PAGE;
	return BPF_CORE_READ_BITFIELD(task, in_iowait) ? KD_AWAITED_DISK : KD_AWAITED_KERNEL;
}

/* What a thread waits for that goes to sleep in this scheduler state and call; and where. */
static __always_inline u32 task_awaits(struct kd_thread *thread, struct task_struct *task, s32 call,
				       u32 task_state, struct kd_at *at)
{
	u32 awaited;

	at->file = 0;
	if (unlikely(call < 0))
		return kernel_awaits(thread, task, call, task_state);
	awaited = call_awaits(call);
	if (awaited & KD_AWAITED_AT_FILE) {
		at->fd = (s32)task_first_argument(task, call & KD_CALL_COMPAT);
		at->file = descriptor_file(thread->task, at->fd);
	}
	if (awaited == KD_AWAITED_BY_REQUEST)
		return KD_AWAITED_WORK;
	if (BPF_CORE_READ_BITFIELD(task, in_iowait))
		return KD_AWAITED_DISK;
	awaited &= ~KD_AWAITED_AT_FILE;
	return awaited == KD_AWAITED_BY_FILE ? file_awaits(at->file) : awaited;
}

/* Looks at the file where a thread sleeps or slept. Global, to be verified once. */
__noinline int file_look(u32 slot)
{
	struct kd_thread *thread = slot_thread(slot);
	bool by_file;
	u32 awaited;

	if (!thread)
		return 0;
	/* Otherwise something takes precedence over the file: the disk, or a kernel lock. */
	by_file = thread->awaited == KD_AWAITED_BY_FILE ||
		  thread->awaited == thread->looked.awaited;
	thread->at.file = descriptor_file(thread->task, thread->at.fd);
	if ((call_awaits(thread->slept_in) & ~KD_AWAITED_AT_FILE) != KD_AWAITED_BY_FILE)
		return 0;
	awaited = file_awaits(thread->at.file);
	thread->looked = (struct kd_looked){ READ_ONCE(kd_word), thread->at.fd, awaited };
	if (by_file)
		thread->awaited = awaited;
	return 0;
}

/* What the current thread waits for, which is going to sleep. As task_awaits(), but only looks
 * at the file if necessary. */
static __always_inline void thread_awaits(u32 slot, struct kd_thread *thread,
					  struct task_struct *task, u32 task_state)
{
	s32 call = thread->call;
	u32 awaited;

	thread->slept_in = call;
	thread->at.file = 0;
	thread->by_request = 0;
	if (unlikely(call < 0)) {
		thread->awaited = kernel_awaits(thread, task, call, task_state);
		return;
	}
	awaited = call_awaits(call);
	if (unlikely(awaited == KD_AWAITED_BY_REQUEST)) {
		thread->by_request = 1;
		thread->awaited = KD_AWAITED_WORK;
		return;
	}
	if (awaited & KD_AWAITED_AT_FILE) {
		thread->at.file = KD_FILE_UNSEEN;
		thread->at.fd = (s32)task_first_argument(task, call & KD_CALL_COMPAT);
	}
	awaited &= ~KD_AWAITED_AT_FILE;
	if (BPF_CORE_READ_BITFIELD(task, in_iowait))
		awaited = KD_AWAITED_DISK;
	thread->awaited = awaited;
	if (awaited != KD_AWAITED_BY_FILE)
		return;
	if (likely(thread->looked.fd == thread->at.fd && thread->looked.gen == READ_ONCE(kd_word)))
		thread->awaited = thread->looked.awaited;
	else
		file_look(slot);
}

#endif
