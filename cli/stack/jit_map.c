// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "jit_map.h"

#include <ctype.h>
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probes/elf/symbols.h"

#define CHUNK (64UL << 10)     /* bytes per read */
#define READ_MOST (64UL << 20) /* per file */
#define ADD_MOST (1UL << 20)   /* pieces of code added at a time */
#define MARK 64                /* bytes before the last read position */
#define NODE_SIZE 64           /* bytes that a piece takes in its tree, with what malloc(3) adds */

struct code {
	uint64_t start, end;
	char name[];
};

struct source {
	int fd; /* -1: none */
	uint64_t at;
	size_t marked;
	uint8_t mark[MARK]; /* bytes before at, to recognize the file */
};

struct jit_map {
	size_t *capacity;
	size_t taken; /* share of *capacity in use */
	struct source sources[JIT_FILES];
	void *codes; /* tsearch(3) tree: pieces never overlap */
	size_t left; /* of ADD_MOST */
	uint64_t version;
	_Alignas(8) uint8_t chunk[CHUNK + 1];
};

struct jit_map *jit_map_new(size_t *capacity)
{
	struct jit_map *map = calloc(1, sizeof(*map));

	if (!map)
		return NULL;
	map->capacity = capacity;
	for (unsigned int i = 0; i < JIT_FILES; i++)
		map->sources[i].fd = -1;
	return map;
}

static void map_clear(struct jit_map *map)
{
	tdestroy(map->codes, free);
	map->codes = NULL;
	*map->capacity += map->taken;
	map->taken = 0;
	for (unsigned int i = 0; i < JIT_FILES; i++)
		map->sources[i].at = map->sources[i].marked = 0;
	map->version++;
}

void jit_map_free(struct jit_map *map)
{
	if (!map)
		return;
	map_clear(map);
	for (unsigned int i = 0; i < JIT_FILES; i++)
		if (map->sources[i].fd >= 0)
			close(map->sources[i].fd);
	free(map);
}

/* Names from an earlier file of this kind may be outdated. */
void jit_map_add(struct jit_map *map, enum jit_file kind, int fd)
{
	struct source *source = &map->sources[kind];

	if (source->fd >= 0)
		close(source->fd);
	if (source->fd >= 0 || source->at)
		map_clear(map);
	source->fd = fd;
}

uint64_t jit_map_version(const struct jit_map *map)
{
	return map->version;
}

/* --- Code --- */

/* Pieces are equal if they overlap. */
static int by_range(const void *left, const void *right)
{
	const struct code *a = left, *b = right;

	return a->end <= b->start ? -1 : b->end <= a->start;
}

static size_t code_size(size_t length)
{
	return sizeof(struct code) + length + 1 + NODE_SIZE;
}

static void code_drop(struct jit_map *map, struct code *code)
{
	size_t size = code_size(strlen(code->name));

	tdelete(code, &map->codes, by_range);
	free(code);
	*map->capacity += size;
	map->taken -= size;
}

/* Replaces all code that a piece overlaps. Returns 0, or a negative value without space. */
static int code_add(struct jit_map *map, uint64_t start, uint64_t size, const char *name,
		    size_t length)
{
	struct code *code, **met;
	uint64_t end;

	if (map->left)
		map->left--;
	if (!size || !length || __builtin_add_overflow(start, size, &end))
		return 0;
	code = code_size(length) <= *map->capacity ? malloc(code_size(length) - NODE_SIZE) : NULL;
	if (!code)
		return -ENOMEM;
	code->start = start;
	code->end = end;
	memcpy(code->name, name, length);
	code->name[length] = '\0';
	while ((met = tfind(code, &map->codes, by_range)))
		code_drop(map, *met);
	if (!tsearch(code, &map->codes, by_range)) {
		free(code);
		return -ENOMEM;
	}
	*map->capacity -= code_size(length);
	map->taken += code_size(length);
	map->version++;
	return 0;
}

bool jit_map_find(const struct jit_map *map, uint64_t address, struct jit_code *code)
{
	const struct code key = { .start = address, .end = address + 1 };
	const struct code *const *found = tfind(&key, &map->codes, by_range);

	if (found)
		*code = (struct jit_code){ .name = (*found)->name, .start = (*found)->start };
	return found;
}

/* --- perf map lines: START SIZE NAME, numbers in hexadecimal --- */

static bool hex_take(const char **at, uint64_t *value)
{
	char *end;

	if (!isxdigit((unsigned char)**at))
		return false;
	errno = 0;
	*value = strtoull(*at, &end, 16);
	if (errno || *end != ' ')
		return false;
	*at = end + 1;
	return true;
}

static int line_read(struct jit_map *map, const char *line)
{
	uint64_t start, size;

	return hex_take(&line, &start) && hex_take(&line, &size)
		       ? code_add(map, start, size, line, strnlen(line, SYMBOL_NAME_MAX))
		       : 0;
}

