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
#include <sys/uio.h>
#include <unistd.h>

#include "bpf/kernel_delay.h"
#include "cli/base/array.h"
#include "cli/base/log.h"
#include "cli/process/preflight.h"
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

/* --- The kernel's BTF --- */

/* libbpf would read and copy all of it, and scan its types, about 100,000, for each type and
 * tracepoint of an object. One pass here finds them all. */

struct kernel_btf {
	void *mapped; /* NULL: libbpf read it */
	struct btf *read;
	size_t size;
	const char *names;
	size_t names_size;
	const struct btf_type **types; /* by id; 0: void */
	uint32_t n;
};

static bool data_is_btf(const void *data, size_t size)
{
	return size >= sizeof(struct btf_header) &&
	       ((const struct btf_header *)data)->magic == BTF_MAGIC;
}

/* The kernel maps its own since 6.16. A file in its place may be an ELF file. */
static const void *kernel_map(struct kernel_btf *kernel)
{
	int fd = open(BTF_FILE, O_RDONLY | O_CLOEXEC);
	struct stat file;
	void *data = MAP_FAILED;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &file))
		data = mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (data == MAP_FAILED)
		return NULL;
	kernel->mapped = data;
	kernel->size = (size_t)file.st_size;
	return data_is_btf(data, kernel->size) ? data : NULL;
}

/* Bytes behind a type's head; SIZE_MAX: of a kind that is not known here. */
static size_t type_behind(const struct btf_type *type)
{
	static const struct {
		uint8_t once, each;
	} sizes[] = {
		[BTF_KIND_INT] = { .once = sizeof(__u32) },
		[BTF_KIND_ARRAY] = { .once = sizeof(struct btf_array) },
		[BTF_KIND_STRUCT] = { .each = sizeof(struct btf_member) },
		[BTF_KIND_UNION] = { .each = sizeof(struct btf_member) },
		[BTF_KIND_ENUM] = { .each = sizeof(struct btf_enum) },
		[BTF_KIND_FUNC_PROTO] = { .each = sizeof(struct btf_param) },
		[BTF_KIND_VAR] = { .once = sizeof(struct btf_var) },
		[BTF_KIND_DATASEC] = { .each = sizeof(struct btf_var_secinfo) },
		[BTF_KIND_DECL_TAG] = { .once = sizeof(struct btf_decl_tag) },
		[BTF_KIND_ENUM64] = { .each = sizeof(struct btf_enum64) },
	};
	const size_t kind = btf_kind(type);

	if (kind >= sizeof(sizes) / sizeof(*sizes))
		return SIZE_MAX;
	return sizes[kind].once + btf_vlen(type) * sizes[kind].each;
}

/* Finds where each type begins: they have different sizes. */
static int types_index(struct kernel_btf *kernel, const uint8_t *types, size_t size)
{
	size_t at = 0;

	kernel->types = calloc(size / sizeof(struct btf_type) + 1, sizeof(struct btf_type *));
	if (!kernel->types)
		return -ENOMEM;
	for (kernel->n = 1; size - at >= sizeof(struct btf_type); kernel->n++) {
		const struct btf_type *type = (const struct btf_type *)(types + at);
		size_t behind = type_behind(type);

		at += sizeof(*type);
		if (behind > size - at)
			return -EINVAL;
		kernel->types[kernel->n] = type;
		at += behind;
	}
	return at == size ? 0 : -EINVAL;
}

static bool part_is_inside(uint32_t at, uint32_t length, size_t size)
{
	return at <= size && length <= size - at;
}

static int kernel_open(struct kernel_btf *kernel)
{
	const uint8_t *data = kernel_map(kernel);
	const struct btf_header *head;
	size_t size = kernel->size;
	__u32 read_size;

	if (!data) {
		kernel->read = btf__parse(BTF_FILE, NULL);
		if (!kernel->read)
			return -errno;
		data = btf__raw_data(kernel->read, &read_size);
		if (!data)
			return -ENOMEM;
		size = read_size;
	}
	head = (const struct btf_header *)data;
	if (head->hdr_len < sizeof(*head) || head->hdr_len > size)
		return -EINVAL;
	data += head->hdr_len;
	size -= head->hdr_len;
	if (!part_is_inside(head->type_off, head->type_len, size) ||
	    !part_is_inside(head->str_off, head->str_len, size) || !head->str_len ||
	    data[head->str_off + head->str_len - 1] ||
	    (head->hdr_len + head->type_off) % _Alignof(struct btf_type))
		return -EINVAL;
	kernel->names = (const char *)data + head->str_off;
	kernel->names_size = head->str_len;
	return types_index(kernel, data + head->type_off, head->type_len);
}

