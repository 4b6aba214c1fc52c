// SPDX-License-Identifier: Apache-2.0
/* What the runtimes' files say of a container. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "container.h"

#define FILE_MAX (16 << 20) /* bytes; podman's has all containers */

static const char *const tasks[] = {
	"/run/containerd/io.containerd.runtime.v2.task",
	"/run/k3s/containerd/io.containerd.runtime.v2.task",
};
static const char *const storages[] = {
	"/var/lib/containers/storage/overlay-containers/containers.json",
	"/var/lib/containers/storage/overlay-containers/volatile-containers.json", /* --rm */
};

/* Keys of an object that may have what is asked for: the first one that it has counts. */
struct keys {
	const char *name[4], *image[4], *pod[4];
};

/* Of labels and annotations: pkg/cri/annotations of containerd, pkg/annotations of CRI-O,
 * pkg/labels of nerdctl, and the kubelet's labels. */
static const struct keys annotations = {
	.name = { "io.kubernetes.cri.container-name", "io.kubernetes.container.name",
		  "nerdctl/name" },
	.image = { "io.kubernetes.cri.image-name", "io.kubernetes.cri-o.ImageName" },
	.pod = { "io.kubernetes.cri.sandbox-name", "io.kubernetes.pod.name" },
};

/* NULL: there is no such file, or none that can be believed. */
static json_t *document_read(const char *path)
{
	/* A pipe would keep us waiting for its writer. */
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

/* Keeps a member that is text, unless it is known already. */
static void text_take(char label[static PROCESS_LABEL], const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	if (text && !*label)
		snprintf(label, PROCESS_LABEL, "%s", text);
}

static void texts_take(char label[static PROCESS_LABEL], const json_t *object,
		       const char *const keys[4])
{
	for (size_t i = 0; i < 4 && keys[i]; i++)
		text_take(label, object, keys[i]);
}

static void annotations_take(struct container_names *names, const json_t *object)
{
	texts_take(names->name, object, annotations.name);
	texts_take(names->image, object, annotations.image);
	texts_take(names->pod, object, annotations.pod);
}

/* docker: its own names are of paths, "/web". Labels may be the image's, which says what it likes:
 * they count for containers of Kubernetes, whose names begin so. */
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

/* What a runtime of the Open Container Initiative was told. */
static bool bundle_read(struct container_names *names, const char *path)
{
	json_t *document = document_read(path);

	if (!document)
		return false;
	annotations_take(names, json_object_get(document, "annotations"));
	json_decref(document);
	return true;
}

/* containerd has a directory for each of its namespaces. */
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

/* An element of the list that containers/storage keeps: metadata is text that is JSON. */
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
	/* Kubernetes' names, which CRI-O knows, before those that it makes of them. */
	snprintf(path, sizeof(path),
		 "%s/run/containers/storage/overlay-containers/%s/userdata/config.json", root, id);
	bundle_read(names, path);
	for (size_t i = 0; !found && i < sizeof(storages) / sizeof(*storages); i++)
		found = storage_read(names, root, storages[i], id);
}
