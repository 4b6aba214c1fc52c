// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "session_btf.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/kernel_delay.h"
#include "cli/base/array.h"
#include "cli/base/log.h"
#include "cli/process/kernelfs.h"
#include "kernel_delay.skel.h"
#include "kernel_delay_traces.skel.h"

/* --- One of the two BPF objects --- */

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

/* --- By a slice of the kernel's BTF --- */

#define TRACEPOINT "btf_trace_" /* how the kernel's typedef of a tracepoint begins */
#define ITERATOR "bpf_iter_"    /* and its function of an iterator */
#define PREEMPTED_CALLS "trace_call_bpf_faultable"

/* Called by libbpf for each program of these sections that it is about to load. Without --debug
 * nobody sees the source lines that the verifier's messages quote; the kernel checks and keeps
 * each. */
static int program_prepare(struct bpf_program *program, struct bpf_prog_load_opts *options,
			   long cookie)
{
	struct session_btf *btf = (struct session_btf *)cookie;

	for (size_t i = 0; i < btf->n_targets; i++) {
		if (btf->targets[i].program != program)
			continue;
		options->attach_prog_fd = 0;
		options->attach_btf_id = btf->targets[i].id;
	}
	if (!log_is_debug())
		options->line_info_cnt = 0;
	return 0;
}

static int tracepoint_attach(const struct bpf_program *program, long cookie, struct bpf_link **link)
{
	(void)cookie;
	*link = bpf_program__attach_trace(program);
	return *link ? 0 : -errno;
}

/* What a program's section says it will be attached to, NULL if it does not. */
static const char *program_target(const struct bpf_program *program)
{
	const char *slash = strchr(bpf_program__section_name(program), '/');

	return slash ? slash + 1 : NULL;
}

int btf_open(struct session_btf *btf)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, options, .cookie = (long)btf,
		    .prog_prepare_load_fn = program_prepare, .prog_attach_fn = tracepoint_attach);

	btf->fd = open(BTF_FILE, O_RDONLY | O_CLOEXEC);
	if (btf->fd < 0)
		return -errno;
	snprintf(btf->path, sizeof(btf->path), "/proc/self/fd/%d", btf->fd);
	btf->handlers[0] = libbpf_register_prog_handler("tp_btf+", BPF_PROG_TYPE_TRACING,
							BPF_TRACE_RAW_TP, &options);
	options.prog_attach_fn = NULL; /* iterators are not attached by their sections' names */
	btf->handlers[1] = libbpf_register_prog_handler("iter+", BPF_PROG_TYPE_TRACING,
							BPF_TRACE_ITER, &options);
	return btf->handlers[0] < 0   ? btf->handlers[0]
	       : btf->handlers[1] < 0 ? btf->handlers[1]
				      : 0;
}

static int wanted_add(struct session_btf *btf, enum btf_kind kind, const char *prefix,
		      const char *text)
{
	char *name;

	if (ARRAY_GROW(btf->wanted, btf->n_wanted, btf->room) ||
	    asprintf(&name, "%s%s", prefix, text) < 0)
		return -ENOMEM;
	btf->wanted[btf->n_wanted++] = (struct btf_wanted){ .kind = kind, .name = name };
	return 0;
}

static bool program_iterates(const struct bpf_program *program)
{
	return bpf_program__expected_attach_type(program) == BPF_TRACE_ITER;
}

static int program_want(struct session_btf *btf, const struct bpf_program *program,
			const char *name)
{
	return program_iterates(program) ? wanted_add(btf, BTF_FUNC, ITERATOR, name)
					 : wanted_add(btf, BTF_TYPEDEF, TRACEPOINT, name);
}

/* What sections do not name comes last. */
static int wanted_collect(struct session_btf *btf, struct bpf_object *object)
{
	struct bpf_program *program;
	int error = 0;

	bpf_object__for_each_program (program, object) {
		const char *name = program_target(program);

		if (bpf_program__type(program) == BPF_PROG_TYPE_TRACING && name)
			error = error ?: program_want(btf, program, name);
	}
	error = error ?: wanted_add(btf, BTF_TYPEDEF, TRACEPOINT, "sched_process_exit");
	return error ?: wanted_add(btf, BTF_FUNC, "", PREEMPTED_CALLS);
}

/* Returns NULL if it cannot be read. Where it cannot be mapped (before 6.16), it is a copy. */
static void *kernel_read(int fd, size_t *size)
{
	struct stat status;
	size_t got = 0;
	ssize_t n = 1;
	char *data;

	if (fstat(fd, &status) || status.st_size <= 0)
		return NULL;
	*size = (size_t)status.st_size;
	data = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data != MAP_FAILED)
		return data;
	data = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (data == MAP_FAILED)
		return NULL;
	while (got < *size && n > 0) {
		n = pread(fd, data + got, *size - got, (off_t)got);
		got += n > 0 ? (size_t)n : 0;
	}
	if (got == *size)
		return data;
	munmap(data, *size);
	return NULL;
}

