// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "kernel.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/base/names.h"
#include "cli/base/syscall_set.h"

/* --- Tracepoints of single system calls --- */

/* System calls that the kernel names after their functions (SYSCALL_DEFINE). */
static const struct {
	const char *function, *name;
} renamed[] = {
	{ "newfstat", "fstat" },       { "newlstat", "lstat" }, { "newstat", "stat" },
	{ "newuname", "uname" },       { "umount", "umount2" }, { "sendfile64", "sendfile" },
	{ "fstatat64", "newfstatat" },
};

static int function_number(const char *function)
{
	for (size_t i = 0; i < sizeof(renamed) / sizeof(*renamed); i++)
		if (!strcmp(function, renamed[i].function))
			return syscall_number(renamed[i].name);
	return syscall_number(function);
}

int site_call(const struct site *site, bool *exit)
{
	static const char enter_prefix[] = "sys_enter_", exit_prefix[] = "sys_exit_";

	if (!site->group || strcmp(site->group, "syscalls"))
		return -1;
	*exit = !strncmp(site->name, exit_prefix, sizeof(exit_prefix) - 1);
	if (*exit)
		return function_number(site->name + sizeof(exit_prefix) - 1);
	if (!strncmp(site->name, enter_prefix, sizeof(enter_prefix) - 1))
		return function_number(site->name + sizeof(enter_prefix) - 1);
	return -1;
}

/* --- Fields of a tracepoint, by its format file in tracefs --- */

/* Linux, Documentation/trace/events.rst. */

/* Bytes that the kernel replaces by a pointer to the registers (perf_trace_run_bpf_submit()). */
#define REPLACED 8

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static bool begins(const char *at, const char *end, const char *with)
{
	size_t length = strlen(with);

	return (size_t)(end - at) >= length && !memcmp(at, with, length);
}

/* Finds the number after a word such as "offset:" in a line. Returns false if there is none, or
 * it is larger than an event. */
static bool number_find(unsigned long *number, const char *line, const char *end, const char *word)
{
	const char *found = memmem(line, (size_t)(end - line), word, strlen(word));
	char *rest;

	if (!found)
		return false;
	found += strlen(word);
	if (found == end || *found < '0' || *found > '9')
		return false;
	*number = strtoul(found, &rest, 10);
	return *rest == ';' && *number <= EVENT_BYTES;
}

/* "pid_t prev_pid", "char comm[16]", "__data_loc char[] name" */
static void declaration_read(struct event_field *field, const char *at, const char *end)
{
	field->is_number = !memchr(at, '[', (size_t)(end - at)) && !begins(at, end, "__data_loc") &&
			   !begins(at, end, "__rel_loc");
	if (end > at && end[-1] == ']')
		end = memrchr(at, '[', (size_t)(end - at));
	field->name = end;
	while (end && field->name > at && is_word(field->name[-1]))
		field->name--;
	field->length = (size_t)(end - field->name);
}

/* "field:pid_t prev_pid; offset:24; size:4; signed:1;". Returns false for anything else. */
static bool line_read(struct event_field *field, const char *line, const char *end)
{
	static const char word[] = "field:";
	unsigned long offset, size, is_signed = 0;
	const char *semicolon;

	while (line < end && (*line == ' ' || *line == '\t'))
		line++;
	semicolon = memchr(line, ';', (size_t)(end - line));
	if (!begins(line, end, word) || !semicolon)
		return false;
	declaration_read(field, line + sizeof(word) - 1, semicolon);
	if (!field->length || !number_find(&offset, semicolon, end, "offset:") ||
	    !number_find(&size, semicolon, end, "size:") || offset < REPLACED)
		return false;
	field->is_signed = number_find(&is_signed, semicolon, end, "signed:") && is_signed;
	field->is_number = field->is_number && (size == 1 || size == 2 || size == 4 || size == 8) &&
			   offset + size <= EVENT_BYTES;
	field->offset = (uint16_t)offset;
	field->size = (uint8_t)size;
	return true;
}

bool event_field_next(struct event_field *field, const char **format)
{
	while (**format) {
		const char *line = *format, *end = strchrnul(line, '\n');

		*format = *end ? end + 1 : end;
		if (line_read(field, line, end))
			return true;
	}
	return false;
}

