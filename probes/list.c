/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "list.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/capability.h"
#include "cli/base/escape.h"
#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/base/names.h"
#include "probes/elf/demangle.h"
#include "probes/elf/elf_file.h"
#include "probes/elf/objects.h"
#include "probes/elf/symbols.h"
#include "probes/elf/usdt.h"
#include "entries.h"
#include "instruction_class.h"
#include "kernel.h"
#include "list_filter.h"
#include "object_choose.h"

#define TEXT_MAX (3 * 4096) /* of a trigger: path or provider, and name */
#define WIDEST 60           /* column of triggers */

struct listing {
	FILE *out;
	int error; /* of out, a negative errno */
	struct list_filter filter;
	size_t printed;
	struct objects *objects;
	bool *meant;  /* for each: it is the OBJECT of the filter; NULL: there is none */
	size_t index; /* of the object in hand */
	struct entries entries;
};

/* True if the filter has an OBJECT that is the one in hand, and means this probe of it. */
static bool is_meant(const struct listing *listing, const char *group, const char *name)
{
	return listing->meant && listing->meant[listing->index] &&
	       list_filter_means(&listing->filter, group, name);
}

__attribute__((format(printf, 2, 3))) static void print(struct listing *listing, const char *fmt,
							...)
{
	va_list args;

	va_start(args, fmt);
	if (!listing->error && vfprintf(listing->out, fmt, args) < 0)
		listing->error = errno ? -errno : -EIO;
	va_end(args);
}

/* Not on the stack, which may be small. NULL: no memory. The caller frees it. */
static char *escaped_new(const char *text)
{
	size_t length = strlen(text);
	char *escaped = malloc(ESCAPE_SIZE(length));

	if (escaped)
		escape_text(escaped, ESCAPE_SIZE(length), text, length);
	return escaped;
}

/* Text of foreign origin, filled up with blanks. */
static void print_text(struct listing *listing, const char *text, size_t width)
{
	char *escaped = escaped_new(text);
	size_t used;

	if (!escaped) {
		listing->error = -ENOMEM;
		return;
	}
	used = width ? escape_width(escaped) : 0;
	print(listing, "%s%*s", escaped, used < width ? (int)(width - used) : 0, "");
	free(escaped);
}

static void print_path(struct listing *listing, const struct object *object)
{
	print_text(listing, object->path, 0);
	print(listing, "%s\n", object->deleted ? " (deleted)" : "");
}

/* The width of the column that the entries' texts need. */
static size_t entries_width(const struct entries *entries)
{
	size_t width = 0;

	for (size_t i = 0; i < entries->n; i++) {
		char *escaped = escaped_new(entries->all[i].text);
		size_t used = escaped ? escape_width(escaped) : 0;

		free(escaped);
		if (used > width && used <= WIDEST)
			width = used;
	}
	return width;
}

/* Adds a probe to what is printed, if the filter takes it. Object is NULL for those
 * of the program and of the kernel. */
static int probe_offer(struct listing *listing, enum trigger_kind kind, const char *object,
		       const char *group, const char *name, const struct entry *entry, bool *taken)
{
	static const char *const words[] = {
		[TRIGGER_USDT] = "u",
		[TRIGGER_TRACEPOINT] = "t",
		[TRIGGER_KPROBE] = "k",
		[TRIGGER_UPROBE] = "up",
	};
	const struct list_filter *filter = &listing->filter;
	char text[TEXT_MAX];
	int length;

	*taken = false;
	length = snprintf(text, sizeof(text), "%s:%s%s%s%s%s",
			  *filter->word ? filter->word : words[kind], object ? object : "",
			  object ? ":" : "", group ? group : "", group ? ":" : "", name);
	if (length >= (int)sizeof(text) ||
	    !(list_filter_takes(filter, text, name) || (object && is_meant(listing, group, name))))
		return 0;
	*taken = true;
	return entries_add(&listing->entries, text, entry->address, entry->flag);
}

/* The same for a probe of the object in hand. The program need not be named, but
 * may be, and the filter may mean it so. */
static int object_offer(struct listing *listing, enum trigger_kind kind, const char *group,
			const char *name, const struct entry *entry, bool *taken)
{
	const struct object *object = objects_get(listing->objects, listing->index);
	int error = 0;

	*taken = false;
	if (object->executable)
		error = probe_offer(listing, kind, NULL, group, name, entry, taken);
	if (!error && !*taken)
		error = probe_offer(listing, kind, object_label(listing->objects, object), group,
				    name, entry, taken);
	return error;
}

static void entries_done(struct listing *listing)
{
	if (listing->entries.incomplete)
		log_warn("there are more names than fit into %lu MB; some are left out",
			 ENTRIES_MAX >> 20);
	entries_clear(&listing->entries);
}

