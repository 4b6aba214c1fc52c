/* SPDX-License-Identifier: Apache-2.0 */
/* A slice of the kernel's BTF: types of some names, and what they contain. Part of the session. */
#ifndef SESSION_BTF_SLICE_H
#define SESSION_BTF_SLICE_H

#include <stddef.h>
#include <stdint.h>

#define BTF_ITERATOR "bpf_iter_" /* prefix of the kernel's function for an iterator */
#define BTF_PREEMPTED_CALLS "trace_call_bpf_faultable"

/* A set of names of types, and of functions that are one of those above. */
struct btf_names;

/* Returns an empty set for at most n names, NULL without memory. The caller frees it. */
struct btf_names *btf_names_new(size_t n);
void btf_names_free(struct btf_names *names);

/* Adds a copy of a name. Returns 0, -ENOMEM, or -E2BIG if there are n already. */
int btf_names_add(struct btf_names *names, const char *name);

struct btf_slice {
	char *data; /* BTF */
	size_t size;
	uint32_t *kernel_ids; /* by id in the slice: id in the kernel's BTF */
};

/* Makes a slice of BTF, size bytes of data, which need not be sound: the types of these names, and
 * those that they contain. Relocations against it give the same results as against all of the BTF.
 * Returns 0, -ENOMEM, or -EINVAL if the data are no BTF, or have a kind of type that is not known
 * here. The caller clears the slice in any case. */
int btf_slice_make(struct btf_slice *slice, const void *data, size_t size,
		   const struct btf_names *names);
void btf_slice_clear(struct btf_slice *slice);

#endif