/* --- Tracepoints and functions of the running kernel --- */

#define LINE_LEN 1024                      /* the kernel's longest names have 511 bytes */
#define MATCHES_MAX (8 * KERNEL_SITES_MAX) /* names repeat */

static FILE *root_open(const char *root, const char *name)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s%s", root, name) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	return fopen(path, "re");
}

static FILE *tracefs_open(const char *root, const char *name)
{
	static const char *const folders[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	int error = ENOENT;

	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		char path[PATH_MAX];
		FILE *file;

		snprintf(path, sizeof(path), "%s/%s", folders[i], name);
		file = root_open(root, path);
		if (file)
			return file;
		if (errno != ENOENT)
			error = errno;
	}
	errno = error;
	return NULL;
}

/* Called for each line, without its end. */
typedef int line_fn(void *context, char *line);

/* Closes the file. Skips lines too long to come from the kernel. */
static int lines_each(FILE *file, line_fn *each, void *context)
{
	char line[LINE_LEN];
	bool cut = false;
	int result = 0;

	while (!result && fgets(line, sizeof(line), file)) {
		size_t length = strlen(line);
		bool whole = length && line[length - 1] == '\n';

		if (whole)
			line[length - 1] = '\0';
		if (whole && !cut)
			result = each(context, line);
		cut = !whole;
	}
	if (!result && ferror(file))
		result = errno ? -errno : -EIO;
	fclose(file);
	return result;
}

struct event_lines {
	kernel_event_fn *each;
	void *context;
};

/* "SYSTEM:EVENT" */
static int event_line(void *context, char *line)
{
	const struct event_lines *lines = context;
	char *colon = strchr(line, ':');

	if (!colon)
		return 0;
	*colon = '\0';
	return lines->each(lines->context, line, colon + 1);
}

static int events_each(const char *root, kernel_event_fn *each, void *context)
{
	struct event_lines lines = { .each = each, .context = context };
	FILE *file = tracefs_open(root, "available_events");

	return file ? lines_each(file, event_line, &lines) : -errno;
}

const char *kernel_events_hint(int error)
{
	return error == -EACCES || error == -EPERM
		       ? "/sys/kernel/tracing is there, but closed to this user: run it as root, "
			 "or grant CAP_DAC_READ_SEARCH"
		       : "as root: mount -t tracefs none /sys/kernel/tracing";
}

struct function_lines {
	kernel_function_fn *each;
	void *context;
};

/* "NAME", or "NAME [MODULE]", from the name on. */
static int function_line(void *context, char *line)
{
	/* Symbols that are not functions: padding for kCFI and call depth tracking; ftrace's
	 * placeholder for a replaced weak function. */
	static const char *const others[] = { "__pfx_", "__cfi_", "__ftrace_invalid_address___" };
	const struct function_lines *lines = context;
	char *end = line + strcspn(line, " \t"), *module = strchr(end, '[');

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		if (!strncmp(line, others[i], strlen(others[i])))
			return 0;
	}
	*end = '\0';
	if (module) {
		module++;
		module[strcspn(module, "]")] = '\0';
		/* Not modules: JIT code. */
		if (!strcmp(module, "bpf") || !strncmp(module, "__builtin__", 11))
			return 0;
	}
	return *line ? lines->each(lines->context, line, module) : 0;
}

/* "ADDRESS TYPE NAME", or "ADDRESS TYPE NAME<tab>[MODULE]" */
static int kallsyms_line(void *context, char *line)
{
	char *type = strchr(line, ' ');

	if (!type || !type[1] || type[2] != ' ' || !strchr("tTwW", type[1]))
		return 0;
	return function_line(context, type + 3);
}

static int kallsyms_each(const char *root, kernel_function_fn *each, void *context)
{
	struct function_lines lines = { .each = each, .context = context };
	FILE *file = root_open(root, "/proc/kallsyms");

	return file ? lines_each(file, kallsyms_line, &lines) : -errno;
}

/* Reads the functions that ftrace can trace, since a wildcard should match no others; without a
 * function tracer, all functions. */
static int functions_each(const char *root, kernel_function_fn *each, void *context)
{
	struct function_lines lines = { .each = each, .context = context };
	FILE *file = tracefs_open(root, "available_filter_functions");

	return file ? lines_each(file, function_line, &lines) : kallsyms_each(root, each, context);
}

