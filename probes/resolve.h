/* SPDX-License-Identifier: Apache-2.0 */
/* Where the probes of a trigger are. */
#ifndef RESOLVE_H
#define RESOLVE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "trigger.h"

/* One place to attach to. Strings and the file belong to the places. */
struct place {
	int fd;             /* user space: the object's file, open for reading; kernel: -1 */
	const char *object; /* user space: its path as the target has it mapped; else NULL */
	const char *group;  /* USDT: the provider; tracepoint: the system; else NULL */
	const char *name;   /* of the function, probe or event; "" if only the address is known */
	uint64_t offset;    /* into the file or the kernel's function; tracepoint: the cookie */
	uint64_t semaphore; /* USDT: offset of the semaphore in the file; 0: none */
};

struct places;

/* Finds all places that a trigger names in the process or the kernel. Returns 0;
 * or, after printing what is wrong and which names come close (or, where the
 * name is ambiguous, the choices), EX_CONFIG for a trigger that names nothing,
 * else another exit status. The caller frees *places. */
int places_find(struct places **places, const struct trigger *trigger, pid_t pid);

/* NULL is allowed. */
void places_free(struct places *places);

size_t places_count(const struct places *places);
const struct place *places_get(const struct places *places, size_t index);

#endif
