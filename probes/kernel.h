/* SPDX-License-Identifier: Apache-2.0 */
/* Which tracepoints and functions the running kernel has. */
#ifndef KERNEL_H
#define KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/base/exit_status.h"
#include "sites.h"
#include "trigger.h"

/* The most sites that a pattern in a kernel trigger may stand for. */
#define KERNEL_SITES_MAX 1000

/* Called for each site of a trigger: the system of a tracepoint (else NULL), the
 * name of the event or function, the offset into the function. The strings live
 * until it returns. Returns 0; or an exit status, which ends the search. */
typedef int kernel_found_fn(void *context, const char *group, const char *name, uint64_t offset);

/* Finds what a kernel trigger (tracepoint, kprobe, kretprobe) names, and calls
 * found for each in the order of the names. Returns 0 after at least one; what
 * found returned if not 0; or, after printing what is wrong and which names come
 * close, EX_CONFIG if the trigger names nothing, several functions of one name, or
 * too many; EX_OSERR if this kernel cannot have such a probe, or does not say which
 * there are. */
exit_status kernel_find(const struct trigger *trigger, kernel_found_fn *found, void *context);

/* The same with the kernel's files below another folder than /: for tests. */
exit_status kernel_find_below(const char *root, const struct trigger *trigger,
			      kernel_found_fn *found, void *context);

/* True if kprobes and kretprobes can be had (CONFIG_KPROBE_EVENTS). */
bool kernel_has_kprobes(void);

/* What kernel_each_event() and kernel_each_function() call; a result other than 0
 * ends the iteration and is returned. */
typedef int kernel_event_fn(void *context, const char *system, const char *event);
typedef int kernel_function_fn(void *context, const char *function, const char *module);

/* Calls each for every tracepoint, in the kernel's order. Returns 0, what it
 * returned, or a negative errno: -ENOENT if tracefs is not mounted, -EACCES if it is closed to
 * this user. Prints nothing. */
int kernel_each_event(kernel_event_fn *each, void *context);

/* Reads the format of a tracepoint's fields (event_field.h), which the caller frees. Returns 0 or a
 * negative errno as above. Prints nothing. */
int kernel_event_format(char **format, const char *system, const char *event);

/* What to do where one of these two fails with this negative errno. */
const char *kernel_events_hint(int error);

/* Calls each for every function that the kernel can trace, with the module that
 * holds it or NULL; names may repeat. As above; -ENOENT without /proc/kallsyms. */
int kernel_each_function(kernel_function_fn *each, void *context);

/* --- Tracepoints of single system calls --- */

/* The number of the system call whose own tracepoint (syscalls:sys_enter_NAME or
 * sys_exit_NAME) a site is; *exit says which of the two. -1 if it is none, or one
 * whose number is not known. */
int site_call(const struct site *site, bool *exit);

/* --- Where a tracepoint has its fields, as its format file in tracefs says --- */

/* Linux, Documentation/trace/events.rst. */

#define EVENT_BYTES 8192 /* the most that programs are given of an event (PERF_MAX_TRACE_SIZE) */

struct event_field {
	const char *name; /* in the format's text, so many bytes */
	size_t length;
	bool is_number; /* else it is a text or an array, and what follows is not filled */
	uint16_t offset;
	uint8_t size; /* bytes: 1, 2, 4, 8 */
	bool is_signed;
};

/* Reads the next field and moves *format behind it; the first call has the whole text there. Those
 * that all events have (common_...) are left out: where they were, programs find a pointer. Returns
 * false if there is no other. */
bool event_field_next(struct event_field *field, const char **format);

/* Finds the field of a name. Returns false if there is none. */
bool event_field_find(struct event_field *field, const char *format, const char *name);

#endif
