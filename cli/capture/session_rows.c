// SPDX-License-Identifier: Apache-2.0
/* Data of threads in separate hashes: calls beyond their tables, moves to other CPUs, stops, and
 * waits at descriptors. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/syscall_set.h"
#include "cli/model/rows.h"
#include "file_names.h"
#include "session_parts.h"
#include "kernel_delay.skel.h"

/* --- System calls without an entry in their thread's table --- */

/* If the call crosses an edge of the window, it has a row already. */
static int overflow_found(const struct session_hash *hash, const void *key_, const void *value,
			  struct thread_row *row)
{
	const struct kd_row_key *key = key_;
	const struct kd_count *count = value;
	struct call_row *call = thread_call_row(row, key->rest);

	(void)hash;
	if (!call)
		return -ENOMEM;
	call->count = count->count;
	call->total = count->total;
	call->max = count->max;
	return 0;
}

static int overflow_read(struct session *session, struct session_hash hash)
{
	return TABLE_READ(session, &hash, kd_overflow, overflow_found);
}

const struct session_part overflow_part = { .read = overflow_read };

/* --- Moves of threads to other CPUs, as noted by the BPF side --- */

/* Sets the number of sched_setaffinity. */
static exit_status movers_select(struct session *session)
{
	int affinity = syscall_number("sched_setaffinity");

	if (affinity >= 0)
		session->skel->rodata->kd_affinity_call = affinity;
	return 0;
}

static int mover_found(const struct session_hash *hash, const void *key, const void *value,
		       struct thread_row *row)
{
	const struct kd_moves *moves = value;
	struct mover_row mover = {
		.tid = (int32_t)moves->by.tid,
		.pid = (int32_t)moves->by.tgid,
		.count = moves->count,
	};

	(void)hash;
	(void)key;
	memcpy(mover.name, moves->by.comm, sizeof(mover.name));
	return row_list_add(&mover_list, &row->movers, &row->n_movers, &mover);
}

static int movers_read(struct session *session, struct session_hash hash)
{
	return TABLE_READ(session, &hash, kd_moves, mover_found);
}

const struct session_part movers_part = { .select = movers_select, .read = movers_read };

/* --- Stops of threads, as noted by the BPF side --- */

/* Returns the thread's stopped time that is in no row yet, ns. */
static uint64_t left_of(const struct thread_row *row)
{
	uint64_t left = row->ledger.ns[LEDGER_STOPPED];

	for (size_t i = 0; i < row->n_stops; i++)
		left -= u64_min(row->stops[i].stops.total, left);
	return left;
}

/* Adds a stop, but no more time than is left: a stop in progress may have ended during the read. */
static int stop_add(struct thread_row *row, const struct kd_stopper *by, struct kd_count stops)
{
	struct stop_row stop = {
		.kind = by->kind < KD_STOP_KINDS ? by->kind : KD_STOP_UNKNOWN,
		.signal = (int32_t)by->signal,
		.tid = (int32_t)by->tid,
		.pid = (int32_t)by->tgid,
	};

	stops.total = u64_min(stops.total, left_of(row));
	stops.max = u64_min(stops.max, stops.total);
	if (!stops.total)
		return 0;
	stop.stops = stops;
	memcpy(stop.name, by->comm, sizeof(stop.name));
	return row_list_add(&stop_list, &row->stops, &row->n_stops, &stop);
}

static int stop_found(const struct session_hash *hash, const void *key, const void *value,
		      struct thread_row *row)
{
	const struct kd_stop_times *times = value;

	(void)hash;
	(void)key;
	return stop_add(row, &times->by, times->count);
}

/* Also adds time without a known origin. */
static int stops_read(struct session *session, struct session_hash hash)
{
	static const struct kd_stopper nobody;
	int result = TABLE_READ(session, &hash, kd_stops, stop_found);

	for (uint32_t slot = 1; slot < hash.view->slots && !result; slot++) {
		struct thread_row *row = session_hash_row(&hash, slot);
		uint64_t left = row ? left_of(row) : 0;

		if (left)
			result = stop_add(row, &nobody, (struct kd_count){ 1, left, left });
	}
	return result;
}

