/* SPDX-License-Identifier: Apache-2.0 */
#include "text_who.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/escape.h"
#include "cli/base/texts.h"
#include "text_parts.h"

#define NAME_SIZE 21 /* bytes of an escaped name with its NUL; columns are never more */

const char *text_who(char who[static WHO_LEN], const char *comm, size_t size, pid_t tid)
{
	char name[NAME_SIZE];

	escape_text(name, sizeof(name), comm, size);
	if (tid)
		snprintf(who, WHO_LEN, "%s[%d]", *name ? name : "thread", (int)tid);
	else
		snprintf(who, WHO_LEN, "%s", name);
	return who;
}

static const char *const nouns[CAUSES] = {
	[CAUSE_TASK] = "others",     [CAUSE_OWN_THREADS] = "threads",
	[CAUSE_LOCK] = "threads",    [CAUSE_KERNEL_LOCK] = "threads",
	[CAUSE_PEER] = "threads",    [CAUSE_STOPPED] = "threads",
	[CAUSE_RT_LIMIT] = "others",
};

/* Those at other ends are often of several processes. */
static const char *noun(const struct verdict_row *row)
{
	if (row->cause == CAUSE_CHILD || (row->cause == CAUSE_PEER && !row->who.pid))
		return "processes";
	return nouns[row->cause] ?: "others";
}

/* "8 processes of /batch", "10 children of deploy.sh[812]", "12 kernel threads", "10 others". */
static void origin_text(char who[static WHO_LEN], const struct verdict_row *row, size_t width)
{
	char group[ESCAPE_SIZE(CULPRIT_GROUP_LEN)], parent[NAME_SIZE];
	bool children = row->common == COMMON_CHILDREN || row->common == COMMON_PARENT;

	text_path_cut(group, sizeof(group), row->who.group, sizeof(row->who.group), width);
	escape_text(parent, sizeof(parent), row->who.parent_name, sizeof(row->who.parent_name));
	if (row->common == COMMON_GROUP) {
		snprintf(who, WHO_LEN, "%u processes of %.200s", row->culprits, group);
	} else if (row->who.kernel) {
		snprintf(who, WHO_LEN, "%u kernel threads", row->culprits);
	} else if (children) {
		snprintf(who, WHO_LEN, "%u children of %s[%d]", row->culprits,
			 *parent ? parent : "process", (int)row->who.parent);
	} else {
		snprintf(who, WHO_LEN, "%u %s", row->culprits, noun(row));
	}
}

/* Adds " (over0, over1, ...)", or the name that all of them have. */
static void members_add(char who[static WHO_LEN], const struct verdict_row *row)
{
	char name[NAME_SIZE];

	if (*row->who.comm) {
		escape_text(name, sizeof(name), row->who.comm, KD_COMM_LEN);
		text_append(who, WHO_LEN, " (%s)", name);
		return;
	}
	for (size_t i = 0; i < VERDICT_MEMBERS; i++) {
		escape_text(name, sizeof(name), row->members[i], KD_COMM_LEN);
		if (!i || strncmp(row->members[i], row->members[0], KD_COMM_LEN) != 0)
			text_append(who, WHO_LEN, "%s%s", i ? ", " : " (", name);
	}
	text_append(who, WHO_LEN, ", ...)");
}

bool text_is_program(const struct verdict_row *row)
{
	return row->cause == CAUSE_CHILD && !row->who.tid && *row->who.comm;
}

const char *text_row_who(char who[static WHO_LEN], const struct verdict_row *row)
{
	char name[NAME_SIZE];

	if (row->common != COMMON_NOTHING) {
		origin_text(who, row, PATH_WIDTH);
		members_add(who, row);
		return who;
	}
	if (text_is_program(row)) {
		text_who(who, row->who.comm, KD_COMM_LEN, 0);
		text_append(who, WHO_LEN, " (%" PRIu64 " times)", row->count);
		return who;
	}
	if (row->culprits <= 1 || row->who.tid || !nouns[row->cause])
		return text_who(who, row->who.comm, sizeof(row->who.comm), row->who.tid);
	escape_text(name, sizeof(name), row->who.comm, sizeof(row->who.comm));
	snprintf(who, WHO_LEN, "%u%s %s%s%s%s", row->culprits, row->and_others ? " or more" : "",
		 noun(row), *name ? " (" : "", name, *name ? ")" : "");
	return who;
}

const char *text_row_who_brief(char who[static WHO_LEN], const struct verdict_row *row,
			       size_t width)
{
	const size_t others = strlen("9 processes of ");

	if (row->common == COMMON_NOTHING || row->common == COMMON_PROGRAM)
		return text_row_who(who, row);
	origin_text(who, row, width - others);
	if (!row->who.kernel && row->common != COMMON_GROUP && strchr(who, '['))
		*strrchr(who, '[') = '\0'; /* without the PID */
	while (escape_width(who) > width) {
		size_t end = strlen(who) - 1;

		while ((who[end] & 0xc0) == 0x80) /* inside a character */
			end--;
		who[end] = '\0';
	}
	return who;
}