/* Parses the complete lines in the chunk. Returns their bytes; negative: no space. */
static ssize_t lines_read(struct jit_map *map, size_t size)
{
	char *chunk = (char *)map->chunk, *line = chunk, *end;

	while ((end = memchr(line, '\n', size - (size_t)(line - chunk)))) {
		*end = '\0';
		if (line_read(map, line))
			return -1;
		line = end + 1;
	}
	/* No name is that long. */
	return line == chunk && size == CHUNK ? (ssize_t)size : line - chunk;
}

/* --- jitdump records --- */

#define DUMP_MAGIC 0x4a695444
enum { RECORD_LOAD, RECORD_MOVE };

struct dump_header {
	uint32_t magic, version, size, machine, unused, pid;
	uint64_t t, flags;
};

struct dump_record {
	uint32_t type, size;
	uint64_t t;
	uint32_t pid, tid;
	uint64_t unused;
	union {
		struct {
			uint64_t start, size, index;
			char name[];
		} load;
		struct {
			uint64_t from, to, size, index;
		} move;
	};
};

#define RECORD_HEAD 16                                             /* bytes of the common header */
#define RECORD_MOST (sizeof(struct dump_record) + SYMBOL_NAME_MAX) /* bytes read per record */

static int record_read(struct jit_map *map, const struct dump_record *record, size_t size)
{
	size_t named = offsetof(struct dump_record, load.name);
	struct jit_code from;

	if (record->type == RECORD_LOAD && size > named)
		return code_add(map, record->load.start, record->load.size, record->load.name,
				strnlen(record->load.name, size - named < SYMBOL_NAME_MAX
								   ? size - named
								   : SYMBOL_NAME_MAX));
	if (record->type != RECORD_MOVE || size < sizeof(*record) ||
	    !jit_map_find(map, record->move.from, &from))
		return 0;
	return code_add(map, record->move.to, record->move.size, from.name, strlen(from.name));
}

/* Parses the record at the start of the chunk. Returns its size including code, which may exceed
 * the chunk; 0: incomplete; negative: no space, or corrupt. */
static ssize_t dump_read(struct jit_map *map, const struct source *source, size_t size,
			 uint64_t left)
{
	struct dump_header header;
	struct dump_record *record = (void *)map->chunk;

	if (!source->at) {
		if (size < sizeof(header))
			return 0;
		memcpy(&header, map->chunk, sizeof(header));
		if (header.magic != DUMP_MAGIC || header.size < sizeof(header) ||
		    header.size > left)
			return -1;
		return header.size;
	}
	if (size < RECORD_HEAD || record->size > left)
		return 0;
	if (record->size < RECORD_HEAD)
		return -1;
	if (record_read(map, record, size < record->size ? size : record->size))
		return -1;
	return record->size;
}

/* --- Files --- */

static void source_close(struct source *source)
{
	close(source->fd);
	source->fd = -1;
}

/* True if a file was replaced since the last read. */
static bool source_is_other(const struct source *source, uint64_t size)
{
	uint8_t mark[MARK];

	return size < source->at ||
	       pread(source->fd, mark, source->marked, (off_t)(source->at - source->marked)) !=
		       (ssize_t)source->marked ||
	       memcmp(mark, source->mark, source->marked) != 0;
}

static void source_mark(struct source *source)
{
	size_t size = source->at < MARK ? (size_t)source->at : MARK;

	source->marked = size;
	if (pread(source->fd, source->mark, size, (off_t)(source->at - size)) != (ssize_t)size)
		source->marked = 0;
}

static void source_read(struct jit_map *map, enum jit_file kind, uint64_t end)
{
	struct source *source = &map->sources[kind];
	uint64_t begun = source->at;
	ssize_t got, used = 1;

	while (used > 0 && source->at < end && map->left) {
		got = pread(source->fd, map->chunk, kind == JIT_DUMP ? RECORD_MOST : CHUNK,
			    (off_t)source->at);
		if (got <= 0)
			break;
		map->chunk[got] = '\0';
		used = kind == JIT_DUMP ? dump_read(map, source, (size_t)got, end - source->at)
					: lines_read(map, (size_t)got);
		if (used > 0)
			source->at += (uint64_t)used;
	}
	if (used < 0)
		source_close(source);
	else if (source->at != begun)
		source_mark(source);
}

void jit_map_read(struct jit_map *map)
{
	uint64_t ends[JIT_FILES] = { 0 };
	struct stat stat;
	bool other = false;

	for (unsigned int i = 0; i < JIT_FILES; i++) {
		struct source *source = &map->sources[i];

		if (source->fd < 0)
			continue;
		if (fstat(source->fd, &stat)) {
			source_close(source);
			continue;
		}
		ends[i] = (uint64_t)stat.st_size < READ_MOST ? (uint64_t)stat.st_size : READ_MOST;
		other |= source_is_other(source, (uint64_t)stat.st_size);
	}
	if (other)
		map_clear(map);
	map->left = ADD_MOST;
	for (unsigned int i = 0; i < JIT_FILES; i++)
		if (map->sources[i].fd >= 0)
			source_read(map, (enum jit_file)i, ends[i]);
}
