// SPDX-License-Identifier: Apache-2.0
#include "resolver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../probes/elf_file.h"
#include "cfi.h"
#include "demangle.h"
#include "function_table.h"

/* Bytes for the functions of all objects together, and so of any single one. */
#define FUNCTIONS_ROOM (384UL << 20)
#define MAX_ID 64
#define DEMANGLED 4096 /* names that are remembered */

struct object {
	int fd;
	char *path;
	struct elf_file *elf; /* NULL: it is no sound ELF file */
	struct cfi *cfi;
	struct function_table *functions;
	bool elf_known, cfi_known, functions_known, build_id_known;
	char build_id[2 * MAX_ID + 1]; /* "": none */
};

/* What a name became; each place of the cache is used by many names. */
struct demangled {
	uint32_t object, function;
	bool used;
	char *text; /* NULL: the name is not mangled */
};

struct resolver {
	resolver_open *open;
	void *open_context;
	struct object **objects;
	uint32_t n_objects, objects_room;
	size_t functions_room; /* what is left of it */
	struct space *space;
	struct unwinder *unwinder;
	uint64_t unwinder_version; /* of the space that it remembers */
	uint64_t t;                /* of the stack that is unwound */
	struct demangled demangled[DEMANGLED];
};

/* A file's debug file is asked for by its number. */
struct asked {
	const struct resolver *resolver;
	uint32_t object;
};

/* Where an address is in an object. */
struct place {
	struct object *object;
	uint32_t number;
	uint64_t offset;  /* in the file */
	uint64_t address; /* as in the file's tables */
	bool in_segment;  /* address is known */
};

/* Reads the headers when they are asked for first: most objects are in no stack, and
 * thousands of them may be made to take long. */
static const struct elf_file *object_elf(struct object *object)
{
	if (!object->elf_known && elf_file_open(&object->elf, object->fd))
		object->elf = NULL;
	object->elf_known = true;
	return object->elf;
}

/* Code is in executable segments, which may share pages with others; but a segment
 * can be made executable later. */
static bool place_find(const struct resolver *resolver, uint64_t t, uint64_t ip,
		       struct place *place)
{
	const struct mapping *mapping = space_find(resolver->space, t, ip);
	const struct elf_file *elf;

	if (!mapping || mapping->object >= resolver->n_objects)
		return false;
	place->number = mapping->object;
	place->object = resolver->objects[place->number];
	place->offset = ip - mapping->start + mapping->offset;
	elf = object_elf(place->object);
	place->in_segment = elf && (elf_file_address(elf, place->offset, PF_X, &place->address) ||
				    elf_file_address(elf, place->offset, 0, &place->address));
	return true;
}

static bool code_find(void *context, uint64_t address, struct unwind_object *found)
{
	struct resolver *resolver = context;
	struct place place;
	struct object *object;

	if (!place_find(resolver, resolver->t, address, &place))
		return false;
	object = place.object;
	if (!object->cfi_known && object->elf && cfi_open(&object->cfi, object->elf))
		object->cfi = NULL;
	object->cfi_known = true;
	*found = (struct unwind_object){
		.cfi = place.in_segment ? object->cfi : NULL,
		.bias = place.in_segment ? address - place.address : 0,
	};
	return true;
}

struct resolver *resolver_new(resolver_open *open, void *context)
{
	struct resolver *resolver = calloc(1, sizeof(*resolver));

	if (!resolver)
		return NULL;
	resolver->open = open;
	resolver->open_context = context;
	resolver->functions_room = FUNCTIONS_ROOM;
	resolver->space = space_new();
	resolver->unwinder = unwinder_new(code_find, resolver);
	if (!resolver->space || !resolver->unwinder) {
		resolver_free(resolver);
		return NULL;
	}
	return resolver;
}

static void object_free(struct object *object)
{
	function_table_free(object->functions);
	cfi_close(object->cfi);
	elf_file_close(object->elf);
	if (object->fd >= 0)
		close(object->fd);
	free(object->path);
	free(object);
}

void resolver_free(struct resolver *resolver)
{
	if (!resolver)
		return;
	unwinder_free(resolver->unwinder);
	space_free(resolver->space);
	for (uint32_t i = 0; i < resolver->n_objects; i++)
		object_free(resolver->objects[i]);
	free(resolver->objects);
	for (size_t i = 0; i < DEMANGLED; i++)
		free(resolver->demangled[i].text);
	free(resolver);
}

/* Takes over the descriptor. */
static struct object *object_new(int fd, const char *path)
{
	struct object *object = calloc(1, sizeof(*object));

