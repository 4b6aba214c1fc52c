/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Upcalls of the openvswitch kernel module: packets handed to ovs-vswitchd, on
 * whatever CPU and on top of whatever thread. */
#ifndef UPCALL_BPF_H
#define UPCALL_BPF_H

#include "window.bpf.h"

static __noinline void upcalls_reset(struct kd_upcalls *upcalls, u64 gen)
{
	for (u32 i = 0; i < KD_ERRNOS; i++)
		WRITE_ONCE(upcalls->count[i], 0); /* not to become a call of memset() */
	upcalls->gen = gen;
}

static __always_inline void upcall_end(s32 result)
{
	u64 word = READ_ONCE(kd_word);
	u32 place = -result, index;
	struct kd_upcalls *upcalls;

	if (!(word & KD_WORD_OPEN) || clock_now() < word >> KD_WORD_SHIFT)
		return;
	index = word_bank(word) * kd_cpus + bpf_get_smp_processor_id();
	upcalls = bpf_map_lookup_elem(&kd_upcalls, &index);
	if (!upcalls)
		return;
	if (upcalls->gen != word)
		upcalls_reset(upcalls, word);
	if (place >= KD_ERRNOS)
		place = KD_ERRNOS - 1;
	barrier_var(place);
	if (place < KD_ERRNOS)
		upcalls->count[place]++;
}

#endif
