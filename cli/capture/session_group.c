// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "session_group.h"

#include <bpf/libbpf.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "bpf/kernel_delay.h"
#include "cli/base/log.h"
#include "cli/base/parse.h"
#include "kernel_delay.skel.h"

/* The kernel's number of a hierarchy, as in /proc/self/cgroup; 0: it has none of version 1. */
static uint32_t hierarchy_of(const struct control_group *group)
{
	char line[PATH_MAX + GROUP_CONTROLLERS + 16], *controllers, *path;
	FILE *file = group->version_1 ? fopen("/proc/self/cgroup", "re") : NULL;
	uint64_t number = 0, found = 0;

	while (file && !found && fgets(line, sizeof(line), file)) {
		controllers = strchr(line, ':');
		path = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!path)
			continue;
		*controllers++ = *path = '\0';
		if (!strcmp(controllers, group->controllers) &&
		    !parse_u64(line, 1, UINT32_MAX, &number))
			found = number;
	}
	if (file)
		fclose(file);
	return (uint32_t)found;
}

exit_status group_select(struct kernel_delay *skel, const struct control_group *group)
{
	skel->rodata->kd_group = group->id;
	skel->rodata->kd_hierarchy = hierarchy_of(group);
	/* Of version 1 a child is born in its parent's group. */
	if (!group->version_1)
		return 0;
	skel->rodata->kd_follow_fork = 1;
	if (skel->rodata->kd_hierarchy)
		return 0;
	log_error("the hierarchy of control group %s is not known", group->path);
	log_hint("give processes with --pid and --follow-fork");
	return EX_OSERR;
}
