/* SPDX-License-Identifier: Apache-2.0 */
/* The critical path of a window: what one thread's time depended on, across threads and processes.
 * Computed from a recording, backwards from the window's end.
 *
 * While the thread runs, or is ready for a CPU, the path is on it. While it is blocked, and a task
 * ended that wait, the path is on that task, from when it ended the wait back to when the wait
 * began; while that task was blocked in this time, on whoever ended its wait, and so on; then it is
 * on the thread again. Thus each wait is a bound for all that is looked at inside it, the legs
 * never overlap, and they add up to the window. A wait that no task ended, but a timer, a disk, the
 * network or another interrupt, is a leg itself. So is one that cannot be followed; it says why.
 *
 * This is the active path of F. Giraldeau and M. Dagenais, "Wait Analysis of Distributed Systems
 * Using Kernel Tracing", IEEE TPDS 27(8), 2016, as Trace Compass computes it (its bounded critical
 * path), with these differences: a wait for a CPU has a leg for each one that had the CPU; what
 * interrupts took is split off where the interrupts are recorded; packets between machines are not
 * followed; a task is followed as far back as it was recorded, and the rest is a part of the wait
 * that it ended, with the reason. A softirq of the network that handles what a task sent over
 * loopback counts as that task. */
#ifndef CRITICAL_PATH_H
#define CRITICAL_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"

struct sample;

/* States of legs are enum ledger_state; or these: a task that is not the target's runs, in user or
 * kernel mode; it is not known. */
enum path_state { PATH_RUNNING = 14, PATH_UNKNOWN, PATH_STATES };

/* Why that thread: ROW(why, key, text). */
#define PATH_CHOICE_WORDS(ROW)                                                                     \
	ROW(PATH_OF_STOP, "stop", "its probe ended the window")                                    \
	ROW(PATH_OF_START, "start", "its probe began the window")                                  \
	ROW(PATH_OF_VERDICT, "verdict", "the verdict's largest part is about it")                  \
	ROW(PATH_OF_KEPT, "kept", "it was kept from running longest")                              \
	ROW(PATH_OF_BUSY, "busy", "it was busy longest")

/* Why a wait, or a state, is not followed: ROW(reason, key, text). The text goes on about who ended
 * the wait, if that is known. Keys are a promise, see words.h. */
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

struct path_thread {
	pid_t tid, pid;         /* pid 0: not known */
	char name[KD_COMM_LEN]; /* not escaped; "": not known */
	bool of_target, of_kernel;
};

/* Of a leg in a ready state: who had the CPU; of an interrupt: which; of a blocked one: which task
 * ended it. All zeros: not known, or none. */
struct path_who {
	uint32_t kind; /* enum culprit_kind */
	pid_t tid, pid;
	char name[KD_IRQ_NAME_LEN + 16]; /* not escaped */
};

/* A leg, or several that follow one another, of which none is long enough for a row. */
struct path_row {
	uint64_t start, end;
	uint64_t legs;               /* how many */
	uint64_t parts[PATH_STATES]; /* ns by state; they add up to end - start */
	bool several_threads;        /* of several legs: they are not all of one thread */
	/* What the leg is. Of several what those are that are alike and had most of the time, as
	 * far as that is known, and how much they had at least. */
	uint64_t mostly;           /* ns; of one leg all of it */
	struct path_thread thread; /* whose it is */
	uint32_t state;            /* enum ledger_state, path_state */
	uint32_t awaited;          /* enum kd_awaited: of a blocked one */
	uint32_t ended_by;         /* enum kd_from: the same; KD_FROM_UNKNOWN: not known */
	uint32_t reason;           /* enum path_reason */
	int32_t call;              /* that it was in; KD_CALL_NONE: in none, or not known */
	struct path_who by;
};

/* No more rows than these. */
#define PATH_ROWS 1000

struct critical_path {
	struct path_thread thread; /* tid 0: there is no path */
	uint32_t chosen;           /* enum path_choice */
	uint64_t start, end;       /* the window */
	uint64_t legs;             /* in all rows */
	uint64_t lost;             /* events that the recording lacks: some of it may be wrong */
	struct path_row *rows;     /* in the order of time, without holes, from start to end */
	size_t n_rows;
};

/* Fills the zeroed path of a finished sample that has a recording: of the thread whose probe ended
 * the window; or began it; or that the verdict is about. None, if no thread of the target is known.
 * Returns 0 or -ENOMEM. */
int critical_path_of_sample(struct sample *sample);

struct recording;

/* Fills the rows of a path whose other members are set: of its thread, from start to end. Whatever
 * the recording's rows are, they have no holes. Takes time in proportion to what was recorded
 * between start and end, and memory for a few thousand rows. Returns 0 or -ENOMEM; then there are
 * none. */
int critical_path_find(struct critical_path *path, const struct recording *recording);

/* Makes one row of two neighbours. */
void path_row_join(struct path_row *into, const struct path_row *row);

/* What a row says, in words: "blocked uninterruptible for disk in fsync, ended by the disk". Names
 * in it are not escaped. Of another machine (foreign), numbers of system calls have no names.
 * Returns buffer. */
#define PATH_TEXT_LEN 256
const char *path_row_text(const struct path_row *row, bool foreign, char buffer[PATH_TEXT_LEN]);

/* Releases the rows. */
void critical_path_clear(struct critical_path *path);

#endif
