/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the BPF programs, their links and maps, and the edges of windows.
 *
 * Times given out are CLOCK_MONOTONIC ns; those in the maps count from the
 * session's epoch. */
#ifndef SESSION_H
#define SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../bpf/kernel_delay.h"
#include "../../probes/resolve.h"
#include "../sample.h"

struct session;

/* All places of a trigger, in one or more sets; no set: there is no trigger. */
struct session_trigger {
	const struct trigger *trigger;
	struct places *const *sets;
	size_t n_sets;
};

/* What is to leave traces. */
struct session_tracing {
	bool on;
	uint64_t call_ns;        /* system calls that take at least so long; UINT64_MAX: none */
	const bool *calls;       /* which of them: KD_CLASSES numbers */
	uint64_t wait_ns;        /* waits; UINT64_MAX: none */
	unsigned int profile_hz; /* samples of running code; 0: none */
	bool kernel_stacks;
	uint32_t user_bytes; /* copied of a user stack; 0: no user stacks */
	uint64_t rate;       /* user stacks per second; 0: no limit */
	uint32_t ring_bytes; /* a power of two, whole pages */
};

struct session_config {
	pid_t tgid;
	unsigned int threads; /* the target has now */
	unsigned int banks;   /* windows that may be unread at a time, 1 to KD_MAX_BANKS */
	const char *btf_file; /* NULL: the kernel's own */
	bool upcalls;         /* count those of openvswitch, where the kernel can */

	/* By enum kd_role. The same probe for both is attached once. */
	struct session_trigger triggers[KD_ROLES];
	struct session_tracing tracing;
	bool histograms; /* of durations */
	bool same_probe;
	bool target_only[KD_ROLES];
	bool same_thread, list_skipped;
	uint64_t delta;    /* ns; of windows that triggers open and close */
	uint64_t interval; /* ns from the end of a window to the next one's start */
};

/* What the collector reads; it is the memory of the maps. */
struct session_view {
	struct kd_thread *threads; /* slots of them; slot 0 is never used */
	struct kd_record *records; /* of the window's bank, by slot */
	uint32_t slots, bank;
	uint64_t epoch;
	uint64_t start, end;          /* of the window, since the epoch; end: KD_NEVER while open */
	uint64_t gen;                 /* 0: there is no window */
	int32_t opened_by, closed_by; /* TIDs of the threads that hit the triggers; -1: none */
};

/* Loads and attaches all programs and learns the target's threads. Returns 0,
 * or after printing what failed an exit status of <sysexits.h>. The caller ends
 * the session with session_close(). */
int session_open(struct session **session, const struct session_config *config);

/* Detaches and frees all; NULL is allowed. */
void session_close(struct session *session);

/* Opens a window in a free bank. Returns its start. */
uint64_t session_window_open(struct session *session);

/* Closes the window that is open. Returns its end; 0 if none is open. Nothing is
 * written into its bank after session_settle(). */
uint64_t session_window_close(struct session *session);

/* The oldest of the windows that are closed and not yet released. Returns false
 * if there is none. */
bool session_window_next(const struct session *session, struct session_view *view);

/* The window has been read: nothing more is recorded for it. Its records may be
 * used again. */
void session_window_release(struct session *session, const struct session_view *view);

/* Waits until the programs that are running now have ended. */
void session_settle(struct session *session);

/* Waits, if need be, until those have ended that were running at an edge (ns of
 * CLOCK_MONOTONIC). */
void session_settle_after(struct session *session, uint64_t edge);

/* Lets the task iterator visit the target's threads: new ones get a slot, run
 * times and names are read. Returns 0 or a negative errno. */
int session_visit(struct session *session, enum kd_reading_edge edge);

/* The window that is open now and what was recorded in it. */
struct session_view session_view(const struct session *session);

/* True if there is a window of this generation: open, or closed and not read. */
bool session_has_window(const struct session *session, uint64_t gen);

/* The triggers may take that many windows from now on; UINT64_MAX: any number. */
void session_arm(struct session *session, uint64_t windows);

