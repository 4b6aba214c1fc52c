/* SPDX-License-Identifier: Apache-2.0 */
/* A slice of BTF: each type in it is as it was, all that it mentions is there, and nothing is read
 * beyond damaged BTF. */
#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/capture/session/btf_slice.h"
#include "random.h"
#include "tap.h"

/* --- Another reader --- */

struct reader {
	const char *strings;
	size_t strings_len;
	const struct btf_type **types;
	size_t n;
};

static unsigned int kind(const struct btf_type *type)
{
	return BTF_INFO_KIND(type->info);
}

/* Bytes of a type, by kind: those before its parts, and those of each part. */
static size_t size_of(const struct btf_type *type)
{
	static const struct {
		size_t fixed, part;
	} sizes[] = {
		[BTF_KIND_INT] = { 4, 0 },      [BTF_KIND_ARRAY] = { 12, 0 },
		[BTF_KIND_STRUCT] = { 0, 12 },  [BTF_KIND_UNION] = { 0, 12 },
		[BTF_KIND_ENUM] = { 0, 8 },     [BTF_KIND_FUNC_PROTO] = { 0, 8 },
		[BTF_KIND_VAR] = { 4, 0 },      [BTF_KIND_DATASEC] = { 0, 12 },
		[BTF_KIND_DECL_TAG] = { 4, 0 }, [BTF_KIND_ENUM64] = { 0, 12 },
	};

	return sizeof(*type) + sizes[kind(type)].fixed +
	       sizes[kind(type)].part * BTF_INFO_VLEN(type->info);
}

static void reader_open(struct reader *reader, const char *data)
{
	const struct btf_header *header = (const void *)data;
	const char *types = data + header->hdr_len + header->type_off;
	const size_t most = 1 + header->type_len / sizeof(struct btf_type);

	*reader = (struct reader){ .strings = data + header->hdr_len + header->str_off,
				   .strings_len = header->str_len,
				   .types = malloc(most * sizeof(*reader->types)),
				   .n = 1 };
	need(reader->types);
	for (size_t at = 0; at < header->type_len; reader->n++) {
		reader->types[reader->n] = (const void *)(types + at);
		at += size_of(reader->types[reader->n]);
	}
}

static const char *name_of(const struct reader *reader, uint32_t offset)
{
	need(offset < reader->strings_len);
	return reader->strings + offset;
}

/* Id of the type behind typedefs and qualifiers. */
static uint32_t behind(const struct reader *reader, uint32_t id)
{
	while (id) {
		need(id < reader->n);
		switch (kind(reader->types[id])) {
		case BTF_KIND_TYPEDEF:
		case BTF_KIND_CONST:
		case BTF_KIND_VOLATILE:
		case BTF_KIND_RESTRICT:
		case BTF_KIND_TYPE_TAG:
			id = reader->types[id]->type;
			break;
		default:
			return id;
		}
	}
	return 0;
}

static uint32_t id_of(const struct reader *reader, unsigned int wanted, const char *name)
{
	for (uint32_t id = 1; id < reader->n; id++)
		if (kind(reader->types[id]) == wanted &&
		    !strcmp(name_of(reader, reader->types[id]->name_off), name))
			return id;
	return 0;
}

/* --- A slice against all of the BTF --- */

struct sliced {
	struct reader whole, part;
	const uint32_t *kernel_ids;
};

/* True if what a type of the slice mentions is what the original mentions. */
static bool mentions(const struct sliced *sliced, uint32_t id, uint32_t original)
{
	return sliced->kernel_ids[id] == behind(&sliced->whole, original);
}

static bool same_name(const struct sliced *sliced, uint32_t offset, uint32_t original)
{
	return !strcmp(name_of(&sliced->part, offset), name_of(&sliced->whole, original));
}

static bool is_composite(const struct btf_type *type)
{
	return type && (kind(type) == BTF_KIND_STRUCT || kind(type) == BTF_KIND_UNION);
}

/* Behind a pointer, a structure has no members. */
static bool points_alike(const struct sliced *sliced, uint32_t id, uint32_t original)
{
	const uint32_t plain = behind(&sliced->whole, original);
	const struct btf_type *type = plain ? sliced->whole.types[plain] : NULL;

	if (!is_composite(type))
		return mentions(sliced, id, original);
	return kind(sliced->part.types[id]) == kind(type) &&
	       !BTF_INFO_VLEN(sliced->part.types[id]->info);
}

