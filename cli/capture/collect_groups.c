// SPDX-License-Identifier: Apache-2.0
#include "collect_groups.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "cli/model/sample.h"
#include "cli/model/thread_row.h"
#include "cli/model/verdict_row.h"

#define QUOTA_USERS 128

/* --- Who used up a quota --- */

/* Replaces the older reading. Without memory there is none. */
static void watch_read(struct quota_watch *watch, pid_t pid)
{
	struct quota_user *users = watch->users[0];

	if (!users)
		users = calloc(QUOTA_USERS, sizeof(*users));
	watch->users[0] = watch->users[1];
	watch->n[0] = watch->n[1];
	watch->users[1] = users;
	watch->n[1] = users ? quota_users_read("", pid, users, QUOTA_USERS) : 0;
}

void quota_watch_look(struct quota_watch *watch, pid_t pid, bool open)
{
	const uint64_t now = clock_monotonic();

	if ((open && watch->users[1]) || now < watch->due)
		return;
	watch_read(watch, pid);
	watch->due = now + NSEC_PER_SEC;
}

/* Since the older reading. */
static uint64_t used_ns(const struct quota_watch *watch, const struct quota_user *user)
{
	for (size_t i = 0; i < watch->n[0]; i++) {
		const struct quota_user *before = &watch->users[0][i];

		if (before->pid == user->pid && before->at_least == user->at_least &&
		    !strcmp(before->group, user->group) && !strcmp(before->of, user->of))
			return u64_sub(user->ns, before->ns);
	}
	return user->ns;
}

/* A process of the target's own group. */
static void process_use_add(const struct sample *sample, const struct quota_user *user, uint64_t ns,
			    struct quota_use *use)
{
	if (sample_has_process(sample, user->pid)) {
		use->has_target = true;
		use->target_ns = u64_add(use->target_ns, ns);
	} else if (ns > use->pid_ns) {
		use->pid = user->pid;
		use->pid_ns = ns;
		memcpy(use->name, user->name, sizeof(use->name));
	}
}

static void quota_use_find(const struct quota_watch *watch, const char *group,
			   const struct sample *sample, struct quota_use *use)
{
	uint64_t least = 0;

	for (size_t i = 0; i < watch->n[1]; i++) {
		const struct quota_user *user = &watch->users[1][i];
		const uint64_t ns = used_ns(watch, user);

		if (user->pid)
			process_use_add(sample, user, ns, use);
		if (user->pid || strcmp(user->of, group) != 0)
			continue;
		if (user->at_least) {
			least = ns;
			continue;
		}
		use->all_ns = u64_add(use->all_ns, ns);
		if (ns <= use->used_ns)
			continue;
		use->used_ns = ns;
		use->own = user->own;
		memcpy(use->user, user->group, sizeof(use->user));
	}
	use->all_ns = u64_max(use->all_ns, least);
	if (use->used_ns)
		memcpy(use->group, group, sizeof(use->group));
}

void quota_watch_clear(struct quota_watch *watch)
{
	free(watch->users[0]);
	free(watch->users[1]);
	memset(watch, 0, sizeof(*watch));
}

/* --- Rules of the scheduler --- */

static uint64_t waited_ns(const struct thread_row *thread)
{
	return u64_add(u64_add(thread->ledger.ns[LEDGER_READY_WOKEN],
			       thread->ledger.ns[LEDGER_READY_PREEMPTED]),
		       thread->ledger.ns[LEDGER_THROTTLED]);
}

static const struct culprit *largest_culprit(const struct thread_row *thread,
					     enum culprit_kind kind)
{
	const struct culprit *most = NULL;

	for (size_t i = 0; i < thread->n_culprits; i++) {
		const struct culprit *culprit = &thread->culprits[i];

		if (culprit->kind == kind && !culprit->own &&
		    (!most || culprit_ns(culprit) > culprit_ns(most)))
			most = culprit;
	}
	return most;
}

void cpu_rules_take(struct quota_watch *watch, struct sample *sample)
{
	const struct thread_row *thread = sample_most(sample, waited_ns, VERDICT_LEAST);
	const uint64_t now = clock_monotonic();
	const struct culprit *rival, *quota;
	pid_t rival_pid;

	if (!thread)
		return;
	rival = largest_culprit(thread, CULPRIT_TASK);
	rival_pid = rival ? rival->pid : 0;
	if (thread->tid != watch->rules.tid || rival_pid != watch->rules.rival ||
	    now >= watch->rules_due) {
		cpu_rules_read("", thread->tid, rival_pid, &watch->rules);
		watch->rules_due = now + NSEC_PER_SEC;
	}
	sample->cpu_rules = watch->rules;
	quota = largest_culprit(thread, CULPRIT_THROTTLED);
	if (!quota || !watch->users[1])
		return;
	watch_read(watch, thread_pid(sample, thread));
	quota_use_find(watch, quota->group, sample, &sample->quota_use);
}
