// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "list.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/escape.h"
#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/base/names.h"
#include "cli/sandbox/confine.h"
#include "cli/sandbox/helper.h"
#include "probes/elf/functions.h"
#include "probes/elf/elf_file.h"
#include "probes/elf/objects.h"
#include "probes/elf/symbols.h"
#include "probes/elf/usdt.h"
#include "kernel.h"
#include "reader.h"
#include "trigger.h"

#define LIST_TEXT_MAX (3 * 4096) /* of a trigger: path or provider, plus name */

/* --- Text of lists of probes --- */

void list_print(struct list_out *out, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (!out->error && vfprintf(out->file, fmt, args) < 0)
		out->error = errno ? -errno : -EIO;
	va_end(args);
}

/* Escapes untrusted text for printing; not on the stack, which may be small. NULL: no memory.
 * The caller frees it. */
static char *list_escaped(const char *text)
{
	size_t length = strlen(text);
	char *escaped = malloc(ESCAPE_SIZE(length));

	if (escaped)
		escape_text(escaped, ESCAPE_SIZE(length), text, length);
	return escaped;
}

void list_print_text(struct list_out *out, const char *text, size_t width)
{
	char *escaped = list_escaped(text);
	size_t used;

	if (!escaped) {
		out->error = -ENOMEM;
		return;
	}
	used = width ? escape_width(escaped) : 0;
	list_print(out, "%s%*s", escaped, used < width ? (int)(width - used) : 0, "");
	free(escaped);
}

/* --- The pattern of --list-probes --- */

struct list_filter {
	const char *glob; /* NULL: an overview */
	const char *rest; /* text after the kind */
	char word[16];    /* its kind, as spelt; "" if none */
	enum trigger_kind kind;
	struct trigger trigger; /* the pattern read as a trigger; zeros if it is none */
};

/* The caller clears the filter's trigger; glob must outlive it. */
static void list_filter_init(struct list_filter *filter, const char *glob)
{
	size_t length = glob ? trigger_kind_read(&filter->kind, glob) : 0;
	const char *why;

	*filter = (struct list_filter){ .glob = glob, .rest = glob, .kind = filter->kind };
	if (!length || length >= sizeof(filter->word))
		return;
	memcpy(filter->word, glob, length);
	filter->rest = glob + length + 1;
	trigger_parse(&filter->trigger, glob, &why); /* a glob need not be a trigger */
}

/* True if the pattern matches a trigger's text, or the name in it. */
static bool list_filter_takes(const struct list_filter *filter, const char *text, const char *name)
{
	if (!filter->glob || names_match(filter->rest, strchr(text, ':') + 1) ||
	    names_match(filter->rest, name))
		return true;
	return !*filter->word && names_match(filter->glob, text);
}

/* --- Lists the probes there are, and what triggers mean --- */

#define WIDEST 60 /* columns for triggers */

/* Packets from the process that reads files. */
enum { PACKET_TEXT, PACKET_PRINTED };

struct listing {
	struct list_out out;
	pid_t pid;  /* of the process to look into */
	int socket; /* in the child: to this process */
	struct list_filter filter;
	const char *word; /* of the kind that is listed */
	size_t printed;
	struct objects *objects;
	bool *meant;  /* for each object: it is the filter's OBJECT; NULL: no OBJECT */
	size_t index; /* of the current object */
	struct entries entries;
};

/* True if the current object is the filter's OBJECT, and the filter, as a trigger, means this name
 * with this provider (or NULL) there. */
static bool is_meant(const struct listing *listing, const char *group, const char *name)
{
	const struct trigger *wanted = &listing->filter.trigger;

	return listing->meant && listing->meant[listing->index] && wanted->name &&
	       names_match(wanted->name, name) &&
	       (!wanted->group || (group && names_match(wanted->group, group)));
}

static void print_path(struct listing *listing, const struct object *object)
{
	list_print_text(&listing->out, object->path, 0);
	list_print(&listing->out, "%s\n", object->deleted ? " (deleted)" : "");
}

/* Returns the column width that the entries' texts need. */
static size_t entries_width(const struct entries *entries)
{
	size_t width = 0;

	for (size_t i = 0; i < entries->n; i++) {
		char *escaped = list_escaped(entries->all[i].text);
		size_t used = escaped ? escape_width(escaped) : 0;

		free(escaped);
		if (used > width && used <= WIDEST)
			width = used;
	}
	return width;
}

