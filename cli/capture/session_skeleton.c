// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "session_skeleton.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/kernel_delay.h"
#include "session_btf.h"
#include "kernel_delay.skel.h"
#include "kernel_delay_traces.skel.h"

/* Both are reached by one skeleton: it finds maps and programs by their names, and variables
 * by where they are in their section (tests/lint/skeletons.t compares all of them). */
#define SAME_SIZE(section)                                                                         \
	_Static_assert(sizeof(struct kernel_delay__##section) ==                                   \
			       sizeof(struct kernel_delay_traces__##section),                      \
		       "both objects have the same variables")
SAME_SIZE(rodata);
SAME_SIZE(data);
SAME_SIZE(bss);
SAME_SIZE(data_word);

/* The object in the program's file has been read and is not needed any more: a megabyte. */
static void pages_drop(const void *data, size_t size)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = ((uintptr_t)data + page - 1) & ~(page - 1);
	uintptr_t to = ((uintptr_t)data + size) & ~(page - 1);

	if (from < to)
		madvise((void *)from, to - from, MADV_DONTNEED);
}

struct kernel_delay *skeleton_open(bool traces, const struct session_btf *btf)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = btf->path);
	struct kernel_delay *skel = calloc(1, sizeof(*skel));
	int error = skel ? kernel_delay__create_skeleton(skel) : -ENOMEM;

	if (!error && traces)
		skel->skeleton->data =
			(void *)kernel_delay_traces__elf_bytes(&skel->skeleton->data_sz);
	if (!error)
		error = bpf_object__open_skeleton(skel->skeleton, &options);
	if (!error) {
		pages_drop(skel->skeleton->data, skel->skeleton->data_sz);
		return skel;
	}
	kernel_delay__destroy(skel);
	errno = -error;
	return NULL;
}
