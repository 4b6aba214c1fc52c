/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of BPF maps. No child gets it: those that read what the target controls are not to write
 * where the BPF programs read. */
#ifndef SESSION_MEMORY_H
#define SESSION_MEMORY_H

#include <stddef.h>

struct bpf_map;
struct bpf_object;

/* Maps so many bytes of a map, for reading and writing, until munmap(). Returns NULL with errno set
 * on failure. */
void *session_memory_map(const struct bpf_map *map, size_t size);

/* The same for the variables of a loaded object, which libbpf has mapped. */
void session_memory_keep(struct bpf_object *object);

#endif
