/* SPDX-License-Identifier: Apache-2.0 */
/* Drops what this process no longer needs, for good. */
#ifndef CONFINE_H
#define CONFINE_H

#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>

#define CAPABILITY(number) (1ULL << (number))

/* System calls that are refused unless kept. Others such as reboot(2) are always refused; what
 * ordinary processes do stays possible. */
enum confine_calls {
	CONFINE_ATTACH = 1,   /* load BPF programs, open perf events */
	CONFINE_EXECUTE = 2,  /* another program */
	CONFINE_USERS = 4,    /* become another user, or change the root directory */
	CONFINE_DETACH = 8,   /* from a traced process; nothing else of ptrace(2) */
	CONFINE_MOUNT = 16,   /* in its own mount namespace */
	CONFINE_SOCKETS = 32, /* create and connect sockets other than pairs */
};

/* What is kept. */
struct confine {
	uint64_t capabilities; /* CAPABILITY() bits, if present */
	unsigned int calls;    /* enum confine_calls bits */
};

/* True if this thread may have a capability. */
bool confine_has(unsigned int capability);

/* Drops other capabilities from this thread, and all from the sets that execve() could regain
 * some from. Other threads keep theirs, so they should have none. All threads get no_new_privs
 * and a filter that refuses system calls with EPERM; children inherit both. Returns 0, or a
 * negative errno with *what naming the failed step; the other steps are still done. */
int confine(const struct confine *left, const char **what);

/* --- Capabilities --- */

/* Linux 5.8 and 5.9; build headers may be older. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

/* True if this process has it (CAP_...) in its effective set. */
bool capability_has(int capability);

/* Hints at what is needed to inspect another process when the kernel denies it; instead: an
 * alternative, or NULL. */
void capability_hint_ptrace(const char *instead);

/* True if perf_event_open(2) needs CAP_SYS_ADMIN, or the setting that says so is unreadable. */
bool perf_needs_admin(void);

/* Hints at why perf_event_open(2) is not permitted. */
void capability_hint_perf(void);

#endif
