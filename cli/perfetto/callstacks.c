/* SPDX-License-Identifier: Apache-2.0 */
#include "timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"
#include "perfetto_fields.h"

#define NAME_MOST 1000 /* bytes of a name */

/* Both halves of a row's stack. */
struct pair {
	const struct stack *user, *kernel; /* NULL: none */
	uint64_t iid;                      /* 0: not yet written */
};

/* A function of a file, or an address in it. */
struct location {
	const struct frame *frame;
	bool kernel;
	uint64_t iid; /* 0: not yet written */
	size_t file;  /* index */
};

struct callstacks {
	struct pair *pairs; /* by address */
	size_t n_pairs, capacity_pairs;
	struct location *locations; /* by location_compare() */
	size_t n_locations, capacity_locations;
	bool *files; /* already written */
	uint64_t pairs_written, locations_written;
	bool user_wanted;
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
static int file_compare(const struct location *x, const struct location *y)
{
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

static int location_add(struct callstacks *callstacks, const struct frame *frame, bool kernel)
{
	if (ARRAY_GROW(callstacks->locations, callstacks->n_locations,
		       callstacks->capacity_locations))
		return -ENOMEM;
	callstacks->locations[callstacks->n_locations++] = (struct location){ .frame = frame,
									      .kernel = kernel };
	return 0;
}

static int locations_add(struct callstacks *callstacks, const struct stack *stack, bool kernel)
{
	int err = 0;

	for (size_t i = 0; i < stack->n && !err; i++)
		err = location_add(callstacks, &stack->frames[i], kernel);
	return err;
}

static int pairs_find(struct callstacks *callstacks, const struct trace_list *traces)
{
	for (size_t i = 0; i < traces->n; i++) {
		const struct pair pair = { traces->rows[i].user, traces->rows[i].kernel, 0 };

		/* Most rows repeat the previous stacks. */
		if (callstacks->n_pairs &&
		    !pair_compare(&callstacks->pairs[callstacks->n_pairs - 1], &pair))
			continue;
		if (ARRAY_GROW(callstacks->pairs, callstacks->n_pairs, callstacks->capacity_pairs))
			return -ENOMEM;
		callstacks->pairs[callstacks->n_pairs++] = pair;
	}
	ARRAY_SORT(callstacks->pairs, callstacks->n_pairs, pair_compare);
	callstacks->n_pairs = ARRAY_UNIQUE(callstacks->pairs, callstacks->n_pairs, pair_compare);
	return 0;
}

static int stack_compare(const void *a, const void *b)
{
	return pointers_compare(*(const struct stack *const *)a, *(const struct stack *const *)b);
}

/* Collects the frames of one half of all pairs. */
static int half_find(struct callstacks *callstacks, bool kernel)
{
	const struct stack **stacks = calloc(callstacks->n_pairs + 1, sizeof(struct stack *));
	size_t n = 0;
	int err = 0;

	if (!stacks)
		return -ENOMEM;
	for (size_t i = 0; i < callstacks->n_pairs; i++) {
		const struct pair *pair = &callstacks->pairs[i];
		const struct stack *stack = kernel ? pair->kernel : pair->user;

		if (stack)
			stacks[n++] = stack;
	}
	ARRAY_SORT(stacks, n, stack_compare);
	n = ARRAY_UNIQUE(stacks, n, stack_compare);
	for (size_t i = 0; i < n && !err; i++)
		err = locations_add(callstacks, stacks[i], kernel);
	free(stacks);
	return err;
}

static int locations_find(struct callstacks *callstacks)
{
	size_t file = 0;
	int err = location_add(callstacks, &no_user, false)
			  ?: location_add(callstacks, &incomplete, false)
			  ?: location_add(callstacks, &incomplete, true)
			  ?: half_find(callstacks, false) ?: half_find(callstacks, true);

	if (err)
		return err;
	ARRAY_SORT(callstacks->locations, callstacks->n_locations, location_compare);
	callstacks->n_locations = ARRAY_UNIQUE(callstacks->locations, callstacks->n_locations,
					       location_compare);
	for (size_t i = 0; i < callstacks->n_locations; i++) {
		struct location *location = &callstacks->locations[i];

		file += i && file_compare(location - 1, location);
		location->file = file;
	}
	callstacks->files = calloc(file + 1, sizeof(*callstacks->files));
	return callstacks->files ? 0 : -ENOMEM;
}

int callstacks_find(struct callstacks **out, const struct trace_list *traces)
{
	struct callstacks *callstacks = calloc(1, sizeof(*callstacks));

	*out = callstacks;
	if (!callstacks)
		return -ENOMEM;
	callstacks->user_wanted = traces->user_stacks_wanted;
	return pairs_find(callstacks, traces) ?: locations_find(callstacks);
}

void callstacks_free(struct callstacks *callstacks)
{
	if (!callstacks)
		return;
	free(callstacks->pairs);
	free(callstacks->locations);
	free(callstacks->files);
	free(callstacks);
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
	uint64_t iid = location->file + 1;
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
	const char *slash = frame->object ? strrchr(frame->object, '/') : NULL;
	char name[NAME_MOST + 32];

	if (is_named(frame))
		snprintf(name, sizeof(name), "%.*s", NAME_MOST, frame->function);
	else if (frame->object)
		snprintf(name, sizeof(name), "%.*s+0x%llx", NAME_MOST,
			 slash && slash[1] ? slash + 1 : frame->object,
			 (unsigned long long)frame->offset);
	else
		snprintf(name, sizeof(name), location->kernel ? "[kernel]" : "[unknown]");
	string_begin(trace, INTERNED_FUNCTION_NAMES, iid);
	pftrace_text(trace, NAMED_TEXT, name, SIZE_MAX);
	proto_end(&trace->proto);
}

/* For a named function, the address in the file is unknown: 0. */
static void location_write(struct callstacks *callstacks, struct pftrace *trace,
			   struct location *location)
{
	struct proto *proto = &trace->proto;

	location->iid = ++callstacks->locations_written;
	pftrace_packet_begin(trace);
	proto_begin(proto, PACKET_INTERNED_DATA);
	if (!callstacks->files[location->file])
		file_add(trace, location);
	callstacks->files[location->file] = true;
	function_add(trace, location, location->iid);
	proto_begin(proto, INTERNED_FRAMES);
	proto_u64(proto, FRAME_IID, location->iid);
	proto_u64(proto, FRAME_FUNCTION_NAME_ID, location->iid);
	proto_u64(proto, FRAME_MAPPING_ID, location->file + 1);
	proto_u64(proto, FRAME_REL_PC, is_named(location->frame) ? 0 : location->frame->offset);
	proto_end(proto);
	proto_end(proto);
	pftrace_packet_end(trace);
}

static struct location *location_of(struct callstacks *callstacks, const struct frame *frame,
				    bool kernel)
{
	const struct location wanted = { .frame = frame, .kernel = kernel };

	return bsearch(&wanted, callstacks->locations, callstacks->n_locations, sizeof(wanted),
		       location_compare);
}

/* Place of a frame of a pair, outermost first, kernel last; NULL: there are no more. */
static struct location *location_at(struct callstacks *callstacks, const struct pair *pair,
				    size_t i)
{
	for (int kernel = 0; kernel < 2; kernel++) {
		const struct stack *stack = kernel ? pair->kernel : pair->user;
		bool missing = !stack && !kernel && callstacks->user_wanted;
		const struct frame *first = missing                ? &no_user
					    : stack && stack->stop ? &incomplete
								   : NULL;
		size_t n = (stack ? stack->n : 0) + !!first;

		if (i < n)
			return location_of(callstacks,
					   first && !i ? first : &stack->frames[n - 1 - i], kernel);
		i -= n;
	}
	return NULL;
}

uint64_t callstacks_number(struct callstacks *callstacks, struct pftrace *trace,
			   const struct trace_row *row)
{
	const struct pair wanted = { row->user, row->kernel, 0 };
	struct pair *pair = bsearch(&wanted, callstacks->pairs, callstacks->n_pairs, sizeof(wanted),
				    pair_compare);
	struct location *location;

	if (!pair || (!pair->user && !pair->kernel && !callstacks->user_wanted))
		return 0;
	if (pair->iid)
		return pair->iid;
	pair->iid = ++callstacks->pairs_written;
	for (size_t i = 0; (location = location_at(callstacks, pair, i)); i++)
		if (!location->iid)
			location_write(callstacks, trace, location);
	pftrace_packet_begin(trace);
	proto_begin(&trace->proto, PACKET_INTERNED_DATA);
	proto_begin(&trace->proto, INTERNED_CALLSTACKS);
	proto_u64(&trace->proto, CALLSTACK_IID, pair->iid);
	for (size_t i = 0; (location = location_at(callstacks, pair, i)); i++)
		proto_u64(&trace->proto, CALLSTACK_FRAME_IDS, location->iid);
	proto_end(&trace->proto);
	proto_end(&trace->proto);
	pftrace_packet_end(trace);
	return pair->iid;
}
