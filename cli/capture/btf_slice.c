// SPDX-License-Identifier: Apache-2.0
#include "btf_slice.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"

/* --- Names --- */

#define NAMES 1024 /* buckets; twice as many as objects have names */

/* A type of the object or something wanted. */
struct name {
	const char *text;
	size_t length; /* that counts */
	enum btf_kind kind;
	uint32_t local; /* the object's type, 0 if it is wanted */
	struct btf_wanted *wanted;
	struct name *next; /* in the same bucket */
};

/* Whose two first letters no name has is none of them: that spares looking at most of the
 * kernel's names as a whole. */
struct names {
	struct name *list, *buckets[NAMES];
	size_t n, room;
	uint8_t begins[1 << 16];
};

static uint32_t name_begin(const char *text)
{
	return (uint8_t)text[0] << 8 | (uint8_t)(text[0] ? text[1] : 0);
}

static uint32_t name_hash(const char *text, size_t length)
{
	uint32_t hash = 2166136261U; /* FNV-1a */

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (uint8_t)text[i]) * 16777619U;
	return (hash ^ hash >> 16) % NAMES;
}

static bool kind_is_enum(enum btf_kind kind)
{
	return kind == BTF_ENUM || kind == BTF_ENUM64;
}

static bool kind_is_composite(enum btf_kind kind)
{
	return kind == BTF_STRUCT || kind == BTF_UNION;
}

/* Whether relocations take the one for the other (bpf_core_fields_are_compat()). */
static bool kinds_match(enum btf_kind a, enum btf_kind b)
{
	return a == b || (kind_is_enum(a) && kind_is_enum(b)) ||
	       (kind_is_composite(a) && kind_is_composite(b));
}

static int names_add(struct names *names, struct name name)
{
	if (ARRAY_GROW(names->list, names->n, names->room))
		return -ENOMEM;
	name.length = btf_name_length(name.text);
	names->list[names->n++] = name;
	names->begins[name_begin(name.text)] |= 1 << (name.kind == BTF_FUNC);
	return 0;
}

/* When all are there: the list does not move any more. */
static void names_hash(struct names *names)
{
	for (size_t i = 0; i < names->n; i++) {
		struct name *name = &names->list[i];
		uint32_t bucket = name_hash(name->text, name->length);

		name->next = names->buckets[bucket];
		names->buckets[bucket] = name;
	}
}

/* --- The slice --- */

/* A type of the slice: the kernel's, with what the object's has. */
struct part {
	uint32_t kernel, local; /* 0: nothing that the object has */
};

struct bytes {
	char *data;
	size_t n, room;
};

