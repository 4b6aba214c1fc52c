// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "container.h"

#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/proc_file.h"
#include "group.h"

/* --- Cgroup paths, and files of runtimes --- */

#define HEXADECIMAL "0123456789abcdef"
#define SCOPE ".scope"
#define SLICE ".slice"

/* --- Paths --- */

static bool is_id(const char *text, size_t length)
{
	return length == CONTAINER_ID && strspn(text, HEXADECIMAL) >= length;
}

/* Groups are ID, NAME-ID or NAME-ID.scope, as made by runc and crun with or without systemd. A
 * runtime that lacks the systemd it expects makes SLICE:NAME:ID. Groups of container monitors do
 * not count. */
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

/* A pod's group is podUID, or with systemd kubepods-CLASS-podUID.slice, with _ for - in the UID.
 * Static pods have 32 digits. */
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

/* Finds the innermost container of a cgroup path, and its pod: docker, podman, containerd, CRI-O
 * and Kubernetes, with plain or systemd groups. Returns whether there is one. */
static bool container_parse(struct container *container, const char *path)
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

/* --- Processes --- */

/* Preference of a hierarchy: higher is better. */
static unsigned int rank_of(const char *controllers)
{
	return !*controllers ? 3 : group_list_has(controllers, "cpu") ? 2 : 1;
}

bool container_of(const char *proc, pid_t pid, struct container *container, char *path, size_t size)
{
	struct container found;
	struct group_line line;
	unsigned int best = 0;
	char name[PATH_MAX];
	FILE *file;

	memset(container, 0, sizeof(*container));
	snprintf(name, sizeof(name), "%s/%d/cgroup", proc, (int)pid);
	file = fopen(name, "re");
	while (group_line_read(&line, file)) {
		unsigned int rank = rank_of(line.controllers);

		if (rank <= best || strlen(line.path) >= size ||
		    !container_parse(&found, line.path))
			continue;
		best = rank;
		*container = found;
		strcpy(path, line.path);
	}
	if (file)
		fclose(file);
	return best;
}

/* --- Files of the runtimes --- */

#define FILE_MAX (16 << 20) /* bytes; podman has a single file for all containers */

static const char *const tasks[] = {
	"/run/containerd/io.containerd.runtime.v2.task",
	"/run/k3s/containerd/io.containerd.runtime.v2.task",
};
static const char *const storages[] = {
	"/var/lib/containers/storage/overlay-containers/containers.json",
	"/var/lib/containers/storage/overlay-containers/volatile-containers.json", /* --rm */
};

/* Keys of labels and annotations, of which the first one present counts: pkg/cri/annotations of
 * containerd, pkg/annotations of CRI-O, pkg/labels of nerdctl, and the kubelet's labels. */
static const struct {
	size_t label; /* offset in struct container_names */
	const char *key;
} annotations[] = {
	{ offsetof(struct container_names, name), "io.kubernetes.cri.container-name" },
	{ offsetof(struct container_names, name), "io.kubernetes.container.name" },
	{ offsetof(struct container_names, name), "nerdctl/name" },
	{ offsetof(struct container_names, image), "io.kubernetes.cri.image-name" },
	{ offsetof(struct container_names, image), "io.kubernetes.cri-o.ImageName" },
	{ offsetof(struct container_names, pod), "io.kubernetes.cri.sandbox-name" },
	{ offsetof(struct container_names, pod), "io.kubernetes.pod.name" },
};

