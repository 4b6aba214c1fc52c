// SPDX-License-Identifier: Apache-2.0
#include "resolve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../cli/exit_status.h"
#include "../cli/log.h"
#include "choices.h"
#include "elf_file.h"
#include "functions.h"
#include "kernel.h"
#include "names.h"
#include "object_choose.h"
#include "objects.h"
#include "usdt.h"

#define MAX_PLACES FUNCTIONS_MAX
#define ELSEWHERE_SECONDS 1

/* A place, and what of it is to be freed. */
struct entry {
	struct place place;
	char *group, *name;
};

/* An object's file, open for all its places. */
struct binary {
	int fd;
	struct elf_file *elf; /* NULL: no longer needed */
	char *path;
};

struct places {
	struct entry *entries;
	size_t n;
	struct binary *binaries;
	size_t n_binaries;
};

/* What a search has in hand. */
struct search {
	const struct trigger *trigger;
	pid_t pid;
	struct objects *objects;
	struct places *places;
};

void places_free(struct places *places)
{
	if (!places)
		return;
	for (size_t i = 0; i < places->n; i++) {
		free(places->entries[i].group);
		free(places->entries[i].name);
	}
	for (size_t i = 0; i < places->n_binaries; i++) {
		elf_file_close(places->binaries[i].elf);
		close(places->binaries[i].fd);
		free(places->binaries[i].path);
	}
	free(places->entries);
	free(places->binaries);
	free(places);
}

size_t places_count(const struct places *places)
{
	return places->n;
}

const struct place *places_get(const struct places *places, size_t index)
{
	return &places->entries[index].place;
}

static int no_memory(void)
{
	log_error("out of memory");
	return EX_OSERR;
}

static int too_many(const struct trigger *trigger)
{
	log_error("%s: there are more than %d places that match", trigger->text, MAX_PLACES);
	log_hint("give a pattern that matches fewer");
	return EX_CONFIG;
}

static bool places_has(const struct places *places, const struct place *place)
{
	for (size_t i = 0; i < places->n; i++) {
		const struct place *other = &places->entries[i].place;

		if (other->fd == place->fd && other->offset == place->offset &&
		    other->semaphore == place->semaphore)
			return true;
	}
	return false;
}

/* Adds a copy of the place, with copies of its group and name. */
static int places_add(struct places *places, const struct trigger *trigger,
		      const struct place *place)
{
	struct entry *entry;

	if (place->fd >= 0 && places_has(places, place))
		return 0;
	if (places->n == MAX_PLACES)
		return too_many(trigger);
	if (!places->entries) {
		places->entries = calloc(MAX_PLACES, sizeof(*places->entries));
		if (!places->entries)
			return no_memory();
	}
	entry = &places->entries[places->n++];
	entry->group = place->group ? strdup(place->group) : NULL;
	entry->name = strdup(place->name);
	if (!entry->name || (place->group && !entry->group))
		return no_memory();
	entry->place = *place;
	entry->place.group = entry->group;
	entry->place.name = entry->name;
	return 0;
}

static int status_of(int err)
{
	switch (err) {
	case -EPERM:
	case -EACCES:
		return EX_NOPERM;
	case -ENOEXEC:
	case -ENOTSUP:
	case -EBADMSG:
	case -E2BIG:
		return EX_CONFIG;
	default:
		return EX_OSERR;
	}
}

static int cannot_read(const struct search *search, const struct object *object, int err)
{
	log_error("%s: cannot read %s: %s", search->trigger->text, object->path,
		  elf_file_error(err));
	if (err == -ESTALE && object->deleted)
		log_hint("it was deleted, and only root with all capabilities can reach it still");
	return status_of(err);
}

/* Opens an object; the places own what was opened. Returns 0 or a -errno. */
static int binary_open(struct binary **binary, struct search *search, const struct object *object)
{
	struct places *places = search->places;
	struct binary *opened;
	int err;

	if (!places->binaries) {
		places->binaries = calloc(objects_count(search->objects),
					  sizeof(*places->binaries));
		if (!places->binaries)
			return -ENOMEM;
	}
	opened = &places->binaries[places->n_binaries];
	opened->path = strdup(object->path);
	if (!opened->path)
		return -ENOMEM;
	opened->fd = objects_open(search->objects, object);
	err = opened->fd < 0 ? opened->fd : elf_file_open(&opened->elf, opened->fd);
	if (err) {
		free(opened->path);
		if (opened->fd >= 0)
			close(opened->fd);
		return err;
	}
	places->n_binaries++;
	*binary = opened;
	return 0;
}

