/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Sleeps, by where they are: wait channel, system call, and descriptor, with what it stands for.
 *
 * The waker of a thread that slept long counts the sleep and looks at the file: the sleeping call
 * holds it, though another thread may have closed the descriptor. */
#ifndef DESCRIPTOR_BPF_H
#define DESCRIPTOR_BPF_H

#include "awaited.bpf.h"
#include "lock.bpf.h"
#include "wchan.bpf.h"
#include "window.bpf.h"

/* include/linux/socket.h */
#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10
#define AF_KEY 15
#define AF_NETLINK 16
#define AF_ALG 38

/* End of its length in struct sockaddr_un. */
#define UNIX_PATH_MAX 108
#define UNIX_PATH_AT 2

/* Initial value of waits: too large for the stack. */
static const struct kd_file_waits no_waits = {};

/* For a socket with a path; returns whether it has one. */
static __always_inline bool unix_name(struct kd_file *into, struct unix_sock *socket)
{
	struct unix_address *address = BPF_CORE_READ(socket, addr);
	u64 length = address ? BPF_CORE_READ(address, len) : 0;

	if (length <= UNIX_PATH_AT || length > UNIX_PATH_AT + UNIX_PATH_MAX)
		return false;
	length -= UNIX_PATH_AT;
	barrier_var(length);
	if (length > UNIX_PATH_MAX ||
	    bpf_probe_read_kernel(into->name, length,
				  (char *)address + bpf_core_field_offset(address->name) +
					  UNIX_PATH_AT))
		return false;
	if (!into->name[0])
		into->name[0] = '@';
	return true;
}

static __always_inline void inet_addresses(struct kd_file *into, struct sock *sk, u32 family)
{
	struct sock_common *common = &sk->__sk_common;

	into->local_port = BPF_CORE_READ(common, skc_num);
	into->peer_port = __builtin_bswap16(BPF_CORE_READ(common, skc_dport));
	if (family == AF_INET) {
		*(u32 *)into->local = BPF_CORE_READ(common, skc_rcv_saddr);
		*(u32 *)into->peer = BPF_CORE_READ(common, skc_daddr);
	} else if (bpf_core_field_exists(common->skc_v6_daddr)) {
		bpf_core_read(into->local, sizeof(into->local), &common->skc_v6_rcv_saddr);
		bpf_core_read(into->peer, sizeof(into->peer), &common->skc_v6_daddr);
	}
}

static __always_inline void socket_describe(struct kd_file *into, struct file *file)
{
	struct socket *socket = BPF_CORE_READ(file, private_data);
	struct sock *sk = BPF_CORE_READ(socket, sk);
	u32 family = BPF_CORE_READ(sk, __sk_common.skc_family);

	if (!sk)
		return;
	into->family = family;
	if (bpf_core_field_exists(sk->__sk_common.skc_net.net)) /* CONFIG_NET_NS */
		into->net = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
	if (family == AF_UNIX && bpf_core_type_exists(struct unix_sock)) {
		struct unix_sock *own = (struct unix_sock *)sk;

		if (!unix_name(into, own))
			unix_name(into, (struct unix_sock *)BPF_CORE_READ(own, peer));
	} else if (family == AF_INET || family == AF_INET6) {
		into->protocol = BPF_CORE_READ(sk, sk_protocol);
		inet_addresses(into, sk, family);
	}
}

/* Fills a map value that is zero except for its number. */
static __noinline void file_describe(struct kd_file *into, u64 address)
{
	struct file *file = (struct file *)address;
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	u32 mode = BPF_CORE_READ(inode, i_mode) & S_IFMT;

	into->inode = BPF_CORE_READ(inode, i_ino);
	into->kind = file_awaits(address) ?: KD_AWAITED_FILE;
	into->device = BPF_CORE_READ(inode, i_sb, s_dev);
	if (mode == S_IFBLK) {
		into->kind = KD_AWAITED_DISK;
		into->device = BPF_CORE_READ(inode, i_rdev);
	}
	if (mode == S_IFSOCK && bpf_core_type_exists(struct socket))
		socket_describe(into, file);
	else
		bpf_probe_read_kernel_str(into->name, sizeof(into->name),
					  BPF_CORE_READ(file, f_path.dentry, d_name.name));
}

/* Data from this machine: sent by the current thread, or by what interrupted it. */
static __always_inline bool is_loopback(const struct kd_file *file)
{
	const u64 *local = (const u64 *)file->local, *peer = (const u64 *)file->peer;

	/* All zeros: a socket without a peer. */
	return file->protocol && (local[0] | local[1]) && local[0] == peer[0] &&
	       local[1] == peer[1];
}

