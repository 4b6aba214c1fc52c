// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "btf.h"

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
#include "cli/base/log.h"
#include "cli/process/preflight.h"
#include "loading.h"
#include "kernel_delay.skel.h"
#include "kernel_delay_traces.skel.h"

/* --- One of two BPF objects --- */

/* One skeleton serves both. It finds maps and programs by name, and variables by offset in their
 * section (tests/lint/skeletons.t compares all of them). */
#define SAME_SIZE(section)                                                                         \
	_Static_assert(sizeof(struct kernel_delay__##section) ==                                   \
			       sizeof(struct kernel_delay_traces__##section),                      \
		       "both objects have the same variables")
SAME_SIZE(rodata);
SAME_SIZE(data);
SAME_SIZE(bss);
SAME_SIZE(data_word);

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
	if (!error)
		return skel;
	kernel_delay__destroy(skel);
	errno = -error;
	return NULL;
}

/* --- Kernel BTF that an object needs --- */

#define TRACEPOINT "btf_trace_" /* prefix of the kernel's typedef for a tracepoint */
#define NAME_MOST 256

static bool program_iterates(const struct bpf_program *program)
{
	return bpf_program__expected_attach_type(program) == BPF_TRACE_ITER;
}

static int name_want(struct btf_names *names, const char *prefix, const char *name)
{
	char text[NAME_MOST];
	char *flavour;

	snprintf(text, sizeof(text), "%s%s", prefix, name);
	flavour = strstr(text, "___"); /* "name___flavour" is another form of "name" */
	if (flavour)
		*flavour = '\0';
	return btf_names_add(names, text);
}

/* Returns the attach target in a program's section name; NULL: none. */
static const char *program_target(const struct bpf_program *program)
{
	const char *slash = strchr(bpf_program__section_name(program), '/');

	return slash ? slash + 1 : NULL;
}

static size_t programs_count(const struct bpf_object *object)
{
	struct bpf_program *program;
	size_t n = 0;

	bpf_object__for_each_program (program, object)
		n++;
	return n;
}

/* Collects the names of the object's types and of its programs' targets, after two that no section
 * names. Returns NULL without memory; the caller frees them. */
static struct btf_names *names_collect(const struct bpf_object *object)
{
	const struct btf *own = bpf_object__btf(object);
	struct btf_names *names = btf_names_new(2 + programs_count(object) + btf__type_cnt(own));
	struct bpf_program *program;
	int error = names ? name_want(names, TRACEPOINT, "sched_process_exit") : -ENOMEM;

	error = error ?: name_want(names, "", BTF_PREEMPTED_CALLS);
	bpf_object__for_each_program (program, object)
		if (program_target(program) && !error)
			error = name_want(names,
					  program_iterates(program) ? BTF_ITERATOR : TRACEPOINT,
					  program_target(program));
	for (uint32_t id = 1; !error && id < btf__type_cnt(own); id++)
		error = name_want(names, "",
				  btf__name_by_offset(own, btf__type_by_id(own, id)->name_off));
	if (!error)
		return names;
	btf_names_free(names);
	return NULL;
}

/* The kernel's BTF, or that of a file in its place. */
struct kernel_btf {
	const void *data;
	size_t size;
	void *mapped; /* file, NULL: none */
	size_t mapped_size;
	struct btf *parsed; /* an ELF file's */
};

/* Maps a file as is possible with the kernel's BTF since 6.16, or reads it, a page with each call.
 * Returns NULL on failure. */
static void *file_map(int fd, size_t size)
{
	void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	ssize_t got = 1;

	if (data != MAP_FAILED)
		return data;
	data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (data == MAP_FAILED)
		return NULL;
	for (size_t at = 0; at < size && got > 0; at += (size_t)got)
		got = read(fd, (char *)data + at, size - at);
	if (got > 0)
		return data;
	munmap(data, size);
	return NULL;
}

/* Returns 0 or a negative errno. The caller closes it in any case. */
static int kernel_btf_open(struct kernel_btf *btf)
{
	int fd = open(BTF_FILE, O_RDONLY | O_CLOEXEC);
	struct stat file = { 0 };
	__u32 size = 0;

	if (fd >= 0 && !fstat(fd, &file) && file.st_size >= (off_t)sizeof(struct btf_header))
		btf->mapped = file_map(fd, (size_t)file.st_size);
	if (fd >= 0)
		close(fd);
	btf->data = btf->mapped;
	btf->size = btf->mapped_size = (size_t)file.st_size;
	if (btf->mapped && ((const struct btf_header *)btf->mapped)->magic == BTF_MAGIC)
		return 0;
	btf->parsed = btf__parse(BTF_FILE, NULL);
	if (!btf->parsed)
		return -errno;
	btf->data = btf__raw_data(btf->parsed, &size);
	btf->size = size;
	return btf->data ? 0 : -ENOMEM;
}

static void kernel_btf_close(struct kernel_btf *btf)
{
	if (btf->mapped)
		munmap(btf->mapped, btf->mapped_size);
	btf__free(btf->parsed);
}

/* --- Presents the slice to libbpf as the kernel's BTF --- */

/* Sets the target of a program; libbpf calls this before loading. Drops the source lines unless
 * --debug shows the verifier's messages: the kernel checks and keeps each line. */
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
	if (btf->loading)
		loading_defer(btf->loading, program, options);
	return 0;
}

