/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Upcalls of the Open vSwitch kernel module: packets passed to ovs-vswitchd, on any CPU and on
 * top of any thread. */
#ifndef UPCALL_BPF_H
#define UPCALL_BPF_H

#include "window.bpf.h"

static __noinline void upcalls_reset(struct kd_upcalls *upcalls, u64 gen)
{
	for (u32 i = 0; i < KD_ERRNOS; i++)
		WRITE_ONCE(upcalls->count[i], 0); /* to avoid a call of memset() */
	upcalls->gen = gen;
}

static __noinline void upcall_count(u32 bank, u64 gen, u32 error)
{
	u32 index = bank * kd_cpus + bpf_get_smp_processor_id();
	struct kd_upcalls *upcalls = bpf_map_lookup_elem(&kd_upcalls, &index);

	if (!upcalls)
		return;
	if (upcalls->gen != gen)
		upcalls_reset(upcalls, gen);
	barrier_var(error);
	if (error < KD_ERRNOS)
		upcalls->count[error]++;
}

static __always_inline void upcall_end(s32 result)
{
	u64 word = READ_ONCE(kd_word), t;
	u32 error = -result;
	struct overlap overlap;

	if (!word)
		return;
	if (error >= KD_ERRNOS)
		error = KD_ERRNOS - 1;
	t = clock_now();
	if (word & KD_WORD_OPEN && t >= word >> KD_WORD_SHIFT)
		upcall_count(kd_word_bank(word), word, error);
	else
		FOR_EACH_BANK(bank)
		{
			if (window_overlap(bank, t, t, &overlap))
				upcall_count(bank, overlap.gen, error);
		}
}

#endif
