// SPDX-License-Identifier: Apache-2.0
#include "resolver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/array.h"
#include "probes/elf/cfi.h"
#include "probes/elf/elf_file.h"
#include "probes/elf/functions.h"
#include "probes/elf/go_table.h"

/* --- Mappings over time --- */

struct snapshot {
	uint64_t t;
	struct mapping *mappings; /* sorted, no overlaps */
	size_t n;
};

/* Mappings of a process, or of several that share them. */
struct space {
	struct snapshot snapshots[SPACE_SNAPSHOTS]; /* by time */
	size_t n;
	size_t mappings; /* in all snapshots */
	uint64_t changes;
	uint32_t serial;     /* unique to this use of its number */
	struct jit_map *jit; /* NULL: no file with names of JIT code */
	bool jit_read;       /* since resolver_renew() */
};

static size_t space_past(const struct space *space)
{
	return space->n ? space->mappings - space->snapshots[space->n - 1].n : 0;
}

static void space_free(struct space *space)
{
	if (!space)
		return;
	for (size_t i = 0; i < space->n; i++)
		free(space->snapshots[i].mappings);
	jit_map_free(space->jit);
	free(space);
}

static int snapshot_make(struct snapshot *snapshot, uint64_t t, const struct mapping *mappings,
			 size_t n)
{
	*snapshot = (struct snapshot){ .t = t };
	snapshot->mappings = malloc((n + 1) * sizeof(*mappings));
	if (!snapshot->mappings)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct mapping *mapping = &mappings[i];
		uint64_t end = snapshot->n ? snapshot->mappings[snapshot->n - 1].end : 0;

		if (mapping->start >= end && mapping->end > mapping->start)
			snapshot->mappings[snapshot->n++] = *mapping;
	}
	return 0;
}

static bool snapshots_same(const struct snapshot *a, const struct snapshot *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		const struct mapping *x = &a->mappings[i], *y = &b->mappings[i];

		if (x->start != y->start || x->end != y->end || x->offset != y->offset ||
		    x->object != y->object)
			return false;
	}
	return true;
}

static void snapshot_remove(struct space *space, size_t index)
{
	space->mappings -= space->snapshots[index].n;
	free(space->snapshots[index].mappings);
	space->n--;
	memmove(&space->snapshots[index], &space->snapshots[index + 1],
		(space->n - index) * sizeof(*space->snapshots));
}

/* Number of snapshots up to t. */
static size_t snapshots_until(const struct space *space, uint64_t t)
{
	return ARRAY_SPLIT(space->n, i, space->snapshots[i].t <= t);
}

/* Makes these n mappings the only valid ones from t until the next snapshot; they are copied.
 * Skips mappings that are empty, out of order, or overlap the previous one. A snapshot equal to
 * the previous one is not stored. Times should rise, but may come in any order: a late one is
 * valid until the next snapshot. Returns 0; -E2BIG above the limit, most in all snapshots; -ENOMEM
 * with nothing changed. */
static int space_set(struct space *space, size_t most, uint64_t t, const struct mapping *mappings,
		     size_t n)
{
	struct snapshot snapshot;
	size_t at;
	int err = n <= most ? snapshot_make(&snapshot, t, mappings, n) : -E2BIG;

	if (err)
		return err;
	at = snapshots_until(space, t);
	if (at && snapshots_same(&space->snapshots[at - 1], &snapshot)) {
		free(snapshot.mappings);
		return 0;
	}
	space->changes++;
	if (at && space->snapshots[at - 1].t == t)
		snapshot_remove(space, --at);
	while (space->n && (space->n == SPACE_SNAPSHOTS || space->mappings + snapshot.n > most)) {
		snapshot_remove(space, 0);
		at -= at > 0;
	}
	memmove(&space->snapshots[at + 1], &space->snapshots[at],
		(space->n - at) * sizeof(*space->snapshots));
	space->snapshots[at] = snapshot;
	space->mappings += snapshot.n;
	space->n++;
	/* The next one is redundant if it is equal. */
	if (at + 1 < space->n && snapshots_same(&snapshot, &space->snapshots[at + 1]))
		snapshot_remove(space, at + 1);
	return 0;
}