static void kernel_close(struct kernel_btf *kernel)
{
	if (kernel->mapped)
		munmap(kernel->mapped, kernel->size);
	btf__free(kernel->read);
	free(kernel->types);
}

static const char *kernel_name(const struct kernel_btf *kernel, uint32_t at)
{
	return at < kernel->names_size ? kernel->names + at : "";
}

#define RESOLVE_MOST 32

/* Returns a type's id without typedefs and qualifiers; 0: void, or declared only. */
static uint32_t kernel_plain(const struct kernel_btf *kernel, uint32_t id)
{
	for (int depth = 0; depth < RESOLVE_MOST && id && id < kernel->n; depth++) {
		const struct btf_type *type = kernel->types[id];

		if (!btf_is_mod(type) && !btf_is_typedef(type))
			return btf_is_fwd(type) ? 0 : id;
		id = type->type;
	}
	return 0;
}

/* --- What an object needs of it --- */

#define TRACEPOINT "btf_trace_" /* prefix of the kernel's typedef for a tracepoint */
#define ITERATOR "bpf_iter_"    /* prefix of its function for an iterator */
#define PREEMPTED_CALLS "trace_call_bpf_faultable"
#define NAME_MOST 256

struct bytes {
	uint8_t *data;
	size_t size, capacity;
};

struct slicer {
	struct kernel_btf kernel;
	struct bytes types, strings; /* of the slice */
	struct btf *names;           /* its strings are the names to find */
	uint32_t *numbers;           /* by kernel type: its number in the slice; 0: not in it */
	uint32_t *kernel_ids;        /* of the types in the slice */
	uint32_t n;
};

/* First types of the slice: behind a pointer, relocations only look at the kind of type. */
enum { EMPTY_STRUCT = 1, EMPTY_UNION, FIRST_PART };

static int bytes_add(struct bytes *bytes, const void *from, size_t size)
{
	if (array_reserve(&bytes->data, bytes->size + size, &bytes->capacity, 1))
		return -ENOMEM;
	memcpy(bytes->data + bytes->size, from, size);
	bytes->size += size;
	return 0;
}

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

/* Returns what a program's section says to attach to; NULL: nothing. */
static const char *program_target(const struct bpf_program *program)
{
	const char *slash = strchr(bpf_program__section_name(program), '/');

	return slash ? slash + 1 : NULL;
}

/* Collects names of the object's types and of what its programs are attached to; what no section
 * names comes first. */
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

/* Its number, which it has from now on: it is copied when all before it are. */
static uint32_t part_number(struct slicer *slicer, uint32_t id)
{
	if (!slicer->numbers[id]) {
		slicer->numbers[id] = slicer->n;
		slicer->kernel_ids[slicer->n++] = id;
	}
	return slicer->numbers[id];
}

/* Half of the kernel's types are functions. */
static bool may_be_wanted(const struct btf_type *type, const char *name)
{
	if (btf_is_func(type))
		return !strncmp(name, ITERATOR, strlen(ITERATOR)) || !strcmp(name, PREEMPTED_CALLS);
	return *name && (btf_is_composite(type) || btf_is_any_enum(type) || btf_is_typedef(type));
}

static void names_search(struct slicer *slicer)
{
	for (uint32_t id = 1; id < slicer->kernel.n; id++) {
		const struct btf_type *type = slicer->kernel.types[id];
		const char *name = kernel_name(&slicer->kernel, type->name_off);

		if (may_be_wanted(type, name) && btf__find_str(slicer->names, name) > 0)
			part_number(slicer, id);
	}
}

/* Returns the number of a type mentioned by another, without typedefs and qualifiers. */
static uint32_t mentioned(struct slicer *slicer, uint32_t id, bool is_pointed_to)
{
	const struct btf_type *type;

	id = kernel_plain(&slicer->kernel, id);
	if (!id) /* void */
		return 0;
	type = slicer->kernel.types[id];
	if (is_pointed_to && btf_is_composite(type))
		return btf_is_struct(type) ? EMPTY_STRUCT : EMPTY_UNION;
	return part_number(slicer, id);
}

static int name_copy(struct slicer *slicer, __u32 *at)
{
	const char *name = kernel_name(&slicer->kernel, *at);

	*at = *name ? (__u32)slicer->strings.size : 0;
	return *name ? bytes_add(&slicer->strings, name, strlen(name) + 1) : 0;
}

