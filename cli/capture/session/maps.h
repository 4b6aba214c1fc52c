/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of BPF maps, and queues of numbers in them. */
#ifndef SESSION_MAPS_H
#define SESSION_MAPS_H

#include <stddef.h>
#include <stdint.h>

#include "cli/base/exit_status.h"

struct bpf_map;
struct bpf_object;
struct session;

/* The memory is not inherited by children: those that read what the target controls must not write
 * where BPF programs read. */

/* Maps an array map for reading and writing, until session_unmap(). Returns NULL after printing
 * what failed. */
void *session_map(struct session *session, const struct bpf_map *map);
void session_unmap(struct session *session);

/* Sets a map's size, before loading. Returns 0, or EX_OSERR after printing what failed. */
exit_status session_map_resize(struct bpf_map *map, uint64_t entries);

/* Leaves out maps, before loading. */
void session_maps_omit(struct bpf_map *const *maps, size_t n);

/* Keeps a loaded object's variables, which libbpf has mapped, from children too. */
void session_memory_keep(struct bpf_object *object);

/* Reports the memory that an object's maps will take for threads, if that is much, and what would
 * take less. Call it before loading. */
void session_memory_tell(const struct session *session);

/* Return 0, or -1 with errno: ENOENT if empty, E2BIG if full. */
int queue_put(int fd, uint32_t number);
int queue_take(int fd, uint32_t *number);

#endif
