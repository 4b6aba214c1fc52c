/* SPDX-License-Identifier: Apache-2.0 */
/* From what a trigger's condition says (predicate.h) to what the kernel side tests at a site:
 * where the values are there. */
#ifndef CONDITION_H
#define CONDITION_H

#include "bpf/kernel_delay.h"
#include "predicate.h"
#include "registers.h"
#include "trigger.h"

/* What of a site decides where values are. */
struct condition_place {
	enum register_machine machine;
	enum trigger_kind kind;
	bool at_entry;         /* of a function: arguments are where the caller has put them */
	bool call_exit;        /* of a tracepoint in `syscalls`: the exit, not the entry */
	bool is_call;          /* it is one of a single system call */
	const char *arguments; /* of a USDT probe, as its note has them */
	const char *format;    /* of a tracepoint, as tracefs has it; or NULL */
};

/* Fills *condition. Returns 0; or -EINVAL, and *error says what is wrong, and where in the
 * predicate's text. */
int condition_make(struct kd_condition *condition, const struct predicate *predicate,
		   const struct condition_place *place, struct predicate_error *error);

#endif
