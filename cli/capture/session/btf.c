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

/* One pass here finds all types and tracepoints of an object. libbpf scans all types, about
 * 100,000, for each of them. */

#define TRACEPOINT "btf_trace_" /* prefix of the kernel's typedef for a tracepoint */
#define ITERATOR "bpf_iter_"    /* prefix of its function for an iterator */
#define PREEMPTED_CALLS "trace_call_bpf_faultable"
#define NAME_MOST 256

struct slicer {
	struct btf *kernel, *slice;
	struct btf *names;    /* its strings are the names to find */
	uint32_t *numbers;    /* by kernel type: its number in the slice; 0: not in it */
	uint32_t *kernel_ids; /* of the types in the slice */
	uint32_t n;
};

/* First types of the slice: behind a pointer, relocations only look at the kind of type. */
enum { EMPTY_STRUCT = 1, EMPTY_UNION, FIRST_TYPE };

static bool program_iterates(const struct bpf_program *program)
{
	return bpf_program__expected_attach_type(program) == BPF_TRACE_ITER;
}

static int name_want(struct slicer *slicer, const char *prefix, const char *name)
{
	char text[NAME_MOST];
	char *flavour;

	snprintf(text, sizeof(text), "%s%s", prefix, name);
	flavour = strstr(text, "___"); /* "name___flavour" is another form of "name" */
	if (flavour)
		*flavour = '\0';
	return btf__add_str(slicer->names, text);
}

/* Returns the attach target in a program's section name; NULL: none. */
static const char *program_target(const struct bpf_program *program)
{
	const char *slash = strchr(bpf_program__section_name(program), '/');

	return slash ? slash + 1 : NULL;
}

/* Collects the names of the object's types and of its programs' targets, after those that no
 * section names. */
static int names_collect(struct slicer *slicer, const struct bpf_object *object)
{
	const struct btf *own = bpf_object__btf(object);
	struct bpf_program *program;
	int error = name_want(slicer, TRACEPOINT, "sched_process_exit");

	if (error >= 0)
		error = name_want(slicer, "", PREEMPTED_CALLS);
	bpf_object__for_each_program (program, object)
		if (program_target(program) && error >= 0)
			error = name_want(slicer, program_iterates(program) ? ITERATOR : TRACEPOINT,
					  program_target(program));
	for (uint32_t id = 1; id < btf__type_cnt(own) && error >= 0; id++)
		error = name_want(slicer, "",
				  btf__name_by_offset(own, btf__type_by_id(own, id)->name_off));
	return error < 0 ? error : 0;
}

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

/* True if the object could need a type. Half of the kernel's types are functions. */
static bool may_be_wanted(const struct btf_type *type, const char *name)
{
	if (btf_is_func(type))
		return !strncmp(name, ITERATOR, strlen(ITERATOR)) || !strcmp(name, PREEMPTED_CALLS);
	return *name && (btf_is_composite(type) || btf_is_any_enum(type) || btf_is_typedef(type));
}

static void names_search(struct slicer *slicer)
{
	for (uint32_t id = 1; id < btf__type_cnt(slicer->kernel); id++) {
		const struct btf_type *type = btf__type_by_id(slicer->kernel, id);
		const char *name = btf__name_by_offset(slicer->kernel, type->name_off);

		if (may_be_wanted(type, name) && btf__find_str(slicer->names, name) > 0)
			type_number(slicer, id);
	}
}

/* Returns the number of a type mentioned by another, without typedefs and qualifiers. */
static uint32_t mentioned(struct slicer *slicer, uint32_t id, bool is_pointed_to)
{
	int plain = btf__resolve_type(slicer->kernel, id);
	const struct btf_type *type;

	if (plain <= 0) /* void */
		return 0;
	type = btf__type_by_id(slicer->kernel, (uint32_t)plain);
	if (is_pointed_to && btf_is_composite(type))
		return btf_is_struct(type) ? EMPTY_STRUCT : EMPTY_UNION;
	return type_number(slicer, (uint32_t)plain);
}

