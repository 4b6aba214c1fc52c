/* SPDX-License-Identifier: Apache-2.0 */
/* The BPF programs, their links and maps, and the edges of windows: what the parts of a session,
 * each with its own file, give to others. Times given out are CLOCK_MONOTONIC ns; those in the maps
 * count from the session's epoch. */
#ifndef SESSION_H
#define SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"
#include "cli/base/exit_status.h"
#include "cli/model/sample.h"
#include "cli/options/options.h"

struct bpf_map;
struct culprits;
struct distribution;
struct file_names;
struct kernel_delay__data_word;
struct lock_callers;
struct process_set;
struct processes;
struct programs;
struct recorder;
struct session;
struct syscall_set;
struct thread_row;
struct tracing;
struct trigger_set;
struct triggers;
struct wait_filter;

/* Events to trace. */
struct tracing_config {
	bool on;
	uint64_t call_ns;                /* system calls at least this long; KD_UNWANTED: none */
	const struct syscall_set *calls; /* calls to trace */
	uint64_t wait_ns;                /* waits; KD_UNWANTED: none */
	const struct wait_filter *waits; /* waits to trace */
	const struct syscall_set *wait_calls; /* calls in which waits are traced; NULL: anywhere */
	bool all_wakers;         /* also wakers of other processes' tasks that ended a wait */
	unsigned int profile_hz; /* samples of running code; 0: none */
	bool kernel_stacks;
	uint32_t user_bytes;   /* copied of a user stack; 0: no user stacks */
	uint64_t share;        /* of each CPU for user stack copies, millionths; 0: no limit */
	uint32_t ring_bytes;   /* a power of two, a multiple of the page size */
	uint64_t record_bytes; /* for the flight recorder, even without traces; 0: none */
};

struct session_config {
	const struct options *options; /* those that nothing else decides */
	pid_t tgid;                    /* of the target, or its first process */
	const struct processes *processes;
	unsigned int threads; /* of the target, now or later */
	unsigned int banks;   /* windows that may be unread at a time, 1 to KD_MAX_BANKS */
	unsigned int scans;   /* what it looks at beyond what every run does, enum scan */

	const struct trigger_set *triggers; /* outlives the session */
	struct tracing_config tracing;
};

/* What the collector reads: the memory of the maps. */
struct session_view {
	struct kd_thread *threads; /* by slot; slot 0 is never used */
	struct kd_record *records; /* of the window's bank, by slot */
	uint32_t slots, bank;
	uint64_t epoch;
	uint32_t fault_gen;           /* a thread in a fault of another generation has left it */
	uint64_t start, end;          /* of the window, since the epoch; end: KD_NEVER while open */
	uint64_t gen;                 /* 0: no window */
	int32_t opened_by, closed_by; /* as in struct kd_window */
};

/* The window word and the banks, as seen and set by user space. Times are relative to the
 * session's epoch. */
struct windows {
	struct kernel_delay__data_word *shared;
	uint32_t banks, last; /* last: the bank last used by user space */
	uint64_t epoch;
	bool pairs;    /* of one thread: more than one window may be open */
	uint32_t held; /* bank taken by session_window_hold(); KD_NO_BANK: none */
	int token;     /* map with the token for setting edges; -1: not needed */
};

/* Returns the state of a thread; before its first event, as the iterator found it. */
static inline uint32_t thread_state(const struct kd_thread *thread)
{
	uint32_t state = __atomic_load_n(&thread->state, __ATOMIC_RELAXED);

	return state == KD_UNSEEN ? thread->seed_state : state;
}

/* Loads and attaches all programs and finds the target's threads. Returns 0, or an exit status
 * of <sysexits.h> after printing what failed. The caller ends the session with session_close(). */
exit_status session_open(struct session **session, const struct session_config *config);

/* Detaches and frees everything; NULL is allowed. */
void session_close(struct session *session);