/* Closes the one that was opened last, which has no places. */
static void binary_close(struct places *places)
{
	struct binary *binary = &places->binaries[--places->n_binaries];

	elf_file_close(binary->elf);
	close(binary->fd);
	free(binary->path);
}

/* The first word of a trigger, such as "up". */
#define KIND_FORMAT "%.*s"
#define KIND(trigger) (int)strcspn((trigger)->text, ":"), (trigger)->text

/* --- Functions --- */

static int address_outside(const struct search *search, const struct object *object,
			   const struct binary *binary)
{
	const struct trigger *trigger = search->trigger;
	uint64_t start, end;

	log_error("%s: 0x%lx is not in the code of %s", trigger->text,
		  trigger->address + trigger->offset, object_basename(object));
	if (elf_file_code(binary->elf, &start, &end))
		log_hint("its code is at 0x%lx-0x%lx: give an address as nm or objdump show it",
			 start, end - 1);
	return EX_CONFIG;
}

static int address_find(struct search *search, const struct object *object,
			const struct binary *binary)
{
	const struct trigger *trigger = search->trigger;
	struct place place = { .fd = binary->fd, .object = binary->path, .name = "" };
	uint64_t address;

	if (__builtin_add_overflow(trigger->address, trigger->offset, &address) ||
	    !elf_file_offset(binary->elf, address, PF_X, &place.offset))
		return address_outside(search, object, binary);
	return places_add(search->places, trigger, &place);
}

static bool deadline_is_over(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec - start->tv_sec > ELSEWHERE_SECONDS;
}

/* Which other objects have such functions: for a hint, which is not worth much time. */
static void functions_list_elsewhere(struct search *search, const struct object *but,
				     struct choices *choices)
{
	struct timespec start;

	clock_gettime(CLOCK_MONOTONIC, &start);
	for (size_t i = 0; i < objects_count(search->objects) && !deadline_is_over(&start); i++) {
		const struct object *object = objects_get(search->objects, i);
		struct functions functions;
		struct binary *binary;

		if (object == but || binary_open(&binary, search, object))
			continue;
		if (!functions_find(&functions, binary->elf, search->pid, object->path,
				    search->trigger->name, NULL) &&
		    (functions.n || functions.too_many))
			choices_add(choices, KIND_FORMAT ":%s:%s", KIND(search->trigger),
				    object_label(search->objects, object), search->trigger->name);
		functions_clear(&functions);
		binary_close(search->places);
	}
}

static int functions_absent(struct search *search, const struct object *object,
			    const struct functions *functions, struct names_closest *closest)
{
	const struct trigger *trigger = search->trigger;
	struct choices choices = { .n = 0 };
	char prefix[512];

	if (functions->resolvers) {
		log_error("%s: in %s this is an IFUNC: code that runs once, to choose the function",
			  trigger->text, object_basename(object));
		log_hint("probe the function that it chose, by its own name or address "
			 "(" KIND_FORMAT ":OBJECT:0xADDR)",
			 KIND(trigger));
		return EX_CONFIG;
	}
	log_error("%s: %s has no function %s%s", trigger->text, object_basename(object),
		  trigger_is_glob(trigger) ? "that matches " : "", trigger->name);
	if (!trigger->object)
		functions_list_elsewhere(search, object, &choices);
	if (choices.n) {
		choices_hint(&choices);
		return EX_CONFIG;
	}
	snprintf(prefix, sizeof(prefix), KIND_FORMAT ":%s%s", KIND(trigger),
		 trigger->object ? trigger->object : "", trigger->object ? ":" : "");
	names_closest_hint(closest, prefix,
			   functions->any
				   ? "--list-probes shows what there is"
				   : "it is stripped of all names: install its debug "
				     "symbols, or give the address of an instruction's "
				     "first byte (up:OBJECT:0xADDR; any other may crash it)");
	return EX_CONFIG;
}

