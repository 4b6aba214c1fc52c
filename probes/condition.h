/* SPDX-License-Identifier: Apache-2.0 */
/* From what a trigger's condition says (predicate.h) to what the kernel side tests at a site:
 * where the values are there. */
#ifndef CONDITION_H
#define CONDITION_H

#include "bpf/kernel_delay.h"
#include "cli/base/exit_status.h"
#include "probes/elf/usdt.h"
#include "predicate.h"
#include "sites.h"
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

/* --- The conditions of a trigger's sites --- */

/* One trigger's. Its sites share one, except those of USDT probes, which may have the same
 * argument in different places: a site has the number of its own (struct site). */
struct conditions {
	size_t n;
	struct kd_condition all[KD_CONDITIONS];
};

/* Makes the conditions of sites that were found for a trigger, and adds those that are new; without
 * one nothing is done. The first call sets *conditions, which the caller frees. Returns 0, or after
 * printing what is wrong an exit status. */
exit_status conditions_add(struct conditions **conditions, const struct trigger *trigger,
			   struct sites *sites);

/* Prints what is wrong with a trigger's condition at a byte of the trigger's text, and the grammar;
 * returns the exit status. */
exit_status condition_refuse(const char *text, size_t at, const char *why);

#endif
