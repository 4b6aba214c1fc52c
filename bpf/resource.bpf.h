/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* I/O of threads, disk requests, and TCP retransmissions. These programs and maps are only
 * loaded with --resources. */
#ifndef RESOURCE_BPF_H
#define RESOURCE_BPF_H

#include "awaited.bpf.h"
#include "descriptor.bpf.h"
#include "thread.bpf.h"
#include "window.bpf.h"

/* enum kd_io_call; set before loading. */
const volatile __u8 kd_call_io[KD_CLASSES] = {};
const volatile __u8 kd_compat_call_io[KD_CLASSES] = {};

SHARED_ARRAY(kd_io_records, 1, struct kd_io_record); /* kd_banks * kd_slots */

/* In flight, by address. */
HASH_MAP(kd_requests, KD_REQUESTS, u64, struct kd_request);

TABLE(kd_blocks, KD_BLOCKS, struct kd_block_key, struct kd_block);

TABLE(kd_resent, KD_RESENT, struct kd_resent_key, struct kd_resent);

#define MESSAGES 32 /* of sendmmsg and recvmmsg, per chunk */

/* Initial values: too large for the stack. */
static const struct kd_block no_block = {};
static const struct kd_resent none_resent = {};

static __always_inline u32 socket_io_kind(struct file *file)
{
	struct socket *socket = BPF_CORE_READ(file, private_data);
	u32 family = BPF_CORE_READ(socket, sk, __sk_common.skc_family);

	return family == AF_UNIX                                              ? KD_IO_PIPE
	       : family == AF_NETLINK || family == AF_KEY || family == AF_ALG ? KD_IO_OTHER
									      : KD_IO_NETWORK;
}

/* Files that share an inode, which had no type before 6.17 (cfd86ef7e8e7) and is a regular file
 * since, are only recognized by their file system. */
static __always_inline u32 inode_io_kind(struct inode *inode, u32 mode)
{
	u32 device;

	if (mode == S_IFIFO)
		return KD_IO_PIPE;
	if (mode == S_IFCHR) {
		device = BPF_CORE_READ(inode, i_rdev);
		if (device == TUN_DEVICE)
			return KD_IO_NETWORK;
		return device_awaits(device) == KD_AWAITED_TTY ? KD_IO_TTY : KD_IO_OTHER;
	}
	return mode && BPF_CORE_READ(inode, i_sb, s_magic) != ANON_INODE_FS_MAGIC ? KD_IO_FILE
										  : KD_IO_OTHER;
}

/* Kind of the current thread's descriptor. Another thread may have replaced the file since the
 * call began. This and the functions below are global, to be verified once. */
__noinline u32 descriptor_io_kind(u32 fd)
{
	struct file *file = (struct file *)descriptor_file(bpf_get_current_task(), fd);
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	u32 mode = BPF_CORE_READ(inode, i_mode) & S_IFMT;

	return mode == S_IFSOCK ? socket_io_kind(file) : inode_io_kind(inode, mode);
}

/* vmsplice maps the caller's memory into a pipe opened for writing, and copies from one opened
 * for reading. */
static __always_inline bool descriptor_is_written(u32 fd)
{
	struct file *file = (struct file *)descriptor_file(bpf_get_current_task(), fd);

	return BPF_CORE_READ(file, f_mode) & FMODE_WRITE;
}

/* Sums up lengths in an array of struct mmsghdr in the target's memory: a struct msghdr each,
 * and the length sent or received. The first MESSAGES, at most n. */
__noinline u64 messages_chunk(u64 address, u32 n, bool is_compat)
{
	u32 size = is_compat ? 32 : 64, at = is_compat ? 28 : 56, length;
	u64 bytes = 0;

	address += at;
	for (u32 i = 0; i < MESSAGES && i < n; i++) {
		if (bpf_probe_read_user(&length, sizeof(length), (void *)address))
			break;
		bytes += length;
		address += size;
	}
	return bytes;
}

/* All of them, in parts: the verifier follows each turn of a loop. */
__noinline u64 messages_bytes(u64 address, u32 n, bool is_compat)
{
	u64 bytes = 0;

	for (u32 i = 0; i < UIO_MAXIOV && i < n; i += MESSAGES) {
		bytes += messages_chunk(address, n - i, is_compat);
		address += is_compat ? MESSAGES * 32 : MESSAGES * 64;
	}
	return bytes;
}