/* --- What is in the process --- */

/* Calls read for every wanted object: the program first, then by name. What cannot
 * be read is said and passed over. */
static int objects_each(struct listing *listing,
			int (*read)(struct listing *listing, const struct elf_file *file))
{
	struct entries order = { .n = 0 };
	int error = 0;

	for (size_t i = 0; !error && i < objects_count(listing->objects); i++) {
		const struct object *object = objects_get(listing->objects, i);
		const char *label = object_label(listing->objects, object);

		error = entries_add(&order, object->executable ? "" : label, i, false);
	}
	entries_sort(&order);
	for (size_t i = 0; !error && !listing->error && i < order.n; i++) {
		const struct object *object;
		struct elf_file *file;
		int fd;

		listing->index = order.all[i].address;
		object = objects_get(listing->objects, listing->index);
		fd = objects_open(listing->objects, object);
		error = fd < 0 ? fd : elf_file_open(&file, fd);
		if (!error) {
			error = read(listing, file);
			elf_file_close(file);
		}
		if (fd >= 0)
			close(fd);
		if (error && error != -ENOMEM) {
			/* Something else than code may be mapped, too. */
			if (error != -ENOEXEC)
				log_warn("cannot read all of %s: %s", object->path,
					 elf_file_error(error));
			error = 0;
		}
	}
	entries_clear(&order);
	return error;
}

static int usdt_take(void *context, const struct usdt_site *site)
{
	struct listing *listing = context;
	struct entry entry = { .address = listing->index, .flag = site->semaphore };
	bool taken;

	/* A colon would end the part of the trigger. */
	if (!site->usable || strchr(site->provider, ':') || strchr(site->name, ':'))
		return 0;
	return object_offer(listing, TRIGGER_USDT, site->provider, site->name, &entry, &taken);
}

static int usdt_read(struct listing *listing, const struct elf_file *file)
{
	return usdt_each(file, usdt_take, listing);
}

static int usdt_list(struct listing *listing)
{
	struct entries *entries = &listing->entries;
	int error = objects_each(listing, usdt_read);
	size_t width, end;

	entries_sort(entries);
	width = entries_width(entries);
	if (entries->n)
		print(listing, "# USDT probes\n");
	else if (!listing->filter.glob)
		print(listing, "# No USDT probes\n");
	for (size_t i = 0; i < entries->n && !listing->error; i = end) {
		const struct entry *entry = &entries->all[i];
		const struct object *object = objects_get(listing->objects, entry->address);
		bool semaphore = false;

		end = entries_end(entries, i);
		for (size_t j = i; j < end; j++)
			semaphore |= entries->all[j].flag;
		print_text(listing, entry->text, width);
		print(listing, "  sites %zu  semaphore %-3s  ", end - i, semaphore ? "yes" : "no");
		print_path(listing, object);
		listing->printed++;
	}
	entries_done(listing);
	return error;
}

/* What is chosen from functions of one name: not the old versions of it, and each
 * address once. Returns how many are left, which come first. */
static size_t namesakes(struct entry *all, size_t n)
{
	size_t current = 0, kept = 0;

	for (size_t i = 0; i < n; i++)
		current += !all[i].flag;
	for (size_t i = 0; i < n; i++) {
		struct entry entry = all[i];

		if ((current && entry.flag) || (kept && all[kept - 1].address == entry.address))
			continue;
		/* Swapped, as each is to be freed. */
		all[i] = all[kept];
		all[kept++] = entry;
	}
	return kept;
}

/* A function by its name; several of one name by their addresses. */
static void functions_print(struct listing *listing, struct entry *all, size_t n)
{
	const char *name = trigger_function(all->text);

	n = namesakes(all, n);
	if (n == 1) {
		print_text(listing, all->text, 0);
		print(listing, "\n");
	}
	for (size_t i = 0; n > 1 && i < n; i++) {
		char text[TEXT_MAX];

		snprintf(text, sizeof(text), "%.*s0x%" PRIx64, (int)(name - all->text), all->text,
			 all[i].address);
		print_text(listing, text, 0);
		print(listing, "  ");
		print_text(listing, name, 0);
		print(listing, ", %zu of %zu\n", i + 1, n);
	}
	listing->printed++;
}

static int symbol_take(void *context, const struct symbol *symbol)
{
	struct listing *listing = context;
	struct entry entry = { .address = symbol->address, .flag = symbol->superseded };
	bool taken;

	char *written;
	int error;

	/* A colon would make what is before it an object. */
	if (symbol->resolver || strchr(symbol->name, ':'))
		return 0;
	error = object_offer(listing, TRIGGER_UPROBE, NULL, symbol->name, &entry, &taken);
	if (error || taken || !listing->filter.glob)
		return error;
	written = demangle(symbol->name);
	if (written)
		error = object_offer(listing, TRIGGER_UPROBE, NULL, written, &entry, &taken);
	free(written);
	return error;
}