/* NULL: no such file, or not trustworthy. */
static json_t *document_read(const char *path)
{
	/* Opening a pipe would wait for its writer. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	json_t *document = NULL;
	struct stat status;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_size <= FILE_MAX &&
	    (!status.st_uid || status.st_uid == geteuid()) && !(status.st_mode & S_IWOTH))
		document = json_loadfd(fd, 0, NULL);
	close(fd);
	return document;
}

/* Stores a text member, unless set already. */
static void text_take(char label[static PROCESS_LABEL], const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	if (text && !*label)
		snprintf(label, PROCESS_LABEL, "%s", text);
}

static void annotations_take(struct container_names *names, const json_t *object)
{
	for (size_t i = 0; i < sizeof(annotations) / sizeof(*annotations); i++)
		text_take((char *)names + annotations[i].label, object, annotations[i].key);
}

/* docker: names are paths, "/web". An image chooses its labels freely: they only count for
 * Kubernetes containers, whose names have a fixed prefix. */
static bool docker_read(struct container_names *names, const char *root, const char *id)
{
	char path[PATH_MAX], own[PROCESS_LABEL] = "";
	const json_t *config;
	json_t *document;

	snprintf(path, sizeof(path), "%s/var/lib/docker/containers/%s/config.v2.json", root, id);
	document = document_read(path);
	if (!document)
		return false;
	config = json_object_get(document, "Config");
	text_take(own, document, "Name");
	if (!strncmp(own, "/k8s_", strlen("/k8s_")))
		annotations_take(names, json_object_get(config, "Labels"));
	if (!*names->name)
		memcpy(names->name, own + (*own == '/'), sizeof(own) - 1);
	text_take(names->image, config, "Image");
	json_decref(document);
	return true;
}

/* Reads the OCI configuration of a container. */
static bool bundle_read(struct container_names *names, const char *path)
{
	json_t *document = document_read(path);

	if (!document)
		return false;
	annotations_take(names, json_object_get(document, "annotations"));
	json_decref(document);
	return true;
}

/* containerd has a directory per namespace. */
static bool containerd_read(struct container_names *names, const char *root, const char *tasks_of,
			    const char *id)
{
	char path[PATH_MAX], file[2 * PATH_MAX];
	struct dirent *entry;
	bool found = false;
	DIR *spaces;

	snprintf(path, sizeof(path), "%s%s", root, tasks_of);
	spaces = opendir(path);
	while (spaces && !found && (entry = readdir(spaces))) {
		if (*entry->d_name == '.')
			continue;
		snprintf(file, sizeof(file), "%s/%s/%s/config.json", path, entry->d_name, id);
		found = bundle_read(names, file);
	}
	if (spaces)
		closedir(spaces);
	return found;
}

/* Reads an element of the list of containers/storage: metadata is JSON in a string. */
static void storage_take(struct container_names *names, const json_t *element)
{
	const char *text = json_string_value(json_object_get(element, "metadata"));
	const char *name = json_string_value(json_array_get(json_object_get(element, "names"), 0));
	json_t *metadata = text ? json_loads(text, 0, NULL) : NULL;

	text_take(names->image, metadata, "image-name");
	if (name && !*names->name)
		snprintf(names->name, sizeof(names->name), "%s", name);
	json_decref(metadata);
}

/* podman and CRI-O */
static bool storage_read(struct container_names *names, const char *root, const char *storage,
			 const char *id)
{
	char path[PATH_MAX];
	const json_t *element;
	const char *other;
	bool found = false;
	json_t *list;
	size_t i;

	snprintf(path, sizeof(path), "%s%s", root, storage);
	list = document_read(path);
	json_array_foreach(list, i, element)
	{
		other = json_string_value(json_object_get(element, "id"));
		if (!other || strcmp(other, id) != 0)
			continue;
		storage_take(names, element);
		found = true;
	}
	json_decref(list);
	return found;
}

void container_describe(const char *root, const char id[static CONTAINER_ID + 1],
			struct container_names *names)
{
	char path[PATH_MAX];
	bool found;

	memset(names, 0, sizeof(*names));
	found = docker_read(names, root, id);
	for (size_t i = 0; !found && i < sizeof(tasks) / sizeof(*tasks); i++)
		found = containerd_read(names, root, tasks[i], id);
	if (found)
		return;
	/* CRI-O knows the names of Kubernetes: they precede those it derives. */
	snprintf(path, sizeof(path),
		 "%s/run/containers/storage/overlay-containers/%s/userdata/config.json", root, id);
	bundle_read(names, path);
	for (size_t i = 0; !found && i < sizeof(storages) / sizeof(*storages); i++)
		found = storage_read(names, root, storages[i], id);
}