/* kinds: source, and destination << 8: enum kd_io_kind, or KD_IO_KINDS for none. */
__noinline int io_add(u32 slot, u32 bank, u64 gen, u32 kinds, u64 bytes)
{
	u32 index = bank * kd_slots + slot, read = kinds & 0xff, written = kinds >> 8;
	struct kd_io_record *record = bpf_map_lookup_elem(&kd_io_records, &index);
	struct kd_io *io;

	if (!record)
		return 0;
	if (unlikely(record->gen != gen)) {
		__builtin_memset(record, 0, sizeof(*record));
		record->gen = gen;
	}
	if (read == KD_IO_KINDS && written == KD_IO_KINDS)
		record->rings++;
	/* Index KD_IO_KINDS is ignored. */
	io = &record->read[BOUNDED(read, KD_IO_PADDED)];
	io->calls++;
	io->bytes += bytes;
	io = &record->written[BOUNDED(written, KD_IO_PADDED)];
	io->calls++;
	io->bytes += bytes;
	return 0;
}

__noinline int io_book(u32 slot, u32 kinds, u64 bytes)
{
	u64 t = clock_now(), word = READ_ONCE(kd_word), edge = word >> KD_WORD_SHIFT;
	struct overlap overlap;

	if (likely(t >= edge)) {
		if (word & KD_WORD_OPEN)
			io_add(slot, kd_word_bank(word), word, kinds, bytes);
		return 0;
	}
	FOR_EACH_BANK(bank)
	{
		if (window_overlap(bank, t - 1, t, &overlap))
			io_add(slot, bank, overlap.gen, kinds, bytes);
	}
	return 0;
}

static __always_inline u32 io_kinds(u32 read, u32 written)
{
	return read | written << 8;
}

/* A call of the target that moves bytes returns. */
static __always_inline void io_end(u32 slot, u32 how, struct pt_regs *regs, s32 call, s64 result)
{
	u32 first = call_argument(regs, call, 0), kind = descriptor_io_kind(first);
	u32 kinds = io_kinds(kind, KD_IO_KINDS);
	u64 bytes = result;

	switch (how) {
	case KD_IO_WRITES:
		kinds = io_kinds(KD_IO_KINDS, kind);
		break;
	case KD_IO_READS_MANY:
	case KD_IO_WRITES_MANY:
		if (how == KD_IO_WRITES_MANY)
			kinds = io_kinds(KD_IO_KINDS, kind);
		bytes = messages_bytes(call_argument(regs, call, 1), result, call & KD_CALL_COMPAT);
		break;
	case KD_IO_SENDS_FILE:
		kinds = io_kinds(descriptor_io_kind(call_argument(regs, call, 1)), kind);
		break;
	case KD_IO_COPIES:
		kinds = io_kinds(kind, descriptor_io_kind(call_argument(regs, call, 2)));
		break;
	case KD_IO_TEES:
		kinds = io_kinds(kind, descriptor_io_kind(call_argument(regs, call, 1)));
		break;
	case KD_IO_MAPS:
		if (descriptor_is_written(first))
			kinds = io_kinds(KD_IO_KINDS, kind);
		break;
	case KD_IO_RING:
		kinds = io_kinds(KD_IO_KINDS, KD_IO_KINDS);
		bytes = 0;
		break;
	}
	io_book(slot, kinds, bytes);
}

static __always_inline void io_exit(s64 result)
{
	struct target target = target_running();
	struct pt_regs *regs;
	s32 call;
	u32 how;

	if (likely(!target.thread) || result < 0)
		return;
	regs = current_user_regs();
	call = regs_call(regs);
	if (unlikely(current_call_is_compat(regs, false)))
		call |= KD_CALL_COMPAT;
	how = call_entry(call, kd_call_io, kd_compat_call_io);
	if (how)
		io_end(target.slot, how, regs, call, result);
}

/* A task creates another one: a process if the new task leads itself. */
static __always_inline void fork_count(struct task_struct *child)
{
	struct target target = target_running();

	if (target.thread && BPF_CORE_READ(child, pid) == BPF_CORE_READ(child, tgid))
		io_book(target.slot, io_kinds(KD_IO_FORKS, KD_IO_KINDS), 0);
}

/* A process executed another program. The thread that did so is now the leader; it may still
 * have the slot of the former leader, see thread_exec(). */
static __always_inline void exec_count(void)
{
	u32 tgid = bpf_get_current_pid_tgid() >> 32;
	u32 slot = process_is_ours(tgid) ? tid_slot(tgid) : KD_SLOT_FREE;

	if (slot != KD_SLOT_FREE && slot_thread(slot))
		io_book(slot, io_kinds(KD_IO_EXECS, KD_IO_KINDS), 0);
}

/* --- Disk requests: their thread is known at creation, from the first of these events that the
 * kernel has --- */

