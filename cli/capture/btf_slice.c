// SPDX-License-Identifier: Apache-2.0
#include "btf_slice.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"

/* --- The object's words: what its types, members and enumerators are called --- */

struct word {
	const char *text;
	size_t length; /* that counts */
};

struct words {
	struct word *list; /* sorted */
	size_t n, room;
};

static int word_compare(const void *one, const void *other)
{
	const struct word *a = one, *b = other;

	return a->length != b->length ? (a->length > b->length ? 1 : -1)
				      : memcmp(a->text, b->text, a->length);
}

/* How much of a type's name counts: "name___flavour" is another form of "name" (libbpf's
 * bpf_core_essential_name_len()). */
static size_t btf_name_length(const char *name)
{
	size_t length = strlen(name);

	for (size_t i = strstr(name, "___") ? length : 0; i-- > 0;) /* hardly any has */
		if (i + 4 < length && name[i] != '_' && name[i + 4] != '_' &&
		    !strncmp(name + i + 1, "___", 3))
			return i + 1;
	return length;
}

static int words_collect(struct words *words, const struct btf_view *object)
{
	const char *text = object->strings;

	while (text < object->strings + object->strings_size) {
		if (ARRAY_GROW(words->list, words->n, words->room))
			return -ENOMEM;
		words->list[words->n++] = (struct word){ text, btf_name_length(text) };
		text += strlen(text) + 1;
	}
	qsort(words->list, words->n, sizeof(*words->list), word_compare);
	return 0;
}

static bool words_have(const struct words *words, const char *text)
{
	const struct word word = { text, btf_name_length(text) };

	return bsearch(&word, words->list, words->n, sizeof(word), word_compare);
}

/* --- The slice --- */

/* Its first types: relocations do not look behind pointers, but for what kind of type is there. */
enum { EMPTY_STRUCT = 1, EMPTY_UNION, FIRST_PART };

struct bytes {
	char *data;
	size_t n, room;
};

struct maker {
	struct btf_view kernel, object;
	struct words words;
	uint32_t *numbers; /* of the kernel's types in the slice; 0: it is not there */
	uint32_t *parts;   /* the kernel's types in the order of their numbers */
	size_t n, room;
	struct bytes types, strings;
	int error;
};

static void bytes_add(struct maker *maker, struct bytes *bytes, const void *data, size_t size)
{
	if (!maker->error && array_reserve(&bytes->data, bytes->n + size, &bytes->room, 1))
		maker->error = -ENOMEM;
	if (maker->error)
		return;
	memcpy(bytes->data + bytes->n, data, size);
	bytes->n += size;
}

static uint32_t text_add(struct maker *maker, uint32_t kernel_offset)
{
	const char *text = btf_view_text(&maker->kernel, kernel_offset);
	uint32_t at = (uint32_t)maker->strings.n;

	if (!*text)
		return 0;
	bytes_add(maker, &maker->strings, text, strlen(text) + 1);
	return at;
}

/* Its number, which it has from now on: it is copied when all before it are. */
static uint32_t part_number(struct maker *maker, uint32_t kernel)
{
	if (!maker->numbers[kernel]) {
		if (ARRAY_GROW(maker->parts, maker->n, maker->room)) {
			maker->error = -ENOMEM;
			return 0;
		}
		maker->numbers[kernel] = FIRST_PART + (uint32_t)maker->n;
		maker->parts[maker->n++] = kernel;
	}
	return maker->numbers[kernel];
}

/* The number of a type that another one mentions. */
static uint32_t type_number(struct maker *maker, uint32_t kernel, bool is_pointed_to)
{
	enum btf_kind kind;

	kernel = btf_view_plain(&maker->kernel, kernel);
	if (!kernel)
		return 0;
	kind = btf_type_kind(btf_view_type(&maker->kernel, kernel));
	if (is_pointed_to && (kind == BTF_STRUCT || kind == BTF_UNION))
		return kind == BTF_STRUCT ? EMPTY_STRUCT : EMPTY_UNION;
	return part_number(maker, kernel);
}

/* Members without a name may have what is looked for among their own. Returns how many. */
static uint32_t members_copy(struct maker *maker, const struct btf_type *type)
{
	const struct btf_member *members = (const struct btf_member *)(type + 1);
	uint32_t n = 0;

	for (uint32_t i = 0; i < btf_type_vlen(type); i++) {
		const char *name = btf_view_text(&maker->kernel, members[i].name_off);
		struct btf_member member = members[i];

		if (*name && !words_have(&maker->words, name))
			continue;
		member.name_off = text_add(maker, member.name_off);
		member.type = type_number(maker, member.type, false);
		bytes_add(maker, &maker->types, &member, sizeof(member));
		n++;
	}
	return n;
}

/* words: of each. */
static uint32_t enumerators_copy(struct maker *maker, const struct btf_type *type, size_t words)
{
	const uint32_t *enumerator = (const uint32_t *)(type + 1);
	uint32_t n = 0;

	for (uint32_t i = 0; i < btf_type_vlen(type); i++, enumerator += words) {
		uint32_t at;

		if (!words_have(&maker->words, btf_view_text(&maker->kernel, *enumerator)))
			continue;
		at = text_add(maker, *enumerator);
		bytes_add(maker, &maker->types, &at, sizeof(at));
		bytes_add(maker, &maker->types, enumerator + 1, (words - 1) * sizeof(at));
		n++;
	}
	return n;
}

