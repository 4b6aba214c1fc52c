// SPDX-License-Identifier: Apache-2.0
#include "session_files.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <string.h>

#include "file_names.h"
#include "kernel_delay.skel.h"

struct files_hash {
	struct session_hash hash; /* first: what is found gets this */
	struct file_names *names;
};

int files_select(struct kernel_delay *skel, uint32_t slots)
{
	return bpf_map__set_max_entries(skel->maps.kd_files, KD_FILES + 2 * slots);
}

/* As file_visit() of descriptor.bpf.h has it. */
static bool is_sleeping(const struct kd_thread *thread, uint64_t end)
{
	bool seeded = thread->state == KD_UNSEEN;
	uint32_t state = seeded ? thread->seed_state : thread->state;

	return (seeded ? thread->seed_at.file : thread->at.file) && thread->since < end &&
	       (state == KD_BLOCKED || state == KD_BLOCKED_UNINT);
}

bool files_pending(struct kernel_delay *skel, const struct session_view *view)
{
	skel->bss->kd_visit_gen = view->gen;
	skel->bss->kd_visit_end = view->end;
	for (uint32_t slot = 1; slot < view->slots; slot++)
		if (view->threads[slot].task && is_sleeping(&view->threads[slot], view->end))
			return true;
	return false;
}

static int file_found(const struct session_hash *hash, const void *key_, const void *value,
		      struct thread_row *row)
{
	const struct files_hash *files = (const struct files_hash *)hash;
	const struct kd_file_key *key = key_;
	const struct kd_file_waits *waits = value;
	struct descriptor_row descriptor;

	file_names_turn(files->names, (pid_t)hash->view->threads[key->slot].tgid);
	descriptor = (struct descriptor_row){
		.awaited = key->awaited < KD_AWAITED_KINDS ? key->awaited : KD_AWAITED_OTHER,
		.is = *file_names_find(files->names, &waits->file),
		.waits = { waits->count, waits->total, waits->max },
		.ended_by = (pid_t)waits->ended_by,
		.ended_pid = (pid_t)waits->ended_pid,
		.others = waits->others,
		.in_progress = key->in_progress,
		.requests = { waits->requests, waits->request_ns, waits->request_max },
	};

	memcpy(descriptor.ended_name, waits->ended_comm, sizeof(descriptor.ended_name));
	return descriptors_add(&row->descriptors, &row->n_descriptors, &descriptor);
}

/* Those that have cells in the records of their threads. */
static int cells_read(const struct files_hash *files)
{
	const struct session_hash *hash = &files->hash;
	const struct kd_file_cell *cells;
	struct thread_row *row;
	int result = 0;

	for (uint32_t slot = 1; slot < hash->view->slots; slot++) {
		if (!hash->row_of[slot])
			continue;
		row = &hash->rows[hash->row_of[slot] - 1];
		cells = hash->view->records[slot].files;
		for (int i = 0; i < KD_FILE_CELLS && !result; i++)
			if (cells[i].key.gen == hash->view->gen)
				result = file_found(hash, &cells[i].key, &cells[i].waits, row);
		if (result)
			break;
	}
	return result;
}

int files_read(struct kernel_delay *skel, struct session_hash hash, struct file_names *names)
{
	struct files_hash files = { .hash = hash, .names = names };
	uint32_t removed;
	int result = cells_read(&files);

	if (result || !__atomic_load_n(&skel->bss->kd_files_used, __ATOMIC_RELAXED))
		return result;
	files.hash.map = skel->maps.kd_files;
	result = session_hash_read(&files.hash, file_found, &removed);
	/* The kernel side adds to it meanwhile. */
	__atomic_fetch_sub(&skel->bss->kd_files_used, removed, __ATOMIC_RELAXED);
	return result;
}