static __always_inline void request_keep(u64 address, const struct target *target, u64 flags)
{
	struct kd_request begun = {};

	begun.at = clock_now();
	begun.slot = target->slot;
	begun.tid = target->thread->tid;
	if (bpf_map_update_elem(&kd_requests, &address, &begun, flags) &&
	    !bpf_map_lookup_elem(&kd_requests, &address))
		loss_count(KD_LOSS_REQUESTS);
}

/* Removed without completing: merged into another. Returns whether it was known. */
static __always_inline bool request_forget(struct request *request)
{
	u64 address = (u64)request;

	return !bpf_map_delete_elem(&kd_requests, &address);
}

/* Created: an earlier request at its address is gone, by an event that was not reported. */
static __always_inline void request_start(struct request *request)
{
	struct target target = target_running();

	if (unlikely(request_forget(request)))
		loss_count(KD_LOSS_REQUESTS);
	if (unlikely(target.thread))
		request_keep((u64)request, &target, BPF_ANY);
}

/* Passed on, by its own thread or another: may have begun earlier. */
static __always_inline void request_begin(struct request *request)
{
	struct target target = target_running();

	if (unlikely(target.thread))
		request_keep((u64)request, &target, BPF_NOEXIST);
}

static __always_inline struct kd_block *block_create(struct kd_block_key *key)
{
	struct kd_block *block = TABLE_ADD(kd_blocks, key, &no_block, KD_LOSS_REQUESTS);

	if (block && key->device && bpf_core_type_exists(struct gendisk))
		bpf_probe_read_kernel_str(block->device, sizeof(block->device),
					  (char *)key->device +
						  bpf_core_field_offset(struct gendisk, disk_name));
	return block;
}

/* Several CPUs may complete requests of a thread at once. */
static __noinline void block_add(struct kd_block_key *key, u64 began, u64 ns, u64 bytes)
{
	struct kd_block *block = bpf_map_lookup_elem(&kd_blocks, key);

	if (!block)
		block = block_create(key);
	if (!block)
		return;
	__sync_fetch_and_add(&block->requests.count, 1);
	__sync_fetch_and_add(&block->requests.total, ns);
	__sync_fetch_and_add(&block->bytes, bytes);
	if (ns > block->requests.max) {
		block->requests.max = ns;
		block->requests.began = began;
	}
	__sync_fetch_and_add(&block->times[histogram_bucket(ns)], 1);
}

static __always_inline u32 request_kind(struct request *request)
{
	u32 operation = BPF_CORE_READ(request, cmd_flags) & REQ_OP_MASK;

	return operation == REQ_OP_READ    ? KD_BLOCK_READ
	       : operation == REQ_OP_WRITE ? KD_BLOCK_WRITE
					   : KD_BLOCK_OTHER;
}

/* A part of the request, or its rest, completes. */
static __always_inline void request_end(struct request *request, u32 bytes)
{
	u64 address = (u64)request, t;
	struct kd_request *begun = bpf_map_lookup_elem(&kd_requests, &address), was;
	struct kd_thread *thread;
	struct kd_block_key key = {};
	struct overlap overlap;

	if (likely(!begun))
		return;
	begun->bytes += bytes;
	if (bytes < BPF_CORE_READ(request, __data_len))
		return;
	was = *begun;
	bpf_map_delete_elem(&kd_requests, &address);
	t = clock_now();
	thread = slot_thread(was.slot);
	if (!thread || thread->tid != was.tid || thread->tracked > was.at)
		return;
	key.slot = was.slot;
	key.kind = request_kind(request);
	key.device = request_disk(request);
	FOR_EACH_BANK(bank)
	{
		if (!window_overlap(bank, t - 1, t, &overlap))
			continue;
		key.gen = overlap.gen;
		block_add(&key, was.at, elapsed(was.at, t), was.bytes);
	}
}

/* --- TCP: runs on top of whatever was interrupted --- */

static __always_inline void resent_add(struct kd_resent_key *key, struct file *file)
{
	struct kd_resent *resent = bpf_map_lookup_elem(&kd_resent, key);

	if (!resent) {
		resent = TABLE_ADD(kd_resent, key, &none_resent, KD_LOSS_RESENT);
		if (resent)
			file_describe(&resent->file, (u64)file);
	}
	if (resent)
		__sync_fetch_and_add(&resent->count, 1);
}

static __always_inline void segment_resent(struct sock *sk)
{
	struct file *file = BPF_CORE_READ(sk, sk_socket, file);
	struct kd_resent_key key = {};
	u64 t = clock_now();
	struct overlap overlap;

	if (!file) /* closed: no owner */
		return;
	key.inode = BPF_CORE_READ(file, f_inode, i_ino);
	FOR_EACH_BANK(bank)
	{
		if (!window_overlap(bank, t - 1, t, &overlap))
			continue;
		key.gen = overlap.gen;
		resent_add(&key, file);
	}
}

#endif
