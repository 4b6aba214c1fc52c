/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of BPF maps. No child gets it: those that read what the target controls are not to write
 * where the BPF programs read. */
#ifndef SESSION_MEMORY_H
#define SESSION_MEMORY_H

#include <stddef.h>
#include <stdint.h>

struct bpf_map;
struct bpf_object;
struct kernel_delay;
struct session_config;

/* Maps so many bytes of a map, for reading and writing, until munmap(). Returns NULL with errno set
 * on failure. */
void *session_memory_map(const struct bpf_map *map, size_t size);

/* The same for the variables of a loaded object, which libbpf has mapped. */
void session_memory_keep(struct bpf_object *object);

/* Says what the maps of an object that is about to be loaded will take for threads, if that is
 * much, and what takes less. threads: how many there is room for. */
void session_memory_tell(const struct kernel_delay *skel, const struct session_config *config,
			 uint32_t threads);

/* --- Queues of numbers that BPF programs take from, too --- */

/* Return 0, or -1 with errno set: ENOENT if it is empty, E2BIG if it is full. */
int queue_put(int fd, uint32_t number);
int queue_take(int fd, uint32_t *number);

#endif
