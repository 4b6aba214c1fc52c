/* SPDX-License-Identifier: Apache-2.0 */
/* Critical path of a window: what one thread's time depended on, across threads and processes.
 *
 * It is computed from a recording, backwards from the window's end. While the thread runs or is
 * ready, the path is on the thread. While it is blocked and a task ended the wait, the path is
 * on that task, from the wakeup back to the start of the wait. If that task was blocked
 * meanwhile, the path goes on to the task that woke it, and so on; then it returns to the
 * thread. Each wait thus bounds all legs inside it. Legs never overlap, and they add up to the
 * window. A wait that a timer, disk, network or other interrupt ended is a leg itself. So is a
 * wait that cannot be followed; it gives a reason.
 *
 * This is the active path of F. Giraldeau and M. Dagenais, "Wait Analysis of Distributed Systems
 * Using Kernel Tracing", IEEE TPDS 27(8), 2016. Trace Compass computes it as its bounded
 * critical path. Differences: a wait for a CPU has a leg for each task that had the CPU.
 * Interrupt time is split off where interrupts are recorded. Packets between machines are not
 * followed. A task is followed as far back as it was recorded; the rest stays with the wait that
 * the task ended, with the reason. A network softirq that handles what a task sent over loopback
 * counts as that task. */
#ifndef CRITICAL_PATH_H
#define CRITICAL_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"
#include "recording.h"

/* States of legs: enum ledger_state, or one of these: a task outside the target runs, in user or
 * kernel mode; unknown. */
enum path_state { PATH_RUNNING = 15, PATH_UNKNOWN, PATH_STATES };

/* Why this thread was chosen: ROW(why, key, text). */
#define PATH_CHOICE_WORDS(ROW)                                                                     \
	ROW(PATH_OF_STOP, "stop", "its probe ended the window")                                    \
	ROW(PATH_OF_START, "start", "its probe began the window")                                  \
	ROW(PATH_OF_VERDICT, "verdict", "the verdict's largest part is about it")                  \
	ROW(PATH_OF_DELAY, "kept", "it was kept from running longest")                             \
	ROW(PATH_OF_BUSY, "busy", "it was busy longest")

/* Why a wait or state is not followed: ROW(reason, key, text). Reports add the waker, if known.
 * Keys are a promise, see words.h. */
#define PATH_REASON_WORDS(ROW)                                                                     \
	ROW(PATH_FOLLOWED, "none", "")                                                             \
	ROW(PATH_NO_WAKER, "no_waker", "it is not known who ended that")                           \
	ROW(PATH_NOT_FOLLOWED, "not_followed", "not followed until then")                          \
	ROW(PATH_GOES_ON, "goes_on", "not over at the window's end")                               \
	ROW(PATH_BEFORE, "before_recording", "before the recording")                               \
	ROW(PATH_UNSEEN, "unseen", "not seen")                                                     \
	ROW(PATH_TOO_DEEP, "too_deep", "too many waits for one another")                           \
	ROW(PATH_CONTRADICTION, "contradiction", "the recording contradicts itself")

#define PATH_ENUM(name, key, text) name,
enum path_choice { PATH_CHOICE_WORDS(PATH_ENUM) PATH_CHOICES };
enum path_reason { PATH_REASON_WORDS(PATH_ENUM) PATH_REASONS };
#undef PATH_ENUM
extern const char *const path_choice_keys[PATH_CHOICES], *const path_choice_texts[PATH_CHOICES];
extern const char *const path_reason_keys[PATH_REASONS];
extern const char *const path_state_keys[PATH_STATES];

/* Other task or interrupt of a leg. Ready: what had the CPU. Interrupt: which one. Blocked: the
 * task that ended the wait. All zeros: none, or unknown. */
struct path_who {
	uint32_t kind; /* enum culprit_kind */
	pid_t tid, pid;
	char name[KD_IRQ_NAME_LEN + 16]; /* not escaped */
};

/* One leg, or consecutive legs that are each too short for a row. */
struct path_row {
	uint64_t start, end;
	uint64_t legs;                /* how many */
	uint64_t states[PATH_STATES]; /* ns by state, adding up to end - start */
	bool multiple_threads;        /* the legs are of different threads */
	/* What the leg is. For several legs: the kind that took most of the time, as far as
	 * known, and at least how much that was. */
	uint64_t mostly;               /* ns; all of it for a single leg */
	struct recorded_thread thread; /* thread of the leg */
	uint32_t state;                /* enum ledger_state, path_state */
	uint32_t awaited;              /* blocked legs: enum kd_awaited */
	uint32_t ended_by;             /* blocked legs: enum kd_from; KD_FROM_UNKNOWN: unknown */
	uint32_t reason;               /* enum path_reason */
	int32_t call;                  /* system call; KD_CALL_NONE: none, or unknown */
	struct path_who by;
};

/* Most rows of a path. */
#define PATH_ROWS 1000

struct critical_path {
	struct recorded_thread thread; /* tid 0: no path */
	uint32_t chosen;               /* enum path_choice */
	uint64_t start, end;           /* the window */
	uint64_t legs;                 /* in all rows */
	uint64_t lost;                 /* events missing from the recording, so the path may be
					* partly wrong */
	struct path_row *rows;         /* in order of time, without gaps, from start to end */
	size_t n_rows;
};

/* Fills the rows of a path whose other members are set. Rows have no gaps, whatever the
 * recording holds. Takes time in proportion to the events between start and end, and memory for
 * a few thousand rows. Returns 0 or -ENOMEM; then there are no rows. */
int critical_path_find(struct critical_path *path, const struct recording *recording);

/* Merges a row into its neighbour. */
void path_row_join(struct path_row *into, const struct path_row *row);

/* Describes a row: "blocked uninterruptible for disk in fsync, ended by the disk". Names are not
 * escaped. For samples of another machine (foreign), system calls are numbers. Returns buffer. */
#define PATH_TEXT_LEN 256
const char *path_row_text(const struct path_row *row, bool foreign, char buffer[PATH_TEXT_LEN]);

/* Releases the rows. */
void critical_path_clear(struct critical_path *path);

#endif
