// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "session_filter.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/base/names.h"
#include "kernel_delay.skel.h"

bool filter_is_on(const struct thread_filter *filter)
{
	return filter->names || filter->n_tids;
}

exit_status filter_select(struct kernel_delay *skel, const struct thread_filter *filter)
{
	struct kd_names names;

	bpf_program__set_autoload(skel->progs.kd_task_rename, filter->names != NULL);
	if (!filter_is_on(filter))
		return 0;
	bpf_program__set_autoload(skel->progs.kd_process_exit, true); /* leader_exit() */
	skel->rodata->kd_by_thread = 1;
	skel->rodata->kd_filter = filter->names ? KD_FILTER_NAMES : KD_FILTER_TIDS;
	if (!filter->names)
		return 0;
	if (!names_compile(&names, filter->names)) {
		log_error("the pattern of names is too long: %s", filter->names);
		log_hint("names of threads have at most %d bytes", KD_COMM_LEN - 1);
		return EX_USAGE;
	}
	memcpy((void *)&skel->rodata->kd_names, &names, sizeof(names));
	return 0;
}

/* Slots are given to those that were refused one, as soon as the iterator finds them. */
static int tid_refuse(const struct kernel_delay *skel, pid_t tid, struct kd_tid_page *tids)
{
	uint32_t page = (uint32_t)tid / KD_TID_PAGE;
	int fd = bpf_map__fd(skel->maps.kd_tids);

	if (bpf_map_lookup_elem(fd, &page, tids))
		return -errno;
	tids->slot[(uint32_t)tid % KD_TID_PAGE] = KD_SLOT_REFUSED;
	return bpf_map_update_elem(fd, &page, tids, BPF_ANY) ? -errno : 0;
}

exit_status filter_seed(struct kernel_delay *skel, const struct thread_filter *filter)
{
	struct kd_tid_page *tids;
	int error = 0;

	if (!filter->n_tids)
		return 0;
	tids = malloc(sizeof(*tids));
	if (!tids)
		return log_no_memory();
	for (size_t i = 0; i < filter->n_tids && !error; i++)
		error = tid_refuse(skel, filter->tids[i], tids);
	free(tids);
	if (error)
		log_error("cannot name threads to the kernel side: %s", strerror(-error));
	return error ? EX_OSERR : 0;
}
