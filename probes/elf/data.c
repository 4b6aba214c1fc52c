// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "data.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"
#include "elf_file.h"
#include "objects.h"
#include "symbols.h"

/* An address whose file must be read. */
struct wanted {
	struct data_query *query;
	uint64_t offset;      /* file offset of the address, if its page is the file's */
	bool beyond;          /* after the file's data: in zero-initialized memory */
	struct object object; /* start and end are those of its code; end 0: no code */
	uint64_t code_offset; /* in the file */
	uint64_t address;     /* as in the file */
	uint64_t size;        /* best symbol so far; 0: none */
};

struct search {
	pid_t pid;
	struct data_query *queries;
	size_t n, at; /* first one not below the mapping */
	struct wanted *wanted;
	size_t n_wanted;
	/* Previous mapping, if of a file, or of zeros after one. */
	uint64_t last_end;
	struct object last;
	char *last_path;
};

static void object_name(struct data_location *location, const char *path)
{
	snprintf(location->object, sizeof(location->object), "%s",
		 *path == '/' ? basename(path) : path);
}

/* Adds an address in a file. */
static int wanted_add(struct search *search, struct data_query *query, const struct map *map)
{
	struct wanted *wanted = &search->wanted[search->n_wanted];

	*wanted = (struct wanted){
		.query = query,
		.object = search->last,
		.beyond = !map->key.inode,
		.offset = query->address - map->start + map->offset,
	};
	wanted->object.path = strdup(search->last_path);
	if (!wanted->object.path)
		return -ENOMEM;
	search->n_wanted++;
	return 0;
}

/* Handles the addresses in a mapping; mappings come in order. */
static int map_take(void *context, const struct map *map)
{
	struct search *search = context;
	bool is_file = *map->path == '/' && map->key.inode, is_file_too;

	if (is_file) {
		search->last = (struct object){ .key = map->key };
		free(search->last_path);
		search->last_path = strdup(map->path);
		if (!search->last_path)
			return -ENOMEM;
		maps_cut_deleted(search->last_path);
	}
	is_file_too = !*map->path && search->last_path && map->start == search->last_end;
	search->last_end = is_file || is_file_too ? map->end : 0;
	while (search->at < search->n && search->queries[search->at].address < map->start)
		search->at++;
	for (; search->at < search->n && search->queries[search->at].address < map->end;
	     search->at++) {
		struct data_query *query = &search->queries[search->at];

		if (*map->path == '[')
			object_name(&query->location, map->path);
		else if ((is_file || is_file_too) && wanted_add(search, query, map))
			return -ENOMEM;
	}
	return 0;
}

/* Finds the code of files, which locates their other mappings. If a file is mapped several
 * times, uses the nearest one before. */
static int code_take(void *context, const struct map *map)
{
	struct search *search = context;

	for (size_t i = 0; i < search->n_wanted && map->executable && map->key.inode; i++) {
		struct wanted *wanted = &search->wanted[i];

		if (!inode_key_is(&wanted->object.key, &map->key) ||
		    (wanted->object.end && map->start > wanted->query->address))
			continue;
		wanted->object.start = map->start;
		wanted->object.end = map->end;
		wanted->code_offset = map->offset;
	}
	return 0;
}

/* All wanted addresses of one file. */
struct file_search {
	struct wanted *wanted;
	size_t n;
};

/* Takes the smallest symbol with the address; of equal ones, a visible one. */
static int symbol_take(void *context, const struct symbol *symbol)
{
	struct file_search *search = context;

	for (size_t i = 0; i < search->n; i++) {
		struct wanted *wanted = &search->wanted[i];
		struct data_location *location = &wanted->query->location;

		if (!wanted->object.end || wanted->address < symbol->address ||
		    wanted->address - symbol->address >= symbol->size)
			continue;
		if (wanted->size && (symbol->size > wanted->size ||
				     (symbol->size == wanted->size && symbol->local)))
			continue;
		wanted->size = symbol->size;
		location->offset = wanted->address - symbol->address;
		if (strlen(symbol->name) < sizeof(location->symbol))
			strcpy(location->symbol, symbol->name);
		else
			snprintf(location->symbol, sizeof(location->symbol), "%.*s...",
				 DATA_SYMBOL_LEN - 4, symbol->name);
	}
	return 0;
}

/* Finds an address; those outside the file's memory, or in unreadable parts, have no symbol. */
static void address_find(struct wanted *wanted, const struct elf_file *file)
{
	const struct object *object = &wanted->object;
	uint64_t bias;
	bool is_code = object->end;

	if (is_code && elf_file_bias(file, object->start, wanted->code_offset, PF_X, &bias)) {
		wanted->address = wanted->query->address - bias;
		is_code = elf_file_has(file, wanted->address, PF_R);
	}
	if (!is_code) {
		wanted->object.end = 0;
		wanted->beyond = true;
		return;
	}
	object_name(&wanted->query->location, object->path);
	wanted->query->location.offset = wanted->address;
}

static void file_find(pid_t pid, struct file_search *search)
{
	const struct object *object = &search->wanted->object;
	struct elf_file *file = NULL;
	int fd = object_open(pid, object);

	if (fd >= 0 && !elf_file_open(&file, fd)) {
		for (size_t i = 0; i < search->n; i++)
			address_find(&search->wanted[i], file);
		symbols_each_data(file, pid, object->path, symbol_take, search);
	}
	elf_file_close(file);
	if (fd >= 0)
		close(fd);
}

/* Describes an address in a file that is unreadable, or no program, such as shared memory. */
static void shared_find(struct wanted *wanted)
{
	if (wanted->beyond)
		return;
	object_name(&wanted->query->location, wanted->object.path);
	wanted->query->location.offset = wanted->offset;
}

static int by_file(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;

	return inode_key_compare(&x->object.key, &y->object.key);
}

static void files_find(struct search *search)
{
	ARRAY_SORT(search->wanted, search->n_wanted, by_file);
	for (size_t i = 0, n; i < search->n_wanted; i += n) {
		struct file_search file = { .wanted = &search->wanted[i] };

		for (n = 1; i + n < search->n_wanted && !by_file(file.wanted, &file.wanted[n]);)
			n++;
		file.n = n;
		if (file.wanted->object.end)
			file_find(search->pid, &file);
		for (size_t k = 0; k < n; k++)
			if (!*file.wanted[k].query->location.object)
				shared_find(&file.wanted[k]);
	}
}

static int by_address(const void *a, const void *b)
{
	const struct data_query *x = a, *y = b;

	return ORDER(x->address, y->address);
}

int data_find(pid_t pid, struct data_query *queries, size_t n)
{
	struct search search = { .pid = pid, .queries = queries, .n = n };
	int err;

	for (size_t i = 0; i < n; i++)
		queries[i].location = (struct data_location){ 0 };
	if (!n)
		return 0;
	qsort(queries, n, sizeof(*queries), by_address);
	search.wanted = calloc(n, sizeof(*search.wanted));
	if (!search.wanted)
		return -ENOMEM;
	err = maps_each(pid, map_take, &search);
	if (!err && search.n_wanted)
		err = maps_each(pid, code_take, &search);
	if (!err)
		files_find(&search);
	for (size_t i = 0; i < search.n_wanted; i++)
		free((char *)search.wanted[i].object.path);
	free(search.wanted);
	free(search.last_path);
	return err;
}
