/* SPDX-License-Identifier: Apache-2.0 */
/* What a BPF object needs of the kernel's BTF. libbpf looks through all of it, some 100,000
 * types, for each type and each tracepoint of an object; here one pass finds them all, and
 * makes BTF of them that is searched in no time. Knows nothing of libbpf. */
#ifndef BTF_SLICE_H
#define BTF_SLICE_H

#include <linux/btf.h>
#include <stddef.h>
#include <stdint.h>

/* --- BTF (Documentation/bpf/btf.rst) as it is in memory, of this machine's byte order --- */

/* As BTF_KIND_, of which the headers at build may not know all. */
enum btf_kind {
	BTF_VOID,
	BTF_INT,
	BTF_PTR,
	BTF_ARRAY,
	BTF_STRUCT,
	BTF_UNION,
	BTF_ENUM,
	BTF_FWD,
	BTF_TYPEDEF,
	BTF_VOLATILE,
	BTF_CONST,
	BTF_RESTRICT,
	BTF_FUNC,
	BTF_FUNC_PROTO,
	BTF_VAR,
	BTF_DATASEC,
	BTF_FLOAT,
	BTF_DECL_TAG,
	BTF_TYPE_TAG,
	BTF_ENUM64,
	BTF_KINDS
};

struct btf_view {
	const char *types, *strings; /* the caller's */
	uint32_t types_size, strings_size;
	uint32_t *at; /* of each type, from types on */
	uint32_t n;   /* numbers of types, with that of void, 0 */
};

/* Looks through data, which has to stay there until btf_view_clear(). Returns 0, -ENOMEM, or
 * -EINVAL if this is no BTF, or has what is not known. */
int btf_view_open(struct btf_view *view, const void *data, size_t size);
void btf_view_clear(struct btf_view *view);

/* id: has to be below n. What follows the type is all there. */
static inline const struct btf_type *btf_view_type(const struct btf_view *view, uint32_t id)
{
	return (const struct btf_type *)(view->types + view->at[id]);
}

static inline enum btf_kind btf_type_kind(const struct btf_type *type)
{
	return (enum btf_kind)(type->info >> 24 & 0x1f);
}

static inline uint32_t btf_type_vlen(const struct btf_type *type)
{
	return type->info & 0xffff;
}

/* The text at an offset, "" if there is none. */
const char *btf_view_text(const struct btf_view *view, uint32_t offset);

/* What a type is that may have qualifiers, tags and names of its own. */
uint32_t btf_view_plain(const struct btf_view *view, uint32_t id);

/* A function or a typedef of the kernel that is looked up. */
struct btf_wanted {
	enum btf_kind kind;
	const char *name;
	uint32_t id; /* the answer: in the kernel's BTF, 0 if it is not there */
};

struct btf_slice {
	void *data; /* BTF: to be freed */
	size_t size;
};

/* Fills in the numbers of what is wanted, and makes BTF of the kernel's types that have the
 * names of an object's types, and of what these hold; of structures and enumerations it has the
 * members whose names the object has. Relocations against it come out as against all of the
 * kernel's. Returns 0, -ENOMEM, or -EINVAL if one of the two is no BTF or has what is not known. */
int btf_slice_make(struct btf_slice *slice, const void *kernel, size_t kernel_size,
		   const void *object, size_t object_size, struct btf_wanted *wanted,
		   size_t n_wanted);

#endif
