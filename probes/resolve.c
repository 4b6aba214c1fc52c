// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/clock.h"
#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/base/names.h"
#include "cli/sandbox/confine.h"
#include "probes/elf/elf_file.h"
#include "probes/elf/functions.h"
#include "probes/elf/objects.h"
#include "probes/elf/usdt.h"
#include "kernel.h"
#include "reader.h"
#include "return_sites.h"
#include "sites.h"

#define ELSEWHERE_NS (2 * NSEC_PER_SEC)

/* State of a search. */
struct search {
	const struct trigger *trigger;
	pid_t pid;
	struct objects *objects;
	struct sites *sites;
	void *decoder; /* of instructions; NULL: not wanted or absent */
};

static exit_status status_of(int err)
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
		log_hint("it was deleted, and only root with all capabilities can still reach it");
	else if (err == -EACCES && !capability_has(CAP_DAC_READ_SEARCH))
		log_hint("CAP_DAC_READ_SEARCH is missing: run it as root, or grant it");
	return status_of(err);
}

/* The first word of a trigger, such as "up". */
#define KIND_FORMAT "%.*s"
#define KIND(trigger) (int)strcspn((trigger)->text, ":"), (trigger)->text

/* "up:OBJECT:" */
static void prefix_make(char prefix[512], const struct trigger *trigger)
{
	snprintf(prefix, 512, KIND_FORMAT ":%s%s", KIND(trigger), trigger->object ?: "",
		 trigger->object ? ":" : "");
}

/* --- Functions --- */

static exit_status address_outside(const struct search *search, const struct object *object,
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

/* A site in a function's code. */
static struct site function_site(const struct search *search, const struct binary *binary,
				 const struct function *function)
{
	return (struct site){
		.fd = binary->fd,
		.file = binary->file,
		.object = binary->path,
		.name = function->name,
		.on_return = trigger_is_return(search->trigger),
		.go = file_is_go(binary->elf),
	};
}

/* Search for sites at return instructions. */
struct site_search {
	struct search *search;
	const struct binary *binary;
	const char *danger;
};

static exit_status site_take(void *context, const struct function *function, uint64_t address,
			     int64_t into)
{
	const struct site_search *return_search = context;
	struct site site = function_site(return_search->search, return_search->binary, function);

	site.on_return = false;
	site.danger = return_search->danger;
	site.into = into;
	elf_file_offset(return_search->binary->elf, address, PF_X, &site.offset);
	return sites_add(return_search->search->sites, return_search->search->trigger, &site);
}

/* Adds return instructions as sites where a return probe may be deadly. Returns 0 or an exit
 * status; *danger is NULL if a return probe is safe, and nothing was added. */
static exit_status returns_add(struct search *search, const struct object *object,
			       const struct binary *binary, const struct functions *functions,
			       const char **danger)
{
	struct site_search return_search = { .search = search, .binary = binary };
	struct return_search wanted = {
		.trigger = search->trigger->text,
		.file = binary->elf,
		.pid = search->pid,
		.path = object->path,
		.functions = functions,
		.decoder = search->decoder,
	};

	*danger = NULL;
	if (trigger_is_return(search->trigger) && !search->trigger->unsafe) {
		*danger = return_danger(search->objects, object, binary->elf);
		if (!*danger && search->trigger->everywhere && !object->executable)
			*danger = "other programs use the file, too";
	}
	wanted.danger = return_search.danger = *danger;
	return *danger ? return_sites_find(&wanted, site_take, &return_search) : 0;
}

static exit_status address_find(struct search *search, const struct object *object,
				const struct binary *binary)
{
	const struct trigger *trigger = search->trigger;
	struct function function = { .name = "" };
	const struct functions functions = { .all = &function, .n = 1 };
	struct site site = function_site(search, binary, &function);
	const char *danger;
	int status;

	if (__builtin_add_overflow(trigger->address, trigger->offset, &function.address) ||
	    !elf_file_offset(binary->elf, function.address, PF_X, &site.offset))
		return address_outside(search, object, binary);
	status = returns_add(search, object, binary, &functions, &danger);
	return danger ? status : sites_add(search->sites, trigger, &site);
}

/* Lists other objects with such functions: a hint, worth little time. */
static void functions_list_elsewhere(struct search *search, const struct object *but,
				     struct choices *choices)
{
	const uint64_t deadline = clock_monotonic() + ELSEWHERE_NS;

	for (size_t i = 0; i < objects_count(search->objects) && clock_monotonic() < deadline;
	     i++) {
		const struct object *object = objects_get(search->objects, i);
		struct functions functions;
		struct binary *binary;

		if (object == but || binary_open(&binary, search->sites, search->objects, object))
			continue;
		if (!functions_find(&functions, binary->elf, search->pid, object->path,
				    search->trigger->name, NULL) &&
		    (functions.n || functions.too_many))
			choices_add(choices, KIND_FORMAT ":%s:%s", KIND(search->trigger),
				    object_label(search->objects, object), search->trigger->name);
		functions_clear(&functions);
		binary_close(search->sites);
	}
}

static exit_status functions_absent(struct search *search, const struct object *object,
				    const struct functions *functions,
				    struct names_closest *closest)
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
	if (!trigger->object && !trigger->terse)
		functions_list_elsewhere(search, object, &choices);
	if (choices.n) {
		choices_hint(&choices);
		return EX_CONFIG;
	}
	prefix_make(prefix, trigger);
	names_closest_hint(closest, prefix,
			   functions->any
				   ? "--list-probes shows what there is"
				   : "it is stripped of all names: install its debug "
				     "symbols, or give the address of an instruction's "
				     "first byte (up:OBJECT:0xADDR; any other may crash it)");
	return EX_CONFIG;
}

