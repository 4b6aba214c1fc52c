/* SPDX-License-Identifier: Apache-2.0 */
/* Names of states, outcomes and the like, each word written once. Keys are a promise to readers
 * of JSON, metrics and conditions: they are added to, never changed. Titles are for people.
 * Losses have their own table: losses.h. */
#ifndef WORDS_H
#define WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/kernel_delay.h"

/* Rows of a table of words, as an array of keys or of titles. */
#define WORD_KEY(at, key, ...) [at] = (key),
#define WORD_TITLE(at, key, title, ...) [at] = (title),

/* States of the ledger, in report order. Interrupt time is subtracted from the running states,
 * so that all add up to the life. */
enum ledger_state {
	LEDGER_USER,
	LEDGER_KERNEL,
	LEDGER_FAULT,
	LEDGER_RECLAIM,
	LEDGER_GUEST, /* what of running kernel was in a virtual machine's guest (KVM) */
	LEDGER_HARDIRQ,
	LEDGER_SOFTIRQ,
	LEDGER_STOLEN, /* taken from running states by the hypervisor */
	LEDGER_READY_WOKEN,
	LEDGER_READY_PREEMPTED,
	LEDGER_THROTTLED, /* runnable, but out of quota or SCHED_DEADLINE runtime */
	LEDGER_BLOCKED,
	LEDGER_BLOCKED_UNINT,
	LEDGER_STOPPED,
	LEDGER_FROZEN,
	LEDGER_STATES,
};

/* States of the ledger: ROW(state, key, title, kernel side state[, .rare]). */
/* clang-format off */
#define LEDGER_WORDS(ROW)                                                                          \
	ROW(LEDGER_USER, "user", "running user", KD_USER)                                          \
	ROW(LEDGER_KERNEL, "kernel", "running kernel", KD_KERNEL)                                  \
	ROW(LEDGER_FAULT, "page_fault", "page faults", KD_FAULT, .rare = true)                     \
	ROW(LEDGER_RECLAIM, "reclaim", "reclaim", KD_RECLAIM, .rare = true)                        \
	ROW(LEDGER_GUEST, "guest", "running guest", KD_UNSEEN, .rare = true)                       \
	ROW(LEDGER_HARDIRQ, "hardirq", "hard irq", KD_UNSEEN)                                      \
	ROW(LEDGER_SOFTIRQ, "softirq", "soft irq", KD_UNSEEN)                                      \
	ROW(LEDGER_STOLEN, "stolen", "stolen by hypervisor", KD_UNSEEN, .rare = true)              \
	ROW(LEDGER_READY_WOKEN, "ready_woken", "ready after wakeup", KD_READY_WOKEN)               \
	ROW(LEDGER_READY_PREEMPTED, "ready_preempted", "ready after preemption", KD_READY_PREEMPTED) \
	ROW(LEDGER_THROTTLED, "throttled", "throttled", KD_UNSEEN, .rare = true)                   \
	ROW(LEDGER_BLOCKED, "blocked", "blocked interruptible", KD_BLOCKED)                        \
	ROW(LEDGER_BLOCKED_UNINT, "blocked_uninterruptible", "blocked uninterruptible", KD_BLOCKED_UNINT) \
	ROW(LEDGER_STOPPED, "stopped", "stopped", KD_STOPPED)                                      \
	ROW(LEDGER_FROZEN, "frozen", "frozen", KD_FROZEN, .rare = true)
/* clang-format on */

/* Items that cross an edge of the window. */
enum open_kind {
	OPEN_CALL,
	OPEN_READY, /* a wait for a CPU */
	OPEN_RUN,
	OPEN_STOPPED,
	OPEN_ROUND, /* event loop round: from one poll to the next */
	OPEN_KINDS,
};

/* Periods of threads: ROW(kind, key, label). Conditions use the key too; the label is the state
 * in metrics and distributions. A SPAN has a minimum, a COUNT does not. */
#define PERIOD_WORDS(SPAN, COUNT)                                                                  \
	OPEN_PERIOD_WORDS(SPAN, COUNT)                                                             \
	SPAN(OPEN_ROUND, "long_poll", "long_poll")
/* Periods that also count while open. */
#define OPEN_PERIOD_WORDS(SPAN, COUNT)                                                             \
	SPAN(OPEN_RUN, "run", "running")                                                           \
	COUNT(OPEN_READY, "ready", "ready")                                                        \
	COUNT(OPEN_STOPPED, "stopped", "stopped")

struct period_words {
	const char *key, *label;
};
extern const struct period_words period_words[OPEN_KINDS]; /* empty for OPEN_CALL */

struct ledger_words {
	const char *key, *title;
	enum kd_state of; /* KD_UNSEEN: not a state of the kernel side */
	bool rare;        /* left out of the report if 0 */
};
extern const struct ledger_words ledger_words[LEDGER_STATES];

/* Ledger state of a kernel side state; NULL: none. */
const struct ledger_words *ledger_words_of(uint32_t state);

/* What blocked threads wait for: ROW(kind, key, title). Reports sort by time; ties keep this
 * order. */
