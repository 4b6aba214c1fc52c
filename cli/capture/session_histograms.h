/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel side's histograms of durations, if there are any. Part of the session. */
#ifndef SESSION_HISTOGRAMS_H
#define SESSION_HISTOGRAMS_H

#include <stdint.h>

#include "cli/base/exit_status.h"
#include "session.h"

struct kernel_delay;

struct histograms {
	struct kernel_delay *skel;
	struct kd_histogram_set *sets; /* by slot */
	struct kd_histogram *memory;   /* room of them for each bank */
	uint32_t slots, banks, room;   /* room 0: there are none */
};

/* Before loading: makes room for them. Returns 0, or after printing what failed an exit
 * status. */
exit_status histograms_select(struct histograms *histograms, struct kernel_delay *skel,
			      uint32_t slots, uint32_t banks);

/* After loading. Returns as above. */
exit_status histograms_map(struct histograms *histograms);

/* Appends the durations of one kind (see struct kd_histogram_set) of a slot's thread in
 * the window that is in this bank; none, if there are none. Returns 0 or -ENOMEM. */
int histograms_read(const struct histograms *histograms, const struct session_view *view,
		    uint32_t slot, uint32_t kind, struct distribution *distribution);

/* Adds a duration as the kernel side would have; none, if there are none. Returns 0 or
 * -ENOMEM. */
int histograms_add(const struct histograms *histograms, struct distribution *distribution,
		   uint64_t ns);

/* Nobody's are those of a slot whose thread has ended. */
void histograms_free_slot(struct histograms *histograms, uint32_t slot);

void histograms_close(struct histograms *histograms);

#endif
