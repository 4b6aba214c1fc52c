/* SPDX-License-Identifier: Apache-2.0 */
/* What a session is made of: parts, which session.c lists, and what they share. Only they include
 * this. */
#ifndef SESSION_PARTS_H
#define SESSION_PARTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/base/clock.h"
#include "cli/base/exit_status.h"
#include "cli/model/sample.h"
#include "online_cpus.h"
#include "session_btf.h"
#include "session_programs.h"
#include "session_types.h"

#define SESSION_MAPS 16 /* maps whose memory is in use */

struct bpf_link;
struct bpf_map;
struct file_names;
struct kernel_delay;
struct session;

/* Hooks are NULL where there is nothing to do. Those that return an exit status have printed what
 * failed. */
struct session_part {
	/* Its state: zeros to begin with, to which the session has a pointer at this offset. 0
	 * bytes: it has none. */
	size_t state, bytes;
	/* Before the programs are loaded: by what session->config wants it chooses programs, makes
	 * room in maps and sets constants. */
	exit_status (*select)(struct session *session);
	/* When they are loaded. */
	exit_status (*attach)(struct session *session);
	/* Adds what a hash has of a window to the rows of its threads (hash.map and hash.context
	 * are set here). Returns 0 or -ENOMEM. */
	int (*read)(struct session *session, struct session_hash hash);
	/* At an edge that user space sets, and when a window is read: for what no event tells. */
	void (*look)(struct session *session);
	/* A slot is given back: nothing in it is of its thread any more. */
	void (*free_slot)(struct session *session, uint32_t slot);
	/* A CPU has come online, or gone offline. Returns 0 or a negative errno. */
	int (*turn_cpu)(struct session *session, int cpu, bool online);
	/* Undoes it, also what has been done by half. */
	void (*close)(struct session *session);
};

/* Where a part's state is: the session's member of that name, to a structure of that name. */
#define SESSION_STATE(name) .state = offsetof(struct session, name), .bytes = sizeof(struct name)

struct session {
	const struct session_part *const *parts; /* in their order; NULL ends them */
	size_t begun;                            /* so many have been selected, or tried to be */
	const struct session_config *config;     /* while it is being opened */

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
	uint64_t losses[KD_LOSSES], skipped, resynced; /* already told */

	struct counters *counters;
	struct culprits *culprits;
	struct faults *faults;
	struct histograms *histograms;
	struct interruption_ring *interruption_ring;
	struct recorder *recorder;
	struct resources *resources;
	struct several *several;
	struct tracing *tracing;
	struct triggers *triggers;
};

extern const struct session_part bare_part, classes_part, counters_part, culprits_part, entry_part,
	faults_part, files_part, filter_part, histograms_part, interruptions_part, locks_part,
	movers_part, recorder_part, resources_part, several_part, steal_part, stops_part,
	tracing_part, triggers_part;

/* --- The walk --- */

/* In their order, until one fails. Return 0 or its exit status. */
exit_status parts_select(struct session *session);
exit_status parts_attach(struct session *session);

/* Until one fails. Returns 0 or -ENOMEM. */
int parts_read(struct session *session, struct session_hash hash);

/* All of them. Returns 0 or an error of one that failed. */
int parts_turn_cpu(struct session *session, int cpu, bool online);

void parts_look(struct session *session);
void parts_free_slot(struct session *session, uint32_t slot);

/* Those that have begun, the last first. Harmless if that has been done. */
void parts_close(struct session *session);

/* --- What parts say to each other --- */

/* The process whose threads iterators visit; 0: all of them. While the session is being opened. */
pid_t session_visited(const struct session *session);

/* The map of which edges need the token; -1 if they need none. */
int triggers_token(const struct triggers *triggers);

/* At least so long between two times of timing page faults inside a window: each begins and ends
 * with changes of the kernel's code, which others feel. */
#define FAULTS_PAUSE_NS (200 * NSEC_PER_MSEC)

/* See session_tick(). call_ns: what the programs take of a system call, which says how fast this
 * machine is. */
void faults_look(struct session *session, uint64_t call_ns);

/* Begins again if what it took is paid for, after a pause of at least so many ns. */
void faults_resume(struct session *session, uint64_t pause_ns);

/* For --resources: which calls read and write. */
void classes_set_io(struct kernel_delay *skel);

#endif
