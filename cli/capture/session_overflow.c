// SPDX-License-Identifier: Apache-2.0
#include "session_overflow.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "kernel_delay.skel.h"

int overflow_read(const struct kernel_delay *skel, session_overflow_fn *found, void *context)
{
	int fd = bpf_map__fd(skel->maps.kd_overflow);
	uint32_t room = bpf_map__max_entries(skel->maps.kd_overflow), n = 0;
	struct kd_overflow_key *keys;
	struct kd_count count;
	int result = 0;

	if (!__atomic_load_n(&skel->bss->kd_overflowed, __ATOMIC_RELAXED))
		return 0;
	keys = calloc(room, sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	while (n < room && !bpf_map_get_next_key(fd, n ? &keys[n - 1] : NULL, &keys[n]))
		n++;
	for (uint32_t i = 0; i < n && result >= 0; i++) {
		if (bpf_map_lookup_elem(fd, &keys[i], &count))
			continue;
		result = found(context, &keys[i], &count);
		if (result > 0)
			bpf_map_delete_elem(fd, &keys[i]);
	}
	free(keys);
	return result < 0 ? result : 0;
}