/* Parts of the session, used as their headers describe. They live as long as the session. */
struct windows *session_windows(struct session *session);
struct triggers *session_triggers(struct session *session);
struct tracing *session_tracing(struct session *session);
struct process_set *session_process_set(struct session *session);
struct culprits *session_culprits(struct session *session);
struct recorder *session_recorder(struct session *session);
struct file_names *session_file_names(struct session *session);
struct programs *session_programs(struct session *session);
const struct entry_cost *session_entry(const struct session *session);

/* Returns the number of possible CPUs. */
uint32_t session_cpus(const struct session *session);

/* Call it often: keeps the cost of timing page faults below its limit, and checks which
 * processes exist. Returns 0 or a negative errno. */
int session_tick(struct session *session);

/* Waits until programs that are running now have ended. */
void session_settle(struct session *session);

/* Waits, if needed, until programs that ran at an edge (ns of CLOCK_MONOTONIC) have ended. */
void session_settle_after(struct session *session, uint64_t edge);

/* Runs the task iterator over the target's threads: new ones get slots; run times and names are
 * read. Returns 0 or a negative errno. */
int session_visit(struct session *session, enum kd_visit visit);

/* True if the triggers have detached. Starts that waited for their stop are then forgotten, and no
 * program sets an edge any more. */
bool session_detach_end(struct session *session);

/* True if a thread is still in the call entered at that time (as in its record). */
bool session_call_goes_on(const struct session *session, uint32_t tid, int32_t call,
			  uint64_t since);

/* Adds waits for locks and at descriptors in a window, and what stopped its threads, to their rows.
 * row_of[slot] - 1 is a thread's row; 0: none. Callers of locks go to callers, which completes them
 * later. Returns 0 or -ENOMEM. */
int session_hashes(struct session *session, const struct session_view *view,
		   struct thread_row *rows, const uint32_t *row_of, struct lock_callers *callers);

/* Checks what no event reports: counters of running threads, and whether a sched_ext scheduler
 * is loaded. */
void session_look(struct session *session);

/* Copies the name of an interrupt's action; "" if unknown. */
void session_irq_name(struct session *session, uint64_t key, char name[KD_IRQ_NAME_LEN]);

/* Sets *losses to what was lost, and returns how many program runs the kernel skipped, both
 * since the last call. */
uint64_t session_losses(struct session *session, uint64_t losses[KD_LOSSES]);

/* Returns how many switches of target threads the kernel did not report since the last call.
 * Their times come from its run time. */
uint64_t session_resynced(struct session *session);

/* True if a thread was frozen at or after the start of the session. */
bool session_has_frozen(const struct session *session);

/* Returns the sections that this kernel does not support. */
const struct absence *session_absences(const struct session *session, size_t *count);

/* --- Windows: the word and the banks --- */

/* Opens a window in a free bank: at a time a few ms ahead, or at once if that is past, such as
 * 0. Returns its start. */
uint64_t session_window_open(struct session *session, uint64_t at);

/* Closes the oldest open window. Returns its end; 0 if none is open, or it is not recorded. After
 * session_settle(), nothing is written into its bank. */
uint64_t session_window_close(struct session *session);

/* Holds the oldest open window, or opens one, and sets *view. Triggers then leave that window
 * alone, and without pairs open no other one until it is let go. Returns false if no bank is free
 * right now. */
bool session_window_hold(struct session *session, struct session_view *view);

/* Closes the held window. */
void session_window_let_go(struct session *session);

/* Closes the open window and opens the next one at the same edge, without a gap; a bank must be
 * free. The time is as for session_window_open(). Returns the edge; 0 if no window was open. */
uint64_t session_window_turn(struct session *session, uint64_t at);

/* Finds the oldest window that is closed and not released. Returns false if there is none. */
bool session_window_next(const struct session *session, struct session_view *view);

/* Returns the oldest window that is open now, with its records. */
struct session_view session_window_now(const struct session *session);

/* Finds the window in a bank, from 0 on: about to open (view->gen is 0), open (view->end is
 * KD_NEVER), or ended and not released. Returns false if there is none. */
bool session_window_at(const struct session *session, uint32_t bank, struct session_view *view);

/* Returns the start, at most `least`, of the oldest window that is open or unread; times are
 * CLOCK_MONOTONIC ns. */
