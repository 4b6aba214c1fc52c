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

/* "pid_t prev_pid", "char comm[16]", "__data_loc char[] name" */
static void declaration_read(struct event_field *field, const char *at, const char *end)
{
	field->is_number = !memchr(at, '[', (size_t)(end - at)) &&
			   strncmp(at, "__data_loc", 10) != 0 && strncmp(at, "__rel_loc", 9) != 0;
	if (end > at && end[-1] == ']')
		end = memrchr(at, '[', (size_t)(end - at));
	field->name = end;
	while (end && field->name > at && is_word(field->name[-1]))
		field->name--;
	field->length = (size_t)(end - field->name);
}

/* "field:pid_t prev_pid; offset:24; size:4; signed:1;". Returns false for anything else. */
static bool line_read(struct event_field *field, const char *line)
{
	unsigned long offset, size;
	int from = 0, to = 0, is_signed = 0;

	line += strspn(line, " \t");
	if (sscanf(line, "field:%n%*[^;\n]%n; offset:%lu; size:%lu; signed:%d;", &from, &to,
		   &offset, &size, &is_signed) < 2 ||
	    offset < REPLACED || offset > EVENT_BYTES || size > EVENT_BYTES)
		return false;
	declaration_read(field, line + from, line + to);
	field->is_signed = is_signed;
	field->is_number = field->is_number && (size == 1 || size == 2 || size == 4 || size == 8) &&
			   offset + size <= EVENT_BYTES;
	field->offset = (uint16_t)offset;
	field->size = (uint8_t)size;
	return field->length;
}

bool event_field_next(struct event_field *field, const char **format)
{
	while (**format) {
		const char *line = *format, *end = strchrnul(line, '\n');

		*format = *end ? end + 1 : end;
		if (line_read(field, line))
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

/* Splits a line, without its end. Returns false if it is of something else. group is NULL. */
typedef bool line_parser(char *line, const char **group, const char **name);

/* Closes the file; NULL: errno says why it could not be opened. Skips lines too long to come from
 * the kernel. */
static int lines_each(FILE *file, line_parser *parse, kernel_name_fn *each, void *context)
{
	char *line = NULL;
	size_t capacity = 0;
	ssize_t length;
	int result = 0;

	if (!file)
		return -errno;
	while (!result && (length = getline(&line, &capacity, file)) >= 0) {
		const char *group = NULL, *name;

		if (length >= LINE_LEN || line[length - 1] != '\n')
			continue;
		line[length - 1] = '\0';
		if (parse(line, &group, &name))
			result = each(context, group, name);
	}
	if (!result && ferror(file))
		result = errno ? -errno : -EIO;
	free(line);
	fclose(file);
	return result;
}

/* "SYSTEM:EVENT" */
static bool event_parse(char *line, const char **group, const char **name)
{
	*group = strsep(&line, ":");
	*name = line;
	return line;
}

int kernel_each_event(const char *root, kernel_name_fn *each, void *context)
{
	return lines_each(tracefs_open(root, "available_events"), event_parse, each, context);
}

const char *kernel_events_hint(int error)
{
	switch (error) {
	case -EACCES:
		return "/sys/kernel/tracing is there, but closed to this user: run it as root, or "
		       "grant CAP_DAC_READ_SEARCH";
	case -EPERM:
		return "does lockdown=confidentiality or a security module forbid it?";
	default:
		return "as root: mount -t tracefs none /sys/kernel/tracing";
	}
}

exit_status kernel_events_status(int error)
{
	return error == -EACCES || error == -EPERM ? EX_NOPERM : EX_OSERR;
}

/* "NAME", or "NAME [MODULE]", from the name on. */
static bool function_parse(char *line, const char **group, const char **name)
{
	/* Symbols that are not functions: padding for kCFI and call depth tracking; ftrace's
	 * placeholder for a replaced weak function. */
	static const char *const others[] = { "__pfx_", "__cfi_", "__ftrace_invalid_address___" };
	const char *module;

	(void)group;
	*name = strsep(&line, " \t");
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strncmp(*name, others[i], strlen(others[i])))
			return false;
	module = line ? strchr(line, '[') : NULL;
	/* Not modules: JIT code. */
	return **name && (!module || (strncmp(module, "[bpf]", 5) != 0 &&
				      strncmp(module, "[__builtin__", 12) != 0));
}

/* "ADDRESS TYPE NAME", or "ADDRESS TYPE NAME<tab>[MODULE]" */
static bool symbol_parse(char *line, const char **group, const char **name)
{
	char *type = strchr(line, ' ');

	return type && type[1] && type[2] == ' ' && strchr("tTwW", type[1]) &&
	       function_parse(type + 3, group, name);
}

static int kallsyms_each(const char *root, kernel_name_fn *each, void *context)
{
	return lines_each(root_open(root, "/proc/kallsyms"), symbol_parse, each, context);
}

/* Not all symbols, since a wildcard should match no others; without a function tracer all. */
int kernel_each_function(const char *root, kernel_name_fn *each, void *context)
{
	FILE *file = tracefs_open(root, "available_filter_functions");

	return file ? lines_each(file, function_parse, each, context)
		    : kallsyms_each(root, each, context);
}

bool kernel_has_kprobes(const char *root)
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
	kernel_name_fn *found;
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
	return kernel_events_status(error);
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
					       matches->all[i].text);
	}
	return status;
}

static exit_status tracepoints_find(struct search *search, const char *root)
{
	const struct trigger *trigger = search->trigger;
	int error = kernel_each_event(root, event_try, search);

	if (error)
		return unreadable(trigger, "tracepoints", error, kernel_events_hint(error));
	if (!search->matches.n)
		return no_event(search);
	return matches_report(search);
}

static int function_try(void *context, const char *group, const char *function)
{
	struct search *search = context;

	(void)group;
	if (names_match(search->trigger->name, function))
		return match_add(&search->matches, function);
	names_closest_offer(&search->closest, function);
	return 0;
}

static int symbol_try(void *context, const char *group, const char *function)
{
	struct search *search = context;

	(void)group;
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

	if (!kernel_has_kprobes(root)) {
		log_error("%s: this kernel has no probes on its functions", trigger->text);
		log_hint("use a kernel with CONFIG_KPROBE_EVENTS, or a tracepoint: "
			 "--list-probes='t:*' lists them");
		return EX_OSERR;
	}
	error = glob ? kernel_each_function(root, function_try, search)
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

exit_status kernel_find(const char *root, const struct trigger *trigger, kernel_name_fn *found,
			void *context)
{
	struct search search = { .trigger = trigger, .found = found, .context = context };
	int status;

	names_closest_init(&search.closest, trigger->name);
	names_closest_init(&search.systems, trigger->group ? trigger->group : "");
	status = trigger->group ? tracepoints_find(&search, root) : function_find(&search, root);
	entries_clear(&search.matches);
	entries_clear(&search.symbols);
	names_closest_clear(&search.closest);
	names_closest_clear(&search.systems);
	return status;
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
