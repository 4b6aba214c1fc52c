// SPDX-License-Identifier: Apache-2.0
/* One pass finds all types. libbpf scans all, about 100,000, for each name, and takes longer than
 * this pass only to copy and index them. The format: Documentation/bpf/btf.rst of the kernel. */
#define _GNU_SOURCE
#include "btf_slice.h"

#include <errno.h>
#include <linux/btf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"

/* First types of the slice: behind a pointer, relocations only look at the kind of type. */
enum { EMPTY_STRUCT = 1, EMPTY_UNION, FIRST_TYPE };

/* Most typedefs and qualifiers of a type. */
#define QUALIFIERS_MAX 32

/* --- Names --- */

struct btf_names {
	char **slots; /* hash table, at most half full; NULL: free */
	size_t mask;  /* their number is a power of two */
	size_t n, most;
};

/* Returns the slot of a name, or the free one where it belongs. The hash is FNV-1a. */
static char **name_slot(const struct btf_names *names, const char *name)
{
	uint32_t hash = 2166136261U;
	size_t at;

	for (const char *c = name; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 16777619U;
	for (at = hash & names->mask; names->slots[at]; at = (at + 1) & names->mask)
		if (!strcmp(names->slots[at], name))
			break;
	return &names->slots[at];
}

struct btf_names *btf_names_new(size_t n)
{
	struct btf_names *names = calloc(1, sizeof(*names));
	size_t slots = 2;

	if (!names)
		return NULL;
	while (slots < 2 * n)
		slots *= 2;
	*names = (struct btf_names){ calloc(slots, sizeof(*names->slots)), slots - 1, 0, n };
	if (names->slots)
		return names;
	free(names);
	return NULL;
}

void btf_names_free(struct btf_names *names)
{
	if (!names)
		return;
	for (size_t i = 0; i <= names->mask; i++)
		free(names->slots[i]);
	free(names->slots);
	free(names);
}

int btf_names_add(struct btf_names *names, const char *name)
{
	char **slot = name_slot(names, name);

	if (*slot)
		return 0;
	if (names->n == names->most)
		return -E2BIG;
	*slot = strdup(name);
	names->n += *slot != NULL;
	return *slot ? 0 : -ENOMEM;
}

/* --- The kernel's types --- */

struct bytes {
	char *all;
	size_t n, capacity;
};

struct slicer {
	const char *types, *strings; /* the kernel's */
	uint32_t types_len, strings_len;
	uint32_t *offsets; /* of the kernel's types */
	uint32_t n_kernel; /* void is the first */
	const struct btf_names *names;
	uint32_t *numbers;    /* by kernel type: its number in the slice; 0: not in it */
	uint32_t *kernel_ids; /* of the types in the slice */
	uint32_t n;
	struct bytes copied_types, copied_strings;
};

static unsigned int kind(const struct btf_type *type)
{
	return BTF_INFO_KIND(type->info);
}

/* Number of members, parameters or values. */
static unsigned int length(const struct btf_type *type)
{
	return BTF_INFO_VLEN(type->info);
}

static bool is_composite(const struct btf_type *type)
{
	return kind(type) == BTF_KIND_STRUCT || kind(type) == BTF_KIND_UNION;
}

/* Bytes of each member, parameter or value of a type; 0: it has none. */
static size_t part_size(const struct btf_type *type)
{
	switch (kind(type)) {
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return sizeof(struct btf_enum);
	case BTF_KIND_ENUM64:
		return sizeof(struct btf_enum64);
	case BTF_KIND_FUNC_PROTO:
		return sizeof(struct btf_param);
	case BTF_KIND_DATASEC:
		return sizeof(struct btf_var_secinfo);
	default:
		return 0;
	}
}

/* Bytes that follow a type. */
static size_t details_size(const struct btf_type *type)
{
	switch (kind(type)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return sizeof(uint32_t);
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	default:
		return length(type) * part_size(type);
	}
}

static const struct btf_type *type_at(const struct slicer *slicer, uint32_t id)
{
	return (const struct btf_type *)(slicer->types + slicer->offsets[id]);
}

/* The last byte of the strings is a NUL. */
static const char *string_at(const struct slicer *slicer, uint32_t offset)
{
	return slicer->strings + (offset < slicer->strings_len ? offset : 0);
}

static int header_read(struct slicer *slicer, const char *data, size_t size)
{
	struct btf_header header;
	uint64_t types, strings;

	if (size < sizeof(header))
		return -EINVAL;
	memcpy(&header, data, sizeof(header));
	types = (uint64_t)header.hdr_len + header.type_off;
	strings = (uint64_t)header.hdr_len + header.str_off;
	if (header.magic != BTF_MAGIC || types % sizeof(uint32_t) ||
	    types + header.type_len > size || strings + header.str_len > size || !header.str_len ||
	    data[strings + header.str_len - 1] || data[strings])
		return -EINVAL;
	slicer->types = data + types;
	slicer->types_len = header.type_len;
	slicer->strings = data + strings;
	slicer->strings_len = header.str_len;
	return 0;
}

/* --- Types of the slice --- */

/* Returns a type's number in the slice, a new one if it has none. It is copied once all types
 * before it are. */
static uint32_t type_number(struct slicer *slicer, uint32_t id)
{
	if (!slicer->numbers[id]) {
		slicer->numbers[id] = slicer->n;
		slicer->kernel_ids[slicer->n++] = id;
	}
	return slicer->numbers[id];
}

/* True if a program could need a type. Half of the kernel's types are functions. */
static bool may_be_wanted(const struct btf_type *type, const char *name)
{
	switch (kind(type)) {
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
	case BTF_KIND_TYPEDEF:
		return *name;
	case BTF_KIND_FUNC:
		return !strncmp(name, BTF_ITERATOR, strlen(BTF_ITERATOR)) ||
		       !strcmp(name, BTF_PREEMPTED_CALLS);
	default:
		return false;
	}
}

static int types_search(struct slicer *slicer)
{
	uint32_t id = 1;
	size_t at = 0;

	while (at + sizeof(struct btf_type) <= slicer->types_len) {
		const struct btf_type *type = (const struct btf_type *)(slicer->types + at);
		const char *name = string_at(slicer, type->name_off);

		slicer->offsets[id] = (uint32_t)at;
		at += sizeof(*type) + details_size(type);
		if (kind(type) > BTF_KIND_ENUM64 || at > slicer->types_len)
			return -EINVAL;
		if (may_be_wanted(type, name) && *name_slot(slicer->names, name))
			type_number(slicer, id);
		id++;
	}
	slicer->n_kernel = id;
	return 0;
}

/* True if a type is another one's with a name or a qualifier. */
static bool is_alias(const struct btf_type *type)
{
	switch (kind(type)) {
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_CONST:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_TYPE_TAG:
		return true;
	default:
		return false;
	}
}

/* Returns the number of a type mentioned by another, without typedefs and qualifiers. */
static uint32_t mentioned(struct slicer *slicer, uint32_t id, bool is_pointed_to)
{
	for (int i = 0; i < QUALIFIERS_MAX && id && id < slicer->n_kernel; i++) {
		const struct btf_type *type = type_at(slicer, id);

		if (is_pointed_to && is_composite(type))
			return kind(type) == BTF_KIND_STRUCT ? EMPTY_STRUCT : EMPTY_UNION;
		if (!is_alias(type))
			return type_number(slicer, id);
		id = type->type;
	}
	return 0; /* void */
}

static int bytes_add(struct bytes *bytes, const void *data, size_t size)
{
	if (array_reserve(&bytes->all, bytes->n + size, &bytes->capacity, 1))
		return -ENOMEM;
	memcpy(bytes->all + bytes->n, data, size);
	bytes->n += size;
	return 0;
}

/* Copies a name; *offset is that in the kernel's strings, and then that of the copy. */
static int name_copy(struct slicer *slicer, uint32_t *offset)
{
	const char *name = string_at(slicer, *offset);

	*offset = *name ? (uint32_t)slicer->copied_strings.n : 0;
	return *name ? bytes_add(&slicer->copied_strings, name, strlen(name) + 1) : 0;
}

/* Members begin like parameters, and values with a name, too. */
static int parts_translate(struct slicer *slicer, struct btf_type *type, bool have_types)
{
	int error = 0;

	for (unsigned int i = 0; i < length(type) && !error; i++) {
		struct btf_param *part = (void *)((char *)(type + 1) + i * part_size(type));

		if (have_types)
			part->type = mentioned(slicer, part->type, false);
		error = name_copy(slicer, &part->name_off);
	}
	return error;
}

/* Numbers and names of what a copied type mentions. */
static int details_translate(struct slicer *slicer, struct btf_type *type)
{
	struct btf_array *array = (void *)(type + 1);

	switch (kind(type)) {
	case BTF_KIND_PTR:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_FUNC:
		type->type = mentioned(slicer, type->type, kind(type) == BTF_KIND_PTR);
		return 0;
	case BTF_KIND_ARRAY:
		array->type = mentioned(slicer, array->type, false);
		array->index_type = mentioned(slicer, array->index_type, false);
		return 0;
	case BTF_KIND_FUNC_PROTO:
		type->type = mentioned(slicer, type->type, false);
		return parts_translate(slicer, type, true);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return parts_translate(slicer, type, true);
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		return parts_translate(slicer, type, false);
	default:
		return 0;
	}
}

static int type_copy(struct slicer *slicer, uint32_t id)
{
	const struct btf_type *original = type_at(slicer, id);
	struct btf_type *type;
	int error = bytes_add(&slicer->copied_types, original,
			      sizeof(*original) + details_size(original));

	if (error)
		return error;
	type = (struct btf_type *)(slicer->copied_types.all + slicer->copied_types.n -
				   sizeof(*original) - details_size(original));
	return name_copy(slicer, &type->name_off) ?: details_translate(slicer, type);
}

static int types_copy(struct slicer *slicer)
{
	const struct btf_type empty[] = { { .info = BTF_KIND_STRUCT << 24 },
					  { .info = BTF_KIND_UNION << 24 } };
	int error = bytes_add(&slicer->copied_strings, "", 1)
			    ?: bytes_add(&slicer->copied_types, empty, sizeof(empty));

	for (uint32_t number = FIRST_TYPE; number < slicer->n && !error; number++)
		error = type_copy(slicer, slicer->kernel_ids[number]);
	return error;
}

/* Joins the copies. */
static int slice_finish(struct btf_slice *slice, const struct slicer *slicer)
{
	const struct bytes *types = &slicer->copied_types, *strings = &slicer->copied_strings;
	struct btf_header header = {
		.magic = BTF_MAGIC,
		.version = BTF_VERSION,
		.hdr_len = sizeof(header),
		.type_len = (uint32_t)types->n,
		.str_off = (uint32_t)types->n,
		.str_len = (uint32_t)strings->n,
	};
	struct bytes joined = { .all = NULL };
	int error = bytes_add(&joined, &header, sizeof(header))
			    ?: bytes_add(&joined, types->all, types->n)
			    ?: bytes_add(&joined, strings->all, strings->n);

	slice->data = joined.all;
	slice->size = joined.n;
	return error;
}

/* The arrays can hold all types of the kernel; unused space takes no memory. */
int btf_slice_make(struct btf_slice *slice, const void *data, size_t size,
		   const struct btf_names *names)
{
	struct slicer slicer = { .names = names, .n = FIRST_TYPE };
	int error = header_read(&slicer, data, size);
	size_t most;

	if (error)
		return error;
	most = FIRST_TYPE + slicer.types_len / sizeof(struct btf_type);
	slicer.offsets = calloc(most, sizeof(*slicer.offsets));
	slicer.numbers = calloc(most, sizeof(*slicer.numbers));
	slicer.kernel_ids = slice->kernel_ids = calloc(most, sizeof(*slicer.kernel_ids));
	if (!slicer.offsets || !slicer.numbers || !slicer.kernel_ids)
		error = -ENOMEM;
	error = error ?: types_search(&slicer) ?: types_copy(&slicer) ?: slice_finish(slice, &slicer);
	free(slicer.offsets);
	free(slicer.numbers);
	free(slicer.copied_types.all);
	free(slicer.copied_strings.all);
	return error;
}

void btf_slice_clear(struct btf_slice *slice)
{
	free(slice->data);
	free(slice->kernel_ids);
}