static int tracepoint_attach(const struct bpf_program *program, long cookie, struct bpf_link **link)
{
	(void)cookie;
	*link = bpf_program__attach_trace(program);
	return *link ? 0 : -errno;
}

int btf_open(struct session_btf *btf)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, options, .cookie = (long)btf,
		    .prog_prepare_load_fn = program_prepare, .prog_attach_fn = tracepoint_attach);

	btf->fd = memfd_create("btf", MFD_CLOEXEC);
	if (btf->fd < 0)
		return -errno;
	snprintf(btf->path, sizeof(btf->path), "/proc/self/fd/%d", btf->fd);
	btf->handlers[0] = libbpf_register_prog_handler("tp_btf+", BPF_PROG_TYPE_TRACING,
							BPF_TRACE_RAW_TP, &options);
	options.prog_attach_fn = NULL; /* iterators are not attached by section name */
	btf->handlers[1] = libbpf_register_prog_handler("iter+", BPF_PROG_TYPE_TRACING,
							BPF_TRACE_ITER, &options);
	return btf->handlers[0] < 0   ? btf->handlers[0]
	       : btf->handlers[1] < 0 ? btf->handlers[1]
				      : 0;
}

static int slice_write(const struct session_btf *btf)
{
	errno = 0;
	if (write(btf->fd, btf->slice.data, btf->slice.size) == (ssize_t)btf->slice.size)
		return 0;
	return errno ? -errno : -EIO;
}

int btf_search(struct session_btf *btf, const struct bpf_object *object)
{
	struct btf_names *names = names_collect(object);
	struct kernel_btf kernel = { .data = NULL };
	int error = names ? kernel_btf_open(&kernel) : -ENOMEM;

	error = error ?: btf_slice_make(&btf->slice, kernel.data, kernel.size, names);
	kernel_btf_close(&kernel);
	btf_names_free(names);
	error = error ?: slice_write(btf);
	if (error)
		return error;
	btf->types = btf__new(btf->slice.data, (__u32)btf->slice.size);
	return btf->types ? 0 : -errno;
}

/* Returns an id in the kernel's BTF; 0: none. */
static uint32_t kernel_id(const struct session_btf *btf, uint32_t kind, const char *prefix,
			  const char *name)
{
	char text[NAME_MOST];
	int id;

	snprintf(text, sizeof(text), "%s%s", prefix, name);
	id = btf__find_by_name_kind(btf->types, text, kind);
	return id > 0 ? btf->slice.kernel_ids[id] : 0;
}

int btf_target(struct session_btf *btf, struct bpf_program *program, const char *name)
{
	uint32_t id = program_iterates(program)
			      ? kernel_id(btf, BTF_KIND_FUNC, BTF_ITERATOR, name)
			      : kernel_id(btf, BTF_KIND_TYPEDEF, TRACEPOINT, name);

	if (!id)
		return -ESRCH;
	if (btf->n_targets == BTF_PROGRAMS_MAX)
		return -E2BIG;
	btf->targets[btf->n_targets].program = program;
	btf->targets[btf->n_targets++].id = id;
	/* Pretends to attach to another program, so libbpf does not load the kernel's BTF.
	 * program_prepare() sets the real target. */
	return bpf_program__set_attach_target(program, btf->fd, NULL);
}

static bool btf_has_target(const struct session_btf *btf, const struct bpf_program *program)
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
		    btf_has_target(btf, program))
			continue;
		error = error ?: btf_target(btf, program, program_target(program));
	}
	return error;
}

bool btf_has_tracepoint(const struct session_btf *btf, const char *name)
{
	return kernel_id(btf, BTF_KIND_TYPEDEF, TRACEPOINT, name);
}

bool btf_calls_are_preempted(const struct session_btf *btf)
{
	return kernel_id(btf, BTF_KIND_FUNC, "", BTF_PREEMPTED_CALLS);
}

/* libbpf before 1.3 frees its list of handlers twice if it was empty once and another session
 * follows (libbpf commit 8a0260dbf657). So one handler stays that no section uses. */
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
	btf__free(btf->types);
	btf_slice_clear(&btf->slice);
	if (btf->fd > 0)
		close(btf->fd);
}
