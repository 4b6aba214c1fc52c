/* SPDX-License-Identifier: Apache-2.0 */
/* Where a tracepoint has its fields, as its format file in tracefs says. Linux,
 * Documentation/trace/events.rst */
#ifndef EVENT_FIELD_H
#define EVENT_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