/* Members, values or parameters: each begins with its name, and its type, if any, is next. */
static int elements_copy(struct slicer *slicer, struct btf_type *type)
{
	const size_t n = btf_vlen(type), words = n ? type_behind(type) / sizeof(__u32) / n : 0;
	__u32 *element = (__u32 *)(type + 1);
	int error = 0;

	for (size_t i = 0; i < n && !error; i++, element += words) {
		error = name_copy(slicer, &element[0]);
		if (!btf_is_any_enum(type))
			element[1] = mentioned(slicer, element[1], false);
	}
	return error;
}

static int part_copy(struct slicer *slicer, uint32_t id)
{
	const struct btf_type *from = slicer->kernel.types[id];
	const size_t at = slicer->types.size;
	struct btf_type *type;
	int error = bytes_add(&slicer->types, from, sizeof(*from) + type_behind(from));

	if (error)
		return error;
	type = (struct btf_type *)(slicer->types.data + at);
	if (btf_is_ptr(type) || btf_is_typedef(type) || btf_is_func(type) ||
	    btf_is_func_proto(type))
		type->type = mentioned(slicer, type->type, btf_is_ptr(type));
	if (btf_is_array(type)) {
		btf_array(type)->type = mentioned(slicer, btf_array(type)->type, false);
		btf_array(type)->index_type = mentioned(slicer, btf_array(type)->index_type, false);
	}
	error = name_copy(slicer, &type->name_off);
	if (!error && (btf_is_composite(type) || btf_is_any_enum(type) || btf_is_func_proto(type)))
		error = elements_copy(slicer, type);
	return error;
}

static int parts_copy(struct slicer *slicer)
{
	static const struct btf_type first[] = { { .info = BTF_KIND_STRUCT << 24 },
						 { .info = BTF_KIND_UNION << 24 } };
	int error = bytes_add(&slicer->types, first, sizeof(first))
			    ?: bytes_add(&slicer->strings, "", 1);

	for (uint32_t part = FIRST_PART; part < slicer->n && !error; part++)
		error = part_copy(slicer, slicer->kernel_ids[part]);
	return error;
}

/* The arrays can hold each type of the kernel; unused space takes no memory. */
static int slice_make(struct slicer *slicer, const struct bpf_object *object)
{
	int error = kernel_open(&slicer->kernel);

	if (error)
		return error;
	slicer->n = FIRST_PART;
	slicer->names = btf__new_empty();
	slicer->numbers = calloc(slicer->kernel.n, sizeof(*slicer->numbers));
	slicer->kernel_ids = calloc(FIRST_PART + slicer->kernel.n, sizeof(*slicer->kernel_ids));
	if (!slicer->names || !slicer->numbers || !slicer->kernel_ids)
		return -ENOMEM;
	error = names_collect(slicer, object);
	if (error)
		return error;
	names_search(slicer);
	return parts_copy(slicer);
}

static int slice_write(const struct slicer *slicer, int fd)
{
	struct btf_header head = {
		.magic = BTF_MAGIC,
		.version = BTF_VERSION,
		.hdr_len = sizeof(head),
		.type_len = (__u32)slicer->types.size,
		.str_off = (__u32)slicer->types.size,
		.str_len = (__u32)slicer->strings.size,
	};
	const struct iovec parts[] = { { &head, sizeof(head) },
				       { slicer->types.data, slicer->types.size },
				       { slicer->strings.data, slicer->strings.size } };
	const size_t size = sizeof(head) + slicer->types.size + slicer->strings.size;
	ssize_t written = writev(fd, parts, sizeof(parts) / sizeof(*parts));

	return written < 0 ? -errno : (size_t)written < size ? -EIO : 0;
}

/* --- Presents the slice to libbpf as the kernel's BTF --- */

/* Called by libbpf before it loads a program of these sections. Drops the source lines, which
 * only --debug shows in the verifier's messages: the kernel checks and keeps each. */
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
	struct slicer slicer = { .n = 0 };
	int error = slice_make(&slicer, object) ?: slice_write(&slicer, btf->fd);

	btf->kernel_ids = slicer.kernel_ids;
	if (!error) {
		btf->slice = btf__parse_raw(btf->path);
		error = btf->slice ? 0 : -errno;
	}
	kernel_close(&slicer.kernel);
	btf__free(slicer.names);
	free(slicer.numbers);
	free(slicer.types.data);
	free(slicer.strings.data);
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
