// SPDX-License-Identifier: Apache-2.0
/* Reads and writes of threads, their disk requests, and TCP retransmissions, as counted by the
 * BPF side. */
#define _GNU_SOURCE
#include "resources.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"
#include "cli/base/log.h"
#include "cli/base/proc_file.h"
#include "cli/capture/session/file_names.h"
#include "cli/capture/session/hashes.h"
#include "cli/capture/session/maps.h"
#include "cli/capture/session/parts.h"
#include "cli/capture/session/windows.h"
#include "cli/model/resource.h"
#include "cli/model/rows.h"
#include "cli/model/sample.h"
#include "classes.h"
#include "kernel_delay.skel.h"

/* --- Processes of a sample that have a socket open, by /proc/PID/fd --- */

struct socket_owner {
	uint64_t inode; /* of the socket */
	pid_t pid;
	int32_t fd;
};

struct socket_owners {
	struct socket_owner *all; /* by inode */
	size_t n, capacity;
};

static int by_inode(const void *a, const void *b)
{
	const struct socket_owner *x = a, *y = b;

	return ORDER(x->inode, y->inode);
}

/* Adds the sockets of a process; none if it has ended. Returns 0 or -ENOMEM. */
static int process_read(struct socket_owners *owners, pid_t pid)
{
	char path[32], target[64];
	struct dirent *entry;
	int error = 0;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)proc_thread(pid));
	folder = opendir(path);
	while (folder && !error && (entry = readdir(folder))) {
		struct socket_owner owner = { .pid = pid, .fd = atoi(entry->d_name) };
		ssize_t length = readlinkat(dirfd(folder), entry->d_name, target,
					    sizeof(target) - 1);

		if (length < 0)
			continue;
		target[length] = '\0';
		if (sscanf(target, "socket:[%" SCNu64 "]", &owner.inode) != 1)
			continue;
		error = ARRAY_ADD(owners->all, owners->n, owners->capacity, owner);
	}
	if (folder)
		closedir(folder);
	return error;
}

/* NULL is allowed. */
static void socket_owners_free(struct socket_owners *owners)
{
	if (!owners)
		return;
	free(owners->all);
	free(owners);
}

/* Finds the present sockets of the processes in sample->usages. If a socket has more than one
 * owner, the first one counts. The caller frees the result. Returns NULL without memory. */
static struct socket_owners *socket_owners_new(const struct sample *sample)
{
	struct socket_owners *owners = calloc(1, sizeof(*owners));
	int error = owners ? 0 : -ENOMEM;

	for (size_t i = 0; i < sample->n_usages && !error; i++)
		error = process_read(owners, sample->usages[i].pid);
	if (error) {
		socket_owners_free(owners);
		return NULL;
	}
	ARRAY_SORT(owners->all, owners->n, by_inode);
	return owners;
}

/* Returns NULL if no process has the socket. */
static const struct socket_owner *socket_owners_find(const struct socket_owners *owners,
						     uint64_t inode)
{
	const struct socket_owner key = { .inode = inode };

	return owners->n ? bsearch(&key, owners->all, owners->n, sizeof(key), by_inode) : NULL;
}

/* --- Reads and writes of threads --- */

#define RESOURCE_HOOKS 9

struct resources {
	struct kd_io_record *records; /* by bank and slot */
};

struct hook {
	struct bpf_program *program;
	const char *tracepoint;
	const char *section, *without; /* what the report lacks otherwise; NULL: nothing */
};

#define DISKS "THREAD BLOCK I/O STATISTICS"

static struct hook hook_of(const struct programs *programs, size_t i)
{
	const struct kernel_delay *skel = programs->skel;
	const struct hook hooks[RESOURCE_HOOKS] = {
		{ programs->classic ? skel->progs.kd_io_exit_classic : skel->progs.kd_io_exit,
		  "sys_exit", "THREAD I/O STATISTICS",
		  "is left out: the kernel refused its program" },
		/* Since 6.5. Before, and in RHEL 9, insert and issue suffice, except for requests
		 * that another thread passes on. */
		{ skel->progs.kd_request_start, "block_io_start", NULL, NULL },
		{ skel->progs.kd_request_merged, "block_rq_merge", NULL, NULL }, /* since 5.9 */
		{ skel->progs.kd_request_begin, "block_rq_insert", DISKS,
		  "lacks requests: this kernel lacks their tracepoints" },
		{ skel->progs.kd_request_begin, "block_rq_issue", DISKS,
		  "lacks requests: this kernel lacks their tracepoints" },
		{ skel->progs.kd_request_end, "block_rq_complete", DISKS,
		  "is left out: this kernel lacks its tracepoints" },
		{ skel->progs.kd_fork_count, "sched_process_fork", "RESOURCES",
		  "lacks forks: the kernel refused their program" },
		{ skel->progs.kd_exec_count, "sched_process_exec", "RESOURCES",
		  "lacks execs: the kernel refused their program" },
		{ skel->progs.kd_segment_resent, "tcp_retransmit_skb", "RESOURCES",
		  "does not show what TCP sent again: this kernel lacks its tracepoint" },
	};