static const struct mapping *snapshot_find(const struct snapshot *snapshot, uint64_t address)
{
	size_t at = ARRAY_SPLIT(snapshot->n, i, snapshot->mappings[i].end <= address);

	return at < snapshot->n && snapshot->mappings[at].start <= address ? &snapshot->mappings[at]
									   : NULL;
}

/* Index of the snapshot valid at t, or else of the first one. */
static size_t snapshot_at(const struct space *space, uint64_t t)
{
	size_t until = snapshots_until(space, t);

	return until ? until - 1 : 0;
}

/* Mapping of an address at t. Mappings are read shortly after they are made, and unmapping is
 * not reported. So an unmapped address is looked up in the next later snapshot that has it, then
 * in the next earlier. NULL: none. Valid until the next space_set(). */
static const struct mapping *space_find(const struct space *space, uint64_t t, uint64_t address)
{
	const struct mapping *found = NULL;
	size_t at = snapshot_at(space, t);

	for (size_t i = at; i < space->n && !found; i++)
		found = snapshot_find(&space->snapshots[i], address);
	for (size_t i = at; i > 0 && !found; i--)
		found = snapshot_find(&space->snapshots[i - 1], address);
	return found;
}

/* True if executable memory without a file is mapped there: JIT code. If nothing at all is
 * known, there is a single such mapping. */
static bool space_is_anonymous(const struct space *space, uint64_t t, uint64_t address)
{
	const struct mapping *mapping = space_find(space, t, address);

	return mapping && mapping->object == SPACE_NO_FILE && mapping->end != UINT64_MAX;
}

static bool space_is_beyond(const struct space *space, uint64_t t, uint64_t address)
{
	const struct mapping *mapping = space_find(space, t, address);

	return mapping && mapping->object == SPACE_BEYOND;
}

/* A number that is equal for two times, or before and after space_set(), only if space_find()
 * returns the same. Never 0. */
static uint64_t space_version(const struct space *space, uint64_t t)
{
	return space->changes * SPACE_SNAPSHOTS + snapshot_at(space, t) + 1;
}

/* --- From copies to names --- */

/* Bytes for the functions of all objects, and so of any single one. */
#define FUNCTIONS_BYTES (384UL << 20)
/* Bytes for names of JIT code. */
#define JIT_BYTES (128UL << 20)
#define JIT_OBJECT "[jit]"
/* Share of the mappings that a single space may have. */
#define SPACE_MOST (SPACE_MAPPINGS / 4)
#define MAX_ID 64
#define DEMANGLED 4096 /* cached names */

struct resolved_object {
	int fd;
	char *path;
	struct elf_file *elf; /* NULL: not a valid ELF file */
	struct cfi *cfi;
	struct go_table *go;
	struct function_table *functions;
	struct debug_file debug; /* where debug files may be */
	bool elf_tried, cfi_tried, functions_tried, build_id_tried;
	char build_id[2 * MAX_ID + 1]; /* "": none */
};

/* A demangled name; each cache entry is shared by many names. */
struct demangled {
	uint32_t object, function;
	bool used;
	char *text; /* NULL: unreadable */
};

struct resolver {
	resolver_open *open;
	void *open_context;
	struct resolved_object **objects;
	uint32_t n_objects;
	size_t objects_capacity;
	size_t functions_left; /* bytes left */
	size_t jit_left;
	struct space **spaces; /* by number; NULL: not yet used */
	struct space *chosen;
	uint32_t n_spaces;
	size_t spaces_capacity;
	size_t mappings; /* in all spaces */
	uint32_t begun;  /* spaces used in the run */
	struct unwinder *unwinder;
	uint64_t unwinder_version; /* of the space it has cached */
	uint64_t t;                /* of the stack being unwound */
	struct demangled demangled[DEMANGLED];
};

