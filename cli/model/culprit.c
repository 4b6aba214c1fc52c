// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "culprit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "cli/base/arith.h"

/* include/linux/sched/prio.h */
#define MAX_RT_PRIO 100
#define DEFAULT_PRIO 120

/* include/uapi/linux/sched.h */
enum { POLICY_OTHER, POLICY_FIFO, POLICY_RR, POLICY_DEADLINE = 6 };

uint64_t culprit_ns(const struct culprit *culprit)
{
	return u64_add(culprit->woken_ns, culprit->preempted_ns);
}

const char *const culprit_policies[CULPRIT_POLICIES] = {
	"SCHED_OTHER", "SCHED_FIFO", "SCHED_RR",       "SCHED_BATCH",
	"unknown",     "SCHED_IDLE", "SCHED_DEADLINE", "SCHED_EXT",
};

bool culprit_prio_is_real_time(uint32_t prio)
{
	return (int32_t)prio < MAX_RT_PRIO;
}

/* A priority-inheritance boost raises the holder's priority, but not its policy. */
void culprit_set_priority(struct culprit *culprit, uint32_t policy, uint32_t prio)
{
	int32_t kernel = (int32_t)prio;

	culprit->policy = policy < CULPRIT_POLICIES ? policy : CULPRIT_POLICY_UNKNOWN;
	if (kernel >= MAX_RT_PRIO) {
		culprit->priority = kernel - DEFAULT_PRIO;
		return;
	}
	culprit->priority = kernel < 0 ? 0 : MAX_RT_PRIO - 1 - kernel;
	if (policy != POLICY_FIFO && policy != POLICY_RR && policy != POLICY_DEADLINE)
		culprit->policy = kernel < 0 ? POLICY_DEADLINE : POLICY_FIFO;
}

static bool same_one(const struct culprit *a, const struct culprit *b)
{
	if (a->kind != b->kind || a->rt_limit != b->rt_limit)
		return false;
	if (a->kind == CULPRIT_THROTTLED)
		return !strncmp(a->group, b->group, sizeof(a->group));
	return a->kind != CULPRIT_TASK ||
	       (a->tid == b->tid && a->pid == b->pid && a->policy == b->policy &&
		a->priority == b->priority && !strncmp(a->name, b->name, sizeof(a->name)));
}

static bool is_named(const struct culprit *culprit)
{
	return culprit->kind < CULPRIT_OWN;
}

static int by_time(const void *a, const void *b)
{
	const struct culprit *x = a, *y = b;

	return ORDER(is_named(y), is_named(x)) ?: ORDER(culprit_ns(y), culprit_ns(x))
		       ?: ORDER(x->kind, y->kind) ?: ORDER(x->pid, y->pid)
		       ?: ORDER(x->tid, y->tid) ?: ORDER(x->priority, y->priority)
		       ?: strncmp(x->group, y->group, sizeof(x->group));
}

void culprits_sort(struct culprit *rows, size_t n)
{
	ARRAY_SORT(rows, n, by_time);
}

/* Returns false without a matching row. */
static bool row_add(struct culprit *rows, size_t n, const struct culprit *culprit)
{
	size_t i = 0;

	while (i < n && !same_one(&rows[i], culprit))
		i++;
	if (i == n)
		return false;
	rows[i].woken_ns = u64_add(rows[i].woken_ns, culprit->woken_ns);
	rows[i].preempted_ns = u64_add(rows[i].preempted_ns, culprit->preempted_ns);
	if (culprit->longest_ns > rows[i].longest_ns)
		rows[i].longest_began = culprit->longest_began;
	rows[i].longest_ns = u64_max(rows[i].longest_ns, culprit->longest_ns);
	if (culprit->period_ns) { /* the latest limit */
		rows[i].quota_ns = culprit->quota_ns;
		rows[i].period_ns = culprit->period_ns;
	}
	return true;
}

/* Merges the tasks with the least time. Returns the number of rows left. */
static size_t rows_fold(struct culprit *rows, size_t n)
{
	size_t left = CULPRITS_MOST / 2;

	culprits_sort(rows, n);
	for (size_t i = left; i < n; i++) {
		struct culprit row = rows[i];

		if (row.kind == CULPRIT_TASK)
			row = (struct culprit){
				.kind = row.own ? CULPRIT_OWN : CULPRIT_REST,
				.own = row.own,
				.rt_limit = row.rt_limit,
				.woken_ns = row.woken_ns,
				.preempted_ns = row.preempted_ns,
				.longest_ns = row.longest_ns,
				.longest_began = row.longest_began,
			};
		if (!row_add(rows, left, &row))
			rows[left++] = row;
	}
	return left;
}

int culprits_add(struct culprit **rows, size_t *n, const struct culprit *culprit)
{
	if (row_add(*rows, *n, culprit))
		return 0;
	if (*n >= CULPRITS_MOST)
		*n = rows_fold(*rows, *n);
	return ARRAY_APPEND(*rows, *n, culprit) ? 0 : -ENOMEM;
}

uint64_t culprits_sum(const struct culprit *rows, size_t n, size_t from)
{
	uint64_t sum = 0;

	for (size_t i = from; i < n; i++)
		sum = u64_add(sum, culprit_ns(&rows[i]));
	return sum;
}

size_t culprits_shown(const struct culprit *rows, size_t n)
{
	size_t shown = 0;

	while (shown < n && shown < CULPRITS_SHOWN && is_named(&rows[shown]))
		shown++;
	return shown;
}

const char *culprit_name(const struct culprit *culprit, char buffer[CULPRIT_NAME_LEN])
{
	bool is_task = culprit->kind == CULPRIT_TASK;

	snprintf(buffer, CULPRIT_NAME_LEN, "%.*s", KD_COMM_LEN,
		 is_task ? culprit->name : culprit_kinds[culprit->kind]);
	return buffer;
}

const char *culprit_label(const struct culprit *culprit, char buffer[CULPRIT_LABEL_LEN])
{
	static const char *const labels[CULPRIT_KINDS] = {
		[CULPRIT_HARDIRQ] = "hard irq",      [CULPRIT_SOFTIRQ] = "soft irq",
		[CULPRIT_IDLE] = "idle CPU",         [CULPRIT_THROTTLED] = "throttled",
		[CULPRIT_OWN] = "own threads",       [CULPRIT_REST] = "the rest",
		[CULPRIT_STOLEN] = "hypervisor",     [CULPRIT_UNKNOWN] = "unexplained",
		[CULPRIT_DEADLINE] = "own deadline",
	};

	if (culprit->kind != CULPRIT_TASK)
		snprintf(buffer, CULPRIT_LABEL_LEN, "%s", labels[culprit->kind]);
	else
		snprintf(buffer, CULPRIT_LABEL_LEN, "%.*s[%d]", KD_COMM_LEN, culprit->name,
			 culprit->tid ? culprit->tid : culprit->pid);
	return buffer;
}

bool quota_use_is_others(const struct quota_use *use)
{
	return (!use->own && use->used_ns > use->all_ns / 2) ||
	       (use->has_target && use->target_ns <= use->all_ns / 2 && use->all_ns);
}