	return hooks[i];
}

static void resources_omit(struct session *session)
{
	struct kernel_delay *skel = session->skel;
	struct bpf_map *const maps[] = { skel->maps.kd_io_records, skel->maps.kd_requests,
					 skel->maps.kd_blocks, skel->maps.kd_resent };

	session_maps_omit(maps, sizeof(maps) / sizeof(*maps));
}

static exit_status resources_select(struct session *session)
{
	struct kernel_delay *skel = session->skel;

	classes_set_io(skel);
	for (size_t i = 0; i < RESOURCE_HOOKS; i++)
		bpf_program__set_autoload(hook_of(&session->programs, i).program, true);
	return session_map_resize(skel->maps.kd_io_records, session->slots * session->banks);
}

static exit_status resources_attach(struct session *session)
{
	struct resources *resources = session->resources;
	struct programs *programs = &session->programs;
	int status = 0;

	resources->records = session_map(session, session->skel->maps.kd_io_records);
	if (!resources->records)
		return EX_OSERR;
	for (size_t i = 0; i < RESOURCE_HOOKS && status <= 0; i++) {
		struct hook hook = hook_of(programs, i);

		status = programs_hook(programs, hook.program, hook.tracepoint, hook.section,
				       hook.without);
	}
	return status > 0 ? status : 0;
}

static struct kd_io_record *record_of(const struct session *session, uint32_t bank, uint32_t slot)
{
	return &session->resources->records[(size_t)bank * session->slots + slot];
}

int session_usage(const struct session *session, const struct session_view *view, uint32_t slot,
		  struct thread_row *row)
{
	const struct kd_io_record *record;

	if (!session->resources || view->bank >= session->banks)
		return 0;
	record = record_of(session, view->bank, slot);
	if (record->gen != view->gen)
		return 0;
	row->io = calloc(KD_IO_KINDS, sizeof(*row->io));
	if (!row->io)
		return -ENOMEM;
	row->io_uring_calls = record->rings;
	row->forks = record->read[KD_IO_FORKS].calls;
	row->execs = record->read[KD_IO_EXECS].calls;
	for (size_t i = 0; i < KD_IO_KINDS; i++)
		row->io[i] = (struct io_row){ record->read[i], record->written[i] };
	return 0;
}

static void resources_free_slot(struct session *session, uint32_t slot)
{
	for (uint32_t bank = 0; bank < session->banks; bank++)
		record_of(session, bank, slot)->gen = 0;
}

static int block_found(const struct session_hash *hash, const void *key_, const void *value,
		       struct thread_row *row)
{
	const struct kd_block_key *key = key_;
	const struct kd_block *block = value;
	struct block_row found = {
		.requests = block->requests,
		.bytes = block->bytes,
		.kind = key->kind < KD_BLOCK_KINDS ? key->kind : KD_BLOCK_OTHER,
	};
	int error = 0;

	(void)hash;
	memcpy(found.device, block->device, sizeof(found.device));
	for (unsigned int i = 0; i < KD_HISTOGRAM_BUCKETS && !error; i++)
		error = distribution_append(&found.times,
					    i + 1 < KD_HISTOGRAM_BUCKETS
						    ? distribution_limit(i, KD_HISTOGRAM_BITS)
						    : UINT64_MAX,
					    block->times[i]);
	if (!error)
		error = row_list_add(&block_list, &row->blocks, &row->n_blocks, &found);
	distribution_clear(&found.times);
	return error;
}

static int resources_read(struct session *session, struct session_hash hash)
{
	return TABLE_READ(session, &hash, kd_blocks, block_found);
}

static int resent_add(struct sample *sample, size_t *capacity, const struct kd_resent *resent,
		      const struct socket_owner *owner, struct file_names *names)
{
	struct usage_row *usage = usage_find(sample, owner->pid);
	struct kd_file file = resent->file;

	if (ARRAY_GROW(sample->resent, sample->n_resent, *capacity))
		return -ENOMEM;
	file.fd = owner->fd;
	sample->resent[sample->n_resent++] =
		(struct resent_row){ .pid = owner->pid,
				     .count = resent->count,
				     .is = *file_names_find(names, owner->pid, &file) };
	if (usage)
		usage->resent += resent->count;
	return 0;
}