uint64_t session_windows_since(const struct session *session, uint64_t least);

/* True if a window may still be taken although no more are wanted: an open one has no other end, or
 * an edge is being set. */
bool windows_are_busy(const struct windows *windows);

/* True if this generation has a window that is open, or closed and not released. */
bool windows_have(const struct windows *windows, uint64_t gen);

/* Returns how many records of the bank's window did not fit into the ring, or could not be kept;
 * valid until its release. */
uint64_t windows_traces_lost(const struct windows *windows, uint32_t bank);
void windows_trace_lost(struct windows *windows, uint32_t bank);

/* Releases the bank of a window that has been read: nothing more is recorded for it, and it may
 * be reused. */
void windows_release(struct windows *windows, uint32_t bank);

/* Control of triggers. */

/* Lets triggers take this many windows from now on; UINT64_MAX: any number. */
void windows_arm(struct windows *windows, uint64_t count);

/* Stops all triggers. */
void windows_disarm(struct windows *windows);

/* Returns how many windows are still to be taken. */
uint64_t windows_wanted(const struct windows *windows);

/* Lets triggers take one more. Not with pairs. */
void windows_want_another(struct windows *windows);

/* Lets triggers take no window before this time (CLOCK_MONOTONIC ns). */
void windows_pause(struct windows *windows, uint64_t until);

/* Windows shorter than this (ns) need not be recorded. */
void windows_keep(struct windows *windows, uint64_t ns);

/* --- Hashes with data of a thread in a window: keys begin with struct kd_row_key --- */

struct session_hash {
	const struct windows *windows;
	const struct session_view *view; /* the window being read */
	struct lock_callers *callers;    /* completed later, see session_hashes() */
	void *context;                   /* of its reader */
	struct thread_row *rows;
	const uint32_t *row_of; /* by slot: a thread's row is rows[row_of[slot] - 1]; 0: none */
};

/* Gets an entry and the thread row that it belongs to. Returns 0, or a negative errno that ends
 * the reading. */
typedef int session_found_fn(const struct session_hash *hash, const void *key, const void *value,
			     struct thread_row *row);

/* Reads the entries of the window and these rows from a map, and removes them, together with
 * entries of no window; if *used is 0, there are none. *removed: how many it removed; NULL is
 * allowed. Returns 0, -ENOMEM, or the result of found(). */
int session_hash_read(const struct session_hash *hash, const struct bpf_map *map, const __u32 *used,
		      session_found_fn *found, uint32_t *removed);

/* Returns the row of a slot's thread; NULL: none. */
static inline struct thread_row *session_hash_row(const struct session_hash *hash, uint32_t slot)
{
	return hash->row_of[slot] ? &hash->rows[hash->row_of[slot] - 1] : NULL;
}

/* --- What the parts read --- */

/* Returns how long page faults were counted but not timed between two times, ns of
 * CLOCK_MONOTONIC. */
uint64_t session_faults_untimed(const struct session *session, uint64_t start, uint64_t end);

/* Adds the upcalls of openvswitch in a window to the sample. Returns 0 or -ENOMEM. */
int session_upcalls(const struct session *session, const struct session_view *view,
		    struct sample *sample);

/* Adds TCP retransmissions in a window to a sample whose usage has been summed. Returns 0 or
 * -ENOMEM. */
int session_resent(struct session *session, const struct session_view *view, struct sample *sample);

/* Sets in a row what a slot's thread read and wrote in a window, if that is counted. Returns 0 or
 * -ENOMEM. */
int session_usage(const struct session *session, const struct session_view *view, uint32_t slot,
		  struct thread_row *row);

/* Appends the durations of one kind (see struct kd_histogram_set) of a slot's thread in a
 * window; none without histograms. Returns 0 or -ENOMEM. */
int session_histogram(const struct session *session, const struct session_view *view, uint32_t slot,
		      uint32_t kind, struct distribution *distribution);

/* Adds a duration as the BPF side would; none without histograms. Returns 0 or -ENOMEM. */
int session_histogram_add(const struct session *session, struct distribution *distribution,
			  uint64_t ns);

