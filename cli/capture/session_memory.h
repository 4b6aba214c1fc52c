/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of BPF maps. No child gets it: those that read what the target controls are not to write
 * where the BPF programs read. */
#ifndef SESSION_MEMORY_H
#define SESSION_MEMORY_H

#include <stdint.h>
#include <sys/types.h>

#include "cli/base/exit_status.h"

struct bpf_map;
struct bpf_object;
struct kernel_delay;
struct session;

/* Maps a map's array for reading and writing, until session_unmap(). Returns NULL after printing
 * what failed. */
void *session_map(struct session *session, const struct bpf_map *map);
void session_unmap(struct session *session);

/* Before loading: makes room in a map. Returns 0, or after printing what failed EX_OSERR. */
exit_status session_room(struct bpf_map *map, uint64_t entries);

/* Neither do children get the variables of a loaded object, which libbpf has mapped. */
void session_memory_keep(struct bpf_object *object);

/* Says what the maps of an object that is about to be loaded will take for threads, if that is
 * much, and what takes less. */
void session_memory_tell(const struct session *session);

/* --- Queues of numbers that BPF programs take from, too --- */

/* Return 0, or -1 with errno set: ENOENT if it is empty, E2BIG if it is full. */
int queue_put(int fd, uint32_t number);
int queue_take(int fd, uint32_t *number);

/* --- From TIDs to slots, see bpf/target.bpf.h --- */

/* Before loading: room for those of so many slots. As session_room(). */
exit_status tids_select(struct kernel_delay *skel, uint32_t slots);

/* Before the kernel side does so itself: from now on a TID leads to this slot, or mark;
 * KD_SLOT_FREE: to none. Returns 0 or a negative errno. */
int tid_set(const struct kernel_delay *skel, pid_t tid, uint32_t slot);

#endif
