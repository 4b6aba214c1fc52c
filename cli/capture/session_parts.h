/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a session, listed in session_open.c, and what they share. Only parts include this. */
#ifndef SESSION_PARTS_H
#define SESSION_PARTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/base/clock.h"
#include "cli/base/exit_status.h"
#include "cli/model/sample.h"
#include "cpus.h"
#include "session_btf.h"
#include "session_programs.h"
#include "session.h"

#define SESSION_MAPS 16  /* maps whose memory is in use */
#define SESSION_PARTS 32 /* more than there are */

struct bpf_link;
struct bpf_map;
struct file_names;
struct kernel_delay;
struct ring_buffer;
struct session;

/* Hooks are NULL if there is nothing to do. Hooks with an exit status have printed what failed. */
struct session_part {
	/* The part's state, initially zeros; the session has a pointer to it at this offset. 0
	 * bytes: no state. */
	size_t state, bytes;
	/* Only runs that want one of these have the part, enum scan; 0: all. Of others no hook but
	 * omit is called, and there is no state. */
	unsigned int scans;
	/* Instead of select: leaves maps out. */
	void (*omit)(struct session *session);
	/* Before the programs are loaded: chooses programs, sizes maps and sets constants for
	 * session->config. */
	exit_status (*select)(struct session *session);
	/* After the programs are loaded. */
	exit_status (*attach)(struct session *session);
	/* Adds entries of its hashes of a window to the rows of its threads; sets hash.context
	 * itself. Returns 0 or -ENOMEM. */
	int (*read)(struct session *session, struct session_hash hash);
	/* At an edge set by user space, and when a window is read: checks what no event reports. */
	void (*look)(struct session *session);
	/* A slot is freed: nothing in it belongs to its thread any more. */
	void (*free_slot)(struct session *session, uint32_t slot);
	/* A CPU has come online or gone offline. Returns 0 or a negative errno. */
	int (*turn_cpu)(struct session *session, int cpu, bool online);
	/* Undoes everything, even if only half done. */
	void (*close)(struct session *session);
};

/* State of a part: a structure of that name, at which the session's member of that name points. */
#define SESSION_STATE(name) .state = offsetof(struct session, name), .bytes = sizeof(struct name)

struct session {
	const struct session_part *const *parts; /* in order; NULL at the end */
	/* Parts that the run has and that were selected, even if that failed. */
	const struct session_part *begun[SESSION_PARTS];
	size_t n_begun;
	const struct session_config *config; /* while it is being opened */

	struct session_btf btf;
	struct kernel_delay *skel;
	struct programs programs;
	struct session_memory {
		void *at;
		size_t size;
	} memory[SESSION_MAPS]; /* see session_map() */
	size_t n_memory;

	uint64_t epoch;
	uint32_t slots, banks, cpus;
	struct kd_thread *threads;
	struct kd_record *records;
	struct windows windows;
	struct bpf_link *iter;
	struct online_cpus online;
	struct file_names *file_names;
	uint64_t bare_call_ns, bare_fault_ns; /* without our programs */
	struct entry_cost entry;
	bool triggered;                                /* triggers open or close its windows */
	uint64_t losses[KD_LOSSES], skipped, resynced; /* already reported */
	struct record_ring {
		struct ring_buffer *ring; /* NULL: not open */
		size_t least;             /* bytes of a record */
		record_found_fn *found;   /* for session_ring_read() */
		void *context;
	} rings[SESSION_RINGS];

	struct counters *counters;
	struct culprits *culprits;
	struct faults *faults;
	struct histograms *histograms;
	struct recorder *recorder;
	struct resources *resources;
	struct process_set *process_set;
	struct tracing *tracing;
	struct triggers *triggers;
};

extern const struct session_part bare_part, classes_part, counters_part, culprits_part, entry_part,
	faults_part, files_part, filter_part, histograms_part, interruptions_part, locks_part,
	movers_part, overflow_part, recorder_part, resources_part, process_set_part, steal_part,
	stops_part, tracing_part, triggers_part, upcalls_part, wakers_part;

/* --- Calls to all parts --- */

/* Call the parts in order, until one fails. Return 0 or the exit status of that one. */
exit_status parts_select(struct session *session);
exit_status parts_attach(struct session *session);

/* Calls the parts until one fails. Returns 0 or -ENOMEM. */
int parts_read(struct session *session, struct session_hash hash);

/* Calls all parts. Returns 0, or the error of one. */
int parts_turn_cpu(struct session *session, int cpu, bool online);

void parts_look(struct session *session);
void parts_free_slot(struct session *session, uint32_t slot);

/* Closes parts that have begun, last one first. Harmless if repeated. */
void parts_close(struct session *session);

/* --- Interfaces between parts --- */

/* Returns the process whose threads iterators visit; 0: all. Only while the session is being
 * opened. */
pid_t session_visited(const struct session *session);

/* Returns the map with the token for setting edges; -1: no token is needed. */
int triggers_token(const struct triggers *triggers);

/* Least time between two periods of timed page faults in a window. Each of them changes kernel code
 * twice, which other processes feel. */
#define FAULTS_PAUSE_NS (200 * NSEC_PER_MSEC)

/* Stops timing faults if that costs too much, see session_tick(). call_ns: cost of a system call in
 * the programs, a measure of the machine's speed. */
void faults_look(struct session *session, uint64_t call_ns);

/* Resumes timing if its cost is paid for, after a pause of at least this many ns. */
void faults_resume(struct session *session, uint64_t pause_ns);

/* session_hash_read() for a TABLE() of bpf/maps.bpf.h. */
#define TABLE_READ(session, hash, name, found)                                                     \
	session_hash_read(hash, (session)->skel->maps.name, &(session)->skel->bss->name##_used,    \
			  found, NULL)

/* For --resources: sets which calls read and write. */
void classes_set_io(struct kernel_delay *skel);

/* --- Memory of BPF maps --- */

/* Not inherited by children: those that read what the target controls must not write where BPF
 * programs read. */

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
