// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "container.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define HEXADECIMAL "0123456789abcdef"
#define SCOPE ".scope"
#define SLICE ".slice"

/* --- A path --- */

static bool is_id(const char *text, size_t length)
{
	return length == CONTAINER_ID && strspn(text, HEXADECIMAL) >= length;
}

/* A group is ID, NAME-ID or NAME-ID.scope, as runc and crun make them with or without systemd; or,
 * if a runtime that expects systemd does not get it, SLICE:NAME:ID. Groups of the monitors of
 * containers are not theirs. */
static bool id_read(char id[CONTAINER_ID + 1], const char *group, size_t length)
{
	const char *monitor = memmem(group, length, "conmon", strlen("conmon"));
	size_t suffix = strlen(SCOPE);
	const char *at;

	if (length > suffix && !strncmp(group + length - suffix, SCOPE, suffix))
		length -= suffix;
	if (length < CONTAINER_ID || monitor)
		return false;
	at = group + length - CONTAINER_ID;
	if (!is_id(at, CONTAINER_ID) || (at > group && at[-1] != '-' && at[-1] != ':'))
		return false;
	memcpy(id, at, CONTAINER_ID);
	id[CONTAINER_ID] = '\0';
	return true;
}

/* A pod's group is podUID or, of systemd, kubepods-CLASS-podUID.slice, where a - of the UID is
 * _. Those of a node's own pods are 32 digits. */
static bool pod_read(char pod[POD_UID + 1], const char *group, size_t length)
{
	static const char prefix[] = "kubepods";
	size_t suffix = strlen(SLICE), i;
	const char *uid = group;

	if (length > suffix && !strncmp(group + length - suffix, SLICE, suffix)) {
		length -= suffix;
		if (strncmp(group, prefix, sizeof(prefix) - 1) != 0)
			return false;
		uid = memmem(group, length, "-pod", 4);
		if (!uid)
			return false;
		uid++;
	}
	length -= (size_t)(uid - group);
	if (length < 3 + 32 || length > 3 + POD_UID || strncmp(uid, "pod", 3) != 0)
		return false;
	uid += 3;
	length -= 3;
	for (i = 0; i < length && strchr(HEXADECIMAL "_-", uid[i]); i++)
		pod[i] = uid[i] == '_' ? '-' : uid[i];
	pod[i] = '\0';
	return i == length;
}

bool container_parse(struct container *container, const char *path)
{
	char id[CONTAINER_ID + 1], pod[POD_UID + 1];
	const char *group = path;

	memset(container, 0, sizeof(*container));
	for (size_t length; *group; group += length) {
		group += *group == '/';
		length = strcspn(group, "/");
		if (pod_read(pod, group, length)) {
			memcpy(container->pod, pod, sizeof(pod));
			container->pod_end = (size_t)(group - path) + length;
		} else if (id_read(id, group, length)) {
			memcpy(container->id, id, sizeof(id));
			container->end = (size_t)(group - path) + length;
		}
	}
	return *container->id;
}

/* --- A process --- */

/* How much a hierarchy is worth: more is better. */
static unsigned int rank_of(const char *controllers)
{
	size_t length = strcspn(controllers, ":");

	if (!length)
		return 3;
	return !strncmp(controllers, "cpu:", 4) || !strncmp(controllers, "cpu,", 4) ||
			       memmem(controllers, length + 1, ",cpu,", 5) ||
			       memmem(controllers, length + 1, ",cpu:", 5)
		       ? 2
		       : 1;
}

bool container_of(const char *proc, pid_t pid, struct container *container, char *path, size_t size)
{
	char name[PATH_MAX], line[PATH_MAX + 256];
	struct container found;
	unsigned int best = 0;
	FILE *file;

	memset(container, 0, sizeof(*container));
	snprintf(name, sizeof(name), "%s/%d/cgroup", proc, (int)pid);
	file = fopen(name, "re");
	while (file && fgets(line, sizeof(line), file)) {
		char *controllers = strchr(line, ':'), *group;
		unsigned int rank;

		group = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!group)
			continue;
		rank = rank_of(controllers + 1);
		group++;
		group[strcspn(group, "\n")] = '\0';
		if (rank <= best || strlen(group) >= size || !container_parse(&found, group))
			continue;
		best = rank;
		*container = found;
		strcpy(path, group);
	}
	if (file)
		fclose(file);
	return best;
}