/* Lists a probe if the filter takes it. Object is NULL for the program and the kernel. Returns
 * whether it does, or -ENOMEM. */
static int probe_offer(struct listing *listing, const char *object, const char *group,
		       const char *name, struct names_entry entry)
{
	char text[LIST_TEXT_MAX];
	int length = snprintf(text, sizeof(text), "%s:%s%s%s%s%s", listing->word, object ?: "",
			      object ? ":" : "", group ?: "", group ? ":" : "", name);

	if (length >= (int)sizeof(text) || !(list_filter_takes(&listing->filter, text, name) ||
					     (object && is_meant(listing, group, name))))
		return 0;
	return entries_add(&listing->entries, text, entry.address, entry.flag) ?: 1;
}

/* Lists a probe of the current object if the filter takes it, whether the filter names the program
 * or not. Returns as probe_offer(). */
static int object_offer(struct listing *listing, const char *group, const char *name,
			struct names_entry entry)
{
	const struct object *object = objects_get(listing->objects, listing->index);
	int taken = 0;

	if (object->executable)
		taken = probe_offer(listing, NULL, group, name, entry);
	return taken
		       ?: probe_offer(listing, object_label(listing->objects, object), group, name,
				      entry);
}

/* What callbacks return for the result of an offer. */
static int error_of(int taken)
{
	return taken < 0 ? taken : 0;
}

static void entries_done(struct listing *listing)
{
	if (listing->entries.incomplete)
		log_warn("there are more names than fit into %lu MB; some are left out",
			 ENTRIES_MAX >> 20);
	entries_clear(&listing->entries);
}

/* --- Probes in the process --- */

/* Calls read for every wanted object: the program first, then by name. Reports and skips
 * unreadable ones. */
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
	for (size_t i = 0; !error && !listing->out.error && i < order.n; i++) {
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
		if (fd >= 0) {
			helper_try_close(fd);
			close(fd);
		}
		if (error && error != -ENOMEM) {
			/* Mappings may contain something other than code. */
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
	struct names_entry entry = { .address = listing->index, .flag = site->semaphore };

	/* A colon would end that field of the trigger. */
	if (!site->usable || strchr(site->provider, ':') || strchr(site->name, ':'))
		return 0;
	return error_of(object_offer(listing, site->provider, site->name, entry));
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
		list_print(&listing->out, "# USDT probes\n");
	else if (!listing->filter.glob)
		list_print(&listing->out, "# No USDT probes\n");
	for (size_t i = 0; i < entries->n && !listing->out.error; i = end) {
		const struct names_entry *entry = &entries->all[i];
		const struct object *object = objects_get(listing->objects, entry->address);
		bool semaphore = false;

		end = entries_end(entries, i);
		for (size_t j = i; j < end; j++)
			semaphore |= entries->all[j].flag;
		list_print_text(&listing->out, entry->text, width);
		list_print(&listing->out, "  sites %zu  semaphore %-3s  ", end - i,
			   semaphore ? "yes" : "no");
		print_path(listing, object);
		listing->printed++;
	}
	entries_done(listing);
	return error;
}

/* Picks among functions of one name: drops old versions, and takes each address once. Returns
 * how many are left at the front. */
static size_t namesakes(struct names_entry *all, size_t n)
{
	size_t current = 0, left = 0;

	for (size_t i = 0; i < n; i++)
		current += !all[i].flag;
	for (size_t i = 0; i < n; i++) {
		struct names_entry entry = all[i];

		if ((current && entry.flag) || (left && all[left - 1].address == entry.address))
			continue;
		/* Swaps, as each entry is freed later. */
		all[i] = all[left];
		all[left++] = entry;
	}
	return left;
}

/* Prints a function by name; several of one name by address. */
static void functions_print(struct listing *listing, struct names_entry *all, size_t n)
{
	const char *name = trigger_function(all->text);

	n = namesakes(all, n);
	if (n == 1) {
		list_print_text(&listing->out, all->text, 0);
		list_print(&listing->out, "\n");
	}
	for (size_t i = 0; n > 1 && i < n; i++) {
		char text[LIST_TEXT_MAX];

		snprintf(text, sizeof(text), "%.*s0x%" PRIx64, (int)(name - all->text), all->text,
			 all[i].address);
		list_print_text(&listing->out, text, 0);
		list_print(&listing->out, "  ");
		list_print_text(&listing->out, name, 0);
		list_print(&listing->out, ", %zu of %zu\n", i + 1, n);
	}
	listing->printed++;
}

static int symbol_take(void *context, const struct symbol *symbol)
{
	struct listing *listing = context;
	struct names_entry entry = { .address = symbol->address, .flag = symbol->superseded };
	char *written;
	int taken;

	/* A colon would make the text before it an object. */
	if (symbol->resolver || strchr(symbol->name, ':'))
		return 0;
	taken = object_offer(listing, NULL, symbol->name, entry);
	if (taken || !listing->filter.glob)
		return error_of(taken);
	written = demangle(symbol->name);
	if (written)
		taken = object_offer(listing, NULL, written, entry);
	free(written);
	return error_of(taken);
}

static void functions_count(struct listing *listing, const struct object *object)
{
	struct entries *entries = &listing->entries;
	char text[LIST_TEXT_MAX];
	size_t n = 0;

	for (size_t i = 0; i < entries->n; i = entries_end(entries, i))
		n++;
	snprintf(text, sizeof(text), "up:%s:*", object_label(listing->objects, object));
	list_print_text(&listing->out, text, WIDEST / 2);
	list_print(&listing->out, "  %6zu functions  ", n);
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
		list_print(&listing->out, "# Functions of ");
		print_path(listing, object);
		for (size_t i = 0; i < entries->n && !listing->out.error; i = end) {
			end = entries_end(entries, i);
			functions_print(listing, &entries->all[i], end - i);
		}
	}
	entries_done(listing);
	return error;
}