static int functions_ambiguous(const struct search *search, const struct object *object,
			       const struct functions *functions)
{
	const char *label = object_label(search->objects, object);
	struct choices choices = { .n = 0 };

	for (size_t i = 0; i < functions->n; i++)
		choices_add(&choices, KIND_FORMAT ":%s:0x%lx", KIND(search->trigger), label,
			    functions->all[i].address + search->trigger->offset);
	log_error("%s: %s has %zu functions of this name", search->trigger->text,
		  object_basename(object), functions->n);
	choices_hint(&choices);
	return EX_CONFIG;
}

static int functions_add_places(struct search *search, const struct binary *binary,
				const struct functions *functions)
{
	const struct trigger *trigger = search->trigger;
	int status = 0;

	for (size_t i = 0; i < functions->n && !status; i++) {
		const struct function *function = &functions->all[i];
		struct place place = {
			.fd = binary->fd,
			.object = binary->path,
			.name = function->name,
		};
		uint64_t address;

		if ((function->size && trigger->offset >= function->size) ||
		    __builtin_add_overflow(function->address, trigger->offset, &address) ||
		    !elf_file_offset(binary->elf, address, PF_X, &place.offset)) {
			log_error("%s: %s ends after %lu bytes", trigger->text, function->name,
				  function->size);
			log_hint("`objdump -d` shows its instructions and where they begin");
			return EX_CONFIG;
		}
		status = places_add(search->places, trigger, &place);
	}
	return status;
}

static int functions_search(struct search *search, const struct object *object,
			    const struct binary *binary)
{
	struct names_closest closest;
	struct functions functions;
	int status, err;

	names_closest_init(&closest, search->trigger->name);
	err = functions_find(&functions, binary->elf, search->pid, object->path,
			     search->trigger->name, &closest);
	if (err)
		status = cannot_read(search, object, err);
	else if (functions.too_many)
		status = too_many(search->trigger);
	else if (!functions.n)
		status = functions_absent(search, object, &functions, &closest);
	else if (functions.n > 1 && !trigger_is_glob(search->trigger))
		status = functions_ambiguous(search, object, &functions);
	else
		status = functions_add_places(search, binary, &functions);
	functions_clear(&functions);
	names_closest_clear(&closest);
	return status;
}

/* --- USDT --- */

/* The search in one object. */
struct usdt_search {
	struct search *search;
	const struct binary *binary;
	struct names_closest *closest;
	size_t unusable;
	int status;
};

static int usdt_take(void *context, const struct usdt_site *site)
{
	struct usdt_search *usdt = context;
	const struct trigger *trigger = usdt->search->trigger;
	struct place place = {
		.fd = usdt->binary->fd,
		.object = usdt->binary->path,
		.group = site->provider,
		.name = site->name,
		.offset = site->offset,
		.semaphore = site->semaphore_offset,
	};
	char full[512];

	if (!names_match(trigger->group, site->provider) ||
	    !names_match(trigger->name, site->name)) {
		snprintf(full, sizeof(full), "%s:%s", site->provider, site->name);
		names_closest_offer(usdt->closest, full);
		return 0;
	}
	usdt->unusable += !site->usable;
	if (site->usable)
		usdt->status = places_add(usdt->search->places, trigger, &place);
	return usdt->status;
}

static int usdt_search_object(struct search *search, const struct object *object,
			      const struct binary *binary, struct names_closest *closest,
			      bool optional)
{
	struct usdt_search usdt = { .search = search, .binary = binary, .closest = closest };
	size_t before = search->places->n;
	int err = usdt_each(binary->elf, usdt_take, &usdt);

	if (usdt.status || optional)
		return usdt.status;
	if (err)
		return cannot_read(search, object, err);
	if (!usdt.unusable)
		return 0;
	if (search->places->n > before) {
		log_warn("%s: %zu more are left out: %s does not have their addresses",
			 search->trigger->text, usdt.unusable, object_basename(object));
		return 0;
	}
	log_error("%s: %s does not have the addresses that it gives for this probe",
		  search->trigger->text, object_basename(object));
	return EX_CONFIG;
}

static int usdt_absent(const struct search *search, const struct object *object,
		       const struct names_closest *closest)
{
	const struct trigger *trigger = search->trigger;
	char prefix[512];

	if (trigger->object)
		log_error("%s: %s has no such USDT probe", trigger->text, object_basename(object));
	else
		log_error("%s: neither %s nor its %zu shared objects have such a USDT probe",
			  trigger->text, object_basename(object),
			  objects_count(search->objects) - 1);
	snprintf(prefix, sizeof(prefix), KIND_FORMAT ":%s%s", KIND(trigger),
		 trigger->object ? trigger->object : "", trigger->object ? ":" : "");
	names_closest_hint(closest, prefix, "--list-probes shows what there is");
	return EX_CONFIG;
}

