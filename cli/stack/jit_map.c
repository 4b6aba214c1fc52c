// SPDX-License-Identifier: Apache-2.0
#include "jit_map.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/array.h"
#include "probes/elf/symbols.h"

#define CHUNK (64UL << 10)     /* bytes that are read at a time */
#define READ_MOST (64UL << 20) /* of a file */
#define MOST_NAMES (1UL << 28) /* bytes */
#define RECENT 1024            /* pieces of code that are not among the others yet */
#define MARK 64                /* bytes before the place where a file was read last */

#define NONE UINT32_MAX /* the code has gone */

/* Code that was at its address last: no two have an address in common. */
struct code {
	uint64_t start, end;
	uint32_t name; /* offset in the names, or NONE */
};

/* Sorted by address. */
struct codes {
	struct code *all;
	size_t n, room;
};

struct source {
	int fd; /* -1: none */
	uint64_t at;
	size_t marked;
	uint8_t mark[MARK]; /* what was there before at: another file has something else */
};

struct jit_map {
	size_t *room;
	size_t taken; /* of it */
	struct source sources[JIT_FILES];
	struct codes old, recent; /* of old, what has met something recent has gone */
	char *names;
	size_t n_names, names_room;
	uint64_t version;
	_Alignas(8) uint8_t chunk[CHUNK + 1];
};

struct jit_map *jit_map_new(size_t *room)
{
	struct jit_map *map = calloc(1, sizeof(*map));

	if (!map)
		return NULL;
	map->room = room;
	for (unsigned int i = 0; i < JIT_FILES; i++)
		map->sources[i].fd = -1;
	return map;
}

