/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/capture/btf_slice.h"
#include "tap.h"

#define ROOM 4096

/* BTF in the making. */
struct image {
	uint32_t types[ROOM / 4];
	char strings[ROOM];
	size_t words, length;
	char bytes[3 * ROOM];
};

static uint32_t text(struct image *image, const char *text)
{
	size_t at = image->length;

	if (!*text)
		return 0;
	image->length += strlen(text) + 1;
	memcpy(image->strings + at, text, strlen(text) + 1);
	return (uint32_t)at;
}

/* A type, and the words behind it. */
static void type(struct image *image, const char *name, enum btf_kind kind, uint32_t vlen,
		 uint32_t size_or_type)
{
	image->types[image->words++] = text(image, name);
	image->types[image->words++] = (uint32_t)kind << 24 | vlen;
	image->types[image->words++] = size_or_type;
}

static void words(struct image *image, uint32_t a, uint32_t b, uint32_t c)
{
	image->types[image->words++] = a;
	image->types[image->words++] = b;
	image->types[image->words++] = c;
}

static void member(struct image *image, const char *name, uint32_t member_type, uint32_t bits)
{
	words(image, text(image, name), member_type, bits);
}

static size_t finish(struct image *image)
{
	struct btf_header header = {
		.magic = BTF_MAGIC,
		.version = BTF_VERSION,
		.hdr_len = sizeof(header),
		.type_len = (uint32_t)(4 * image->words),
		.str_off = (uint32_t)(4 * image->words),
		.str_len = (uint32_t)image->length,
	};

	memcpy(image->bytes, &header, sizeof(header));
	memcpy(image->bytes + sizeof(header), image->types, header.type_len);
	memcpy(image->bytes + sizeof(header) + header.type_len, image->strings, image->length);
	return sizeof(header) + header.type_len + header.str_len;
}

/* struct task { const int pid; struct entity se; union { int on; int off; }; struct other *next; };
 * struct entity { int weight, sum; }; struct other { int x; }; enum func { FIRST, SECOND = 5 };
 * typedef void (*btf_trace_switch)(struct task *, int); void begin(), begin_more(); */
static size_t kernel_make(struct image *image)
{
	*image = (struct image){ .length = 1 };
	type(image, "int", BTF_INT, 0, 4); /* 1 */
	image->types[image->words++] = 32;
	type(image, "", BTF_CONST, 0, 1);        /* 2 */
	type(image, "entity", BTF_STRUCT, 2, 8); /* 3 */
	member(image, "weight", 1, 0);
	member(image, "sum", 1, 32);
	type(image, "", BTF_UNION, 2, 4); /* 4 */
	member(image, "on", 1, 0);
	member(image, "off", 1, 0);
	type(image, "other", BTF_STRUCT, 1, 4); /* 5 */
	member(image, "x", 1, 0);
	type(image, "", BTF_PTR, 0, 5);         /* 6 */
	type(image, "task", BTF_STRUCT, 4, 32); /* 7 */
	member(image, "pid", 2, 0);
	member(image, "se", 3, 32);
	member(image, "", 4, 96);
	member(image, "next", 6, 128);
	type(image, "func", BTF_ENUM, 2, 4); /* 8 */
	image->types[image->words++] = text(image, "FIRST");
	image->types[image->words++] = 0;
	image->types[image->words++] = text(image, "SECOND");
	image->types[image->words++] = 5;
	type(image, "", BTF_PTR, 0, 7);        /* 9 */
	type(image, "", BTF_FUNC_PROTO, 2, 0); /* 10 */
	image->types[image->words++] = 0;
	image->types[image->words++] = 9;
	image->types[image->words++] = 0;
	image->types[image->words++] = 1;
	type(image, "", BTF_PTR, 0, 10);                     /* 11 */
	type(image, "btf_trace_switch", BTF_TYPEDEF, 0, 11); /* 12 */
	type(image, "begin", BTF_FUNC, 0, 10);               /* 13 */
	type(image, "begin_more", BTF_FUNC, 0, 10);          /* 14 */
	return finish(image);
}

/* struct task___old { int pid, off; struct { int sum; } se; int gone; };
 * enum func { SECOND }; struct mine {}; typedef int btf_trace_switch; */
static size_t object_make(struct image *image)
{
	*image = (struct image){ .length = 1 };
	type(image, "int", BTF_INT, 0, 4);
	image->types[image->words++] = 32;
	type(image, "", BTF_STRUCT, 1, 4);
	member(image, "sum", 1, 0);
	type(image, "task___old", BTF_STRUCT, 4, 16);
	member(image, "pid", 1, 0);
	member(image, "off", 1, 32);
	member(image, "se", 2, 64);
	member(image, "gone", 1, 96);
	type(image, "func", BTF_ENUM, 1, 4);
	image->types[image->words++] = text(image, "SECOND");
	image->types[image->words++] = 9;
	type(image, "mine", BTF_STRUCT, 0, 0);
	type(image, "btf_trace_switch", BTF_TYPEDEF, 0, 1);
	return finish(image);
}