#define AWAITED_WORDS(ROW)                                                                         \
	ROW(KD_AWAITED_WORK, "work", "work (poll, accept)")                                        \
	ROW(KD_AWAITED_LOCK, "lock", "lock")                                                       \
	ROW(KD_AWAITED_KERNEL_LOCK, "kernel_lock", "lock of the kernel")                           \
	ROW(KD_AWAITED_DISK, "disk", "disk")                                                       \
	ROW(KD_AWAITED_PAGE, "page", "page of memory")                                             \
	ROW(KD_AWAITED_FILE, "file", "file system")                                                \
	ROW(KD_AWAITED_PIPE, "pipe", "pipe")                                                       \
	ROW(KD_AWAITED_SOCKET, "socket", "socket")                                                 \
	ROW(KD_AWAITED_EVENTFD, "eventfd", "eventfd")                                              \
	ROW(KD_AWAITED_TTY, "tty", "terminal")                                                     \
	ROW(KD_AWAITED_CHILD, "child", "child process")                                            \
	ROW(KD_AWAITED_TIMER, "timer", "timer (sleep)")                                            \
	ROW(KD_AWAITED_SIGNAL, "signal", "signal")                                                 \
	ROW(KD_AWAITED_KERNEL, "kernel", "kernel, outside calls")                                  \
	ROW(KD_AWAITED_OTHER, "other", "other")
extern const char *const awaited_keys[KD_AWAITED_KINDS], *const awaited_titles[KD_AWAITED_KINDS];

/* Locks: ROW(kind, key). */
#define LOCK_WORDS(ROW)                                                                            \
	ROW(KD_LOCK_NO_OWNER, "futex")                                                             \
	ROW(KD_LOCK_CONDITION, "condition")                                                        \
	ROW(KD_LOCK_MUTEX, "mutex")                                                                \
	ROW(KD_LOCK_PI, "pi_mutex")                                                                \
	ROW(KD_LOCK_ROBUST, "robust_mutex")                                                        \
	ROW(KD_LOCK_RWLOCK, "rwlock")                                                              \
	ROW(KD_LOCK_JOIN, "join")                                                                  \
	ROW(KD_LOCK_OTHER, "other")                                                                \
	ROW(KD_LOCK_KERNEL_MUTEX, "kernel_mutex")                                                  \
	ROW(KD_LOCK_KERNEL_RWSEM_READ, "kernel_rwsem_read")                                        \
	ROW(KD_LOCK_KERNEL_RWSEM_WRITE, "kernel_rwsem_write")                                      \
	ROW(KD_LOCK_KERNEL_MMAP_READ, "mmap_lock_read")                                            \
	ROW(KD_LOCK_KERNEL_MMAP_WRITE, "mmap_lock_write")                                          \
	ROW(KD_LOCK_KERNEL_PERCPU_READ, "percpu_rwsem_read")                                       \
	ROW(KD_LOCK_KERNEL_PERCPU_WRITE, "percpu_rwsem_write")                                     \
	ROW(KD_LOCK_KERNEL_RTMUTEX, "kernel_rtmutex")                                              \
	ROW(KD_LOCK_KERNEL_SEMAPHORE, "kernel_semaphore")
extern const char *const lock_keys[KD_LOCK_KINDS];

/* Context of a wakeup: ROW(context, key). */
#define FROM_WORDS(ROW)                                                                            \
	ROW(KD_FROM_UNKNOWN, "unknown")                                                            \
	ROW(KD_FROM_TASK, "task")                                                                  \
	ROW(KD_FROM_TIMER, "timer")                                                                \
	ROW(KD_FROM_NETWORK, "network")                                                            \
	ROW(KD_FROM_DISK, "disk")                                                                  \
	ROW(KD_FROM_INTERRUPT, "interrupt")
extern const char *const from_keys[KD_FROM_CONTEXTS];

/* Outcomes of trigger hits: ROW(outcome, key, title). */
#define OUTCOME_WORDS(ROW)                                                                         \
	ROW(KD_HIT_USED, "used", "USED")                                                           \
	ROW(KD_HIT_SKIPPED, "skipped", "SKIPPED")                                                  \
	ROW(KD_HIT_MISSED, "missed", "MISSED")                                                     \
	ROW(KD_HIT_OVERLAPPED, "overlapped", "OVERLAPPED")                                         \
	ROW(KD_HIT_IDLE, "idle", "IDLE")                                                           \
	ROW(KD_HIT_ENDED, "ended", "ENDED")                                                        \
	ROW(KD_HIT_UNMATCHED, "unmatched", "UNMATCHED")
extern const char *const outcome_titles[KD_OUTCOMES];

extern const char *const role_keys[KD_ROLES];

/* Softirqs by vector, as in the kernel's softirq_name[]. */
#define SOFTIRQS 10
extern const char *const softirq_names[SOFTIRQS];

/* Kinds of descriptors: ROW(kind, key, title). */
#define IO_WORDS(ROW)                                                                              \
	ROW(KD_IO_NETWORK, "network", "network")                                                   \
	ROW(KD_IO_FILE, "file", "file, disk")                                                      \
	ROW(KD_IO_PIPE, "pipe", "pipe, unix socket")                                               \
	ROW(KD_IO_TTY, "tty", "terminal")                                                          \
	ROW(KD_IO_OTHER, "other", "other")
extern const char *const io_keys[KD_IO_KINDS], *const io_titles[KD_IO_KINDS];

#endif
