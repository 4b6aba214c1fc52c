// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "timeline.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/texts.h"
#include "perfetto_fields.h"

#define NAME_MOST 1000 /* bytes of a name */

/* Elements of trees; a new one has the numbers 0. */

/* Both halves of a row's stack. */
struct pair {
	const struct stack *user, *kernel; /* NULL: none */
	uint64_t iid;
};

/* A function of a file, or an address in it; also a file, as the first one that was found there. */
struct location {
	const struct frame *frame;
	bool kernel;
	uint64_t iid, file;
};

/* Placeholders for missing frames. */
static const struct frame no_user = { .function = "[no_user_stack]" };
static const struct frame incomplete = { .function = "[incomplete]" };

static int pointers_compare(const void *a, const void *b)
{
	return ORDER((uintptr_t)a, (uintptr_t)b);
}

static int pair_compare(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	return pointers_compare(x->user, y->user) ?: pointers_compare(x->kernel, y->kernel);
}

/* NULL sorts first. */
static int texts_compare(const char *a, const char *b)
{
	if (!a || !b)
		return !!a - !!b;
	return a == b ? 0 : strcmp(a, b);
}

static bool is_named(const struct frame *frame)
{
	return frame->function && *frame->function;
}

/* Build IDs only distinguish files where they are written. */
static int file_compare(const void *a, const void *b)
{
	const struct location *x = a, *y = b;
	bool named = is_named(x->frame);

	return ORDER(x->kernel, y->kernel) ?: texts_compare(x->frame->object, y->frame->object)
		       ?: (named - is_named(y->frame))
		       ?: named ? 0 : texts_compare(x->frame->build_id, y->frame->build_id);
}

static int location_compare(const void *a, const void *b)
{
	const struct location *x = a, *y = b;
	int order = file_compare(x, y);

	if (order)
		return order;
	if (is_named(x->frame))
		return texts_compare(x->frame->function, y->frame->function);
	return ORDER(x->frame->offset, y->frame->offset);
}

/* The element like this one; without any, a copy of it is added. NULL, and trace->err is set: no
 * memory. */
static void *element_of(struct pftrace *trace, void **tree, const void *like, size_t size,
			int (*compare)(const void *, const void *))
{
	void **found = tfind(like, tree, compare), *copy;

	if (found)
		return *found;
	copy = malloc(size);
	if (copy && tsearch(memcpy(copy, like, size), tree, compare))
		return copy;
	free(copy);
	trace->err = trace->err ?: -ENOMEM;
	return NULL;
}

void callstacks_clear(struct pftrace *trace)
{
	tdestroy(trace->callstacks.pairs, free);
	tdestroy(trace->callstacks.locations, free);
	tdestroy(trace->callstacks.files, free);
	trace->callstacks = (struct callstacks){ 0 };
}

/* --- Writing --- */

static void string_begin(struct pftrace *trace, uint32_t field, uint64_t iid)
{
	proto_begin(&trace->proto, field);
	proto_u64(&trace->proto, NAMED_IID, iid);
}

static unsigned int digit(char c)
{
	return c >= '0' && c <= '9'   ? (unsigned int)(c - '0')
	       : c >= 'a' && c <= 'f' ? (unsigned int)(c - 'a' + 10)
				      : 16;
}

/* Perfetto stores the bytes, not the digits. Returns false if the text is not a build ID. */
static bool build_id_add(struct pftrace *trace, const char *text, uint64_t iid)
{
	uint8_t bytes[64];
	size_t length = text ? strlen(text) : 0;

	if (!length || length % 2 || length / 2 > sizeof(bytes))
		return false;
	for (size_t i = 0; i < length; i += 2) {
		unsigned int high = digit(text[i]), low = digit(text[i + 1]);

		if (high > 15 || low > 15)
			return false;
		bytes[i / 2] = (uint8_t)(high << 4 | low);
	}
	string_begin(trace, INTERNED_BUILD_IDS, iid);
	proto_bytes(&trace->proto, NAMED_TEXT, bytes, length / 2);
	proto_end(&trace->proto);
	return true;
}

/* Writes the file of a place; kernel files in brackets, as in the text. */
static void file_add(struct pftrace *trace, const struct location *location)
{
	const struct frame *frame = location->frame;
	uint64_t iid = location->file;
	char name[NAME_MOST + 16];
	bool has_id;

	if (location->kernel)
		snprintf(name, sizeof(name), "[%.*s]", NAME_MOST,
			 frame->object ? frame->object : "kernel");
	else
		snprintf(name, sizeof(name), "%.*s", NAME_MOST,
			 frame->object ? frame->object : "[unknown]");
	string_begin(trace, INTERNED_MAPPING_PATHS, iid);
	pftrace_text(trace, NAMED_TEXT, name, SIZE_MAX);
	proto_end(&trace->proto);
	/* Tools must not look up names by build ID where the address is unknown. */
	has_id = !is_named(frame) && build_id_add(trace, frame->build_id, iid);
	proto_begin(&trace->proto, INTERNED_MAPPINGS);
	proto_u64(&trace->proto, MAPPING_IID, iid);
	if (has_id)
		proto_u64(&trace->proto, MAPPING_BUILD_ID, iid);
	proto_u64(&trace->proto, MAPPING_PATH_STRING_IDS, iid);
	proto_end(&trace->proto);
}