static void parameters_copy(struct maker *maker, const struct btf_type *type)
{
	const struct btf_param *parameters = (const struct btf_param *)(type + 1);

	for (uint32_t i = 0; i < btf_type_vlen(type); i++) {
		struct btf_param parameter = {
			.type = type_number(maker, parameters[i].type, false),
		};

		bytes_add(maker, &maker->types, &parameter, sizeof(parameter));
	}
}

static void array_copy(struct maker *maker, const struct btf_type *type)
{
	struct btf_array array = *(const struct btf_array *)(type + 1);

	array.type = type_number(maker, array.type, false);
	array.index_type = type_number(maker, array.index_type, false);
	bytes_add(maker, &maker->types, &array, sizeof(array));
}

static void part_copy(struct maker *maker, uint32_t kernel)
{
	const struct btf_type *type = btf_view_type(&maker->kernel, kernel);
	enum btf_kind kind = btf_type_kind(type);
	struct btf_type copy = *type;
	size_t head = maker->types.n;
	uint32_t n = btf_type_vlen(type);

	copy.name_off = text_add(maker, type->name_off);
	if (kind == BTF_PTR || kind == BTF_TYPEDEF || kind == BTF_FUNC_PROTO)
		copy.type = type_number(maker, type->type, kind == BTF_PTR);
	bytes_add(maker, &maker->types, &copy, sizeof(copy));
	if (kind == BTF_STRUCT || kind == BTF_UNION)
		n = members_copy(maker, type);
	else if (kind == BTF_ENUM || kind == BTF_ENUM64)
		n = enumerators_copy(maker, type, kind == BTF_ENUM ? 2 : 3);
	else if (kind == BTF_FUNC_PROTO)
		parameters_copy(maker, type);
	else if (kind == BTF_ARRAY)
		array_copy(maker, type);
	else if (kind == BTF_INT)
		bytes_add(maker, &maker->types, type + 1, sizeof(uint32_t));
	copy.info = (copy.info & ~0xffffU) | n;
	if (!maker->error)
		memcpy(maker->types.data + head, &copy, sizeof(copy));
}

/* --- Looking for what is wanted --- */

static void wanted_look(struct btf_wanted *wanted, size_t n, enum btf_kind kind, const char *name,
			uint32_t id)
{
	for (size_t i = 0; i < n; i++)
		if (!wanted[i].id && kind == wanted[i].kind && !strcmp(name, wanted[i].name))
			wanted[i].id = id;
}

static void kernel_search(struct maker *maker, struct btf_wanted *wanted, size_t n_wanted)
{
	for (uint32_t id = 1; id < maker->kernel.n && !maker->error; id++) {
		const struct btf_type *type = btf_view_type(&maker->kernel, id);
		const char *name = btf_view_text(&maker->kernel, type->name_off);

		switch (*name ? btf_type_kind(type) : BTF_VOID) {
		case BTF_FUNC:
			wanted_look(wanted, n_wanted, BTF_FUNC, name, id);
			break;
		case BTF_TYPEDEF:
			wanted_look(wanted, n_wanted, BTF_TYPEDEF, name, id);
			/* fall through */
		case BTF_STRUCT:
		case BTF_UNION:
		case BTF_ENUM:
		case BTF_ENUM64:
			if (words_have(&maker->words, name))
				part_number(maker, id);
			break;
		default: /* relocations are about no others */
			break;
		}
	}
}

static void parts_copy(struct maker *maker)
{
	const struct btf_type empty[] = {
		{ .info = (uint32_t)BTF_STRUCT << 24 },
		{ .info = (uint32_t)BTF_UNION << 24 },
	};

	bytes_add(maker, &maker->strings, "", 1);
	bytes_add(maker, &maker->types, empty, sizeof(empty));
	for (size_t i = 0; i < maker->n && !maker->error; i++)
		part_copy(maker, maker->parts[i]);
}

static int slice_write(struct maker *maker, struct btf_slice *slice)
{
	struct btf_header header = {
		.magic = BTF_MAGIC,
		.version = BTF_VERSION,
		.hdr_len = sizeof(header),
		.type_len = (uint32_t)maker->types.n,
		.str_off = (uint32_t)maker->types.n,
		.str_len = (uint32_t)maker->strings.n,
	};
	struct bytes all = { 0 };

	bytes_add(maker, &all, &header, sizeof(header));
	bytes_add(maker, &all, maker->types.data, maker->types.n);
	bytes_add(maker, &all, maker->strings.data, maker->strings.n);
	if (maker->error)
		free(all.data);
	else
		*slice = (struct btf_slice){ all.data, all.n };
	return maker->error;
}