static bool parts_are_same(const struct sliced *sliced, const struct btf_type *type,
			   const struct btf_type *original)
{
	const struct btf_member *member = (const void *)(type + 1),
				*from = (const void *)(original + 1);
	const struct btf_param *parameter = (const void *)(type + 1),
			       *parameter_from = (const void *)(original + 1);
	const char *value = (const void *)(type + 1), *value_from = (const void *)(original + 1);
	size_t size = kind(type) == BTF_KIND_ENUM ? 8 : 12;
	bool same = true;

	for (size_t i = 0; i < BTF_INFO_VLEN(type->info); i++) {
		switch (kind(type)) {
		case BTF_KIND_STRUCT:
		case BTF_KIND_UNION:
			same &= member[i].offset == from[i].offset &&
				same_name(sliced, member[i].name_off, from[i].name_off) &&
				mentions(sliced, member[i].type, from[i].type);
			break;
		case BTF_KIND_FUNC_PROTO:
			same &= same_name(sliced, parameter[i].name_off,
					  parameter_from[i].name_off) &&
				mentions(sliced, parameter[i].type, parameter_from[i].type);
			break;
		default: /* the name's offset, and the value */
			same &= same_name(sliced, *(const uint32_t *)(value + i * size),
					  *(const uint32_t *)(value_from + i * size)) &&
				!memcmp(value + i * size + 4, value_from + i * size + 4, size - 4);
		}
	}
	return same;
}

static bool type_is_same(const struct sliced *sliced, uint32_t id)
{
	const struct btf_type *type = sliced->part.types[id],
			      *original = sliced->whole.types[sliced->kernel_ids[id]];
	const struct btf_array *array = (const void *)(type + 1),
			       *from = (const void *)(original + 1);

	if (type->info != original->info || !same_name(sliced, type->name_off, original->name_off))
		return false;
	switch (kind(type)) {
	case BTF_KIND_PTR:
		return points_alike(sliced, type->type, original->type);
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_FUNC:
		return mentions(sliced, type->type, original->type);
	case BTF_KIND_ARRAY:
		return array->nelems == from->nelems && mentions(sliced, array->type, from->type) &&
		       mentions(sliced, array->index_type, from->index_type);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		return type->size == original->size && parts_are_same(sliced, type, original);
	case BTF_KIND_FUNC_PROTO:
		return mentions(sliced, type->type, original->type) &&
		       parts_are_same(sliced, type, original);
	default:
		return type->size == original->size;
	}
}

/* The types behind pointers come first, and have no original. */
#define FIRST_TYPE 3

static void compare(const char *data, const struct btf_slice *slice, struct sliced *sliced)
{
	unsigned int different = 0;

	reader_open(&sliced->whole, data);
	reader_open(&sliced->part, slice->data);
	sliced->kernel_ids = slice->kernel_ids;
	for (uint32_t id = FIRST_TYPE; id < sliced->part.n; id++)
		different += !type_is_same(sliced, id);
	is_u64(different, 0, "each type is as it was, and so is what it mentions");
}

static void sliced_close(struct sliced *sliced)
{
	free(sliced->whole.types);
	free(sliced->part.types);
}

static struct btf_names *names_of(const char *const *list)
{
	struct btf_names *names = btf_names_new(16);

	need(names);
	for (; *list; list++)
		need(!btf_names_add(names, *list));
	return names;
}

#define NAMES(...) names_of((const char *const[]){ __VA_ARGS__, NULL })

/* --- BTF made here --- */

struct maker {
	uint32_t types[200];
	char strings[500];
	size_t n_types, n_strings; /* words, bytes */
};

static uint32_t string(struct maker *maker, const char *text)
{
	size_t at = maker->n_strings;

	need(at + strlen(text) < sizeof(maker->strings));
	strcpy(maker->strings + at, text);
	maker->n_strings += strlen(text) + 1;
	return (uint32_t)at;
}

#define WORDS(...) (const uint32_t[]){ __VA_ARGS__ }, sizeof((const uint32_t[]){ __VA_ARGS__ }) / 4

