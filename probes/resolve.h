/* SPDX-License-Identifier: Apache-2.0 */
/* Where the probes of a trigger are. */
#ifndef RESOLVE_H
#define RESOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/base/exit_status.h"
#include "cli/base/signals.h"
#include "instruction_class.h"
#include "trigger.h"

/* Which file it is: probes are in it, whatever leads there. Within containers that share
 * files, a file has a device of each of them, and one of its own. */
struct file_id {
	uint64_t device; /* 0: of such a container */
	uint64_t inode;
	int64_t changed; /* when, ns; 0: the device is known */
};

bool file_id_is(const struct file_id *a, const struct file_id *b);

/* One site to attach to. Strings and the file belong to the sites. */
struct site {
	int fd;              /* user space: the object's file, open for reading; kernel: -1 */
	struct file_id file; /* which that is */
	const char *object;  /* user space: its path as the target has it mapped; else NULL */
	const char *group;   /* USDT: the provider; tracepoint: the system; else NULL */
	const char *name;    /* of the function, probe or event; "" if only the address is known */
	uint64_t offset;     /* into the file or the kernel's function */
	bool on_return;      /* by a return probe at the function's first instruction */
	/* Of a trigger on a return: this is one of the instructions that return, so many bytes
	 * after the function's first, as a return probe might be deadly: why. Else NULL. */
	const char *danger;
	int64_t into;
	bool go;               /* code of Go, which moves between threads */
	uint64_t semaphore;    /* USDT: offset of the semaphore in the file; 0: none */
	const char *arguments; /* USDT: where they are (usdt_argument.h); else NULL */
	uint32_t condition;    /* which of the trigger's it is: the cookie; set by the caller */
	enum instruction_class instruction; /* of user space; the one that is probed */
};

struct conditions;
struct sites;

/* Finds all sites that a trigger names in the process or the kernel. Returns 0;
 * or, after printing what is wrong and which names come close (or, where the
 * name is ambiguous, the choices), EX_CONFIG for a trigger that names nothing,
 * else another exit status. The process's files are read by another process (reader.h), for which
 * this one waits as signals_wait() does. The caller frees *sites. */
exit_status sites_find(struct sites **sites, const struct trigger *trigger, pid_t pid,
		       struct signals *signals);

/* Takes out the sites that others have, too, and which would be hit twice. */
void sites_subtract(struct sites *sites, const struct sites *others);

/* NULL is allowed. */
void sites_free(struct sites *sites);

/* All sites of a trigger, in one or more sets; no set: there is no trigger. */
struct trigger_sites {
	const struct trigger *trigger;
	struct sites *const *sets;
	size_t n_sets;
	struct conditions *const *conditions; /* *conditions NULL: all hits count */
};

/* Whether two of them are in the same file, and there. */
bool site_is(const struct site *a, const struct site *b);

size_t sites_count(const struct sites *sites);

/* They cannot be probed: no attachment has them from now on. Their files are known still. */
void sites_leave_out(struct sites *sites);
bool sites_are_left_out(const struct sites *sites);

const struct site *sites_get(const struct sites *sites, size_t index);

/* Says which of its trigger's conditions a site has. */
void sites_set_condition(struct sites *sites, size_t index, uint32_t condition);

#endif
