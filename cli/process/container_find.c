// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "container_find.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "cli/base/log.h"
#include "cli/base/proc_file.h"
#include "container.h"
#include "target.h"

#define PREFIX_LEAST 4 /* digits of an ID */
#define ID_SHOWN 12    /* as the runtimes show them */
#define LISTED 8

/* A container that has processes. */
struct running {
	struct container is;
	struct container_names names;
	char *path; /* of a control group in it */
};

struct running_list {
	struct running *all;
	size_t n, room;
	bool no_memory;
};

/* Whether this is the group of a container, or one in it. Whoever may make groups can give one the
 * ID of another's container. */
static bool is_there(const struct running *running, const struct container *container,
		     const char *path)
{
	return !strcmp(running->is.id, container->id) && running->is.end == container->end &&
	       !strncmp(running->path, path, container->end);
}

static void list_add(void *context, pid_t pid, const char *comm)
{
	struct running_list *list = context;
	struct running *running;
	struct container container;
	char path[PATH_MAX];

	(void)comm;
	if (!container_of("/proc", proc_thread(pid), &container, path, sizeof(path)))
		return;
	for (size_t i = 0; i < list->n; i++)
		if (is_there(&list->all[i], &container, path))
			return;
	if (ARRAY_GROW(list->all, list->n, list->room)) {
		list->no_memory = true;
		return;
	}
	running = &list->all[list->n];
	*running = (struct running){ .is = container, .path = strdup(path) };
	if (!running->path) {
		list->no_memory = true;
		return;
	}
	container_describe("", container.id, &running->names);
	list->n++;
}

static void list_clear(struct running_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->all[i].path);
	free(list->all);
}

/* How a word can mean a container; the first that fits counts. */
enum meaning {
	MEANS_ID,
	MEANS_NAME,
	MEANS_NAME_IN_POD,
	MEANS_POD,
	MEANS_PREFIX,
	MEANINGS,
};

static bool is_same(const char *word, const char *text)
{
	return *text && !strcmp(word, text);
}

static bool is_pod_and_name(const struct container_names *names, const char *word)
{
	size_t length = strlen(names->pod);

	return length && !strncmp(word, names->pod, length) && word[length] == '/' &&
	       is_same(word + length + 1, names->name);
}

static bool means(const struct running *running, const char *word, enum meaning meaning)
{
	const struct container_names *names = &running->names;

	switch (meaning) {
	case MEANS_ID:
		return is_same(word, running->is.id);
	case MEANS_NAME:
		return is_same(word, names->name);
	case MEANS_NAME_IN_POD:
		return is_pod_and_name(names, word);
	case MEANS_POD:
		return *running->is.pod &&
		       (is_same(word, names->pod) || is_same(word, running->is.pod));
	default:
		return strlen(word) >= PREFIX_LEAST && !strncmp(word, running->is.id, strlen(word));
	}
}

static void list_hint(const struct running_list *list, const char *word, enum meaning meaning)
{
	char text[LISTED * (ID_SHOWN + 2 * PROCESS_LABEL + 16)] = "";
	size_t length = 0, n = 0;

	for (size_t i = 0; i < list->n && n < LISTED; i++) {
		const struct running *running = &list->all[i];
		const struct container_names *names = &running->names;

		if (meaning < MEANINGS && !means(running, word, meaning))
			continue;
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%.*s (%s%s%s)",
					   n++ ? ", " : "", ID_SHOWN, running->is.id, names->pod,
					   *names->pod ? "/" : "",
					   *names->name ? names->name : "name not known");
	}
	if (n)
		log_hint("%s: %s", meaning < MEANINGS ? "give the ID of one" : "containers are",
			 text);
	else
		log_hint("no process is in the control group of a container; --cgroup takes any "
			 "group");
}

/* A pod may have several containers, and is then meant as a whole; all others are to be one.
 * Returns 0, or an exit status after printing what is wrong. */
static exit_status list_choose(const struct running_list *list, const char *word, char *path,
			       size_t size)
{
	for (enum meaning meaning = MEANS_ID; meaning < MEANINGS; meaning++) {
		const struct running *found = NULL;
		size_t end;

		for (size_t i = 0; i < list->n; i++) {
			const struct running *running = &list->all[i];

			if (!means(running, word, meaning))
				continue;
			if (found &&
			    (meaning != MEANS_POD || strcmp(found->is.pod, running->is.pod) != 0)) {
				log_error("several containers are called '%s'", word);
				list_hint(list, word, meaning);
				return EX_NOINPUT;
			}
			found = running;
		}
		if (!found)
			continue;
		end = meaning == MEANS_POD ? found->is.pod_end : found->is.end;
		snprintf(path, size, "%.*s", (int)end, found->path);
		return 0;
	}
	log_error("no container or pod '%s' is running", word);
	list_hint(list, word, MEANINGS);
	return EX_UNAVAILABLE;
}

exit_status container_find(const char *word, char *path, size_t size)
{
	struct running_list list = { 0 };
	int status;

	target_each(list_add, &list);
	status = list.no_memory ? log_no_memory() : list_choose(&list, word, path, size);
	list_clear(&list);
	return status;
}