/* Debug files are requested by the number of their object. */
struct wanted {
	const struct resolver *resolver;
	uint32_t object;
};

/* Location of an address in an object. */
struct location {
	struct resolved_object *object;
	uint32_t number;
	uint64_t offset;  /* in the file */
	uint64_t address; /* as in the file's tables */
	bool in_segment;  /* address is valid */
};

/* Reads the headers on first use: most objects are in no stack, and thousands of them may be made
 * slow on purpose. */
static const struct elf_file *object_elf(struct resolved_object *object)
{
	if (!object->elf_tried && elf_file_open(&object->elf, object->fd))
		object->elf = NULL;
	object->elf_tried = true;
	return object->elf;
}

/* Code is in executable segments, which may share pages with others; but a segment can be made
 * executable later. */
static bool location_find(const struct resolver *resolver, uint64_t t, uint64_t ip,
			  struct location *location)
{
	const struct mapping *mapping = space_find(resolver->chosen, t, ip);
	const struct elf_file *elf;

	if (!mapping || mapping->object >= resolver->n_objects)
		return false;
	location->number = mapping->object;
	location->object = resolver->objects[location->number];
	location->offset = ip - mapping->start + mapping->offset;
	elf = object_elf(location->object);
	location->in_segment = elf &&
			       (elf_file_address(elf, location->offset, PF_X, &location->address) ||
				elf_file_address(elf, location->offset, 0, &location->address));
	return true;
}