/* As in folded stacks: without a name, the basename of the file and the address in it. */
static void function_add(struct pftrace *trace, const struct location *location, uint64_t iid)
{
	const struct frame *frame = location->frame;
	char name[NAME_MOST + 32];

	if (is_named(frame))
		snprintf(name, sizeof(name), "%.*s", NAME_MOST, frame->function);
	else if (frame->object)
		snprintf(name, sizeof(name), "%.*s+0x%llx", NAME_MOST, path_last(frame->object),
			 (unsigned long long)frame->offset);
	else
		snprintf(name, sizeof(name), location->kernel ? "[no symbol]" : "[unknown]");
	string_begin(trace, INTERNED_FUNCTION_NAMES, iid);
	pftrace_text(trace, NAMED_TEXT, name, SIZE_MAX);
	proto_end(&trace->proto);
}

/* For a named function, the address in the file is unknown: 0. */
static void location_write(struct pftrace *trace, struct location *location)
{
	struct callstacks *callstacks = &trace->callstacks;
	struct location *file = element_of(trace, &callstacks->files, location, sizeof(*location),
					   file_compare);
	struct proto *proto = &trace->proto;

	if (!file)
		return;
	location->iid = ++callstacks->n_locations;
	pftrace_packet_begin(trace);
	proto_begin(proto, PACKET_INTERNED_DATA);
	if (!file->file) {
		file->file = ++callstacks->n_files;
		file_add(trace, file);
	}
	function_add(trace, location, location->iid);
	proto_begin(proto, INTERNED_FRAMES);
	proto_u64(proto, FRAME_IID, location->iid);
	proto_u64(proto, FRAME_FUNCTION_NAME_ID, location->iid);
	proto_u64(proto, FRAME_MAPPING_ID, file->file);
	proto_u64(proto, FRAME_REL_PC, is_named(location->frame) ? 0 : location->frame->offset);
	proto_end(proto);
	proto_end(proto);
	pftrace_packet_end(trace);
}

/* Place of a frame of a pair, outermost first, kernel last; NULL: there are no more. */
static struct location *location_at(struct pftrace *trace, const struct pair *pair, size_t i)
{
	for (int kernel = 0; kernel < 2; kernel++) {
		const struct stack *stack = kernel ? pair->kernel : pair->user;
		bool missing = !stack && !kernel && trace->sample->traces.user_stacks_wanted;
		const struct frame *first = missing                ? &no_user
					    : stack && stack->stop ? &incomplete
								   : NULL;
		size_t n = (stack ? stack->n : 0) + !!first;
		struct location like = { .kernel = kernel };

		if (i < n) {
			like.frame = first && !i ? first : &stack->frames[n - 1 - i];
			return element_of(trace, &trace->callstacks.locations, &like, sizeof(like),
					  location_compare);
		}
		i -= n;
	}
	return NULL;
}

uint64_t callstacks_number(struct pftrace *trace, const struct trace_row *row)
{
	const struct pair like = { row->user, row->kernel, 0 };
	struct location *location;
	struct pair *pair;

	if (!row->user && !row->kernel && !trace->sample->traces.user_stacks_wanted)
		return 0;
	pair = element_of(trace, &trace->callstacks.pairs, &like, sizeof(like), pair_compare);
	if (!pair)
		return 0;
	if (pair->iid)
		return pair->iid;
	pair->iid = ++trace->callstacks.n_pairs;
	for (size_t i = 0; (location = location_at(trace, pair, i)); i++)
		if (!location->iid)
			location_write(trace, location);
	pftrace_packet_begin(trace);
	proto_begin(&trace->proto, PACKET_INTERNED_DATA);
	proto_begin(&trace->proto, INTERNED_CALLSTACKS);
	proto_u64(&trace->proto, CALLSTACK_IID, pair->iid);
	for (size_t i = 0; (location = location_at(trace, pair, i)); i++)
		proto_u64(&trace->proto, CALLSTACK_FRAME_IDS, location->iid);
	proto_end(&trace->proto);
	proto_end(&trace->proto);
	pftrace_packet_end(trace);
	return pair->iid;
}