/* True if the current thread is in a system call at the other end of a connection. Data may also
 * come when a timer's interrupt acknowledges what came before, or the driver has it, on top of a
 * thread that has nothing to do with it. */
static __always_inline bool is_at_peer(const struct kd_file *file, struct task_struct *task)
{
	struct pt_regs *regs = current_user_regs();
	s32 call = regs_call(regs);
	struct socket *socket;
	struct file *at;
	struct sock *sk;

	if (call < 0)
		return false;
	call |= current_call_is_compat(regs, false) ? KD_CALL_COMPAT : 0;
	at = (struct file *)descriptor_file((u64)task, call_argument(regs, call, 0));
	if ((BPF_CORE_READ(at, f_inode, i_mode) & S_IFMT) != S_IFSOCK)
		return false;
	socket = BPF_CORE_READ(at, private_data);
	sk = BPF_CORE_READ(socket, sk);
	return BPF_CORE_READ(sk, __sk_common.skc_num) == file->peer_port &&
	       BPF_CORE_READ(sk, __sk_common.skc_dport) == __builtin_bswap16(file->local_port);
}

static __always_inline u32 sent_by(const struct kd_file *file)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	if (!is_loopback(file) || BPF_CORE_READ(task, flags) & PF_KTHREAD ||
	    !is_at_peer(file, task))
		return 0;
	return (u32)bpf_get_current_pid_tgid();
}

/* by: the current thread, or 0. */
static __always_inline void ended_by_note(struct kd_file_waits *waits, u32 by)
{
	waits->ended_by = by;
	waits->ended_pid = by ? bpf_get_current_pid_tgid() >> 32 : 0;
	waits->ended_comm[0] = 0;
	if (by)
		bpf_get_current_comm(waits->ended_comm, sizeof(waits->ended_comm));
}

/* The program of a child of a process that ends a wait of its, the current thread, as a number. A
 * debugger's are those that it traces. by: as in file_add(). 0: it is none. Global, to be verified
 * once. */
__noinline u64 child_program(u32 by, u32 tgid)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	u64 name[KD_COMM_LEN / sizeof(u64)] = { 0 };

	if (!by || (u32)BPF_CORE_READ(task, parent, tgid) != tgid)
		return 0;
	bpf_get_current_comm(name, sizeof(name));
	return name[0] + name[1] * 31;
}

/* Sleeps of a key; without space, those of all others of its thread. */
static __always_inline struct kd_file_waits *file_row(struct kd_file_key *key)
{
	struct kd_file_waits *waits = bpf_map_lookup_elem(&kd_files, key);

	if (waits)
		return waits;
	if (!key->in_progress &&
	    READ_ONCE(kd_files_used) >= KD_FILES + KD_FILES_OF_SLOT * kd_slots) {
		key->inode = key->child = 0;
		key->fd = -1;
		key->wchan = (struct kd_wchan){};
		key->call = KD_CALL_NONE;
		key->others = 1;
	}
	if (!bpf_map_update_elem(&kd_files, key, &no_waits, BPF_NOEXIST))
		__sync_fetch_and_add(&kd_files_used, 1);
	waits = bpf_map_lookup_elem(&kd_files, key);
	if (!waits)
		loss_count(KD_LOSS_FILES);
	return waits;
}

/* A disk request completes, which wakes its waiters at once, on this CPU. */
static __always_inline void request_completed(struct request *request)
{
	u32 zero = 0;
	struct kd_completion *last = bpf_map_lookup_elem(&kd_completions, &zero);
	u64 start = BPF_CORE_READ(request, io_start_time_ns);
	u64 made = BPF_CORE_READ(request, start_time_ns);

	if (!start)
		start = made;
	if (!last || !start)
		return;
	last->at = clock_now();
	last->ns = elapsed(start, last->at + kd_epoch);
	last->queued = made ? elapsed(made, start) : 0;
	if (KD_TRACES && kd_note_ns != KD_UNWANTED)
		last->disk = request_disk(request);
}

/* Request that ended a wait at t, NULL if none; the wakeup is on the CPU that completed it. */
static __always_inline const struct kd_completion *request_at(u64 t)
{
	u32 zero = 0;
	const struct kd_completion *last = bpf_map_lookup_elem(&kd_completions, &zero);

	if (!last || !last->at || t < last->at || t - last->at > KD_COMPLETION_NS)
		return NULL;
	return last;
}

