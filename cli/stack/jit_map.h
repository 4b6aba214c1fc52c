/* SPDX-License-Identifier: Apache-2.0 */
/* Names of JIT code as processes report it to profilers: /tmp/perf-PID.map (Linux,
 * tools/perf/Documentation/jit-interface.txt) with a line per function, and jitdump files
 * (jitdump-specification.txt). Both grow while the process runs, and may be hostile. */
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

/* Maps allocate from *capacity, in bytes, and return memory to it. NULL without memory. */
struct jit_map *jit_map_new(size_t *capacity);

/* NULL is allowed. */
void jit_map_free(struct jit_map *map);

/* Adds a file, replacing another of its kind. The map takes over the descriptor. */
void jit_map_add(struct jit_map *map, enum jit_file kind, int fd);

/* Reads what the files gained since the last call; later code replaces earlier code at the same
 * address. A rewritten file is read from its start. Drops what does not fit. Reads large amounts
 * in parts, one per call. */
void jit_map_read(struct jit_map *map);

/* A number that changes with the known code. */
uint64_t jit_map_version(const struct jit_map *map);

struct jit_code {
	const char *name; /* valid until the next jit_map_read() */
	uint64_t start;
};

/* Finds the code at an address. Returns false if unknown. */
bool jit_map_find(const struct jit_map *map, uint64_t address, struct jit_code *code);

#endif
