/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of BPF maps. No child gets it: those that read what the target controls are not to write
 * where the BPF programs read. */
#ifndef SESSION_MEMORY_H
#define SESSION_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/base/exit_status.h"
#include "cli/model/distribution.h"
#include "session_types.h"

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

/* --- From TIDs to slots, see bpf/target.bpf.h --- */

/* Before loading: room for those of so many slots. Returns 0 or a negative errno. */
int tids_select(struct kernel_delay *skel, uint32_t slots);

/* Before the kernel side does so itself: from now on a TID leads to this slot, or mark;
 * KD_SLOT_FREE: to none. Returns as above. */
int tid_set(const struct kernel_delay *skel, pid_t tid, uint32_t slot);

/* --- The kernel side's histograms of durations, if there are any --- */

/* Part of the session. */

struct histograms {
	struct kernel_delay *skel;
	struct kd_histogram_set *sets; /* by slot */
	struct kd_histogram *memory;   /* room of them for each bank */
	uint32_t slots, banks, room;   /* room 0: there are none */
};

/* Before loading: makes room for them. Returns 0, or after printing what failed an exit
 * status. */
exit_status histograms_select(struct histograms *histograms, struct kernel_delay *skel,
			      uint32_t slots, uint32_t banks);

/* After loading. Returns as above. */
exit_status histograms_map(struct histograms *histograms);

/* Appends the durations of one kind (see struct kd_histogram_set) of a slot's thread in
 * the window that is in this bank; none, if there are none. Returns 0 or -ENOMEM. */
int histograms_read(const struct histograms *histograms, const struct session_view *view,
		    uint32_t slot, uint32_t kind, struct distribution *distribution);

/* Adds a duration as the kernel side would have; none, if there are none. Returns 0 or
 * -ENOMEM. */
int histograms_add(const struct histograms *histograms, struct distribution *distribution,
		   uint64_t ns);

/* Nobody's are those of a slot whose thread has ended. */
void histograms_free_slot(struct histograms *histograms, uint32_t slot);

void histograms_close(struct histograms *histograms);

#endif