struct maker {
	struct btf_view kernel, object;
	struct names names;
	struct part *parts; /* in the order of their numbers, from 1 on */
	size_t n, room;
	bool is_named; /* the type that is being written: relocations look for its name */
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

static void words_add(struct maker *maker, uint32_t a, uint32_t b, uint32_t c)
{
	const uint32_t words[] = { a, b, c };

	bytes_add(maker, &maker->types, words, sizeof(words));
}

static uint32_t text_add(struct maker *maker, const char *text)
{
	uint32_t at = (uint32_t)maker->strings.n;

	if (!*text)
		return 0;
	bytes_add(maker, &maker->strings, text, strlen(text) + 1);
	return at;
}

/* The number of a part, which is made when all before it are. */
static uint32_t part_number(struct maker *maker, uint32_t kernel, uint32_t local)
{
	for (size_t i = 0; i < maker->n; i++)
		if (maker->parts[i].kernel == kernel && maker->parts[i].local == local)
			return (uint32_t)i + 1;
	if (ARRAY_GROW(maker->parts, maker->n, maker->room)) {
		maker->error = -ENOMEM;
		return 0;
	}
	maker->parts[maker->n++] = (struct part){ kernel, local };
	return (uint32_t)maker->n;
}

/* The same for a type that another one mentions. */
static uint32_t type_number(struct maker *maker, uint32_t kernel, uint32_t local)
{
	kernel = btf_view_plain(&maker->kernel, kernel);
	local = btf_view_plain(&maker->object, local);
	if (!kernel)
		return 0;
	if (local && !kinds_match(btf_type_kind(btf_view_type(&maker->object, local)),
				  btf_type_kind(btf_view_type(&maker->kernel, kernel))))
		local = 0;
	return part_number(maker, kernel, local);
}

/* The object's member of a name, NULL if it has none. */
static const struct btf_member *member_named(const struct maker *maker, uint32_t local,
					     const char *name)
{
	const struct btf_type *type = btf_view_type(&maker->object, local);
	const struct btf_member *members = (const struct btf_member *)(type + 1);

	for (uint32_t i = 0; i < btf_type_vlen(type); i++)
		if (!strcmp(btf_view_text(&maker->object, members[i].name_off), name))
			return &members[i];
	return NULL;
}

static void head_add(struct maker *maker, const struct btf_type *type, uint32_t size_or_type)
{
	const char *name = maker->is_named ? btf_view_text(&maker->kernel, type->name_off) : "";

	words_add(maker, text_add(maker, name), type->info, size_or_type);
}

/* Says how many there are of what follows the head. */
static void vlen_set(struct maker *maker, size_t head, uint32_t vlen)
{
	struct btf_type *type = (struct btf_type *)(maker->types.data + head);

	if (!maker->error)
		type->info = (type->info & ~0xffffU) | vlen;
}

/* Members without a name may have what is looked for among their own. */
static void members_make(struct maker *maker, const struct btf_type *type, uint32_t local)
{
	const struct btf_member *members = (const struct btf_member *)(type + 1);
	size_t head = maker->types.n;
	uint32_t vlen = 0;

	head_add(maker, type, type->size);
	for (uint32_t i = 0; local && i < btf_type_vlen(type); i++) {
		const struct btf_member *member = &members[i], *wanted = NULL;
		const char *name = btf_view_text(&maker->kernel, member->name_off);
		uint32_t number;

		if (*name)
			wanted = member_named(maker, local, name);
		if (*name && !wanted)
			continue;
		number = type_number(maker, member->type, wanted ? wanted->type : local);
		words_add(maker, text_add(maker, name), number, member->offset);
		vlen++;
	}
	vlen_set(maker, head, vlen);
}

static bool has_enumerator(const struct btf_view *view, uint32_t id, const char *name)
{
	const struct btf_type *type = btf_view_type(view, id);
	size_t words = btf_type_kind(type) == BTF_ENUM64 ? 3 : 2;
	const uint32_t *enumerator = (const uint32_t *)(type + 1);

	for (uint32_t i = 0; i < btf_type_vlen(type); i++, enumerator += words)
		if (!strcmp(btf_view_text(view, *enumerator), name))
			return true;
	return false;
}

static void enumerators_make(struct maker *maker, const struct btf_type *type, uint32_t local)
{
	size_t words = btf_type_kind(type) == BTF_ENUM64 ? 3 : 2, head = maker->types.n;
	const uint32_t *enumerator = (const uint32_t *)(type + 1);
	uint32_t vlen = 0;

	head_add(maker, type, type->size);
	for (uint32_t i = 0; local && i < btf_type_vlen(type); i++, enumerator += words) {
		const char *name = btf_view_text(&maker->kernel, *enumerator);
		uint32_t at;

		if (!has_enumerator(&maker->object, local, name))
			continue;
		at = text_add(maker, name);
		bytes_add(maker, &maker->types, &at, sizeof(at));
		bytes_add(maker, &maker->types, enumerator + 1, (words - 1) * sizeof(at));
		vlen++;
	}
	vlen_set(maker, head, vlen);
}

static void parameters_make(struct maker *maker, const struct btf_type *type)
{
	const struct btf_param *parameters = (const struct btf_param *)(type + 1);

	head_add(maker, type, type_number(maker, type->type, 0));
	for (uint32_t i = 0; i < btf_type_vlen(type); i++) {
		struct btf_param parameter = {
			.type = type_number(maker, parameters[i].type, 0),
		};

		bytes_add(maker, &maker->types, &parameter, sizeof(parameter));
	}
}

static void array_make(struct maker *maker, const struct btf_type *type, uint32_t local)
{
	const struct btf_array *array = (const struct btf_array *)(type + 1), *wanted;

	wanted = local ? (const struct btf_array *)(btf_view_type(&maker->object, local) + 1)
		       : NULL;
	head_add(maker, type, 0);
	words_add(maker, type_number(maker, array->type, wanted ? wanted->type : 0),
		  type_number(maker, array->index_type, 0), array->nelems);
}

/* What it points to, or is another name of. */
static void reference_make(struct maker *maker, const struct btf_type *type, uint32_t local)
{
	uint32_t wanted = local ? btf_view_type(&maker->object, local)->type : 0;

	head_add(maker, type, type_number(maker, type->type, wanted));
}

static void part_make(struct maker *maker, struct part part)
{
	const struct btf_type *type = btf_view_type(&maker->kernel, part.kernel);

	switch (btf_type_kind(type)) {
	case BTF_STRUCT:
	case BTF_UNION:
		members_make(maker, type, part.local);
		break;
	case BTF_ENUM:
	case BTF_ENUM64:
		enumerators_make(maker, type, part.local);
		break;
	case BTF_FUNC_PROTO:
		parameters_make(maker, type);
		break;
	case BTF_ARRAY:
		array_make(maker, type, part.local);
		break;
	case BTF_PTR:
	case BTF_TYPEDEF:
		reference_make(maker, type, part.local);
		break;
	case BTF_INT:
		head_add(maker, type, type->size);
		bytes_add(maker, &maker->types, type + 1, sizeof(uint32_t));
		break;
	default: /* BTF_FLOAT, BTF_FWD; nothing has a type of another kind */
		head_add(maker, type, type->size);
		break;
	}
}

/* --- Looking for what is wanted --- */

/* Only types that relocations can be about, and only if they have a name. */
static bool kind_has_name(enum btf_kind kind)
{
	return kind_is_composite(kind) || kind_is_enum(kind) || kind == BTF_TYPEDEF;
}

static int names_collect(struct maker *maker, struct btf_wanted *wanted, size_t n_wanted)
{
	int error = 0;

	for (uint32_t id = 1; id < maker->object.n && !error; id++) {
		const struct btf_type *type = btf_view_type(&maker->object, id);
		struct name name = {
			.text = btf_view_text(&maker->object, type->name_off),
			.kind = btf_type_kind(type),
			.local = id,
		};

		if (*name.text && kind_has_name(name.kind))
			error = names_add(&maker->names, name);
	}
	for (size_t i = 0; i < n_wanted && !error; i++)
		error = names_add(&maker->names, (struct name){ .text = wanted[i].name,
								.kind = wanted[i].kind,
								.wanted = &wanted[i] });
	names_hash(&maker->names);
	return error;
}

static void type_found(struct maker *maker, uint32_t id, enum btf_kind kind, const char *text)
{
	size_t length = btf_name_length(text);
	struct name *name = maker->names.buckets[name_hash(text, length)];

	for (; name; name = name->next) {
		if (name->length != length || strncmp(name->text, text, length) ||
		    !(name->wanted ? kind == name->kind : kinds_match(kind, name->kind)))
			continue;
		if (name->local)
			part_number(maker, id, name->local);
		else if (!name->wanted->id)
			name->wanted->id = id;
	}
}

static void kernel_search(struct maker *maker)
{
	for (uint32_t id = 1; id < maker->kernel.n && !maker->error; id++) {
		const struct btf_type *type = btf_view_type(&maker->kernel, id);
		enum btf_kind kind = btf_type_kind(type);
		const char *text;

		if (kind != BTF_FUNC && !kind_has_name(kind))
			continue;
		text = btf_view_text(&maker->kernel, type->name_off);
		if (maker->names.begins[name_begin(text)] & 1 << (kind == BTF_FUNC))
			type_found(maker, id, kind, text);
	}
}

/* Parts that are made may need others, which are made after them. */
static void parts_make(struct maker *maker)
{
	size_t n_named = maker->n;

	for (size_t i = 0; i < maker->n && !maker->error; i++) {
		maker->is_named = i < n_named;
		part_make(maker, maker->parts[i]);
	}
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

int btf_slice_make(struct btf_slice *slice, const void *kernel, size_t kernel_size,
		   const void *object, size_t object_size, struct btf_wanted *wanted,
		   size_t n_wanted)
{
	struct maker *maker = calloc(1, sizeof(*maker));
	int error = maker ? 0 : -ENOMEM;

	if (!error)
		error = btf_view_open(&maker->object, object, object_size);
	if (!error)
		error = btf_view_open(&maker->kernel, kernel, kernel_size);
	if (!error)
		error = names_collect(maker, wanted, n_wanted);
	if (!error) {
		bytes_add(maker, &maker->strings, "", 1);
		kernel_search(maker);
		parts_make(maker);
		error = slice_write(maker, slice);
	}
	if (!maker)
		return error;
	btf_view_clear(&maker->kernel);
	btf_view_clear(&maker->object);
	free(maker->names.list);
	free(maker->parts);
	free(maker->types.data);
	free(maker->strings.data);
	free(maker);
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

size_t btf_name_length(const char *name)
{
	size_t length = strlen(name);

	for (size_t i = length; i-- > 0;)
		if (i + 4 < length && name[i] != '_' && name[i + 4] != '_' &&
		    !strncmp(name + i + 1, "___", 3))
			return i + 1;
	return length;
}