static int maker_open(struct maker *maker, const void *kernel, size_t kernel_size,
		      const void *object, size_t object_size)
{
	int error = btf_view_open(&maker->object, object, object_size)
			    ?: btf_view_open(&maker->kernel, kernel, kernel_size)
			    ?: words_collect(&maker->words, &maker->object);

	if (error)
		return error;
	maker->numbers = calloc(maker->kernel.n, sizeof(*maker->numbers));
	return maker->numbers ? 0 : -ENOMEM;
}

int btf_slice_make(struct btf_slice *slice, const void *kernel, size_t kernel_size,
		   const void *object, size_t object_size, struct btf_wanted *wanted,
		   size_t n_wanted)
{
	struct maker maker = { .error = 0 };
	int error = maker_open(&maker, kernel, kernel_size, object, object_size);

	if (!error) {
		kernel_search(&maker, wanted, n_wanted);
		parts_copy(&maker);
		error = slice_write(&maker, slice);
	}
	btf_view_clear(&maker.kernel);
	btf_view_clear(&maker.object);
	free(maker.words.list);
	free(maker.numbers);
	free(maker.parts);
	free(maker.types.data);
	free(maker.strings.data);
	return error;
}

/* --- BTF (Documentation/bpf/btf.rst) as it is in memory, of this machine's byte order --- */

#define PLAIN_DEPTH 32 /* more qualifiers than any type has */

/* What follows a struct btf_type: so much, and so much for each of its vlen. */
static const struct {
	uint8_t once, each;
} sizes[BTF_KINDS] = {
	[BTF_INT] = { .once = 4 },
	[BTF_ARRAY] = { .once = sizeof(struct btf_array) },
	[BTF_STRUCT] = { .each = sizeof(struct btf_member) },
	[BTF_UNION] = { .each = sizeof(struct btf_member) },
	[BTF_ENUM] = { .each = sizeof(struct btf_enum) },
	[BTF_FUNC_PROTO] = { .each = sizeof(struct btf_param) },
	[BTF_VAR] = { .once = 4 },
	[BTF_DATASEC] = { .each = sizeof(struct btf_var_secinfo) },
	[BTF_DECL_TAG] = { .once = 4 },
	[BTF_ENUM64] = { .each = 12 },
};

/* The size of a type with what follows it; 0 if it is not known. */
static size_t type_size(const struct btf_type *type)
{
	enum btf_kind kind = btf_type_kind(type);

	if (kind == BTF_VOID || kind >= BTF_KINDS)
		return 0;
	return sizeof(*type) + sizes[kind].once + (size_t)sizes[kind].each * btf_type_vlen(type);
}

/* Types are numbered in their order, from 1 on. */
static int types_find(struct btf_view *view)
{
	uint32_t at = 0;

	view->n = 1;
	while (view->types_size - at >= sizeof(struct btf_type)) {
		size_t size = type_size((const struct btf_type *)(view->types + at));

		if (!size || size > view->types_size - at)
			return -EINVAL;
		view->at[view->n++] = at;
		at += (uint32_t)size;
	}
	return at == view->types_size ? 0 : -EINVAL;
}

static int sections_find(struct btf_view *view, const void *data, size_t size)
{
	const struct btf_header *header = data;
	uint64_t types, strings;

	if (size < sizeof(*header) || header->magic != BTF_MAGIC ||
	    header->version != BTF_VERSION || header->hdr_len < sizeof(*header))
		return -EINVAL;
	types = (uint64_t)header->hdr_len + header->type_off;
	strings = (uint64_t)header->hdr_len + header->str_off;
	if (types % 4 || types + header->type_len > size || strings + header->str_len > size ||
	    !header->str_len)
		return -EINVAL;
	view->types = (const char *)data + types;
	view->types_size = header->type_len;
	view->strings = (const char *)data + strings;
	view->strings_size = header->str_len;
	return view->strings[view->strings_size - 1] ? -EINVAL : 0;
}

int btf_view_open(struct btf_view *view, const void *data, size_t size)
{
	int error;

	*view = (struct btf_view){ 0 };
	error = sections_find(view, data, size);
	if (error)
		return error;
	/* As many as there may be: memory that is not written to is not used. */
	view->at = malloc((view->types_size / sizeof(struct btf_type) + 1) * sizeof(*view->at));
	if (!view->at)
		return -ENOMEM;
	error = types_find(view);
	if (error)
		btf_view_clear(view);
	return error;
}

void btf_view_clear(struct btf_view *view)
{
	free(view->at);
	view->at = NULL;
}

const char *btf_view_text(const struct btf_view *view, uint32_t offset)
{
	return offset < view->strings_size ? view->strings + offset : "";
}

uint32_t btf_view_plain(const struct btf_view *view, uint32_t id)
{
	for (int i = 0; i < PLAIN_DEPTH && id && id < view->n; i++) {
		const struct btf_type *type = btf_view_type(view, id);

		switch (btf_type_kind(type)) {
		case BTF_TYPEDEF:
		case BTF_VOLATILE:
		case BTF_CONST:
		case BTF_RESTRICT:
		case BTF_TYPE_TAG:
			id = type->type;
			break;
		default:
			return id;
		}
	}
	return 0;
}
