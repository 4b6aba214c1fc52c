// SPDX-License-Identifier: Apache-2.0
#include "btf_view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