static int type_copy(struct slicer *slicer, uint32_t id)
{
	int number = btf__add_type(slicer->slice, slicer->kernel,
				   btf__type_by_id(slicer->kernel, id));
	struct btf_type *type;

	if (number < 0)
		return number;
	type = (struct btf_type *)btf__type_by_id(slicer->slice, (uint32_t)number);
	if (btf_is_ptr(type) || btf_is_typedef(type) || btf_is_func(type) ||
	    btf_is_func_proto(type))
		type->type = mentioned(slicer, type->type, btf_is_ptr(type));
	for (int i = 0; btf_is_composite(type) && i < btf_vlen(type); i++)
		btf_members(type)[i].type = mentioned(slicer, btf_members(type)[i].type, false);
	for (int i = 0; btf_is_func_proto(type) && i < btf_vlen(type); i++)
		btf_params(type)[i].type = mentioned(slicer, btf_params(type)[i].type, false);
	if (btf_is_array(type)) {
		btf_array(type)->type = mentioned(slicer, btf_array(type)->type, false);
		btf_array(type)->index_type = mentioned(slicer, btf_array(type)->index_type, false);
	}
	return 0;
}

static int types_copy(struct slicer *slicer)
{
	int error = btf__add_struct(slicer->slice, "", 0);

	if (error >= 0)
		error = btf__add_union(slicer->slice, "", 0);
	for (uint32_t number = FIRST_TYPE; number < slicer->n && error >= 0; number++)
		error = type_copy(slicer, slicer->kernel_ids[number]);
	return error < 0 ? error : 0;
}

/* Maps the kernel's BTF, as is possible since 6.16: reading takes a call for each page. A file in
 * its place may be an ELF file. */
static struct btf *kernel_parse(void)
{
	int fd = open(BTF_FILE, O_RDONLY | O_CLOEXEC);
	struct stat file = { 0 };
	struct btf *btf = NULL;
	void *data = MAP_FAILED;

	if (fd >= 0 && !fstat(fd, &file) && file.st_size >= (off_t)sizeof(struct btf_header))
		data = mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	if (data != MAP_FAILED) {
		if (((const struct btf_header *)data)->magic == BTF_MAGIC)
			btf = btf__new(data, (__u32)file.st_size);
		munmap(data, (size_t)file.st_size);
	}
	return btf ? btf : btf__parse(BTF_FILE, NULL);
}

/* Makes the slice. The arrays can hold all types of the kernel; unused space takes no memory. */
static int slice_make(struct slicer *slicer, const struct bpf_object *object)
{
	size_t n;
	int error;

	slicer->kernel = kernel_parse();
	if (!slicer->kernel)
		return -errno;
	n = btf__type_cnt(slicer->kernel);
	slicer->n = FIRST_TYPE;
	slicer->slice = btf__new_empty();
	slicer->names = btf__new_empty();
	slicer->numbers = calloc(n, sizeof(*slicer->numbers));
	slicer->kernel_ids = calloc(FIRST_TYPE + n, sizeof(*slicer->kernel_ids));
	if (!slicer->slice || !slicer->names || !slicer->numbers || !slicer->kernel_ids)
		return -ENOMEM;
	error = names_collect(slicer, object);
	if (error)
		return error;
	names_search(slicer);
	return types_copy(slicer);
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

int btf_search(struct session_btf *btf, const struct bpf_object *object)
{
	struct slicer slicer = { 0 };
	int error = slice_make(&slicer, object);
	const void *data;
	__u32 size;

	btf->slice = slicer.slice;
	btf->kernel_ids = slicer.kernel_ids;
	if (!error) {
		data = btf__raw_data(btf->slice, &size);
		if (!data)
			error = -ENOMEM;
		else if (write(btf->fd, data, size) != (ssize_t)size)
			error = errno ? -errno : -EIO;
	}
	btf__free(slicer.kernel);
	btf__free(slicer.names);
	free(slicer.numbers);
	return error;
}

/* Returns an id in the kernel's BTF; 0: none. */
static uint32_t kernel_id(const struct session_btf *btf, uint32_t kind, const char *prefix,
			  const char *name)
{
	char text[NAME_MOST];
	int id;

	snprintf(text, sizeof(text), "%s%s", prefix, name);
	id = btf__find_by_name_kind(btf->slice, text, kind);
	return id > 0 ? btf->kernel_ids[id] : 0;
}

int btf_target(struct session_btf *btf, struct bpf_program *program, const char *name)
{
	uint32_t id = program_iterates(program)
			      ? kernel_id(btf, BTF_KIND_FUNC, ITERATOR, name)
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
	return kernel_id(btf, BTF_KIND_FUNC, "", PREEMPTED_CALLS);
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
	btf__free(btf->slice);
	free(btf->kernel_ids);
	if (btf->fd > 0)
		close(btf->fd);
}
