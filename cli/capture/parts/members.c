// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "members.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/kernel_delay.h"
#include "cli/base/arith.h"
#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/base/names.h"
#include "cli/base/parse.h"
#include "cli/capture/session/parts.h"
#include "cli/capture/session/slots.h"
#include "kernel_delay.skel.h"

/* --- Which threads of the target are followed --- */

/* Threads that are not followed get no slot, so cost only a lookup. */

static exit_status filter_select(struct session *session)
{
	const struct options *options = session->config->options;
	const char *wanted = options->outputs.settings.report.threads;
	struct kernel_delay *skel = session->skel;
	struct kd_names names;

	bpf_program__set_autoload(skel->progs.kd_task_rename, wanted != NULL);
	if (!wanted && !*options->tids) /* all threads are followed */
		return 0;
	bpf_program__set_autoload(skel->progs.kd_process_exit, true); /* leader_exit() */
	skel->rodata->kd_by_thread = 1;
	skel->rodata->kd_filter = wanted ? KD_FILTER_NAMES : KD_FILTER_TIDS;
	if (!wanted)
		return 0;
	if (!names_compile(&names, wanted)) {
		log_error("the pattern of names is too long: %s", wanted);
		log_hint("names of threads have at most %d bytes", KD_COMM_LEN - 1);
		return EX_USAGE;
	}
	memcpy((void *)&skel->rodata->kd_names, &names, sizeof(names));
	return 0;
}

/* Makes the iterator give slots to threads chosen by TID, if they belong to the target. */
static exit_status filter_attach(struct session *session)
{
	const pid_t *tids = session->config->options->tids;
	int error = 0;

	/* Marks them as refused: the iterator gives such threads a slot when it finds them. */
	for (size_t i = 0; i < PIDS_MAX && tids[i] && !error; i++)
		error = tid_set(session->skel, tids[i], KD_SLOT_REFUSED);
	if (error)
		log_error("cannot name threads to the kernel side: %s", strerror(-error));
	return error ? EX_OSERR : 0;
}

SESSION_PART(filter) = { .select = filter_select, .attach = filter_attach };

/* --- Processes of the target, by PID and start --- */

static int by_identity(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	return ORDER(x->pid, y->pid) ?: ORDER(x->began, y->began);
}

struct member *member_find(const struct members *members, pid_t pid, uint64_t began)
{
	const struct member key = { .pid = pid, .began = began };
	struct member **found = tfind(&key, (void *const *)&members->by_identity, by_identity);

	return found ? *found : NULL;
}

/* Converts `began` to the times of a sample. */
static uint64_t start_of(const struct members *members, uint64_t began)
{
	return began ? began + members->epoch : 0;
}

uint64_t member_began(const struct members *members, uint64_t start)
{
	return start ? start - members->epoch : 0;
}

static void member_live(struct members *members, struct member *member)
{
	member->next = members->living;
	member->from = &members->living;
	if (member->next)
		member->next->from = &member->next;
	members->living = member;
	members->alive++;
	members->plain++;
}

void member_described(struct members *members, struct member *member)
{
	members->plain -= !member->is_described;
	member->is_described = true;
}

void member_renew(struct members *members, struct member *member)
{
	memset(member->row.title, 0, sizeof(member->row.title));
	if (member->ended || !member->is_described)
		return;
	member->is_described = false;
	members->plain++;
}

struct member *member_get(struct members *members, pid_t pid, uint64_t began)
{
	struct member *member = member_find(members, pid, began);

	if (member)
		return member;
	member = calloc(1, sizeof(*member));
	if (!member)
		return NULL;
	member->pid = member->row.pid = pid;
	member->began = began;
	member->row.start = start_of(members, began);
	if (tsearch(member, &members->by_identity, by_identity)) {
		member_live(members, member);
		return member;
	}
	free(member);
	return NULL;
}

void member_end(struct members *members, struct member *member, uint64_t ended)
{
	if (member->ended)
		return;
	member->ended = ended ? ended : 1;
	*member->from = member->next;
	if (member->next)
		member->next->from = member->from;
	member_described(members, member);
	members->alive--;
	members->ended++;
}

void member_forget(struct members *members, struct member *member)
{
	members->ended--; /* a live one is not forgotten */
	tdelete(member, &members->by_identity, by_identity);
	free(member);
}

void members_clear(struct members *members)
{
	tdestroy(members->by_identity, free);
	members->by_identity = members->living = NULL;
}

/* --- A cgroup as the target --- */

/* Returns the number of the cgroup's hierarchy, as in /proc/self/cgroup; 0: none, as in version
 * 2. */
static uint32_t hierarchy_of(const struct control_group *group)
{
	FILE *file = group->version_1 ? fopen("/proc/self/cgroup", "re") : NULL;
	uint64_t number, found = 0;
	struct group_line line;

	while (!found && group_line_read(&line, file))
		if (!strcmp(line.controllers, group->controllers) &&
		    !parse_u64(line.text, 1, UINT32_MAX, &number))
			found = number;
	if (file)
		fclose(file);
	return (uint32_t)found;
}

exit_status group_select(struct kernel_delay *skel, const struct control_group *group)
{
	skel->rodata->kd_group = group->id;
	skel->rodata->kd_hierarchy = hierarchy_of(group);
	/* In version 1, a child is born in its parent's cgroup. */
	if (!group->version_1)
		return 0;
	skel->rodata->kd_follow_fork = 1;
	if (skel->rodata->kd_hierarchy)
		return 0;
	log_error("the hierarchy of control group %s is not known", group->path);
	log_hint("give processes with --pid and --follow-fork");
	return EX_OSERR;
}