/* Adds the stop that a thread was in at the window's end, if any. Returns 0 or -ENOMEM. */
int stops_read_open(const struct session_view *view, const struct kd_thread *thread,
		    struct thread_row *row);

/* True if a thread slept at a descriptor at the window's end: KD_VISIT_WAITING counts that too. */
bool session_files_pending(const struct session *session, const struct session_view *view);

/* Frees the slot of a thread that has ended and been accounted. */
void session_slot_free(struct session *session, uint32_t slot);

/* --- Rings of records, whose times are relative to the epoch --- */

enum session_ring {
	RING_TRACES,        /* struct kd_trace, whose size says where it ends */
	RING_INTERRUPTIONS, /* struct kd_interruption */
	RING_EVENTS, /* struct kd_event: a trigger has opened a window that no trigger closes,
		      * or has closed one, or the like */
	SESSION_RINGS,
};

/* Returns a descriptor that is readable when the ring should be read at once. -1: no ring. */
int session_ring_fd(const struct session *session, enum session_ring which);

/* Gets a record. Returns 0, or a negative errno that ends the walk. */
typedef int record_found_fn(void *context, void *data, size_t size);

/* Calls found() for each record since the last call. Returns 0 or a negative errno, which may be
 * from found(). */
int session_ring_read(struct session *session, enum session_ring which, record_found_fn *found,
		      void *context);

/* --- Tasks that had the CPU while threads waited --- */

/* True if a thread waited for a CPU at the window's end and is not charged up to there, for lack
 * of a switch since: the task iterator must visit it. */
bool culprits_pending(const struct culprits *culprits, const struct session_view *view);

/* Sets the row's culprits, which then add up to its waits for a CPU, and moves time taken by
 * limits to their ledger line. The thread is a copy read with the ledger. Returns 0 or -ENOMEM. */
int culprits_read(const struct culprits *culprits, const struct session_view *view, uint32_t slot,
		  const struct kd_thread *thread, struct thread_row *row);

/* Resolves a key to a task: its IDs, names, class and priority. Returns false if the tables no
 * longer have it. */
bool culprits_task(const struct culprits *culprits, uint32_t key, struct culprit *culprit);

/* Lists all tasks in the tables, by key. rows must hold KD_CULPRITS. Returns how many. */
size_t culprits_all(const struct culprits *culprits, struct recorded_culprit *rows);

/* Lists tasks on CPUs for which threads wait, without a switch since, after a visit for
 * culprits_pending(). Fills a row per such CPU, from the beginning of a wait on, with times
 * since the epoch and no end. rows must hold one per CPU. Returns how many. */
size_t culprits_running(const struct culprits *culprits, const struct session_view *view,
			struct span *rows);

/* --- Traces --- */

/* Records traces of system calls in progress. Returns 0 or a negative errno. */
int tracing_visit(struct tracing *tracing);

/* Returns how many code mappings did not fit into the ring since the last call. */
uint64_t tracing_maps_lost(struct tracing *tracing);

/* Caches a user stack for the programs by the hash of its shape and values, so that they copy
 * no equal one. stack: stands for it in records. */
void tracing_cache_stack(const struct tracing *tracing, const struct kd_shape *shape, uint64_t hash,
			 uint64_t stack, uint64_t mapped_at);

/* --- Resident memory of the target's processes, at the edges of windows --- */

/* Zeroed: nothing read. */
struct memory_log {
	struct memory_reading *all; /* at the last edge, by PID */
	size_t n;
};

/* Reads the memory of all processes that have a thread; call it before a window opens. Returns 0
 * or -ENOMEM. */
int memory_begin(struct memory_log *log, const struct session *session);

/* Completes the sample's process rows at a window's end; the processes may have ended. The next
 * window begins with this reading. Returns 0 or -ENOMEM. */
int memory_end(struct memory_log *log, const struct session *session, struct sample *sample);

/* Drops readings that belong to no later window. */
void memory_forget(struct memory_log *log);

#endif
