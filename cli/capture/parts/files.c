// SPDX-License-Identifier: Apache-2.0
/* Sleeps, as counted by the BPF side. */
#include "files.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/arith.h"
#include "cli/base/log.h"
#include "cli/base/syscall_set.h"
#include "cli/capture/session/file_names.h"
#include "cli/capture/session/function_names.h"
#include "cli/capture/session/hashes.h"
#include "cli/capture/session/maps.h"
#include "cli/capture/session/parts.h"
#include "cli/capture/session/types.h"
#include "cli/model/rows.h"
#include "cli/model/wchan.h"
#include "kernel_delay.skel.h"

static exit_status files_select(struct session *session)
{
	bpf_program__set_autoload(session->skel->progs.kd_function_name, true);
	return session_map_resize(session->skel->maps.kd_files,
				  KD_FILES + (KD_FILES_OF_SLOT + KD_FILES_BEYOND) * session->slots);
}

static exit_status files_attach(struct session *session)
{
	session->function_names = function_names_new(session->skel, session->config->symbols);
	return session->function_names ? 0 : log_no_memory();
}

static void files_close(struct session *session)
{
	function_names_free(session->function_names);
	session->function_names = NULL;
}

bool session_files_pending(const struct session *session, const struct session_view *view)
{
	session->skel->bss->kd_visit_gen = view->gen;
	session->skel->bss->kd_visit_end = view->end;
	for (uint32_t slot = 1; slot < view->slots; slot++)
		/* As in file_visit() of descriptor.bpf.h. */
		if (view->threads[slot].task && view->threads[slot].since < view->end &&
		    thread_is_blocked(&view->threads[slot]))
			return true;
	return false;
}

void session_wchan_name(struct session *session, const struct kd_wchan *wchan,
			char name[static KD_FUNCTION_LEN])
{
	char found[KD_WCHAN][KD_FUNCTION_LEN];
	const char *names[KD_WCHAN];
	const struct wchan *row;
	size_t at;

	for (size_t i = 0; i < KD_WCHAN; i++) {
		snprintf(found[i], sizeof(found[i]), "%s",
			 function_names_find(session->function_names, wchan->frames[i]));
		names[i] = found[i];
	}
	row = wchan_find(names, KD_WCHAN, &at);
	/* All may be generic ones. */
	at = at < KD_WCHAN ? at : 0;
	wchan_name(name, KD_FUNCTION_LEN, found[at], row);
}

/* True if it writes to a descriptor that is not its first argument, at which the kernel side looks.
 */
static bool is_at_second(const struct descriptor_row *row)
{
	const struct wchan *wchan = wchan_of(row->wchan);
	const char *call = row->call < 0 ? NULL : syscall_name((uint32_t)row->call);

	return wchan && wchan->cause == WCHAN_PEER && call &&
	       (!strcmp(call, "splice") || !strcmp(call, "tee"));
}

static int file_found(const struct session_hash *hash, const void *key_, const void *value,
		      struct thread_row *row)
{
	struct session *session = hash->context;
	const struct kd_file_key *key = key_;
	const struct kd_file_waits *waits = value;
	pid_t pid = (pid_t)hash->view->threads[key->slot].tgid;
	const bool is_for_child = key->awaited == KD_AWAITED_CHILD && key->fd < 0;
	struct descriptor_row descriptor = {
		.awaited = key->awaited < KD_AWAITED_KINDS ? key->awaited : KD_AWAITED_OTHER,
		.call = key->call < 0 ? KD_CALL_NONE : key->call,
		.is = *file_names_find(session->file_names, pid, &waits->file),
		.waits = waits->waits,
		.ended_by = (pid_t)waits->ended_by,
		.ended_pid = (pid_t)waits->ended_pid,
		.others = waits->others,
		.in_progress = key->in_progress,
		.requests = waits->requests,
		.queued = waits->queued,
	};

	session_wchan_name(session, &key->wchan, descriptor.wchan);
	if (is_at_second(&descriptor))
		descriptor.is = (struct descriptor){ .fd = -1 };
	memcpy(descriptor.ended_name, waits->ended_comm, sizeof(descriptor.ended_name));
	if (key->child)
		memcpy(descriptor.child, waits->ended_comm, sizeof(descriptor.child));
	/* A signal did: to a command that of this program, or to who waits for its children. */
	if (descriptor.ended_pid == getpid() || (is_for_child && !key->child))
		descriptor.ended_by = descriptor.ended_pid = 0;
	return row_list_add(&descriptor_list, &row->descriptors, &row->n_descriptors, &descriptor);
}

/* Those that were looked at, and took most of the time; NULL: none. */
static const struct descriptor_row *looked_at(const struct thread_row *row,
					      const struct descriptor_row *like)
{
	const struct descriptor_row *most = NULL;

	for (size_t i = 0; i < row->n_descriptors; i++) {
		const struct descriptor_row *of = &row->descriptors[i];

		if (*of->wchan && of->awaited == like->awaited && of->call == like->call &&
		    of->is.fd == like->is.fd && of->is.inode == like->is.inode &&
		    (!most || of->waits.total > most->waits.total))
			most = of;
	}
	return most;
}

/* Sleeps whose wait channel was not looked at are taken for the same as those that were. */
static int wchans_complete(struct thread_row *row)
{
	int result = 0;

	for (size_t i = row->n_descriptors; i-- && !result;) {
		struct descriptor_row sleep = row->descriptors[i];
		const struct descriptor_row *as = looked_at(row, &sleep);

		if (*sleep.wchan || !as)
			continue;
		memcpy(sleep.wchan, as->wchan, sizeof(sleep.wchan));
		row->descriptors[i] = row->descriptors[--row->n_descriptors];
		result = row_list_add(&descriptor_list, &row->descriptors, &row->n_descriptors,
				      &sleep);
	}
	return result;
}

/* Adds sleeps too short to be examined. */
static int short_files_read(const struct session_hash *hash, uint64_t detail_ns)
{
	int result = 0;

	for (uint32_t slot = 1; slot < hash->view->slots && !result; slot++) {
		const struct kd_record *record = &hash->view->records[slot];
		struct thread_row *row = session_hash_row(hash, slot);
		const struct descriptor_row descriptor = {
			.awaited = KD_AWAITED_OTHER,
			.call = KD_CALL_NONE,
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
	hash.context = session;
	result = session_hash_read(&hash, skel->maps.kd_files, &skel->bss->kd_files_used,
				   file_found, &removed);
	/* The BPF side may add to this number meanwhile. */
	__atomic_fetch_sub(&skel->bss->kd_files_used, removed, __ATOMIC_RELAXED);
	for (uint32_t slot = 1; slot < hash.view->slots && !result; slot++)
		if (hash.row_of[slot])
			result = wchans_complete(session_hash_row(&hash, slot));
	return result;
}

SESSION_PART(files) = {
	.select = files_select, .attach = files_attach, .read = files_read, .close = files_close
};
