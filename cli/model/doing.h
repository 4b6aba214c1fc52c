/* SPDX-License-Identifier: Apache-2.0 */
/* What the holder of a lock did while another thread waited for it. */
#ifndef DOING_H
#define DOING_H

#include <stdint.h>

#include "bpf/kernel_delay.h"

/* Takes away what is more than a wait of so many ns: of what the holder did later it is not known
 * what that was, so it is taken from what it did most. */
void doing_limit(struct kd_doing *doing, uint64_t ns);

#endif