/* How many of those are still to be taken. */
uint64_t session_wanted(const struct session *session);

/* The triggers take no window before this time (CLOCK_MONOTONIC ns). */
void session_pause(struct session *session, uint64_t until);

/* True if a window is open, recorded or not. */
bool session_is_open(const struct session *session);

/* No trigger does anything any more. */
void session_disarm(struct session *session);

/* Windows shorter than this need not be recorded. */
void session_keep(struct session *session, uint64_t ns);

/* Detaches the triggers' probes, which may take some 0.1 s each. */
void session_detach_triggers(struct session *session);

/* Becomes readable when a trigger has opened a window that it does not close,
 * and when one has closed. -1 without triggers. */
int session_events_fd(const struct session *session);

/* Calls found() for each event since the last call. found() returns 0, or a
 * negative errno, which ends the walk and is returned. */
typedef int session_event_fn(void *context, const struct kd_event *event);
int session_events(struct session *session, session_event_fn *found, void *context);

/* Becomes readable when traces should be read at once. -1 if there are none. */
int session_traces_fd(const struct session *session);

/* Calls found() for each record since the last call; times count from the epoch.
 * size says where the record ends, see struct kd_trace. found() returns 0, or a
 * negative errno, which ends the walk and is returned. */
typedef int session_trace_fn(void *context, const struct kd_trace *trace, size_t size);
int session_traces(struct session *session, session_trace_fn *found, void *context);

/* Leaves traces of the system calls that are in progress. Returns 0 or a negative
 * errno. */
int session_visit_calls(struct session *session);

/* Records for which there was no room, since the last call. */
uint64_t session_traces_lost(struct session *session);

/* True if a thread is still in the call that it entered then (as in its record). */
bool session_call_goes_on(const struct session *session, uint32_t tid, int32_t call,
			  uint64_t since);

/* About what a hit of a role's probe costs the thread that makes it, in ns; 0 if
 * there is none, or it is the start's. The first call takes some 10 ms. */
uint64_t session_hit_cost(struct session *session, enum kd_role role);

/* How many hits found their program not run, as another one was busy. */
uint64_t session_triggers_skipped(const struct session *session);

/* What the triggers have done so far; the durations' histogram included. Returns
 * 0 or a negative errno. */
int session_tally(const struct session *session, struct kd_tally *tally);

/* Adds the upcalls of openvswitch in a window to the sample. Returns 0 or
 * -ENOMEM. */
int session_upcalls(const struct session *session, const struct session_view *view,
		    struct sample *sample);

/* Gives back the slot of a thread that has ended and been accounted. */
void session_slot_free(struct session *session, uint32_t slot);

/* Calls found() for each (thread, system call) that found no place in its
 * thread's table. found() returns 1 to have the entry removed (its thread must
 * have ended or its window be closed), 0 to keep it, or a negative errno, which
 * ends the walk. Returns 0 or a negative errno. */
typedef int session_overflow_fn(void *context, const struct kd_overflow_key *key,
				const struct kd_count *count);
int session_overflow(struct session *session, session_overflow_fn *found, void *context);

/* Appends the durations of one kind (see struct kd_histogram_set) of a slot's thread in
 * a window; none without histograms. Returns 0 or -ENOMEM. */
int session_durations(const struct session *session, const struct session_view *view, uint32_t slot,
		      uint32_t kind, struct distribution *distribution);

/* Copies the name of an interrupt's action; "" if unknown. */
void session_irq_name(struct session *session, uint64_t key, char name[KD_IRQ_NAME_LEN]);

/* Sets *losses to what was lost, and returns the number of program runs that
 * the kernel skipped, both since the last call. */
uint64_t session_losses(struct session *session, uint64_t losses[KD_LOSSES]);

/* Switches of target threads that the kernel did not report, since the last
 * call. Their times were taken from its count of the run time. */
uint64_t session_resynced(struct session *session);

/* Sections that this kernel does not allow. */
const struct absence *session_absences(const struct session *session, size_t *count);

#endif