static void words(struct maker *maker, const uint32_t *all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		maker->types[maker->n_types++] = all[i];
}

/* Adds the head of a type. */
static void head(struct maker *maker, const char *name, uint32_t of, uint32_t parts, uint32_t last)
{
	words(maker, WORDS(string(maker, name), of << 24 | parts, last));
}

static char *joined(const struct maker *maker, size_t *size)
{
	const size_t types = maker->n_types * 4;
	const struct btf_header header = { .magic = BTF_MAGIC,
					   .version = BTF_VERSION,
					   .hdr_len = sizeof(header),
					   .type_len = (uint32_t)types,
					   .str_off = (uint32_t)types,
					   .str_len = (uint32_t)maker->n_strings };
	char *data;

	*size = sizeof(header) + types + maker->n_strings;
	data = malloc(*size);
	need(data);
	memcpy(data, &header, sizeof(header));
	memcpy(data + sizeof(header), maker->types, types);
	memcpy(data + sizeof(header) + types, maker->strings, maker->n_strings);
	return data;
}

/* The numbers are the ids: a comment before each type has its own. */
static char *example(size_t *size)
{
	struct maker maker = { .n_types = 0 };

	string(&maker, "");
	/* 1 */ head(&maker, "int", BTF_KIND_INT, 0, 4);
	words(&maker, WORDS(32));
	/* 2 */ head(&maker, "wanted", BTF_KIND_STRUCT, 4, 64);
	words(&maker, WORDS(string(&maker, "number"), 1, 0, string(&maker, "next"), 3, 64,
			    string(&maker, "inner"), 5, 128, string(&maker, ""), 8, 192));
	/* 3 */ head(&maker, "", BTF_KIND_PTR, 0, 2);
	/* 4 */ head(&maker, "", BTF_KIND_CONST, 0, 6);
	/* 5 */ head(&maker, "inner_t", BTF_KIND_TYPEDEF, 0, 4);
	/* 6 */ head(&maker, "inner", BTF_KIND_STRUCT, 1, 8);
	words(&maker, WORDS(string(&maker, "values"), 7, 0));
	/* 7 */ head(&maker, "", BTF_KIND_ARRAY, 0, 0);
	words(&maker, WORDS(1, 1, 2));
	/* 8 */ head(&maker, "", BTF_KIND_UNION, 1, 8);
	words(&maker, WORDS(string(&maker, "state"), 9, 0));
	/* 9 */ head(&maker, "state", BTF_KIND_ENUM, 2, 4);
	words(&maker, WORDS(string(&maker, "ON"), 7, string(&maker, "OFF"), 8));
	/* 10 */ head(&maker, "unwanted", BTF_KIND_STRUCT, 1, 4);
	words(&maker, WORDS(string(&maker, "number"), 1, 0));
	/* 11 */ head(&maker, "large", BTF_KIND_ENUM64, 1, 8);
	words(&maker, WORDS(string(&maker, "MOST"), 1, 2));
	/* 12 */ head(&maker, "", BTF_KIND_FUNC_PROTO, 2, 1);
	words(&maker, WORDS(string(&maker, "one"), 3, string(&maker, "other"), 1));
	/* 13 */ head(&maker, "bpf_iter_task", BTF_KIND_FUNC, 0, 12);
	/* 14 */ head(&maker, "wanted", BTF_KIND_FUNC, 0, 12);
	/* 15 */ head(&maker, "btf_trace_one", BTF_KIND_TYPEDEF, 0, 3);
	return joined(&maker, size);
}

