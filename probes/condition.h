/* SPDX-License-Identifier: Apache-2.0 */
/* Turns a trigger's condition (predicate.h) into tests on the BPF side: finds where the values
 * are at a site. */
#ifndef CONDITION_H
#define CONDITION_H

#include "bpf/kernel_delay.h"
#include "cli/base/exit_status.h"
#include "probes/elf/usdt.h"
#include "predicate.h"
#include "sites.h"
#include "trigger.h"

/* Properties of a site that decide where values are. */
struct condition_location {
	enum register_machine machine;
	enum trigger_kind kind;
	bool at_entry;         /* of a function: arguments are where the caller puts them */
	bool call_exit;        /* of a tracepoint in `syscalls`: the exit, not the entry */
	bool is_call;          /* a tracepoint of a single system call */
	const char *arguments; /* of a USDT probe, as in its note */
	const char *format;    /* of a tracepoint, as in tracefs; or NULL */
};

/* Fills *condition. Returns 0; or -EINVAL, and *error says what is wrong and where in the text. */
int condition_make(struct kd_condition *condition, const struct predicate *predicate,
		   const struct condition_location *location, struct predicate_error *error);

/* --- The conditions of a trigger's sites --- */

/* Conditions of one trigger. Sites share one, except USDT probes, which may have an argument in
 * different places: a site holds its number (struct site). */
struct conditions {
	size_t n;
	struct kd_condition all[KD_CONDITIONS];
};

/* Makes the conditions of some of a trigger's sites and adds new ones; does nothing without a
 * condition. The first call sets given->conditions, which the caller frees. Returns 0, or an exit
 * status after printing what is wrong. */
exit_status conditions_add(struct trigger_sites *given, struct sites *sites);

/* Prints an error at a byte of the trigger's text, and the grammar. Returns the exit status. */
exit_status condition_refuse(const char *text, size_t at, const char *why);

#endif