/* Puts the slice where libbpf would have the kernel's BTF. */
static int slice_provide(struct session_btf *btf, const struct btf_slice *slice)
{
	int fd = memfd_create("btf", MFD_CLOEXEC), error = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, slice->data, slice->size) != (ssize_t)slice->size ||
	    dup3(fd, btf->fd, O_CLOEXEC) < 0)
		error = errno ? -errno : -EIO;
	close(fd);
	return error;
}

int btf_search(struct session_btf *btf, struct bpf_object *object)
{
	struct btf_slice slice = { 0 };
	size_t kernel_size = 0;
	__u32 size = 0;
	const void *own = btf__raw_data(bpf_object__btf(object), &size);
	void *kernel = kernel_read(btf->fd, &kernel_size);
	int error = wanted_collect(btf, object);

	if (!error)
		error = kernel && own ? btf_slice_make(&slice, kernel, kernel_size, own, size,
						       btf->wanted, btf->n_wanted)
				      : -EINVAL;
	if (!error)
		error = slice_provide(btf, &slice);
	btf->sliced = !error;
	if (error)
		log_debug("libbpf searches the kernel's BTF: %s\n", strerror(-error));
	free(slice.data);
	if (kernel)
		munmap(kernel, kernel_size);
	return error == -ENOMEM ? error : 0;
}

static uint32_t wanted_id(const struct session_btf *btf, enum btf_kind kind, const char *prefix,
			  const char *text)
{
	size_t length = strlen(prefix);

	for (size_t i = 0; i < btf->n_wanted; i++)
		if (btf->wanted[i].kind == kind && !strncmp(btf->wanted[i].name, prefix, length) &&
		    !strcmp(btf->wanted[i].name + length, text))
			return btf->wanted[i].id;
	return 0;
}

int btf_target(struct session_btf *btf, struct bpf_program *program, const char *name)
{
	uint32_t id;

	if (!btf->sliced)
		return bpf_program__set_attach_target(program, 0, name);
	id = program_iterates(program) ? wanted_id(btf, BTF_FUNC, ITERATOR, name)
				       : wanted_id(btf, BTF_TYPEDEF, TRACEPOINT, name);
	if (!id)
		return -ESRCH;
	if (btf->n_targets == BTF_PROGRAMS_MAX)
		return -E2BIG;
	btf->targets[btf->n_targets].program = program;
	btf->targets[btf->n_targets++].id = id;
	/* As if it were to be attached to another program: libbpf then does without the kernel's
	 * BTF, and program_prepare() says what is meant. */
	return bpf_program__set_attach_target(program, btf->fd, NULL);
}

static bool target_is_known(const struct session_btf *btf, const struct bpf_program *program)
{
	for (size_t i = 0; i < btf->n_targets; i++)
		if (btf->targets[i].program == program)
			return true;
	return false;
}

int btf_targets(struct session_btf *btf, struct bpf_object *object)
{
	struct bpf_program *program;
	int error = 0;

	bpf_object__for_each_program (program, object) {
		if (!bpf_program__autoload(program) || !program_target(program) ||
		    bpf_program__type(program) != BPF_PROG_TYPE_TRACING ||
		    target_is_known(btf, program))
			continue;
		error = error ?: btf_target(btf, program, program_target(program));
	}
	return error;
}

bool btf_calls_are_preempted(const struct session_btf *btf)
{
	return btf->sliced ? wanted_id(btf, BTF_FUNC, "", PREEMPTED_CALLS) != 0
			   : libbpf_find_vmlinux_btf_id(PREEMPTED_CALLS, BPF_TRACE_FENTRY) > 0;
}

/* libbpf before 1.3 frees its list of handlers twice if it was empty in between and another
 * session follows (libbpf commit 8a0260dbf657): one stays that no section is for. */
static void handlers_keep(void)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, options);

	libbpf_register_prog_handler("kd_none", BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP, &options);
}

void btf_close(struct session_btf *btf)
{
	handlers_keep();
	for (size_t i = 0; i < sizeof(btf->handlers) / sizeof(*btf->handlers); i++)
		if (btf->handlers[i] > 0)
			libbpf_unregister_prog_handler(btf->handlers[i]);
	for (size_t i = 0; i < btf->n_wanted; i++)
		free((char *)btf->wanted[i].name);
	free(btf->wanted);
	if (btf->fd > 0)
		close(btf->fd);
}
