/* SPDX-License-Identifier: Apache-2.0 */
/* Wait channels (wchan, as ps calls them): kernel functions in which threads sleep, and what they
 * wait for there. The table is wchans.in. */
#ifndef WCHAN_H
#define WCHAN_H

#include <stddef.h>

/* What kind of thing ends the wait: ROW(cause, key). wchans.in has the keys. Added to, never
 * changed, as the keys of words.h. */
/* clang-format off */
#define WCHAN_CAUSE_WORDS(ROW)                                                                     \
	/* Nobody's fault, or so it seems. */                                                      \
	ROW(WCHAN_IDLE, "idle")       /* work, an event or input, which need not come */           \
	ROW(WCHAN_TIME, "time")       /* a sleep or timer that the program chose */                \
	/* The function does not say: look at what ended the wait. */                              \
	ROW(WCHAN_FUTEX, "futex")     /* another thread of the program: a lock, or work? */        \
	ROW(WCHAN_POLL, "poll")       /* one of several things: work, or an answer? */             \
	/* Someone else. */                                                                        \
	ROW(WCHAN_PEER, "peer")       /* the other end must read, answer, connect, or accept */    \
	ROW(WCHAN_LOCK, "lock")       /* a lock of the kernel, which someone holds */              \
	ROW(WCHAN_FILELOCK, "filelock") /* a lock on a file, which someone holds */                \
	ROW(WCHAN_LEASE, "lease")     /* a lease on a file */                                      \
	ROW(WCHAN_CHILD, "child")     /* a process that it started, or traces */                   \
	ROW(WCHAN_DAEMON, "daemon")   /* a process that serves it: a scanner, a supervisor */      \
	ROW(WCHAN_FUSE, "fuse")       /* the one that serves its file system */                    \
	ROW(WCHAN_PAGER, "pager")     /* the one that fills its memory */                          \
	ROW(WCHAN_NET, "net")         /* a file server in the network */                           \
	/* The machine and its kernel. */                                                          \
	ROW(WCHAN_DISK, "disk")       /* requests to a disk, data of files */                      \
	ROW(WCHAN_FS, "fs")           /* a file system's journal, or other work of its own */      \
	ROW(WCHAN_LIMIT, "limit")     /* a limit of its control group on disk I/O */               \
	ROW(WCHAN_MEMORY, "memory")   /* memory to be freed; limits on memory */                   \
	ROW(WCHAN_PAGE, "page")       /* the page of a page fault */                               \
	ROW(WCHAN_RCU, "rcu")         /* all CPUs to have passed a point */                        \
	ROW(WCHAN_KERNEL, "kernel")   /* other work of the kernel */                               \
	ROW(WCHAN_DEVICE, "device")   /* a device that is no disk */                               \
	ROW(WCHAN_STOP, "stop")       /* to be continued: it is stopped, traced, or frozen */      \
	/* Nothing in particular: its caller says what. */                                         \
	ROW(WCHAN_THROUGH, "through")
/* clang-format on */

#define WCHAN_CAUSE(cause, key) cause,
enum wchan_cause { WCHAN_CAUSE_WORDS(WCHAN_CAUSE) WCHAN_CAUSES };
#undef WCHAN_CAUSE

extern const char *const wchan_cause_keys[WCHAN_CAUSES];

struct wchan {
	const char *function;
	const char *caller; /* the row is for calls by this one; NULL: by any */
	enum wchan_cause cause;
	const char *words; /* end the sentence "waited for ..." */
};

/* First of these n names of functions, innermost first, that has a row other than "through"; NULL
 * if none has. Names are as the kernel prints addresses (%ps): "do_wait+0x5c/0x100",
 * "nfs_wait_bit_killable [nfs]"; or by wchan_name(). NULL and "" are skipped. Sets *at, if not
 * NULL, to the name's index; without a row, to that of the name that says most, the first that is
 * not "through"; to n if there is none. */
const struct wchan *wchan_find(const char *const *names, size_t n, size_t *at);

/* Writes a name that finds the row (NULL: none) again: the function's as the source has it, and, if
 * the row is for calls by one other only, that one's: "percpu_rwsem_wait<vfs_write". */
void wchan_name(char *name, size_t size, const char *function, const struct wchan *row);

/* The row of a name by wchan_name(); NULL if it has none. */
const struct wchan *wchan_of(const char *name);

/* Length of the function alone in such a name, without its caller. */
size_t wchan_function_length(const char *name, size_t size);

/* --- Names of functions, of the kernel and of programs --- */

/* Length of the name as the source has it: without arguments, offset and module, and without what
 * compilers add to clones and parts of it (".isra.0", ".cold"). 0 for NULL. */
size_t function_name_length(const char *name);

/* Order of a name, which may have these, and one of a table; as of strcmp(). */
int function_name_order(const char *name, const char *in_table);

#endif