/* True if all are one function in the source: compilers make several of a constructor, or of a
 * generic Rust function. Functions of several traits are not one. */
static bool functions_are_same(const struct functions *functions)
{
	char *first = demangle(functions->all[0].name);
	bool same = first;

	for (size_t i = 1; i < functions->n && same; i++) {
		char *other = demangle(functions->all[i].name);

		same = other && (!strcmp(first, other) ||
				 (functions->all[i].loose && !strstr(first, " as ") &&
				  !strstr(other, " as ")));
		free(other);
	}
	free(first);
	return same;
}

static exit_status functions_ambiguous(const struct search *search, const struct object *object,
				       const struct functions *functions)
{
	const char *label = object_label(search->objects, object);
	uint64_t into = search->trigger->offset;
	struct choices choices = { .n = 0 };
	char offset[32] = "";

	if (into)
		snprintf(offset, sizeof(offset), "+0x%lx", into);
	for (size_t i = 0; i < functions->n; i++) {
		char *written = demangle(functions->all[i].name);

		if (written)
			choices_add(&choices, KIND_FORMAT ":%s:%s%s", KIND(search->trigger), label,
				    written, offset);
		else
			choices_add(&choices, KIND_FORMAT ":%s:0x%lx", KIND(search->trigger), label,
				    functions->all[i].address + into);
		free(written);
	}
	log_error("%s: %s has %zu functions of this name", search->trigger->text,
		  object_basename(object), functions->n);
	choices_hint(&choices);
	return EX_CONFIG;
}

static exit_status functions_add_sites(struct search *search, const struct object *object,
				       const struct binary *binary,
				       const struct functions *functions)
{
	const struct trigger *trigger = search->trigger;
	const char *danger;
	int status = returns_add(search, object, binary, functions, &danger);

	if (danger)
		return status;
	for (size_t i = 0; i < functions->n && !status; i++) {
		const struct function *function = &functions->all[i];
		struct site site = function_site(search, binary, function);
		uint64_t address;

		if ((function->size && trigger->offset >= function->size) ||
		    __builtin_add_overflow(function->address, trigger->offset, &address) ||
		    !elf_file_offset(binary->elf, address, PF_X, &site.offset)) {
			log_error("%s: %s ends after %lu bytes", trigger->text, function->name,
				  function->size);
			log_hint("`objdump -d` shows its instructions and where they begin");
			return EX_CONFIG;
		}
		status = sites_add(search->sites, trigger, &site);
	}
	return status;
}

static exit_status functions_search(struct search *search, const struct object *object,
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
		status = sites_refuse_more(search->trigger);
	else if (!functions.n)
		status = functions_absent(search, object, &functions, &closest);
	else if (functions.n > 1 && !trigger_is_glob(search->trigger) &&
		 !functions_are_same(&functions))
		status = functions_ambiguous(search, object, &functions);
	else
		status = functions_add_sites(search, object, binary, &functions);
	functions_clear(&functions);
	names_closest_clear(&closest);
	return status;
}