static void functions_count(struct listing *listing, const struct object *object)
{
	struct entries *entries = &listing->entries;
	char text[TEXT_MAX];
	size_t n = 0;

	for (size_t i = 0; i < entries->n; i = entries_end(entries, i))
		n++;
	snprintf(text, sizeof(text), "up:%s:*", object_label(listing->objects, object));
	print_text(listing, text, WIDEST / 2);
	print(listing, "  %6zu functions  ", n);
	print_path(listing, object);
}

static int functions_read(struct listing *listing, const struct elf_file *file)
{
	const struct object *object = objects_get(listing->objects, listing->index);
	struct entries *entries = &listing->entries;
	int error = symbols_each(file, objects_pid(listing->objects), object->path, symbol_take,
				 listing);
	size_t end;

	entries_sort(entries);
	if (!listing->filter.glob) {
		functions_count(listing, object);
	} else if (entries->n) {
		print(listing, "# Functions of ");
		print_path(listing, object);
		for (size_t i = 0; i < entries->n && !listing->error; i = end) {
			end = entries_end(entries, i);
			functions_print(listing, &entries->all[i], end - i);
		}
	}
	entries_done(listing);
	return error;
}

static int process_list(struct listing *listing, pid_t pid)
{
	const struct list_filter *filter = &listing->filter;
	int error = objects_read(&listing->objects, pid);

	if (error) {
		listing->objects = NULL;
		if (error == -ESRCH) {
			log_error("process %d has ended", (int)pid);
			return EX_UNAVAILABLE;
		}
		log_error("cannot look into process %d: %s", (int)pid, strerror(-error));
		if (error != -EPERM && error != -EACCES)
			return EX_OSERR;
		capability_hint_ptrace(NULL);
		return EX_NOPERM;
	}
	if (filter->trigger.object) {
		listing->meant = calloc(objects_count(listing->objects) + 1,
					sizeof(*listing->meant));
		if (!listing->meant)
			return log_no_memory();
		objects_meant(listing->objects, filter->trigger.object, listing->meant);
	}
	if (list_filter_wants(filter, TRIGGER_USDT))
		error = usdt_list(listing);
	if (!error && !filter->glob)
		print(listing,
		      "# Functions: --list-probes='up:OBJECT:*' lists those of an object\n");
	if (!error && list_filter_wants(filter, TRIGGER_UPROBE))
		error = objects_each(listing, functions_read);
	return error ? log_no_memory() : 0;
}

/* --- What is in the kernel --- */

static int event_take(void *context, const char *system, const char *event)
{
	struct entry entry = { .address = 0 };
	bool taken;

	return probe_offer(context, TRIGGER_TRACEPOINT, NULL, system, event, &entry, &taken);
}

static int function_take(void *context, const char *function, const char *module)
{
	struct entry entry = { .address = 0 };
	bool taken;

	(void)module;
	return probe_offer(context, TRIGGER_KPROBE, NULL, NULL, function, &entry, &taken);
}

static void systems_print(struct listing *listing)
{
	struct entries *entries = &listing->entries;
	size_t n = 1;

	for (size_t i = 0; i < entries->n; i++, n++) {
		const char *text = entries->all[i].text;
		size_t length = (size_t)(strrchr(text, ':') + 1 - text);
		char system[TEXT_MAX];

		if (i + 1 < entries->n && !strncmp(text, entries->all[i + 1].text, length))
			continue;
		snprintf(system, sizeof(system), "%.*s*", (int)length, text);
		print_text(listing, system, WIDEST / 2);
		print(listing, "  %6zu tracepoints\n", n);
		n = 0;
	}
}

static int tracepoints_list(struct listing *listing)
{
	struct entries *entries = &listing->entries;
	int error = kernel_each_event(event_take, listing);

	if (error && error != -ENOMEM) {
		log_warn("cannot list tracepoints: %s (%s)", strerror(-error),
			 kernel_events_hint(error));
		error = 0;
	}
	entries_sort(entries);
	if (!listing->filter.glob && entries->n) {
		print(listing,
		      "# Tracepoints: --list-probes='t:SYSTEM:*' lists those of a system\n");
		systems_print(listing);
	} else if (entries->n) {
		print(listing, "# Tracepoints\n");
		for (size_t i = 0; i < entries->n && !listing->error; i++) {
			print_text(listing, entries->all[i].text, 0);
			print(listing, "\n");
			listing->printed++;
		}
	}
	entries_done(listing);
	return error;
}