static int functions_list(struct listing *listing)
{
	if (!listing->filter.glob)
		list_print(&listing->out,
			   "# Functions: --list-probes='up:OBJECT:*' lists those of an object\n");
	return objects_each(listing, functions_read);
}

/* --- Probes in the kernel --- */

static int name_take(void *context, const char *group, const char *name)
{
	return error_of(probe_offer(context, NULL, group, name, (struct names_entry){ 0 }));
}

static void systems_print(struct listing *listing)
{
	struct entries *entries = &listing->entries;
	size_t n = 1;

	for (size_t i = 0; i < entries->n; i++, n++) {
		const char *text = entries->all[i].text;
		size_t length = (size_t)(strrchr(text, ':') + 1 - text);
		char system[LIST_TEXT_MAX];

		if (i + 1 < entries->n && !strncmp(text, entries->all[i + 1].text, length))
			continue;
		snprintf(system, sizeof(system), "%.*s*", (int)length, text);
		list_print_text(&listing->out, system, WIDEST / 2);
		list_print(&listing->out, "  %6zu tracepoints\n", n);
		n = 0;
	}
}

static int tracepoints_list(struct listing *listing)
{
	struct entries *entries = &listing->entries;
	int error = kernel_each_event("", name_take, listing);

	if (error && error != -ENOMEM) {
		log_warn("cannot list tracepoints: %s (%s)", strerror(-error),
			 kernel_events_hint(error));
		error = 0;
	}
	entries_sort(entries);
	if (!listing->filter.glob && entries->n) {
		list_print(&listing->out,
			   "# Tracepoints: --list-probes='t:SYSTEM:*' lists those of a system\n");
		systems_print(listing);
	} else if (entries->n) {
		list_print(&listing->out, "# Tracepoints\n");
		for (size_t i = 0; i < entries->n && !listing->out.error; i++) {
			list_print_text(&listing->out, entries->all[i].text, 0);
			list_print(&listing->out, "\n");
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

	if (!listing->filter.glob)
		return 0;
	if (!kernel_has_kprobes("")) {
		if (*listing->filter.word)
			log_warn("this kernel has no probes on its functions "
				 "(CONFIG_KPROBE_EVENTS)");
		return 0;
	}
	error = kernel_each_function("", name_take, listing);
	if (error && error != -ENOMEM) {
		log_warn("cannot list functions of the kernel: %s", strerror(-error));
		error = 0;
	}
	entries_sort(entries);
	if (entries->n)
		list_print(&listing->out, "# Functions of the kernel\n");
	for (size_t i = 0; i < entries->n && !listing->out.error; i = end) {
		end = entries_end(entries, i);
		if (end - i > 1) {
			left_out += end - i;
			continue;
		}
		list_print_text(&listing->out, entries->all[i].text, 0);
		list_print(&listing->out, "\n");
		listing->printed++;
	}
	if (left_out)
		list_print(&listing->out,
			   "# and %zu that share their names, so that a name cannot choose one\n",
			   left_out);
	entries_done(listing);
	return error;
}

/* --- All kinds --- */

/* Lists the kinds in the target's files, or those in the kernel: the pattern's kind, else all but
 * returns, which are where the functions are. */
static exit_status kinds_list(struct listing *listing, bool is_user)
{
	static int (*const lists[2][2])(struct listing * listing) = {
		{ kernel_functions_list, tracepoints_list },
		{ functions_list, usdt_list },
	};
	const struct list_filter *filter = &listing->filter;
	int error = 0;

	for (unsigned int kind = 0; kind < TRIGGER_KINDS && !error; kind++) {
		if (probe_kinds[kind].is_user != is_user ||
		    (*filter->word ? kind != filter->kind : probe_kinds[kind].is_return))
			continue;
		listing->word = *filter->word ? filter->word : probe_kinds[kind].words[1];
		error = lists[is_user][probe_kinds[kind].is_static](listing);
	}
	return error ? log_no_memory() : 0;
}

static exit_status process_list(struct listing *listing)
{
	pid_t pid = listing->pid;
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
	return kinds_list(listing, true);
}

/* --- In a child process, which reads the files --- */

static ssize_t text_send(void *context, const char *text, size_t size)
{
	const struct listing *listing = context;

	/* A short or failed write is an error of the stream. */
	for (size_t at = 0, part; at < size; at += part) {
		part = size - at < PACKET_PAYLOAD ? size - at : PACKET_PAYLOAD;
		if (reader_send(listing->socket, PACKET_TEXT, text + at, part, -1))
			return 0;
	}
	return (ssize_t)size;
}

static exit_status process_run(void *context, int socket)
{
	const cookie_io_functions_t sends = { .write = text_send };
	struct listing *listing = context;
	uint64_t printed;
	int status;

	listing->socket = socket;
	listing->out.file = fopencookie(listing, "w", sends);
	if (!listing->out.file)
		return log_no_memory();
	status = process_list(listing);
	if (!status && listing->out.error)
		status = listing->out.error == -ENOMEM ? log_no_memory() : EX_OSERR;
	printed = listing->printed;
	if (fflush(listing->out.file) ||
	    reader_send(socket, PACKET_PRINTED, &printed, sizeof(printed), -1))
		return EX_OSERR;
	return status;
}

/* Leaves errors of the output to the caller. */
static exit_status process_take(void *context, struct packet *packet)
{
	struct listing *listing = context;
	uint64_t printed;

	if (packet->fd >= 0)
		close(packet->fd);
	if (packet->head.number == PACKET_PRINTED && packet->size == sizeof(printed)) {
		memcpy(&printed, packet->payload, sizeof(printed));
		listing->printed += printed;
		return 0;
	}
	escape_controls((char *)packet->payload, packet->size);
	if (fwrite(packet->payload, 1, packet->size, listing->out.file) < packet->size)
		listing->out.error = errno ? -errno : -EIO;
	return listing->out.error ? EX_IOERR : 0;
}

static exit_status process_read(struct listing *listing)
{
	const struct probe_reader reader = {
		.run = process_run,
		.take = process_take,
		.context = listing,
	};

	return reader_do(&reader, NULL);
}

int probes_list(FILE *out, pid_t pid, const char *glob)
{
	struct listing listing = { .out = { .file = out }, .pid = pid };
	const struct list_filter *filter = &listing.filter;
	int status = 0;

	list_filter_init(&listing.filter, glob);
	if (pid && (!*filter->word || probe_kinds[filter->kind].is_user))
		status = process_read(&listing);
	if (!status)
		status = kinds_list(&listing, false);
	if (!status && glob && !listing.printed && !listing.out.error)
		log_warn("nothing matches %s", glob);
	entries_clear(&listing.entries);
	objects_free(listing.objects);
	free(listing.meant);
	trigger_clear(&listing.filter.trigger);
	if (!listing.out.error && fflush(out))
		listing.out.error = errno ? -errno : -EIO;
	return listing.out.error ? listing.out.error : status;
}
