/* SPDX-License-Identifier: Apache-2.0 */
/* What one sleep was for: by its wait channel, by what the program calls it, or else by the kind of
 * call or descriptor. */
#ifndef VERDICT_SLEEP_H
#define VERDICT_SLEEP_H

#include "thread_row.h"
#include "user_wait.h"
#include "verdict_claims.h"

enum sleep_class {
	SLEEP_UNKNOWN,
	SLEEP_IDLE,
	SLEEP_ANSWER, /* for what another process sends; idle if it does not in all of the window */
	SLEEP_FUTEX,  /* a lock, or a signal of another thread */
	SLEEP_FAULT,  /* in a page fault: claimed as such */
	SLEEP_LOSS,   /* kept from running by: */
};

struct sleep {
	enum sleep_class class;
	enum cause cause;             /* SLEEP_LOSS, SLEEP_ANSWER */
	const char *words;            /* that follow "waited for"; NULL: the cause says it */
	const struct user_wait *user; /* what the program calls it; NULL: unknown */
};

struct sleep sleep_of(const struct thread_row *thread, const struct descriptor_row *row);

/* Sets what a claim says of a sleep with this cause, but not its time. */
void sleep_describe(struct claim *claim, const struct sample *sample, enum cause cause,
		    const struct thread_row *thread, const struct descriptor_row *row,
		    const struct sleep *sleep);

/* The same for a sleep of a thread for which another one waited. Returns its cause; CAUSES: it is
 * no loss. */
enum cause sleep_loss(struct claim *claim, const struct sample *sample,
		      const struct thread_row *thread, const struct descriptor_row *row);

/* True for a lock in user space that someone had: its holder, or of a lock that does not record
 * one, who ended the waits, if these were several. */
bool lock_is_had(const struct lock_row *lock);

/* Waits for such locks. */
struct kd_count locks_had(const struct thread_row *thread);

#endif
