// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "children.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"
#include "cli/base/log.h"
#include "cli/base/texts.h"
#include "target.h"

/* Up to so many PIDs are words that people copy. */
#define PIDS_LISTED 16
#define WORDS_LEN (PIDS_LISTED * 12 + 64)

/* A process of the machine. */
struct kin {
	pid_t pid, parent;
	bool watched;
	bool missed; /* its parent is watched, or missed, and it is not */
	char comm[64];
};

struct kin_list {
	struct kin *all; /* by PID */
	size_t n, capacity;
	size_t missed, indirect; /* indirect: whose parents are missed themselves */
};

static int kin_order(const void *a, const void *b)
{
	return ORDER(((const struct kin *)a)->pid, ((const struct kin *)b)->pid);
}

static const struct kin *kin_find(const struct kin_list *list, pid_t pid)
{
	const struct kin key = { .pid = pid };

	return list->n ? bsearch(&key, list->all, list->n, sizeof(key), kin_order) : NULL;
}

/* Returns 0 or -ENOMEM. */
static int kin_read(struct kin_list *list, bool (*is_watched)(const void *context, pid_t pid),
		    const void *context)
{
	struct process_walk walk = { 0 };
	int error = 0;

	while (target_next(&walk)) {
		struct kin kin = { .pid = walk.pid, .parent = walk.stat.parent };

		kin.watched = is_watched(context, walk.pid);
		memcpy(kin.comm, walk.stat.comm, sizeof(kin.comm));
		error = error ?: ARRAY_ADD(list->all, list->n, list->capacity, kin);
	}
	ARRAY_SORT(list->all, list->n, kin_order);
	return error;
}

/* PIDs are no order of births, so it repeats until there are no more. */
static void kin_miss(struct kin_list *list)
{
	size_t before;

	do {
		before = list->missed;
		for (size_t i = 0; i < list->n; i++) {
			struct kin *kin = &list->all[i];
			const struct kin *parent = kin_find(list, kin->parent);

			if (kin->watched || kin->missed || !parent ||
			    (!parent->watched && !parent->missed))
				continue;
			kin->missed = true;
			list->missed++;
			list->indirect += parent->missed;
		}
	} while (list->missed > before);
}

/* A name that is the same to a shell. Processes choose theirs. */
static bool is_plain(const char *comm)
{
	for (size_t i = 0; comm[i]; i++)
		if (!isalnum((unsigned char)comm[i]) && (!i || !strchr("._-", comm[i])))
			return false;
	return *comm;
}

/* The name that all of them have, and nobody else; NULL: none. */
static const char *name_of(const struct kin_list *list)
{
	const char *name = NULL;

	for (size_t i = 0; i < list->n; i++)
		if (list->all[i].missed)
			name = list->all[i].comm;
	if (!name || !is_plain(name))
		return NULL;
	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(list->all[i].comm, name) !=
		    (list->all[i].watched || list->all[i].missed))
			return NULL;
	return name;
}

/* Options that watch all of them; "" if that takes too many words. */
static void words_make(char words[static WORDS_LEN], const struct processes *processes,
		       const struct kin_list *list)
{
	const char *name = name_of(list);
	size_t n = 0;

	*words = '\0';
	if (processes->in_group)
		return;
	if (name) {
		snprintf(words, WORDS_LEN, "-C %s --all", name);
	} else if (processes->n + list->missed <= PIDS_LISTED) {
		for (size_t i = 0; i < list->n; i++)
			if (list->all[i].missed || processes_have(processes, list->all[i].pid))
				text_append(words, WORDS_LEN, "%s%d", n++ ? "," : "-p ",
					    (int)list->all[i].pid);
	} else if (processes->n == 1 && !list->indirect) {
		snprintf(words, WORDS_LEN, "-p %d,$(pgrep -d, -P %d)", (int)processes->all[0].pid,
			 (int)processes->all[0].pid);
	}
}

exit_status children_note(const struct processes *processes,
			  bool (*is_watched)(const void *context, pid_t pid), const void *context)
{
	struct kin_list list = { 0 };
	char words[WORDS_LEN];
	int error = kin_read(&list, is_watched, context);
	bool one;

	if (!error)
		kin_miss(&list);
	if (!error && list.missed) {
		one = list.missed == 1;
		words_make(words, processes, &list);
		log_note("%zu %s of the target%s %s there before, and %s not watched; %s%s",
			 list.missed, one ? "child" : "children",
			 list.indirect ? " and of its children" : "", one ? "was" : "were",
			 one ? "is" : "are", *words ? words : "--cgroup takes all of a group",
			 !*words ? ", see /proc/PID/cgroup"
			 : one   ? " --follow-fork watches it, too"
				 : " --follow-fork watches them, too");
	}
	free(list.all);
	return error ? log_no_memory() : 0;
}
