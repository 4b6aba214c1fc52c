// SPDX-License-Identifier: Apache-2.0
#include "awaited.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/columns.h"
#include "cli/base/escape.h"
#include "cli/base/texts.h"

/* --- Descriptors --- */

const char *descriptor_text(const struct descriptor *is, char text[static DESCRIPTOR_TEXT_LEN])
{
	const char *protocol = is->protocol;
	int length = sizeof(is->protocol), path = sizeof(is->path), address = sizeof(is->local);
	int device = sizeof(is->device);

	snprintf(text, DESCRIPTOR_TEXT_LEN, "%.*s%s%.*s", length, protocol,
		 protocol[0] && is->path[0] ? " " : "", path, is->path);
	if (is->local[0])
		text_append(text, DESCRIPTOR_TEXT_LEN, "%s%.*s", *text ? " " : "", address,
			    is->local);
	if (is->peer[0])
		text_append(text, DESCRIPTOR_TEXT_LEN, "%s%.*s", *text ? " to " : "", address,
			    is->peer);
	if (is->device[0])
		text_append(text, DESCRIPTOR_TEXT_LEN, "%son %.*s", *text ? " " : "", device,
			    is->device);
	if (is->other_net)
		text_append(text, DESCRIPTOR_TEXT_LEN, " in net:[%" PRIu32 "]", is->other_net);
	return text;
}

void descriptor_write(struct columns *columns, const struct descriptor *is)
{
	char text[DESCRIPTOR_TEXT_LEN], escaped[ESCAPE_SIZE(DESCRIPTOR_TEXT_LEN)];

	escape_text(escaped, sizeof(escaped), descriptor_text(is, text), sizeof(text));
	columns_add(columns, *escaped ? escaped : "-");
}

void address_text(char text[static DESCRIPTOR_ADDRESS_LEN], int family, const void *address,
		  uint16_t port)
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
	char plain[INET6_ADDRSTRLEN] = "?";
	bool six = family == AF_INET6;

	if (six && !memcmp(address, mapped, sizeof(mapped))) {
		address = (const char *)address + sizeof(mapped);
		six = false;
	}
	inet_ntop(six ? AF_INET6 : AF_INET, address, plain, sizeof(plain));
	snprintf(text, DESCRIPTOR_ADDRESS_LEN, six ? "[%s]:%u" : "%s:%u", plain, port);
}

/* --- Functions that waited --- */

#define FUNCTIONS 3 /* the innermost is often a wrapper shared by all callers */

static bool begins_with_one(const char *text, const char *const *beginnings)
{
	for (; *beginnings; beginnings++)
		if (!strncmp(text, *beginnings, strlen(*beginnings)))
			return true;
	return false;
}

/* Statically linked programs contain the functions themselves. */
bool frame_is_of_library(const struct frame *frame)
{
	static const char *const objects[] = { "libc.so",      "libc-2.",   "libpthread",
					       "ld-",          "ld.so",     "libc.musl",
					       "libstdc++.so", "libc++.so", "libc++abi.so",
					       "libgcc_s.so",  "[vdso]",    NULL };
	static const char *const functions[] = { "pthread_", "__pthread_", "___pthread_", "__GI_",
						 "__lll_",   "__futex_",   "__new_sem_",  "sem_",
						 "futex_",   "__syscall_", "syscall",     "std::",
						 NULL };

	return (frame->object && begins_with_one(path_last(frame->object), objects)) ||
	       (frame->function && begins_with_one(frame->function, functions));
}

static void text_add(char *text, const char *more)
{
	size_t used = strlen(text), left = LOCK_CALLER_LEN - used;

	snprintf(text + used, left, "%s", more);
	if (strlen(more) >= left)
		strcpy(text + LOCK_CALLER_LEN - sizeof("..."), "...");
}

/* next: the last frame of an object prints the object's name. */
static void frame_add(char *text, const struct frame *frame, const struct frame *next)
{
	const char *object = path_last(frame->object);
	char offset[32];

	if (*text)
		text_add(text, " < ");
	if (frame->function)
		text_add(text, frame->function);
	snprintf(offset, sizeof(offset), "%s0x%" PRIx64, frame->function ? "+" : "", frame->offset);
	text_add(text, offset);
	if (!object || (next && next->object && !strcmp(object, path_last(next->object))))
		return;
	text_add(text, *object == '[' ? " " : " [");
	text_add(text, object);
	text_add(text, *object == '[' ? "" : "]");
}

void lock_caller_text(const struct stack *stack, char text[static LOCK_CALLER_LEN])
{
	size_t first = 0, end;

	*text = '\0';
	if (!stack)
		return;
	while (first < stack->n && frame_is_of_library(&stack->frames[first]))
		first++;
	end = stack->n - first < FUNCTIONS ? stack->n : first + FUNCTIONS;
	/* Functions that started the thread add nothing. */
	while (end > first && frame_is_of_library(&stack->frames[end - 1]))
		end--;
	for (size_t i = first; i < end; i++)
		frame_add(text, &stack->frames[i], i + 1 < end ? &stack->frames[i + 1] : NULL);
}

/* --- Holder's states --- */

void activity_limit(struct kd_activity *activity, uint64_t ns)
{
	uint64_t sum = u64_add(u64_add(activity->running, activity->ready), activity->asleep), part;

	for (uint64_t excess = u64_sub(sum, ns); excess; excess -= part) {
		__u64 *most = &activity->running;

		if (activity->ready > *most)
			most = &activity->ready;
		if (activity->asleep > *most)
			most = &activity->asleep;
		part = u64_min(excess, *most);
		*most -= part;
	}
}