/* What is not in the program may be in its shared objects: in one of them, or, for
 * a pattern, in any. */
static int usdt_search_all(struct search *search, const struct object *program,
			   struct names_closest *closest)
{
	struct choices choices = { .n = 0 };
	int status = 0;

	for (size_t i = 0; i < objects_count(search->objects) && !status; i++) {
		const struct object *object = objects_get(search->objects, i);
		size_t before = search->places->n;
		struct binary *binary;

		/* What cannot be read is not meant. */
		if (object == program || binary_open(&binary, search, object))
			continue;
		status = usdt_search_object(search, object, binary, closest, true);
		if (search->places->n > before)
			choices_add(&choices, KIND_FORMAT ":%s:%s:%s", KIND(search->trigger),
				    object_label(search->objects, object), search->trigger->group,
				    search->trigger->name);
		else
			binary_close(search->places);
	}
	if (status)
		return status;
	if (!choices.n)
		return usdt_absent(search, program, closest);
	if (choices.n == 1 || trigger_is_glob(search->trigger))
		return 0;
	log_error("%s: %zu objects have this probe", search->trigger->text, choices.n);
	choices_hint(&choices);
	return EX_CONFIG;
}

static int usdt_find(struct search *search, const struct object *object,
		     const struct binary *binary)
{
	struct names_closest closest;
	char wanted[512];
	int status;

	snprintf(wanted, sizeof(wanted), "%s:%s", search->trigger->group, search->trigger->name);
	names_closest_init(&closest, wanted);
	status = usdt_search_object(search, object, binary, &closest, false);
	if (!status && !search->places->n) {
		if (search->trigger->object)
			status = usdt_absent(search, object, &closest);
		else
			status = usdt_search_all(search, object, &closest);
	}
	names_closest_clear(&closest);
	return status;
}

/* --- All of them --- */

static int cannot_look(pid_t pid, int err)
{
	switch (err) {
	case -ESRCH:
		log_error("process %d is gone", (int)pid);
		return EX_UNAVAILABLE;
	case -EPERM:
	case -EACCES:
		log_error("not permitted to see what process %d has mapped", (int)pid);
		log_hint("run it as root, with CAP_SYS_PTRACE");
		return EX_NOPERM;
	default:
		log_error("cannot see what process %d has mapped: %s", (int)pid, strerror(-err));
		return EX_OSERR;
	}
}

static int search_objects(struct search *search)
{
	const struct object *object;
	struct binary *binary;
	int err, status;

	err = objects_read(&search->objects, search->pid);
	if (err)
		return cannot_look(search->pid, err);
	status = object_choose(&object, search->objects, search->trigger);
	if (status)
		return status;
	err = binary_open(&binary, search, object);
	if (err)
		return cannot_read(search, object, err);
	if (search->trigger->kind == TRIGGER_USDT)
		return usdt_find(search, object, binary);
	if (search->trigger->name)
		return functions_search(search, object, binary);
	return address_find(search, object, binary);
}

static int kernel_take(void *context, const char *group, const char *name, uint64_t offset)
{
	const struct search *search = context;
	struct place place = { .fd = -1, .group = group, .name = name, .offset = offset };

	return places_add(search->places, search->trigger, &place);
}

int places_find(struct places **places, const struct trigger *trigger, pid_t pid)
{
	struct search search = { .trigger = trigger, .pid = pid };
	int status;

	*places = search.places = calloc(1, sizeof(**places));
	if (!*places)
		return no_memory();
	if (trigger_is_user(trigger)) {
		status = search_objects(&search);
		objects_free(search.objects);
	} else {
		status = kernel_find(trigger, kernel_take, &search);
	}
	if (status) {
		places_free(*places);
		*places = NULL;
		return status;
	}
	/* The files stay open to be attached to; their tables have served. */
	for (size_t i = 0; i < (*places)->n_binaries; i++) {
		elf_file_close((*places)->binaries[i].elf);
		(*places)->binaries[i].elf = NULL;
	}
	return 0;
}
