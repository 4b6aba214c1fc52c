/* SPDX-License-Identifier: Apache-2.0 */
/* Tracepoints and functions of the running kernel. */
#ifndef KERNEL_H
#define KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/base/exit_status.h"
#include "sites.h"
#include "trigger.h"

/* Most sites that a kernel trigger's pattern may stand for. */
#define KERNEL_SITES_MAX 1000

/* Called with the system and name of a tracepoint, or with NULL and the name of a function. A
 * result other than 0 ends the iteration and is returned. */
typedef int kernel_name_fn(void *context, const char *group, const char *name);

/* Below, root is "", or a directory with other files of a kernel, for tests. */

/* Finds what a kernel trigger (tracepoint, kprobe, kretprobe) names, and calls found for each in
 * name order. Returns 0 after at least one, or what found returned if not 0. Otherwise prints
 * what is wrong and which names come close. Returns EX_CONFIG if the trigger names nothing,
 * several functions of one name, or too many. Returns EX_OSERR if this kernel cannot have such a
 * probe, or does not list them. */
exit_status kernel_find(const char *root, const struct trigger *trigger, kernel_name_fn *found,
			void *context);

/* True if the kernel has kprobes and kretprobes (CONFIG_KPROBE_EVENTS). */
bool kernel_has_kprobes(const char *root);

/* Calls each for every tracepoint, in the kernel's order. Returns 0, the callback's result, or a
 * negative errno: -ENOENT if tracefs is not mounted, -EACCES if this user may not read it.
 * Prints nothing. */
int kernel_each_event(const char *root, kernel_name_fn *each, void *context);

/* Reads the format of a tracepoint's fields (event_field_next()); the caller frees it. Returns 0 or
 * a negative errno as kernel_each_event() does. Prints nothing. */
int kernel_event_format(char **format, const char *system, const char *event);

/* A hint, and the exit status, for a negative errno of kernel_each_event() or
 * kernel_event_format(). */
const char *kernel_events_hint(int error);
exit_status kernel_events_status(int error);

/* Calls each for every function that the kernel can trace; names may repeat. Returns as
 * kernel_each_event() does; -ENOENT without /proc/kallsyms. */
int kernel_each_function(const char *root, kernel_name_fn *each, void *context);

/* --- Tracepoints of single system calls --- */

/* Returns the number of the system call whose tracepoint (syscalls:sys_enter_NAME or
 * sys_exit_NAME) the site is; *exit says which. -1 if it is none, or the number is unknown. */
int site_call(const struct site *site, bool *exit);

/* --- Fields of a tracepoint, by its format file in tracefs --- */

#define EVENT_BYTES 8192 /* most bytes of an event that programs get (PERF_MAX_TRACE_SIZE) */

struct event_field {
	const char *name; /* points into the format's text; this many bytes */
	size_t length;
	bool is_number; /* else text or an array, and the fields below are not filled */
	uint16_t offset;
	uint8_t size; /* bytes: 1, 2, 4, 8 */
	bool is_signed;
};

/* Reads the next field and moves *format past it; start with the full text. Skips fields common
 * to all events (common_...), where programs find a pointer. Returns false at the end. */
bool event_field_next(struct event_field *field, const char **format);

#endif
