// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "slots.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "cli/base/log.h"
#include "maps.h"
#include "parts.h"
#include "kernel_delay.skel.h"

#define FRONTS_PER_SLOT 8

exit_status tids_select(struct kernel_delay *skel, uint32_t slots)
{
	uint32_t capacity = 1U << KD_TID_BITS;

	while (capacity < slots * FRONTS_PER_SLOT)
		capacity *= 2;
	skel->rodata->kd_tid_fronts_size = capacity;
	return session_map_resize(skel->maps.kd_tids, 2 * slots + KD_TID_MARKS)
		       ?: session_map_resize(skel->maps.kd_tid_fronts, capacity);
}

int tid_set(const struct kernel_delay *skel, pid_t tid, uint32_t slot)
{
	int tids = bpf_map__fd(skel->maps.kd_tids), fronts = bpf_map__fd(skel->maps.kd_tid_fronts);
	uint32_t key = (uint32_t)tid, index = key & (skel->rodata->kd_tid_fronts_size - 1);
	uint16_t upper = (uint16_t)((key >> KD_TID_BITS) + 1);
	struct kd_tid_front front;

	if (bpf_map_lookup_elem(fronts, &index, &front))
		return -errno;
	if (slot == KD_SLOT_FREE) {
		if (front.upper == upper)
			front.slot = front.upper = 0;
		front.tids -= !bpf_map_delete_elem(tids, &key);
	} else {
		if (!bpf_map_update_elem(tids, &key, &slot, BPF_NOEXIST))
			front.tids++;
		else if (bpf_map_update_elem(tids, &key, &slot, BPF_EXIST))
			return -errno;
		if (!front.upper || front.upper == upper) {
			front.slot = (uint16_t)slot;
			front.upper = upper;
		}
	}
	return bpf_map_update_elem(fronts, &index, &front, BPF_ANY) ? -errno : 0;
}

void tids_clear(const struct kernel_delay *skel)
{
	int tids = bpf_map__fd(skel->maps.kd_tids);
	uint32_t tid;

	for (uint32_t left = bpf_map__max_entries(skel->maps.kd_tids);
	     left && !bpf_map_get_next_key(tids, NULL, &tid); left--)
		tid_set(skel, (pid_t)tid, KD_SLOT_FREE);
}

uint32_t view_slot(const struct session_view *view, pid_t tid)
{
	for (uint32_t slot = 1; slot < view->slots; slot++)
		if (view->threads[slot].task && (pid_t)view->threads[slot].tid == tid)
			return slot;
	return KD_SLOT_FREE;
}

void session_slot_free(struct session *session, uint32_t slot)
{
	parts_free_slot(session, slot);
	memset(&session->threads[slot], 0, sizeof(*session->threads));
	for (uint32_t bank = 0; bank < session->banks; bank++)
		memset(&session->records[(size_t)bank * session->slots + slot], 0,
		       sizeof(*session->records));
	if (queue_put(bpf_map__fd(session->skel->maps.kd_free_slots), slot))
		log_warn("cannot give back a slot: %s; one thread less can be followed",
			 strerror(errno));
}
