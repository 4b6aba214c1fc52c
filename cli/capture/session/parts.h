/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a session, in order, and what they share. Only parts include this. */
#ifndef SESSION_PARTS_H
#define SESSION_PARTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/base/clock.h"
#include "cli/base/exit_status.h"
#include "cli/model/sample.h"
#include "btf.h"
#include "config.h"
#include "cpus.h"
#include "programs.h"
#include "types.h"

#define SESSION_MAPS 16 /* maps whose memory is in use */

struct bpf_link;
struct bpf_map;
struct file_names;
struct function_names;
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
	/* User space is about to open a window. */
	void (*open)(struct session *session);
	/* At an edge set by user space, and when a window is read: checks what no event reports. */
	void (*look)(struct session *session);
	/* A slot is freed: nothing in it belongs to its thread any more. */
	void (*free_slot)(struct session *session, uint32_t slot);
	/* A CPU has come online or gone offline. Returns 0 or a negative errno. */
	int (*turn_cpu)(struct session *session, int cpu, bool online);
	/* Undoes everything, even if only half done. */
	void (*close)(struct session *session);
};

/* The order in which parts select and attach; they close in reverse. */
/* clang-format off */
#define SESSION_PARTS_IN_ORDER(PART) \
	PART(base) \
	/* Parts that only have memory. */ \
	PART(histograms) \
	PART(culprits) \
	PART(recorder) \
	PART(interruptions) \
	/* Before the programs of all runs: these parts must see a thread's end first. */ \
	PART(resources) \
	PART(counters) \
	/* Measured without our programs, then the programs, then measured with them. */ \
	PART(bare) \
	PART(events) \
	PART(upcalls) \
	PART(softirqs) \
	PART(faults) \
	PART(entry) \
	/* Sets whose events count, and finds the threads. */ \
	PART(process_set) \
	PART(filter) \
	PART(target) \
	PART(steal) \
	/* Reads the threads found. */ \
	PART(overflow) \
	PART(locks) \
	PART(stops) \
	PART(movers) \
	PART(files) \
	PART(long_sleeps) \
	PART(registers) \
	PART(classes) \
	PART(wakers) \
	PART(tracing) \
	/* Last: windows may open from here on. */ \
	PART(triggers)
/* clang-format on */

#define PART_NUMBER(name) PART_##name,
enum session_part_number { SESSION_PARTS_IN_ORDER(PART_NUMBER) SESSION_PARTS };
#undef PART_NUMBER

#define PART_DECLARED(name) extern const struct session_part name##_part;
SESSION_PARTS_IN_ORDER(PART_DECLARED)
#undef PART_DECLARED

/* Defines a part, which no session would have without its row above. */
#define SESSION_PART(name)                                                                         \
	_Static_assert(PART_##name < SESSION_PARTS, "has a row");                                  \
	const struct session_part name##_part

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
	const struct kd_long_sleep *long_sleeps; /* rings, see kd_ring_of() */
	const struct kd_user_tick *user_ticks;
	struct windows windows;
	struct bpf_link *iter;
	struct online_cpus online;
	struct file_names *file_names;
	struct function_names *function_names;
	uint64_t bare_call_ns, bare_fault_ns; /* without our programs */
	struct entry_cost entry;
	pid_t tgid;     /* of the target, or its first process */
	bool triggered; /* triggers open or close its windows */
	bool restful;   /* nothing but its windows looks at the target */
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
	struct registers *registers;
	struct resources *resources;
	struct softirqs *softirqs;
	struct process_set *process_set;
	struct tracing *tracing;
	struct triggers *triggers;
};

/* --- Calls to all parts --- */

/* Call the parts in order, until one fails. Return 0 or the exit status of that one. */
exit_status parts_select(struct session *session);
exit_status parts_attach(struct session *session);

/* Calls the parts until one fails. Returns 0 or -ENOMEM. */
int parts_read(struct session *session, struct session_hash hash);

/* Calls all parts. Returns 0, or the error of one. */
int parts_turn_cpu(struct session *session, int cpu, bool online);

void parts_open(struct session *session);
void parts_look(struct session *session);
void parts_free_slot(struct session *session, uint32_t slot);

/* Closes parts that have begun, last one first. Harmless if repeated. */
void parts_close(struct session *session);

#endif
