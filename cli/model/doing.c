// SPDX-License-Identifier: Apache-2.0
#include "doing.h"

#include "cli/base/arith.h"

void doing_limit(struct kd_doing *doing, uint64_t ns)
{
	uint64_t sum = u64_add(u64_add(doing->running, doing->ready), doing->asleep), part;

	for (uint64_t excess = u64_sub(sum, ns); excess; excess -= part) {
		__u64 *most = &doing->running;

		if (doing->ready > *most)
			most = &doing->ready;
		if (doing->asleep > *most)
			most = &doing->asleep;
		part = u64_min(excess, *most);
		*most -= part;
	}
}
