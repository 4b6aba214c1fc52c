/* SPDX-License-Identifier: Apache-2.0 */
/* What a BPF object needs of the kernel's BTF. libbpf looks through all of it, some 100,000
 * types, for each type and each tracepoint of an object; here one pass finds them all, and
 * makes BTF of them that is searched in no time. Knows nothing of libbpf. */
#ifndef BTF_SLICE_H
#define BTF_SLICE_H

#include <stddef.h>
#include <stdint.h>

#include "btf_view.h"

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
 * names of an object's types; of structures and enumerations it has the members that the
 * object's have. Relocations against it come out as against all of the kernel's. Returns 0,
 * -ENOMEM, or -EINVAL if one of the two is no BTF or has what is not known. */
int btf_slice_make(struct btf_slice *slice, const void *kernel, size_t kernel_size,
		   const void *object, size_t object_size, struct btf_wanted *wanted,
		   size_t n_wanted);

#endif