/* --- USDT --- */

/* A search in one object. */
struct usdt_search {
	struct search *search;
	const struct binary *binary;
	struct names_closest *closest;
	size_t unusable;
};

/* Returns "" for arguments longer than any compiler writes. */
static const char *arguments_of(const struct usdt_site *found)
{
	return strnlen(found->arguments, USDT_ARGUMENTS_MAX) < USDT_ARGUMENTS_MAX ? found->arguments
										  : "";
}

static exit_status usdt_take(void *context, const struct usdt_site *found)
{
	struct usdt_search *usdt = context;
	const struct trigger *trigger = usdt->search->trigger;
	struct site site = {
		.fd = usdt->binary->fd,
		.file = usdt->binary->file,
		.object = usdt->binary->path,
		.group = found->provider,
		.name = found->name,
		.offset = found->offset,
		.semaphore = found->semaphore_offset,
		.arguments = arguments_of(found),
		.go = file_is_go(usdt->binary->elf),
	};
	char full[512];

	if (!names_match(trigger->group, found->provider) ||
	    !names_match(trigger->name, found->name)) {
		snprintf(full, sizeof(full), "%s:%s", found->provider, found->name);
		names_closest_offer(usdt->closest, full);
		return 0;
	}
	usdt->unusable += !found->usable;
	return found->usable ? sites_add(usdt->search->sites, trigger, &site) : 0;
}

static exit_status usdt_search_object(struct search *search, const struct object *object,
				      const struct binary *binary, struct names_closest *closest,
				      bool optional)
{
	struct usdt_search usdt = { .search = search, .binary = binary, .closest = closest };
	size_t before = search->sites->n;
	int result = usdt_each(binary->elf, usdt_take, &usdt);

	if (result > 0 || optional)
		return result > 0 ? result : 0;
	if (result)
		return cannot_read(search, object, result);
	if (!usdt.unusable)
		return 0;
	if (search->sites->n > before) {
		log_warn("%s: %zu more are left out: %s does not have their addresses",
			 search->trigger->text, usdt.unusable, object_basename(object));
		return 0;
	}
	log_error("%s: %s does not have the addresses that it gives for this probe",
		  search->trigger->text, object_basename(object));
	return EX_CONFIG;
}

static exit_status usdt_absent(const struct search *search, const struct object *object,
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
	prefix_make(prefix, trigger);
	names_closest_hint(closest, prefix, "--list-probes shows what there is");
	return EX_CONFIG;
}

/* Searches the shared objects for probes that the program lacks: in one of them, or for a
 * pattern in any. */
static exit_status usdt_search_all(struct search *search, const struct object *program,
				   struct names_closest *closest)
{
	struct choices choices = { .n = 0 };
	int status = 0;

