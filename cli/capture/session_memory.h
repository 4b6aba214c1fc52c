/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of BPF maps. Not inherited by children: those that read what the target controls must
 * not write where BPF programs read. */
#ifndef SESSION_MEMORY_H
#define SESSION_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/base/exit_status.h"
#include "session_reads.h"

struct bpf_map;
struct bpf_object;
struct kernel_delay;
struct session;

/* Maps an array map for reading and writing, until session_unmap(). Returns NULL after printing
 * what failed. */
void *session_map(struct session *session, const struct bpf_map *map);
void session_unmap(struct session *session);

/* Sets a map's size, before loading. Returns 0, or EX_OSERR after printing what failed. */
exit_status session_map_resize(struct bpf_map *map, uint64_t entries);

/* Keeps a loaded object's variables, which libbpf has mapped, from children too. */
void session_memory_keep(struct bpf_object *object);

/* Reports the memory that an object's maps will take for threads, if that is much, and what would
 * take less. Call it before loading. */
void session_memory_tell(const struct session *session);

/* --- Queues of numbers shared with BPF programs --- */

/* Return 0, or -1 with errno: ENOENT if empty, E2BIG if full. */
int queue_put(int fd, uint32_t number);
int queue_take(int fd, uint32_t *number);

/* --- Rings of records --- */

/* Opens a loaded map's ring. least: bytes of a record; shorter ones are skipped. Returns 0, or
 * EX_OSERR after printing what failed. */
exit_status session_ring_open(struct session *session, enum session_ring which,
			      const struct bpf_map *map, size_t least);
void session_rings_close(struct session *session);

/* --- From TIDs to slots, see bpf/target.bpf.h --- */

/* Sets the size for this many slots, before loading. Returns as session_map_resize() does. */
exit_status tids_select(struct kernel_delay *skel, uint32_t slots);

/* Makes a TID lead to this slot, or mark; KD_SLOT_FREE: to none. Only before the BPF side does so.
 * Returns 0 or a negative errno. */
int tid_set(const struct kernel_delay *skel, pid_t tid, uint32_t slot);

#endif
