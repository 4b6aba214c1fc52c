/* SPDX-License-Identifier: Apache-2.0 */
/* Durations of threads, by powers of two. */
#ifndef PART_HISTOGRAMS_H
#define PART_HISTOGRAMS_H

#include <stdint.h>

#include "cli/capture/session/types.h"

struct distribution;
struct session;

/* Appends the durations of one kind (see struct kd_histogram_set) of a slot's thread in a
 * window; none without histograms. Returns 0 or -ENOMEM. */
int session_histogram(const struct session *session, const struct session_view *view, uint32_t slot,
		      uint32_t kind, struct distribution *distribution);

/* Adds a duration as the BPF side would; none without histograms. Returns 0 or -ENOMEM. */
int session_histogram_add(const struct session *session, struct distribution *distribution,
			  uint64_t ns);

#endif