TEST(made_here)
{
	struct btf_names *names = NAMES("wanted", "large", "bpf_iter_task", "btf_trace_one",
					"none");
	struct btf_slice slice = { .data = NULL };
	struct sliced sliced;
	size_t size;
	char *data = example(&size);

	is_i64(btf_slice_make(&slice, data, size, names), 0, "a slice is made");
	compare(data, &slice, &sliced);
	ok(id_of(&sliced.part, BTF_KIND_STRUCT, "wanted"), "it has what is wanted");
	ok(id_of(&sliced.part, BTF_KIND_STRUCT, "inner"), "and what that contains");
	ok(id_of(&sliced.part, BTF_KIND_ENUM, "state"), "also in a union without a name");
	ok(id_of(&sliced.part, BTF_KIND_ENUM64, "large"), "values of 64 bits");
	ok(id_of(&sliced.part, BTF_KIND_FUNC, "bpf_iter_task"), "an iterator's function");
	is_u64(slice.kernel_ids[id_of(&sliced.part, BTF_KIND_TYPEDEF, "btf_trace_one")], 15,
	       "a tracepoint has its id");
	ok(!id_of(&sliced.part, BTF_KIND_FUNC, "wanted"), "other functions are not in it");
	ok(!id_of(&sliced.part, BTF_KIND_STRUCT, "unwanted"), "nor what nobody wants");
	sliced_close(&sliced);
	btf_slice_clear(&slice);
	btf_names_free(names);
	free(data);
}

TEST(damaged)
{
	struct btf_names *names = NAMES("wanted", "large", "bpf_iter_task", "btf_trace_one");
	unsigned int sound = 0, refused = 0, other = 0;
	size_t size;
	char *data = example(&size);

	for (size_t round = 0; round < 20000; round++) {
		size_t left = round % 4 ? size : chance(size);
		struct btf_slice slice = { .data = NULL };
		char *damaged = malloc(left + !left); /* red zones begin behind it */
		struct reader reader;
		int error;

		need(damaged);
		memcpy(damaged, data, left);
		for (uint64_t i = chance(4); i && left; i--)
			damaged[chance(left)] = (char)random_next();
		error = btf_slice_make(&slice, damaged, left, names);
		if (!error) {
			reader_open(&reader, slice.data);
			for (uint32_t id = 1; id < reader.n; id++)
				need(behind(&reader, id) < reader.n &&
				     name_of(&reader, reader.types[id]->name_off));
			free(reader.types);
		}
		sound += !error;
		refused += error == -EINVAL;
		other += error && error != -EINVAL;
		btf_slice_clear(&slice);
		free(damaged);
	}
	ok(sound > 1000 && refused > 1000 && !other,
	   "it is refused, or a slice is sound: %u, %u, %u", sound, refused, other);
	btf_names_free(names);
	free(data);
}

TEST(names)
{
	struct btf_names *names = btf_names_new(2);

	need(names);
	is_i64(btf_names_add(names, "one"), 0, "a name is added");
	is_i64(btf_names_add(names, "one"), 0, "again, it is there");
	is_i64(btf_names_add(names, ""), 0, "so is another");
	is_i64(btf_names_add(names, "two"), -E2BIG, "there are no more than wanted");
	btf_names_free(names);
	btf_names_free(NULL);
}

static char *file_read(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t capacity = 64 << 20;
	char *data = malloc(capacity);
	ssize_t got;

	need(data);
	*size = 0;
	while (fd >= 0 && (got = read(fd, data + *size, capacity - *size)) > 0)
		*size += (size_t)got;
	if (fd >= 0)
		close(fd);
	return data;
}

TEST(running_kernel)
{
	struct btf_names *names = NAMES("task_struct", "rq", "mm_struct", "sk_buff", "pid_type",
					"btf_trace_sched_switch", "bpf_iter_task");
	struct btf_slice slice = { .data = NULL };
	struct sliced sliced;
	size_t size;
	char *data = file_read("/sys/kernel/btf/vmlinux", &size);

	if (!size) {
		skip("it has no BTF", "types of the running kernel");
	} else {
		is_i64(btf_slice_make(&slice, data, size, names), 0, "a slice is made");
		compare(data, &slice, &sliced);
		ok(id_of(&sliced.part, BTF_KIND_STRUCT, "task_struct") &&
			   id_of(&sliced.part, BTF_KIND_TYPEDEF, "btf_trace_sched_switch") &&
			   id_of(&sliced.part, BTF_KIND_FUNC, "bpf_iter_task"),
		   "it has what is wanted");
		ok(sliced.part.n > 100 && sliced.part.n < sliced.whole.n / 5,
		   "and little else: %zu of %zu", sliced.part.n, sliced.whole.n);
		sliced_close(&sliced);
	}
	btf_slice_clear(&slice);
	btf_names_free(names);
	free(data);
}