static bool has_kprobes(const char *root)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/sys/bus/event_source/devices/kprobe", root);
	return !access(path, F_OK);
}

struct search {
	const struct trigger *trigger;
	struct entries matches; /* what can be probed; the flag: but not by name */
	struct entries symbols; /* matching functions, to find which names are unique */
	struct names_closest closest;
	struct names_closest systems;
	bool system_found;
	kernel_found_fn *found;
	void *context;
};

static int match_add(struct entries *matches, const char *name)
{
	return matches->n < MATCHES_MAX ? entries_add(matches, name, 0, false) : -E2BIG;
}

static exit_status too_many(const struct trigger *trigger)
{
	log_error("%s: more than %d match", trigger->text, KERNEL_SITES_MAX);
	log_hint("narrow the pattern");
	return EX_CONFIG;
}

/* Reports an error from reading the lists. */
static exit_status unreadable(const struct trigger *trigger, const char *what, int error,
			      const char *hint)
{
	if (error == -E2BIG)
		return too_many(trigger);
	log_error("%s: cannot read the kernel's list of %s: %s", trigger->text, what,
		  strerror(-error));
	if (error != -ENOMEM)
		log_hint("%s", hint);
	return EX_OSERR;
}

static int event_try(void *context, const char *system, const char *event)
{
	struct search *search = context;
	const struct trigger *trigger = search->trigger;

	names_closest_offer(&search->systems, system);
	if (strcmp(system, trigger->group))
		return 0;
	search->system_found = true;
	if (names_match(trigger->name, event))
		return match_add(&search->matches, event);
	names_closest_offer(&search->closest, event);
	return 0;
}

static exit_status no_event(const struct search *search)
{
	const struct trigger *trigger = search->trigger;
	char prefix[LINE_LEN], list[LINE_LEN];

	snprintf(prefix, sizeof(prefix), "t:%s:", trigger->group);
	snprintf(list, sizeof(list), "--list-probes='t:%s:*' lists those that there are",
		 trigger->group);
	if (search->system_found) {
		log_error("%s: the kernel has no such tracepoint in %s", trigger->text,
			  trigger->group);
		names_closest_hint(&search->closest, prefix, list);
	} else {
		log_error("%s: the kernel has no tracepoints in %s", trigger->text, trigger->group);
		names_closest_hint(&search->systems, "t:",
				   "load the module that has them; --list-probes='t:*' lists all "
				   "that there are");
	}
	return EX_CONFIG;
}

/* Calls found for every name that can be probed. */
static exit_status matches_report(struct search *search)
{
	struct entries *matches = &search->matches;
	const struct trigger *trigger = search->trigger;
	size_t n = 0;
	int status = 0;

	entries_sort(matches);
	for (size_t i = 0; i < matches->n; i = entries_end(matches, i))
		n += !matches->all[i].flag;
	if (n > KERNEL_SITES_MAX)
		return too_many(trigger);
	for (size_t i = 0; !status && i < matches->n; i = entries_end(matches, i)) {
		if (!matches->all[i].flag)
			status = search->found(search->context, trigger->group,
					       matches->all[i].text, trigger->offset);
	}
	return status;
}

static exit_status tracepoints_find(struct search *search, const char *root)
{
	const struct trigger *trigger = search->trigger;
	int error = events_each(root, event_try, search);

	if (error)
		return unreadable(trigger, "tracepoints", error, kernel_events_hint(error));
	if (!search->matches.n)
		return no_event(search);
	return matches_report(search);
}

static int function_try(void *context, const char *function, const char *module)
{
	struct search *search = context;

	(void)module;
	if (names_match(search->trigger->name, function))
		return match_add(&search->matches, function);
	names_closest_offer(&search->closest, function);
	return 0;
}

static int symbol_try(void *context, const char *function, const char *module)
{
	struct search *search = context;

	(void)module;
	if (names_match(search->trigger->name, function))
		return match_add(&search->symbols, function);
	return 0;
}

/* Reports an ambiguous name, which the kernel refuses since 6.7 (b022f0c7e404, also in stable
 * kernels), as it takes no address here. Older ones take the first function, maybe the wrong
 * one. */
