/* SPDX-License-Identifier: Apache-2.0 */
/* Takes from this process, for good, what it will not need any more. */
#ifndef CONFINE_H
#define CONFINE_H

#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>

#define CAPABILITY(number) (1ULL << (number))

/* System calls that are refused unless they are left to it. Some others are refused in any case, as
 * reboot(2); what any process does stays possible. */
enum confine_calls {
	CONFINE_ATTACH = 1,   /* load BPF programs, open perf events */
	CONFINE_EXECUTE = 2,  /* another program */
	CONFINE_USERS = 4,    /* become another user, or have another root directory */
	CONFINE_DETACH = 8,   /* from a process that it traces; nothing else of ptrace(2) */
	CONFINE_MOUNT = 16,   /* in a mount namespace of its own */
	CONFINE_SOCKETS = 32, /* make and connect sockets other than pairs */
};

/* What is left. */
struct confine {
	uint64_t capabilities; /* a combination of CAPABILITY(): if it has them */
	unsigned int calls;    /* a combination of enum confine_calls */
};

/* True if this thread may have a capability. */
bool confine_has(unsigned int capability);

/* Other capabilities are taken from this thread, and all from the sets that an execve() would give
 * some back from; other threads keep theirs, so they should have none. All threads get
 * no_new_privs and a filter that refuses these system calls with EPERM; children inherit both.
 * Returns 0, or a negative errno and in *what a name for what could not be done: the rest is done
 * then. */
int confine(const struct confine *left, const char **what);

/* --- Capabilities --- */

/* Linux 5.8 and 5.9; the headers at build may be older. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

/* Whether this process has it (CAP_...), in its effective set. */
bool capability_has(int capability);

/* Says, as a hint, what it takes to look into another process that the kernel does not let us
 * look into; and, if instead is not NULL, how to do without. */
void capability_hint_ptrace(const char *instead);

#endif