	if (!object) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	object->fd = fd;
	object->path = strdup(path);
	if (!object->path) {
		object_free(object);
		return NULL;
	}
	return object;
}

static int objects_grow(struct resolver *resolver)
{
	uint32_t room = resolver->objects_room ? resolver->objects_room * 2 : 32;
	struct object **objects = realloc(resolver->objects, room * sizeof(*objects));

	if (!objects)
		return -ENOMEM;
	resolver->objects = objects;
	resolver->objects_room = room;
	return 0;
}

int resolver_add_object(struct resolver *resolver, uint32_t number, int fd, const char *path)
{
	struct object *object = object_new(fd, path);

	if (!object)
		return -ENOMEM;
	if (number != resolver->n_objects) {
		object_free(object);
		return -EINVAL;
	}
	if (number == resolver->objects_room && objects_grow(resolver)) {
		object_free(object);
		return -ENOMEM;
	}
	resolver->objects[resolver->n_objects++] = object;
	return 0;
}

int resolver_set_mappings(struct resolver *resolver, uint64_t t, const struct mapping *mappings,
			  size_t n)
{
	return space_set(resolver->space, t, mappings, n);
}

void resolver_unwind(struct resolver *resolver, uint64_t t, const struct stack_copy *copy,
		     struct unwound *unwound)
{
	uint64_t version = space_version(resolver->space, t);

	if (version != resolver->unwinder_version)
		unwinder_flush(resolver->unwinder);
	resolver->unwinder_version = version;
	resolver->t = t;
	unwind(resolver->unwinder, copy, unwound);
}

static int asked_open(void *context, const char *path)
{
	const struct asked *asked = context;
	const struct resolver *resolver = asked->resolver;

	return resolver->open(resolver->open_context, asked->object, path);
}

static int debug_find(void *context, struct elf_file **debug, int *fd, const struct elf_file *file)
{
	const struct asked *asked = context;
	const struct object *object = asked->resolver->objects[asked->object];

	return debug_file_search(debug, fd, file, object->path, asked_open, context);
}

/* Reads the functions when they are asked for first; NULL if there are none. */
static const struct function_table *object_functions(struct resolver *resolver, uint32_t number)
{
	struct object *object = resolver->objects[number];
	struct asked asked = { .resolver = resolver, .object = number };

	if (object->functions_known || !object->elf)
		return object->functions;
	object->functions_known = true;
	if (function_table_read(&object->functions, object->elf, resolver->open ? debug_find : NULL,
				&asked, resolver->functions_room))
		object->functions = NULL;
	else
		resolver->functions_room -= function_table_size(object->functions);
	return object->functions;
}

/* NULL if it has none. */
static const char *object_build_id(struct object *object)
{
	uint8_t id[MAX_ID];
	size_t size = 0;

	if (!object->build_id_known && object->elf)
		size = elf_file_build_id(object->elf, id, sizeof(id));
	for (size_t i = 0; i < size; i++)
		snprintf(object->build_id + 2 * i, 3, "%02x", id[i]);
	object->build_id_known = true;
	return *object->build_id ? object->build_id : NULL;
}

/* The name as it was written. */
static const char *function_text(struct resolver *resolver, uint32_t object,
				 const struct function *function)
{
	uint32_t hash = (function->number * 31 + object) * 2654435761U; /* Knuth's */
	struct demangled *place = &resolver->demangled[hash / (UINT32_MAX / DEMANGLED + 1)];

	if (!place->used || place->object != object || place->function != function->number) {
		free(place->text);
		*place = (struct demangled){
			.object = object,
			.function = function->number,
			.used = true,
			.text = demangle(function->name),
		};
	}
	return place->text ? place->text : function->name;
}

void resolver_name(struct resolver *resolver, uint64_t t, uint64_t ip, bool exact,
		   struct resolved_frame *frame)
{
	uint64_t before = exact ? 0 : 1; /* from the place that is looked up to ip */
	const struct function_table *functions;
	struct function function;
	struct place place;

	*frame = (struct resolved_frame){ .offset = ip };
	if (!place_find(resolver, t, ip - before, &place))
		return;
	frame->object = place.object->path;
	functions = place.in_segment ? object_functions(resolver, place.number) : NULL;
	if (functions && function_table_find(functions, place.address, &function)) {
		frame->function = function_text(resolver, place.number, &function);
		frame->offset = place.address + before - function.start;
		return;
	}
	frame->offset = (place.in_segment ? place.address : place.offset) + before;
	frame->build_id = object_build_id(place.object);
}