	for (size_t i = 0; i < objects_count(search->objects) && !status; i++) {
		const struct object *object = objects_get(search->objects, i);
		size_t before = search->sites->n;
		struct binary *binary;

		/* Skips unreadable objects. */
		if (object == program ||
		    binary_open(&binary, search->sites, search->objects, object))
			continue;
		status = usdt_search_object(search, object, binary, closest, true);
		if (search->sites->n > before)
			choices_add(&choices, KIND_FORMAT ":%s:%s:%s", KIND(search->trigger),
				    object_label(search->objects, object), search->trigger->group,
				    search->trigger->name);
		else
			binary_close(search->sites);
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

static exit_status usdt_find(struct search *search, const struct object *object,
			     const struct binary *binary)
{
	struct names_closest closest;
	char wanted[512];
	int status;

	snprintf(wanted, sizeof(wanted), "%s:%s", search->trigger->group, search->trigger->name);
	names_closest_init(&closest, wanted);
	status = usdt_search_object(search, object, binary, &closest, false);
	if (!status && !search->sites->n) {
		if (search->trigger->object)
			status = usdt_absent(search, object, &closest);
		else
			status = usdt_search_all(search, object, &closest);
	}
	names_closest_clear(&closest);
	return status;
}

/* --- All of them --- */

static exit_status cannot_look(pid_t pid, int err)
{
	switch (err) {
	case -ESRCH:
		log_error("process %d has ended", (int)pid);
		return EX_UNAVAILABLE;
	case -EPERM:
	case -EACCES:
		log_error("not permitted to see what process %d has mapped", (int)pid);
		capability_hint_ptrace(NULL);
		return EX_NOPERM;
	default:
		log_error("cannot see what process %d has mapped: %s", (int)pid, strerror(-err));
		return EX_OSERR;
	}
}

static exit_status object_absent(const struct objects *objects, const struct trigger *trigger)
{
	struct names_closest closest;
	char maps[64];

	names_closest_init(&closest, trigger->object);
	for (size_t i = 0; i < objects_count(objects); i++)
		names_closest_offer(&closest, object_label(objects, objects_get(objects, i)));
	log_error("%s: process %d has no object %s mapped", trigger->text,
		  (int)objects_pid(objects), trigger->object);
	snprintf(maps, sizeof(maps), "those that it has are in /proc/%d/maps",
		 (int)objects_pid(objects));
	names_closest_hint(&closest, "", maps);
	names_closest_clear(&closest);
	return EX_CONFIG;
}

/* Finds the one object that a trigger's OBJECT means. Returns 0. Otherwise prints what is wrong
 * and the candidates, and returns EX_CONFIG; EX_OSERR without memory. */
static exit_status object_choose(const struct object **object, const struct objects *objects,
				 const struct trigger *trigger)
{
	struct choices choices = { .n = 0 };
	size_t count = objects_count(objects), n;
	bool *meant = calloc(count + 1, sizeof(*meant));

	*object = NULL;
	if (!meant)
		return log_no_memory();
	n = objects_meant(objects, trigger->object, meant);
	for (size_t i = 0; i < count; i++) {
		if (!meant[i])
			continue;
		*object = objects_get(objects, i);
		if (n > 1)
			choices_add(&choices, "%s", (*object)->path);
	}
	free(meant);
	if (n == 1)
		return 0;
	if (!n)
		return object_absent(objects, trigger);
	log_error("%s: %zu objects could be %s", trigger->text, n, trigger->object);
	choices_hint(&choices);
	return EX_CONFIG;
}

static exit_status search_objects(struct search *search)
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
	err = binary_open(&binary, search->sites, search->objects, object);
	if (err)
		return cannot_read(search, object, err);
	if (search->trigger->condition && !elf_file_is_64(binary->elf)) {
		log_error("%s: %s is a 32-bit program, whose values are elsewhere: a condition is "
			  "not possible",
			  search->trigger->text, object_basename(object));
		return EX_CONFIG;
	}
	if (search->trigger->group)
		return usdt_find(search, object, binary);
	if (search->trigger->name)
		return functions_search(search, object, binary);
	return address_find(search, object, binary);
}

static exit_status kernel_take(void *context, const char *group, const char *name)
{
	const struct search *search = context;
	struct site site = {
		.fd = -1,
		.group = group,
		.name = name,
		.offset = search->trigger->offset,
		.on_return = trigger_is_return(search->trigger),
	};

	return sites_add(search->sites, search->trigger, &site);
}

/* --- In a child process, which reads the target's files --- */

/* Loads the decoder before the sandbox forbids that. */
static void search_prepare(void *context)
{
	struct search *search = context;

	if (trigger_is_return(search->trigger) && !search->trigger->unsafe)
		search->decoder = instructions_library();
}

static exit_status search_run(void *context, int socket)
{
	struct search *search = context;
	int status = search_objects(search);

	return status ? status : sites_send(search->sites, search->trigger, socket);
}

static exit_status search_take(void *context, struct packet *packet)
{
	const struct search *search = context;

	return sites_receive(search->sites, search->trigger, packet);
}

static exit_status user_find(struct search *search, struct signals *signals)
{
	const struct probe_reader reader = {
		.prepare = search_prepare,
		.run = search_run,
		.take = search_take,
		.context = search,
		.signals = signals,
	};

	return reader_do(&reader, NULL);
}

exit_status sites_find(struct sites **sites, const struct trigger *trigger, pid_t pid,
		       struct signals *signals)
{
	struct search search = { .trigger = trigger, .pid = pid };
	int status;

	*sites = search.sites = calloc(1, sizeof(**sites));
	if (!*sites)
		return log_no_memory();
	status = trigger_is_user(trigger) ? user_find(&search, signals)
					  : kernel_find("", trigger, kernel_take, &search);
	if (!status)
		return 0;
	sites_free(*sites);
	*sites = NULL;
	return status;
}
