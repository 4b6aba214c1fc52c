/* SPDX-License-Identifier: Apache-2.0 */
/* The triggers' programs, their probes and what they report. Part of the
 * session. */
#ifndef SESSION_TRIGGERS_H
#define SESSION_TRIGGERS_H

#include "../../bpf/kernel_delay.h"

#include "session.h"

struct attachment;
struct bpf_program;
struct kernel_delay;
struct ring_buffer;

struct triggers {
	struct kernel_delay *skel;
	struct bpf_program *programs[KD_ROLES]; /* NULL: none */
	const struct trigger *texts[KD_ROLES];
	bool calls[KD_ROLES]; /* the role's program is at all system calls */
	struct attachment *attachments[KD_ROLES];
	uint64_t costs[KD_ROLES];              /* of a hit; 0: not measured yet */
	struct attachment *measured[KD_ROLES]; /* what that was done with */
	struct ring_buffer *ring;
	bool on, token;
	session_event_fn *found; /* of the walk in progress */
	void *context;
};

/* Before loading: switches the programs on that the triggers need, and tells
 * them what the triggers mean. Classic: programs at system calls' own tracepoints may
 * be preempted, so those that all calls pass are used. Returns 0 or an exit
 * status. */
int triggers_select(struct triggers *triggers, struct kernel_delay *skel, bool classic,
		    const struct session_config *config);

/* The map of which edges need the token; -1 if they need none. */
int triggers_token(const struct triggers *triggers);

/* Attaches the probes. Returns 0, or after printing what failed an exit status. */
int triggers_attach(struct triggers *triggers, const struct session_config *config);

/* See the functions of the session that are named alike. */
int triggers_events_fd(const struct triggers *triggers);
int triggers_events(struct triggers *triggers, session_event_fn *found, void *context);
uint64_t triggers_skipped(const struct triggers *triggers);
uint64_t triggers_hit_cost(struct triggers *triggers, enum kd_role role);
int triggers_tally(const struct triggers *triggers, struct kd_tally *sum);

void triggers_detach(struct triggers *triggers);

/* Detaches and frees all. */
void triggers_close(struct triggers *triggers);

#endif
