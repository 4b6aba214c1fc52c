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
#include "../sample.h"

struct session;

struct session_config {
	pid_t tgid;
	unsigned int threads; /* the target has now */
	unsigned int banks;   /* windows that may be unread at a time, >= 1 */
	const char *btf_file; /* NULL: the kernel's own */
};

/* What the collector reads; it is the memory of the maps. */
struct session_view {
	struct kd_thread *threads; /* slots of them; slot 0 is never used */
	struct kd_record *records; /* of the bank in question, by slot */
	uint32_t slots;
	uint64_t epoch;
	uint64_t start, end; /* of the window, since the epoch; end: KD_NEVER while open */
	uint64_t gen;        /* 0: there is no window */
};

/* Loads and attaches all programs and learns the target's threads. Returns 0,
 * or after printing what failed an exit status of <sysexits.h>. The caller ends
 * the session with session_close(). */
int session_open(struct session **session, const struct session_config *config);

/* Detaches and frees all; NULL is allowed. */
void session_close(struct session *session);

/* Opens a window in the next bank. Returns its start. */
uint64_t session_window_open(struct session *session);

/* Closes the window. Returns its end. Nothing is written into the bank after
 * session_settle(). */
uint64_t session_window_close(struct session *session);

/* The window has been read: nothing more is recorded for it. Its records may be
 * used again. */
void session_window_release(struct session *session);

/* Waits until the programs that were running at the last edge have ended. */
void session_settle(struct session *session);

/* Lets the task iterator visit the target's threads: new ones get a slot, run
 * times and names are read. Returns 0 or a negative errno. */
int session_visit(struct session *session, enum kd_reading_edge edge);

/* The current window and what was recorded in it. */
struct session_view session_view(struct session *session);

/* Gives back the slot of a thread that has ended and been accounted. */
void session_slot_free(struct session *session, uint32_t slot);

/* Calls found() for each (thread, system call) that found no place in its
 * thread's table. found() returns 1 to have the entry removed (its thread must
 * have ended or its window be closed), 0 to keep it, or a negative errno, which
 * ends the walk. Returns 0 or a negative errno. */
typedef int session_overflow_fn(void *context, const struct kd_overflow_key *key,
				const struct kd_count *count);
int session_overflow(struct session *session, session_overflow_fn *found, void *context);

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