const struct session_part stops_part = { .read = stops_read };

int stops_read_open(const struct session_view *view, const struct kd_thread *thread,
		    struct thread_row *row)
{
	uint64_t ns = u64_sub(view->end, u64_max(thread->since, view->start));

	if (thread_state(thread) != KD_STOPPED || thread->died)
		return 0;
	return stop_add(row, &thread->stopper, (struct kd_count){ 1, ns, ns });
}

/* --- Waits at descriptors, as counted by the BPF side --- */

static exit_status files_select(struct session *session)
{
	return session_map_resize(session->skel->maps.kd_files,
				  KD_FILES + (KD_FILES_OF_SLOT + KD_FILES_BEYOND) * session->slots);
}

/* As in file_visit() of descriptor.bpf.h. */
static bool is_sleeping(const struct kd_thread *thread, uint64_t end)
{
	uint32_t state = thread_state(thread);

	return (thread->state == KD_UNSEEN ? thread->seed_at.file : thread->at.file) &&
	       thread->since < end && (state == KD_BLOCKED || state == KD_BLOCKED_UNINT);
}

bool session_files_pending(const struct session *session, const struct session_view *view)
{
	session->skel->bss->kd_visit_gen = view->gen;
	session->skel->bss->kd_visit_end = view->end;
	for (uint32_t slot = 1; slot < view->slots; slot++)
		if (view->threads[slot].task && is_sleeping(&view->threads[slot], view->end))
			return true;
	return false;
}

static int file_found(const struct session_hash *hash, const void *key_, const void *value,
		      struct thread_row *row)
{
	struct file_names *names = hash->context;
	const struct kd_file_key *key = key_;
	const struct kd_file_waits *waits = value;
	pid_t pid = (pid_t)hash->view->threads[key->slot].tgid;
	struct descriptor_row descriptor = {
		.awaited = key->awaited < KD_AWAITED_KINDS ? key->awaited : KD_AWAITED_OTHER,
		.is = *file_names_find(names, pid, &waits->file),
		.waits = { waits->count, waits->total, waits->max },
		.ended_by = (pid_t)waits->ended_by,
		.ended_pid = (pid_t)waits->ended_pid,
		.others = waits->others,
		.in_progress = key->in_progress,
		.requests = { waits->requests, waits->request_ns, waits->request_max },
	};

	memcpy(descriptor.ended_name, waits->ended_comm, sizeof(descriptor.ended_name));
	return row_list_add(&descriptor_list, &row->descriptors, &row->n_descriptors, &descriptor);
}

/* Adds waits too short to be examined. */
static int short_files_read(const struct session_hash *hash, uint64_t detail_ns)
{
	int result = 0;

	for (uint32_t slot = 1; slot < hash->view->slots && !result; slot++) {
		const struct kd_record *record = &hash->view->records[slot];
		struct thread_row *row = session_hash_row(hash, slot);
		const struct descriptor_row descriptor = {
			.awaited = KD_AWAITED_OTHER,
			.is = { .fd = -1 },
			.shorter = detail_ns,
			.waits = record->short_files,
		};

		if (row && record->gen == hash->view->gen && record->short_files.count)
			result = row_list_add(&descriptor_list, &row->descriptors,
					      &row->n_descriptors, &descriptor);
	}
	return result;
}

static int files_read(struct session *session, struct session_hash hash)
{
	struct kernel_delay *skel = session->skel;
	uint32_t removed;
	int result = short_files_read(&hash, skel->rodata->kd_detail_ns);

	if (result)
		return result;
	hash.context = session->file_names;
	result = session_hash_read(&hash, skel->maps.kd_files, &skel->bss->kd_files_used,
				   file_found, &removed);
	/* The BPF side may add to this number meanwhile. */
	__atomic_fetch_sub(&skel->bss->kd_files_used, removed, __ATOMIC_RELAXED);
	return result;
}

const struct session_part files_part = { .select = files_select, .read = files_read };