static exit_status ambiguous(const struct trigger *trigger, size_t times)
{
	log_error("%s: the kernel has %zu functions of that name and cannot tell which is meant",
		  trigger->text, times);
	log_hint("use a function that calls it, or a tracepoint");
	return EX_CONFIG;
}

/* Flags names that several functions have. Returns how many names are left. */
static size_t matches_flag(struct search *search)
{
	struct entries *matches = &search->matches, *symbols = &search->symbols;
	size_t left = 0, left_out = 0, symbol = 0, end;

	entries_sort(matches);
	entries_sort(symbols);
	for (size_t i = 0; i < matches->n; i = end) {
		const char *name = matches->all[i].text;
		bool multiple;

		end = entries_end(matches, i);
		while (symbol < symbols->n && strcmp(symbols->all[symbol].text, name) < 0)
			symbol++;
		multiple = symbol < symbols->n && !strcmp(symbols->all[symbol].text, name) &&
			   entries_end(symbols, symbol) - symbol > 1;
		for (size_t j = i; j < end; j++)
			matches->all[j].flag = multiple;
		left += !multiple;
		left_out += multiple;
	}
	if (left && left_out)
		log_warn("%s: left out the names that several functions share: %zu",
			 search->trigger->text, left_out);
	return left;
}

static exit_status function_find(struct search *search, const char *root)
{
	static const char hint[] = "as root, with /proc mounted, on a kernel with CONFIG_KALLSYMS";
	const struct trigger *trigger = search->trigger;
	bool glob = trigger_is_glob(trigger);
	size_t found;
	int error;

	if (!has_kprobes(root)) {
		log_error("%s: this kernel has no probes on its functions", trigger->text);
		log_hint("use a kernel with CONFIG_KPROBE_EVENTS, or a tracepoint: "
			 "--list-probes='t:*' lists them");
		return EX_OSERR;
	}
	error = glob ? functions_each(root, function_try, search)
		     : kallsyms_each(root, function_try, search);
	found = search->matches.n;
	if (!error && glob)
		error = kallsyms_each(root, symbol_try, search);
	if (error)
		return unreadable(trigger, "functions", error, hint);
	if (!found) {
		log_error("%s: the kernel has no such function", trigger->text);
		names_closest_hint(&search->closest, trigger_is_return(trigger) ? "kr:" : "k:",
				   "load the module that has it, or look for others with "
				   "--list-probes='k:*PART*'");
		return EX_CONFIG;
	}
	if (glob ? !matches_flag(search) : found > 1)
		return ambiguous(trigger, found);
	return matches_report(search);
}

exit_status kernel_find_below(const char *root, const struct trigger *trigger,
			      kernel_found_fn *found, void *context)
{
	struct search search = { .trigger = trigger, .found = found, .context = context };
	int status;

	names_closest_init(&search.closest, trigger->name);
	names_closest_init(&search.systems, trigger->group ? trigger->group : "");
	if (trigger->kind == TRIGGER_TRACEPOINT)
		status = tracepoints_find(&search, root);
	else
		status = function_find(&search, root);
	entries_clear(&search.matches);
	entries_clear(&search.symbols);
	names_closest_clear(&search.closest);
	names_closest_clear(&search.systems);
	return status;
}

exit_status kernel_find(const struct trigger *trigger, kernel_found_fn *found, void *context)
{
	return kernel_find_below("", trigger, found, context);
}

int kernel_event_format(char **format, const char *system, const char *event)
{
	char path[PATH_MAX];
	size_t capacity = 0;
	FILE *file;
	int error = 0;

	*format = NULL;
	if (snprintf(path, sizeof(path), "events/%s/%s/format", system, event) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	file = tracefs_open("", path);
	if (!file)
		return -errno;
	errno = 0;
	if (getdelim(format, &capacity, '\0', file) < 0) {
		error = errno ? -errno : -EIO;
		free(*format);
		*format = NULL;
	}
	fclose(file);
	return error;
}

bool kernel_has_kprobes(void)
{
	return has_kprobes("");
}

int kernel_each_event(kernel_event_fn *each, void *context)
{
	return events_each("", each, context);
}

int kernel_each_function(kernel_function_fn *each, void *context)
{
	return functions_each("", each, context);
}