static bool code_find(void *context, uint64_t address, struct unwind_object *found)
{
	struct resolver *resolver = context;
	struct location location;
	struct resolved_object *object;

	if (!location_find(resolver, resolver->t, address, &location)) {
		found->anonymous = space_is_anonymous(resolver->chosen, resolver->t, address);
		found->beyond = space_is_beyond(resolver->chosen, resolver->t, address);
		return found->anonymous || found->beyond;
	}
	object = location.object;
	if (!object->cfi_tried && object->elf && cfi_open(&object->cfi, object->elf))
		object->cfi = NULL;
	if (!object->cfi_tried && object->elf && go_table_open(&object->go, object->elf))
		object->go = NULL;
	object->cfi_tried = true;
	*found = (struct unwind_object){
		.cfi = location.in_segment ? object->cfi : NULL,
		.go = location.in_segment ? object->go : NULL,
		.file = location.in_segment ? object->elf : NULL,
		.bias = location.in_segment ? address - location.address : 0,
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
	resolver->functions_left = FUNCTIONS_BYTES;
	resolver->jit_left = JIT_BYTES;
	resolver->unwinder = unwinder_new(code_find, resolver);
	if (!resolver->unwinder || resolver_choose(resolver, 0, false)) {
		resolver_free(resolver);
		return NULL;
	}
	return resolver;
}

static void object_free(struct resolved_object *object)
{
	function_table_free(object->functions);
	cfi_close(object->cfi);
	go_table_close(object->go);
	debug_file_close(&object->debug);
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
	for (uint32_t i = 0; i < resolver->n_spaces; i++)
		space_free(resolver->spaces[i]);
	free(resolver->spaces);
	for (uint32_t i = 0; i < resolver->n_objects; i++)
		object_free(resolver->objects[i]);
	free(resolver->objects);
	for (size_t i = 0; i < DEMANGLED; i++)
		free(resolver->demangled[i].text);
	free(resolver);
}

int resolver_add_object(struct resolver *resolver, uint32_t number, int fd, const char *path)
{
	struct resolved_object *object = calloc(1, sizeof(*object));
	int err = -ENOMEM;

	if (!object) {
		if (fd >= 0)
			close(fd);
		return err;
	}
	object->fd = fd;
	object->path = strdup(path);
	if (number != resolver->n_objects)
		err = -EINVAL;
	else if (object->path && !ARRAY_GROW(resolver->objects, number, resolver->objects_capacity))
		err = 0;
	if (err)
		object_free(object);
	else
		resolver->objects[resolver->n_objects++] = object;
	return err;
}

/* Space with the most outdated mappings; NULL: none has any. */
static struct space *space_oldest(const struct resolver *resolver)
{
	struct space *found = NULL;

	for (uint32_t i = 0; i < resolver->n_spaces; i++) {
		struct space *space = resolver->spaces[i];

		if (space && space_past(space) > (found ? space_past(found) : 0))
			found = space;
	}
	return found;
}

/* Makes space for n mappings at the cost of spaces that change often. */
static void space_reserve(struct resolver *resolver, size_t n)
{
	struct space *space;

	while (n <= SPACE_MOST && resolver->mappings + n > SPACE_MAPPINGS &&
	       (space = space_oldest(resolver))) {
		resolver->mappings -= space->snapshots[0].n;
		snapshot_remove(space, 0);
		space->changes++;
	}
}

int resolver_set_mappings(struct resolver *resolver, uint64_t t, const struct mapping *mappings,
			  size_t n)
{
	struct space *space = resolver->chosen;
	size_t others, most = SPACE_MOST;
	int err;

	space_reserve(resolver, n);
	others = resolver->mappings - space->mappings;
	if (others + most > SPACE_MAPPINGS)
		most = SPACE_MAPPINGS - others;
	err = space_set(space, most, t, mappings, n);
	resolver->mappings = others + space->mappings;
	return err;
}

int resolver_choose(struct resolver *resolver, uint32_t number, bool anew)
{
	struct space *space;

	if (array_reserve(&resolver->spaces, number + 1UL, &resolver->spaces_capacity,
			  sizeof(*resolver->spaces)))
		return -ENOMEM;
	while (resolver->n_spaces <= number)
		resolver->spaces[resolver->n_spaces++] = NULL;
	space = resolver->spaces[number];
	if (!space || anew) {
		struct space *before = space;

		space = calloc(1, sizeof(*space));
		if (!space)
			return -ENOMEM;
		if (before)
			resolver->mappings -= before->mappings;
		space_free(before);
		space->serial = ++resolver->begun;
		resolver->spaces[number] = space;
	}
	resolver->chosen = space;
	return 0;
}

void resolver_add_jit(struct resolver *resolver, enum jit_file kind, int fd)
{
	struct space *space = resolver->chosen;

	if (!space->jit)
		space->jit = jit_map_new(&resolver->jit_left);
	if (space->jit)
		jit_map_add(space->jit, kind, fd);
	else
		close(fd);
	space->jit_read = false;
}

void resolver_renew(struct resolver *resolver)
{
	for (uint32_t i = 0; i < resolver->n_spaces; i++)
		if (resolver->spaces[i])
			resolver->spaces[i]->jit_read = false;
}

/* Reads new names when needed. NULL: none. */
static const struct jit_map *space_jit(struct space *space)
{
	if (space->jit && !space->jit_read)
		jit_map_read(space->jit);
	space->jit_read = true;
	return space->jit;
}

static uint64_t mapped_version(const struct resolver *resolver, uint64_t t)
{
	return (uint64_t)resolver->chosen->serial << 40 ^ space_version(resolver->chosen, t);
}

uint64_t resolver_version(const struct resolver *resolver, uint64_t t,
			  const struct unwound *unwound)
{
	const struct jit_map *jit = unwound->through_made ? space_jit(resolver->chosen) : NULL;

	return mapped_version(resolver, t) +
	       (jit ? jit_map_version(jit) * 0x9e3779b97f4a7c15 : 0); /* no collisions */
}

void resolver_unwind(struct resolver *resolver, uint64_t t, const struct stack_copy *copy,
		     struct unwound *unwound)
{
	uint64_t version = mapped_version(resolver, t);

	if (version != resolver->unwinder_version)
		unwinder_flush(resolver->unwinder);
	resolver->unwinder_version = version;
	resolver->t = t;
	unwind(resolver->unwinder, copy, unwound);
}

static int target_file_open(void *context, const char *path)
{
	const struct wanted *wanted = context;
	const struct resolver *resolver = wanted->resolver;

	return resolver->open(resolver->open_context, wanted->object, path);
}

static const struct elf_file *debug_find(void *context, const struct elf_file *file)
{
	const struct wanted *wanted = context;
	struct resolved_object *object = wanted->resolver->objects[wanted->object];

	return debug_file_search(&object->debug, file, object->path, target_file_open, context);
}

/* Reads the functions on first use; NULL: none. */
static const struct function_table *object_functions(struct resolver *resolver, uint32_t number)
{
	struct resolved_object *object = resolver->objects[number];
	struct wanted wanted = { .resolver = resolver, .object = number };

	if (object->functions_tried || !object->elf)
		return object->functions;
	object->functions_tried = true;
	if (function_table_read(&object->functions, object->elf, resolver->open ? debug_find : NULL,
				&wanted, resolver->functions_left))
		object->functions = NULL;
	else
		resolver->functions_left -= function_table_size(object->functions);
	return object->functions;
}

/* NULL: none. */
static const char *object_build_id(struct resolved_object *object)
{
	uint8_t id[MAX_ID];
	size_t size = 0;

	if (!object->build_id_tried && object->elf)
		size = elf_file_build_id(object->elf, id, sizeof(id));
	for (size_t i = 0; i < size; i++)
		snprintf(object->build_id + 2 * i, 3, "%02x", id[i]);
	object->build_id_tried = true;
	return *object->build_id ? object->build_id : NULL;
}

/* Mangled name of a function; NULL: unreadable. */
static const char *function_text(struct resolver *resolver, uint32_t object,
				 const struct function_table *functions, uint32_t number)
{
	uint32_t hash = (number * 31 + object) * 2654435761U; /* Knuth's */
	struct demangled *entry = &resolver->demangled[hash / (UINT32_MAX / DEMANGLED + 1)];
	char name[SYMBOL_NAME_MAX + 1];

	if (!entry->used || entry->object != object || entry->function != number) {
		free(entry->text);
		*entry = (struct demangled){ .object = object, .function = number, .used = true };
		if (function_table_name(functions, number, name))
			entry->text = demangle(name) ?: strdup(name);
	}
	return entry->text;
}

/* Names JIT code. Returns false if unknown. */
static bool jit_name(const struct resolver *resolver, uint64_t ip, uint64_t before,
		     struct frame *frame)
{
	const struct jit_map *jit = space_jit(resolver->chosen);
	struct jit_code code;

	if (!jit || !jit_map_find(jit, ip - before, &code))
		return false;
	*frame = (struct frame){
		.function = code.name,
		.offset = ip - code.start,
		.object = JIT_OBJECT,
	};
	return true;
}

void resolver_name(struct resolver *resolver, uint64_t t, uint64_t ip, bool exact,
		   struct frame *frame)
{
	uint64_t before = exact ? 0 : 1; /* distance from the address looked up to ip */
	const struct function_table *functions;
	struct table_function function;
	struct location location;

	*frame = (struct frame){ .offset = ip };
	if (!location_find(resolver, t, ip - before, &location)) {
		if (!jit_name(resolver, ip, before, frame) &&
		    space_is_beyond(resolver->chosen, t, ip - before))
			frame->object = FRAME_BEYOND;
		return;
	}
	if (!location.object->elf && jit_name(resolver, ip, before, frame))
		return;
	frame->object = location.object->path;
	frame->file = location.number + 1;
	functions = location.in_segment ? object_functions(resolver, location.number) : NULL;
	if (functions && function_table_find(functions, location.address, &function))
		frame->function = function_text(resolver, location.number, functions,
						function.number);
	if (frame->function) {
		frame->offset = location.address + before - function.start;
		return;
	}
	frame->offset = (location.in_segment ? location.address : location.offset) + before;
	frame->build_id = object_build_id(location.object);
}