static void map_clear(struct jit_map *map)
{
	free(map->old.all);
	free(map->recent.all);
	free(map->names);
	map->old = map->recent = (struct codes){ .n = 0 };
	map->names = NULL;
	map->n_names = map->names_room = 0;
	*map->room += map->taken;
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

/* What another file of this kind has said may not hold any more. */
void jit_map_add(struct jit_map *map, enum jit_file kind, int fd)
{
	struct source *source = &map->sources[kind];

	if (source->fd >= 0) {
		close(source->fd);
		map_clear(map);
	}
	source->fd = fd;
}

uint64_t jit_map_version(const struct jit_map *map)
{
	return map->version;
}

/* --- Code --- */

static size_t codes_before(const struct codes *codes, uint64_t address)
{
	return ARRAY_SPLIT(codes->n, i, codes->all[i].end <= address);
}

/* Puts a piece of code in place of all that have an address of it. */
static int codes_put(struct codes *codes, const struct code *code)
{
	size_t first = codes_before(codes, code->start), end = first;

	while (end < codes->n && codes->all[end].start < code->end)
		end++;
	if (first == end && ARRAY_GROW(codes->all, codes->n, codes->room))
		return -ENOMEM;
	memmove(codes->all + first + 1, codes->all + end, (codes->n - end) * sizeof(*code));
	codes->all[first] = *code;
	codes->n = codes->n - (end - first) + 1;
	return 0;
}

static void codes_drop(struct codes *codes, const struct code *code)
{
	for (size_t i = codes_before(codes, code->start);
	     i < codes->n && codes->all[i].start < code->end; i++)
		codes->all[i].name = NONE;
}

/* What is recent becomes old. */
static int codes_merge(struct jit_map *map)
{
	const struct codes *old = &map->old, *recent = &map->recent;
	struct codes merged = { .room = old->n + recent->n };
	size_t i = 0, j = 0;

	merged.all = malloc(merged.room * sizeof(*merged.all));
	if (!merged.all)
		return -ENOMEM;
	while (i < old->n || j < recent->n) {
		if (i < old->n && old->all[i].name == NONE)
			i++;
		else if (j == recent->n || (i < old->n && old->all[i].start < recent->all[j].start))
			merged.all[merged.n++] = old->all[i++];
		else
			merged.all[merged.n++] = recent->all[j++];
	}
	free(map->old.all);
	map->old = merged;
	map->recent.n = 0;
	return 0;
}

/* Returns 0, or negative if there is no room. */
static int code_add(struct jit_map *map, uint64_t start, uint64_t size, const char *name,
		    size_t length)
{
	struct code code = { .start = start, .name = (uint32_t)map->n_names };
	size_t takes = sizeof(code) + length + 1;

	if (!size || !length || __builtin_add_overflow(start, size, &code.end))
		return 0;
	if (takes > *map->room || length + 1 > MOST_NAMES - map->n_names ||
	    (map->recent.n == RECENT && codes_merge(map)) ||
	    array_reserve(&map->names, map->n_names + length + 1, &map->names_room, 1) ||
	    codes_put(&map->recent, &code))
		return -ENOMEM;
	codes_drop(&map->old, &code);
	memcpy(map->names + map->n_names, name, length);
	map->names[map->n_names + length] = '\0';
	map->n_names += length + 1;
	*map->room -= takes;
	map->taken += takes;
	map->version++;
	return 0;
}

bool jit_map_find(const struct jit_map *map, uint64_t address, struct jit_code *code)
{
	const struct codes *both[] = { &map->recent, &map->old };

	for (size_t i = 0; i < 2; i++) {
		size_t at = codes_before(both[i], address);

		if (at == both[i]->n || both[i]->all[at].start > address ||
		    both[i]->all[at].name == NONE)
			continue;
		code->name = map->names + both[i]->all[at].name;
		code->start = both[i]->all[at].start;
		return true;
	}
	return false;
}

/* --- Lines: START SIZE NAME, the numbers in hexadecimal --- */

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

/* Reads whole lines of the chunk. Returns how many bytes they have; negative: no room. */
static ssize_t lines_read(struct jit_map *map, size_t size)
{
	char *chunk = (char *)map->chunk, *line = chunk, *end;

	while ((end = memchr(line, '\n', size - (size_t)(line - chunk)))) {
		*end = '\0';
		if (line_read(map, line))
			return -1;
		line = end + 1;
	}
	/* No name has so many bytes. */
	return line == chunk && size == CHUNK ? (ssize_t)size : line - chunk;
}

/* --- Records of jitdump --- */

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

#define RECORD_HEAD 16                                             /* bytes that all have */
#define RECORD_MOST (sizeof(struct dump_record) + SYMBOL_NAME_MAX) /* that are read of one */

static int record_read(struct jit_map *map, const struct dump_record *record, size_t size)
{
	size_t named = offsetof(struct dump_record, load.name);
	struct jit_code from;
	char *name;
	int err;

	if (record->type == RECORD_LOAD && size > named)
		return code_add(map, record->load.start, record->load.size, record->load.name,
				strnlen(record->load.name, size - named < SYMBOL_NAME_MAX
								   ? size - named
								   : SYMBOL_NAME_MAX));
	if (record->type != RECORD_MOVE || size < sizeof(*record) ||
	    !jit_map_find(map, record->move.from, &from))
		return 0;
	/* The names may move, too. */
	name = strdup(from.name);
	err = name ? code_add(map, record->move.to, record->move.size, name, strlen(name))
		   : -ENOMEM;
	free(name);
	return err;
}

/* Reads the record at the beginning of the chunk. Returns how many bytes it has, which may be more
 * than the chunk, with the code; 0: it is not whole yet; negative: no room, or damage. */
static ssize_t dump_read(struct jit_map *map, const struct source *source, size_t size,
			 uint64_t left)
{
	struct dump_header header;
	struct dump_record *record = (void *)map->chunk;

	if (!source->at) {
		if (size < sizeof(header))
			return 0;
		memcpy(&header, map->chunk, sizeof(header));
		if (header.magic != DUMP_MAGIC || header.size < sizeof(header))
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

/* Whether a file is not what it was when it was read last, but another at the same place. */
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

	while (used > 0 && source->at < end) {
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
		other |= source_is_other(source, ends[i]);
	}
	if (other)
		map_clear(map);
	for (unsigned int i = 0; i < JIT_FILES; i++)
		if (map->sources[i].fd >= 0)
			source_read(map, (enum jit_file)i, ends[i]);
}
