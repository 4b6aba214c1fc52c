/* SPDX-License-Identifier: Apache-2.0 */
/* The names of code that a process makes at run time, as it tells profilers: /tmp/perf-PID.map
 * (Linux, tools/perf/Documentation/jit-interface.txt), which has a line for each function, and
 * jitdump files (jitdump-specification.txt). Both grow while the process runs, and may be made to
 * deceive their reader. */
#ifndef JIT_MAP_H
#define JIT_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum jit_file {
	JIT_PERF_MAP,
	JIT_DUMP,
	JIT_FILES,
};

struct jit_map;

/* What all maps take is taken from *room, in bytes, and given back. Returns NULL without memory. */
struct jit_map *jit_map_new(size_t *room);

/* NULL is allowed. */
void jit_map_free(struct jit_map *map);

/* There is a file, in place of another of its kind. The descriptor becomes the map's. */
void jit_map_add(struct jit_map *map, enum jit_file kind, int fd);

/* Reads what the files have got since the last time; what is said later holds, where code was at
 * the same addresses before. Of one that was written anew it reads all. What finds no room is left
 * out. Of very much that is new it reads a part, and the rest when it is called again. */
void jit_map_read(struct jit_map *map);

/* A number that changes with what is known. */
uint64_t jit_map_version(const struct jit_map *map);

struct jit_code {
	const char *name; /* the map's, until the next jit_map_read() */
	uint64_t start;
};

/* Finds the code at an address. Returns whether it is known. */
bool jit_map_find(const struct jit_map *map, uint64_t address, struct jit_code *code);

#endif
