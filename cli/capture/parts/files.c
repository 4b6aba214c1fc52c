// SPDX-License-Identifier: Apache-2.0
/* Waits at descriptors, as counted by the BPF side. */
#include "files.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/syscall_set.h"
#include "cli/capture/session/file_names.h"
#include "cli/capture/session/hashes.h"
#include "cli/capture/session/maps.h"
#include "cli/capture/session/parts.h"
#include "cli/capture/session/types.h"
#include "cli/model/rows.h"
#include "kernel_delay.skel.h"

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
		.waits = waits->waits,
		.ended_by = (pid_t)waits->ended_by,
		.ended_pid = (pid_t)waits->ended_pid,
		.others = waits->others,
		.in_progress = key->in_progress,
		.requests = waits->requests,
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

SESSION_PART(files) = { .select = files_select, .read = files_read };