/* Leaves entries of other unread windows. */
int session_resent(struct session *session, const struct session_view *view, struct sample *sample)
{
	int fd = bpf_map__fd(session->skel->maps.kd_resent), error = 0;
	struct socket_owners *owners;
	struct kd_resent_key *keys;
	size_t n = 0, capacity = 0;

	if (!session->resources ||
	    !__atomic_load_n(&session->skel->bss->kd_resent_used, __ATOMIC_RELAXED))
		return 0;
	keys = calloc(KD_RESENT, sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	while (n < KD_RESENT && !bpf_map_get_next_key(fd, n ? &keys[n - 1] : NULL, &keys[n]))
		n++;
	owners = n ? socket_owners_new(sample) : NULL;
	if (n && !owners)
		error = -ENOMEM;
	for (size_t i = 0; i < n && !error; i++) {
		const struct socket_owner *owner;
		struct kd_resent resent;

		if (keys[i].gen != view->gen && windows_have(&session->windows, keys[i].gen))
			continue;
		owner = keys[i].gen == view->gen ? socket_owners_find(owners, keys[i].inode) : NULL;
		if (owner && !bpf_map_lookup_elem(fd, &keys[i], &resent))
			error = resent_add(sample, &capacity, &resent, owner, session->file_names);
		bpf_map_delete_elem(fd, &keys[i]);
	}
	socket_owners_free(owners);
	free(keys);
	return error;
}

SESSION_PART(resources) = {
	SESSION_STATE(resources),         .scans = SCAN_RESOURCES,    .omit = resources_omit,
	.select = resources_select,       .attach = resources_attach, .read = resources_read,
	.free_slot = resources_free_slot,
};

/* --- Memory of processes --- */

struct memory_reading {
	pid_t pid;
	uint64_t bytes, peak;
};

static int by_pid(const void *a, const void *b)
{
	const struct memory_reading *x = a, *y = b;

	return ORDER(x->pid, y->pid);
}

/* Reads a process's memory; missing values stay 0. Raises the peak, which may be slightly older, to
 * the present size. */
static void reading_take(struct memory_reading *reading)
{
	char text[256];
	uint64_t pages;

	if (proc_file_read(reading->pid, "statm", text, sizeof(text)) > 0 &&
	    sscanf(text, "%*u %" SCNu64, &pages) == 1)
		reading->bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	reading->peak = 1024 * proc_status_number(reading->pid, "VmHWM:");
	if (reading->peak && reading->peak < reading->bytes)
		reading->peak = reading->bytes;
}

void memory_forget(struct memory_log *log)
{
	free(log->all);
	*log = (struct memory_log){ 0 };
}

int memory_begin(struct memory_log *log, const struct session *session)
{
	struct session_view view = session_window_now(session);
	struct memory_reading *all = calloc(view.slots, sizeof(*all));
	size_t threads = 0;

	memory_forget(log);
	if (!all)
		return -ENOMEM;
	for (uint32_t slot = 1; slot < view.slots; slot++)
		if (view.threads[slot].task && !view.threads[slot].died)
			all[threads++].pid = (pid_t)view.threads[slot].tgid;
	ARRAY_SORT(all, threads, by_pid);
	log->n = ARRAY_UNIQUE(all, threads, by_pid);
	log->all = all;
	for (size_t i = 0; i < log->n; i++)
		reading_take(&all[i]);
	return 0;
}

static const struct memory_reading *reading_find(const struct memory_log *log, pid_t pid)
{
	const struct memory_reading key = { .pid = pid };

	return log->n ? bsearch(&key, log->all, log->n, sizeof(key), by_pid) : NULL;
}

int memory_end(struct memory_log *log, const struct session *session, struct sample *sample)
{
	struct memory_log before = *log;
	int error;

	*log = (struct memory_log){ 0 };
	error = memory_begin(log, session);
	for (size_t i = 0; i < sample->n_usages && !error; i++) {
		struct usage_row *usage = &sample->usages[i];
		const struct process_row *process = process_at(sample, usage->pid,
							       usage->process_start);
		const struct memory_reading *start = reading_find(&before, usage->pid);
		const struct memory_reading *end = reading_find(log, usage->pid);

		if (process && process->members > 1)
			continue;
		/* Of processes with the same PID, only the first was there at the start, only the
		 * last at the end. */
		if (i && usage[-1].pid == usage->pid)
			start = NULL;
		if (usage != usage_find(sample, usage->pid))
			end = NULL;
		usage->memory = (struct memory){ start ? start->bytes : 0, end ? end->bytes : 0,
						 end ? end->peak : 0 };
	}
	memory_forget(&before);
	return error;
}