static const struct btf_type *named(const struct btf_view *view, const char *name)
{
	for (uint32_t id = 1; id < view->n; id++)
		if (!strcmp(btf_view_text(view, btf_view_type(view, id)->name_off), name))
			return btf_view_type(view, id);
	return NULL;
}

static const struct btf_type *pointed_to(const struct btf_view *view, uint32_t pointer)
{
	return btf_view_type(view, btf_view_type(view, pointer)->type);
}

/* "name@bits " of each member, those of members in braces; enumerators with their values. */
static void print_members(const struct btf_view *view, const struct btf_type *of, char *to)
{
	const struct btf_member *members = (const struct btf_member *)(of + 1);

	for (uint32_t i = 0; i < btf_type_vlen(of); i++) {
		const struct btf_type *its = btf_view_type(view,
							   btf_view_plain(view, members[i].type));

		to += sprintf(to, "%s@%u ", btf_view_text(view, members[i].name_off),
			      members[i].offset);
		if (btf_type_kind(its) != BTF_STRUCT && btf_type_kind(its) != BTF_UNION)
			continue;
		to += sprintf(to, "{ ");
		print_members(view, its, to);
		to += strlen(to);
		to += sprintf(to, "} ");
	}
}

TEST(slice)
{
	static struct image kernel, object;
	size_t kernel_size = kernel_make(&kernel), object_size = object_make(&object);
	struct btf_wanted wanted[] = { { BTF_TYPEDEF, "btf_trace_switch", 0 },
				       { BTF_FUNC, "begin", 0 },
				       { BTF_FUNC, "end", 0 },
				       { BTF_FUNC, "task", 0 } };
	struct btf_slice slice = { 0 };
	const struct btf_type *found;
	const uint32_t *enumerator;
	struct btf_view view;
	char members[256] = "";

	is_i64(btf_slice_make(&slice, kernel.bytes, kernel_size, object.bytes, object_size, wanted,
			      sizeof(wanted) / sizeof(*wanted)),
	       0, "a slice is made");
	is_i64(wanted[0].id, 12, "a tracepoint is found");
	is_i64(wanted[1].id, 13, "a function");
	is_i64(wanted[2].id, 0, "one that is not there is not");
	is_i64(wanted[3].id, 0, "nor a type in the place of a function");
	is_i64(btf_view_open(&view, slice.data, slice.size), 0, "what was made is BTF");
	found = named(&view, "task");
	ok(found, "the object's structure is there, whatever its flavour");
	if (found) {
		print_members(&view, found, members);
		is_str(members, "pid@0 se@32 { sum@32 } @96 { off@0 } ",
		       "with the members that the object has");
		is_i64(found->size, 32, "and the kernel's size");
	}
	found = named(&view, "func");
	ok(found && btf_type_vlen(found) == 1, "an enumeration with the object's one");
	if (found) {
		enumerator = (const uint32_t *)(found + 1);
		is_str(btf_view_text(&view, enumerator[0]), "SECOND", "its name");
		is_i64(enumerator[1], 5, "the kernel's value");
	}
	found = named(&view, "entity");
	ok(found && btf_type_vlen(found) == 1,
	   "what a member has in it, with what has such a name");
	ok(!named(&view, "other") && !named(&view, "mine"), "nothing else");
	found = named(&view, "btf_trace_switch");
	ok(found, "a tracepoint that the object looks at");
	if (found) {
		found = pointed_to(&view, found->type);
		is_i64(btf_type_kind(found), BTF_FUNC_PROTO, "leads to its prototype");
		is_i64(btf_type_vlen(found), 2, "with all parameters");
		found = pointed_to(&view, ((const struct btf_param *)(found + 1))->type);
		is_i64(btf_type_kind(found), BTF_STRUCT, "a pointer to what it points to");
		is_i64(btf_type_vlen(found), 0, "of which it has the kind alone");
	}
	btf_view_clear(&view);
	free(slice.data);
}

/* Whatever is cut off or wrong, nothing beyond the end is read: the sanitizers see to that. */
TEST(damage)
{
	static struct image kernel, object;
	size_t kernel_size = kernel_make(&kernel), object_size = object_make(&object);
	int made = 0, refused = 0;

	for (size_t size = 0; size < kernel_size; size++) {
		char *cut = malloc(size ?: 1);
		struct btf_slice slice = { 0 };

		memcpy(cut, kernel.bytes, size);
		refused += btf_slice_make(&slice, cut, size, object.bytes, object_size, NULL, 0) ==
			   -EINVAL;
		free(slice.data);
		free(cut);
	}
	is_i64(refused, (int)kernel_size, "what is cut off is refused");
	for (size_t i = 0; i < kernel_size; i++) {
		char *bytes = malloc(kernel_size);
		struct btf_slice slice = { 0 };
		int result;

		memcpy(bytes, kernel.bytes, kernel_size);
		bytes[i] ^= 0xff;
		result = btf_slice_make(&slice, bytes, kernel_size, object.bytes, object_size, NULL,
					0);
		made += !result;
		refused += result == -EINVAL;
		free(slice.data);
		free(bytes);
	}
	is_i64(made + refused, (int)(2 * kernel_size), "one wrong byte: made or refused");
}