static int kernel_functions_list(struct listing *listing)
{
	struct entries *entries = &listing->entries;
	size_t end, left_out = 0;
	int error;

	if (!kernel_has_kprobes()) {
		if (*listing->filter.word)
			log_warn("this kernel has no probes on its functions "
				 "(CONFIG_KPROBE_EVENTS)");
		return 0;
	}
	error = kernel_each_function(function_take, listing);
	if (error && error != -ENOMEM) {
		log_warn("cannot list functions of the kernel: %s", strerror(-error));
		error = 0;
	}
	entries_sort(entries);
	if (entries->n)
		print(listing, "# Functions of the kernel\n");
	for (size_t i = 0; i < entries->n && !listing->error; i = end) {
		end = entries_end(entries, i);
		if (end - i > 1) {
			left_out += end - i;
			continue;
		}
		print_text(listing, entries->all[i].text, 0);
		print(listing, "\n");
		listing->printed++;
	}
	if (left_out)
		print(listing,
		      "# and %zu that share their names, so that a name cannot choose one\n",
		      left_out);
	entries_done(listing);
	return error;
}

static exit_status kernel_list(struct listing *listing)
{
	const struct list_filter *filter = &listing->filter;
	int error = 0;

	if (list_filter_wants(filter, TRIGGER_TRACEPOINT))
		error = tracepoints_list(listing);
	if (!error && filter->glob && list_filter_wants(filter, TRIGGER_KPROBE))
		error = kernel_functions_list(listing);
	return error ? log_no_memory() : 0;
}

int probes_list(FILE *out, pid_t pid, const char *glob)
{
	struct listing listing = { .out = out };
	const struct list_filter *filter = &listing.filter;
	int status = 0;

	list_filter_init(&listing.filter, glob);
	if (pid &&
	    (list_filter_wants(filter, TRIGGER_USDT) || list_filter_wants(filter, TRIGGER_UPROBE)))
		status = process_list(&listing, pid);
	if (!status)
		status = kernel_list(&listing);
	if (!status && glob && !listing.printed && !listing.error)
		log_warn("nothing matches %s", glob);
	entries_clear(&listing.entries);
	objects_free(listing.objects);
	free(listing.meant);
	list_filter_clear(&listing.filter);
	if (!listing.error && fflush(out))
		listing.error = errno ? -errno : -EIO;
	return listing.error ? listing.error : status;
}

/* --- What triggers mean --- */

/* Why a hit costs what it does. */
static const char *cost_reason(const struct trigger *trigger, const struct site *site)
{
	if (!trigger_is_user(trigger))
		return "typical, not measured";
	if (site->on_return)
		return "return";
	return instruction_class_read(site->fd, site->offset) == CLASS_OTHER
		       ? "instruction single-stepped"
		       : "instruction emulated";
}

static void site_print(struct listing *listing, const struct trigger *trigger,
		       const struct site *site, uint64_t cost)
{
	print(listing, "  ");
	if (site->group) {
		print_text(listing, site->group, 0);
		print(listing, ":");
	}
	print_text(listing, *site->name ? site->name : "(by address)", 0);
	if (trigger->offset)
		print(listing, "+0x%" PRIx64, trigger->offset);
	if (site->danger)
		print(listing, "%s0x%" PRIx64, site->into < 0 ? "-" : "+",
		      site->into < 0 ? -(uint64_t)site->into : (uint64_t)site->into);
	if (site->object) {
		print(listing, "  at 0x%" PRIx64 " of ", site->offset);
		print_text(listing, site->object, 0);
	}
	if (site->semaphore)
		print(listing, ", semaphore at 0x%" PRIx64, site->semaphore);
	if (site->danger)
		print(listing, ", a return instruction (%s)", site->danger);
	else if (site->on_return)
		print(listing, ", by a return probe");
	print(listing, "\n    about %" PRIu64 " ns per hit (%s)\n", cost,
	      cost_reason(trigger, site));
}

int triggers_check(FILE *out, const char *role, const struct trigger *trigger,
		   const struct sites *sites, bool target_only, const uint64_t *costs)
{
	struct listing listing = { .out = out };
	size_t n = sites_count(sites);

	print(&listing, "%s ", role);
	print_text(&listing, trigger->text, 0);
	print(&listing, ": %s, %zu site%s, fires for %s%s\n", trigger_kind_name(trigger->kind), n,
	      n == 1 ? "" : "s",
	      target_only ? "the target only" : "any process, unless --trigger-target-only",
	      trigger_is_user(trigger) && trigger->everywhere
		      ? "; other processes that run this code pay as much"
		      : "");
	for (size_t i = 0; i < n && !listing.error; i++)
		site_print(&listing, trigger, sites_get(sites, i), costs[i]);
	if (!listing.error && fflush(out))
		listing.error = errno ? -errno : -EIO;
	return listing.error;
}