/* A thread is woken that waited for requests of any kind (io_uring, asynchronous I/O): for a disk
 * if one to a disk ended that, and took at least half of it. io_uring sets in_iowait whatever it
 * waits for (since 6.5, 8a796565cec3), and io_getevents() never. Global, to be verified once. */
__noinline int request_wake(u32 slot, u64 t)
{
	struct kd_thread *thread = slot_thread(slot);
	const struct kd_completion *last = request_at(t);

	if (thread && last && (last->queued + last->ns) * 2 >= elapsed(thread->since, t))
		thread->awaited = KD_AWAITED_DISK;
	return 0;
}

/* Adds the request that ended a wait at t, if any. */
static __always_inline void request_add(struct kd_file_waits *waits, u64 t)
{
	const struct kd_completion *last = request_at(t);

	if (!last)
		return;
	count_add(&waits->requests, last->at - last->ns, last->ns);
	waits->queued += last->queued;
}

/* What ends at the time until which a sleep is counted. */
enum file_until {
	FILE_ENDED,   /* the sleep */
	FILE_CROSSED, /* the window, says the waker; */
	FILE_VISITED, /* says the iterator */
};

/* Adds a sleep until t to the window of this generation. Both the iterator and the waker may
 * report one that goes on after the window. */
__noinline int file_add(u32 slot, u64 gen, u32 by, u64 t, u32 until)
{
	struct kd_thread *thread = slot_thread(slot);
	struct kd_file_key key = { .gen = gen, .slot = slot, .in_progress = !is_zero(until) };
	struct kd_file_waits *waits;
	const struct kd_at *at;
	u64 ns, since, file;
	bool seeded;

	if (!thread)
		return 0;
	since = READ_ONCE(thread->since);
	if (t < since)
		return 0;
	seeded = thread->state == KD_UNSEEN;
	at = seeded ? &thread->seed_at : &thread->at;
	key.awaited = seeded ? thread->seed_awaited : thread->awaited;
	key.call = seeded ? thread->seed_call : thread->slept_in;
	key.wchan = thread->wchan[BOUNDED(until >> 1, 2)];
	key.fd = at->file ? at->fd : -1;
	file = at->file == KD_FILE_UNSEEN ? descriptor_file(thread->task, at->fd) : at->file;
	key.inode = BPF_CORE_READ((struct file *)file, f_inode, i_ino);
	cpu_barrier();
	/* Belongs to another sleep, which began while the iterator looked. As one number: what
	 * follows is verified once, not also for waits that are in progress. */
	if (key.in_progress * (since ^ READ_ONCE(thread->since)))
		return 0;
	key.child = child_program(by, thread->tgid);
	key.inode *= is_zero(key.child); /* each has a pipe of its own */
	waits = file_row(&key);
	if (!waits)
		return 0;
	if (unlikely(!waits->waits.count)) {
		waits->file.fd = key.fd;
		if (key.fd >= 0)
			file_describe(&waits->file, file);
	}
	ns = t - since;
	if (key.in_progress) {
		waits->waits.count = 1;
		waits->waits.total = waits->waits.max = ns;
		waits->waits.began = since;
		return 0;
	}
	if (!by)
		by = sent_by(&waits->file);
	if (key.awaited == KD_AWAITED_DISK)
		request_add(waits, t);
	waits->others += waits->waits.count && by != waits->ended_by;
	waits->waits.count++;
	waits->waits.total += ns;
	if (ns < waits->waits.max)
		return 0;
	waits->waits.max = ns;
	waits->waits.began = since;
	ended_by_note(waits, by);
	return 0;
}

/* Adds the sleep to each window open at t, and to ended windows that are still unread. */
__noinline int file_across(u32 slot, u32 by, u64 t)
{
	struct kd_thread *thread = slot_thread(slot);
	struct overlap overlap;

	if (!thread)
		return 0;
	FOR_EACH_BANK(bank)
	{
		if (window_overlap(bank, thread->since, t, &overlap))
			file_add(slot, overlap.gen, by, overlap.to, overlap.to < t);
	}
	return 0;
}

/* Iterator: a thread slept when a window ended, and still does. */
static __always_inline void file_visit(struct kd_thread *thread, u32 slot, struct task_struct *task)
{
	if (!state_is_blocked(state_now(thread)) || thread->since >= kd_visit_end)
		return;
	wchan_read(&thread->wchan[1], task);
	file_add(slot, kd_visit_gen, 0, kd_visit_end, FILE_VISITED);
}

#endif
