// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "session_parts.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "cli/base/clock.h"
#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "kernel_delay.skel.h"

/* --- Memory of BPF maps --- */

#define MUCH (512ULL << 20) /* bytes: about 17,000 threads with triggers, 55,000 without */

/* The kernel rounds array entries up to 64-bit words. */
static size_t array_bytes(const struct bpf_map *map)
{
	return bpf_map__max_entries(map) * (((size_t)bpf_map__value_size(map) + 7) & ~(size_t)7);
}

void *session_map(struct session *session, const struct bpf_map *map)
{
	size_t size = array_bytes(map);
	void *memory = MAP_FAILED;

	errno = ENOMEM;
	if (session->n_memory < SESSION_MAPS)
		memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
	if (memory == MAP_FAILED) {
		log_error("cannot map the BPF map %s: %s", bpf_map__name(map), strerror(errno));
		return NULL;
	}
	madvise(memory, size, MADV_DONTFORK);
	session->memory[session->n_memory++] = (struct session_memory){ memory, size };
	return memory;
}

void session_unmap(struct session *session)
{
	while (session->n_memory) {
		const struct session_memory *memory = &session->memory[--session->n_memory];

		munmap(memory->at, memory->size);
	}
}

exit_status session_map_resize(struct bpf_map *map, uint64_t entries)
{
	int error = entries > UINT32_MAX ? -E2BIG
					 : bpf_map__set_max_entries(map, (uint32_t)entries);

	if (!error)
		return 0;
	log_error("cannot size the BPF map %s: %s", bpf_map__name(map), strerror(-error));
	return EX_OSERR;
}

void session_maps_omit(struct bpf_map *const *maps, size_t n)
{
	for (size_t i = 0; i < n; i++)
		bpf_map__set_autocreate(maps[i], false);
}

void session_memory_keep(struct bpf_object *object)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
	{
		size_t size;
		const void *memory = bpf_map__initial_value(map, &size);

		if (memory)
			madvise((void *)memory, size, MADV_DONTFORK);
	}
}

/* Approximate bytes of a hash entry beside its key and value. Arrays have no keys. */
#define TABLE_ENTRY 64

static uint64_t map_bytes(const struct bpf_map *map)
{
	uint64_t value = bpf_map__value_size(map);

	if (bpf_map__type(map) == BPF_MAP_TYPE_HASH)
		value += bpf_map__key_size(map) + TABLE_ENTRY;
	return bpf_map__max_entries(map) * value;
}

void session_memory_tell(const struct session *session)
{
	const struct kernel_delay *skel = session->skel;
	const struct session_config *config = session->config;
	const char *banks =
		config->banks > 2 ? "; so do fewer banks of a trigger (banks=N)"
		: config->banks == 2
			? "; so does one sample, without --sample-count, --record-on and triggers"
			: "";
	uint64_t bytes = 0;
	struct bpf_map *map;

	bpf_object__for_each_map(map, skel->obj)
	{
		/* The user chose the recorder's size. */
		if (bpf_map__autocreate(map) && map != skel->maps.kd_recorded)
			bytes += map_bytes(map);
	}
	if (bytes < MUCH)
		return;
	log_warn("following up to %u threads takes %.1f GB of memory", session->slots,
		 (double)bytes / 1e9);
	log_hint("--tid or fewer processes take less%s%s", banks,
		 config->options->histogram ? ", and a run without --histogram" : "");
}

/* --- Queues of numbers shared with BPF programs --- */

/* The kernel may refuse the map's lock if that is a resilient one (rqspinlock, since 6.15). Here
 * it is retried. */

#define TRIES 1000
#define PAUSE_NS (100 * NSEC_PER_USEC)

/* Sleeps before the next try; false if there is none. */
static bool again(unsigned int tries)
{
	if (errno != EBUSY || tries + 1 >= TRIES)
		return false;
	clock_wait_until(clock_monotonic() + PAUSE_NS);
	return true;
}

int queue_put(int fd, uint32_t number)
{
	for (unsigned int tries = 0; bpf_map_update_elem(fd, NULL, &number, BPF_ANY); tries++)
		if (!again(tries))
			return -1;
	return 0;
}

int queue_take(int fd, uint32_t *number)
{
	for (unsigned int tries = 0; bpf_map_lookup_and_delete_elem(fd, NULL, number); tries++)
		if (!again(tries))
			return -1;
	return 0;
}

/* --- Rings of records --- */

static int record_found(void *context, void *data, size_t size)
{
	struct record_ring *ring = context;

	return size < ring->least ? 0 : ring->found(ring->context, data, size);
}

exit_status session_ring_open(struct session *session, enum session_ring which,
			      const struct bpf_map *map, size_t least)
{
	struct record_ring *ring = &session->rings[which];

	ring->least = least;
	ring->ring = ring_buffer__new(bpf_map__fd(map), record_found, ring, NULL);
	if (ring->ring)
		return 0;
	log_error("cannot read the BPF ring buffer: %s", strerror(errno));
	return EX_OSERR;
}

void session_rings_close(struct session *session)
{
	for (int i = 0; i < SESSION_RINGS; i++)
		ring_buffer__free(session->rings[i].ring);
}

int session_ring_fd(const struct session *session, enum session_ring which)
{
	const struct record_ring *ring = &session->rings[which];

	return ring->ring ? ring_buffer__epoll_fd(ring->ring) : -1;
}

int session_ring_read(struct session *session, enum session_ring which, record_found_fn *found,
		      void *context)
{
	struct record_ring *ring = &session->rings[which];
	int result;

	if (!ring->ring)
		return 0;
	ring->found = found;
	ring->context = context;
	result = ring_buffer__consume(ring->ring);
	return result < 0 ? result : 0;
}

/* --- From TIDs to slots --- */

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

/* --- Histograms of durations on the BPF side, if any --- */

/* Histograms of a slot's thread: runs, waits, and some system calls. */
#define CAPACITY_PER_SLOT 8
#define CAPACITY_MAX 32768 /* 84 MB per bank */

struct histograms {
	struct kd_histogram_set *sets; /* by slot */
	struct kd_histogram *memory;   /* capacity for each bank */
	uint32_t capacity;
};

static exit_status histograms_select(struct session *session)
{
	struct kernel_delay *skel = session->skel;
	uint32_t capacity = session->slots * CAPACITY_PER_SLOT;

	capacity = capacity < CAPACITY_MAX ? capacity : CAPACITY_MAX;
	session->histograms->capacity = skel->rodata->kd_histograms_max = capacity;
	return session_map_resize(skel->maps.kd_histogram_sets, session->slots)
		       ?: session_map_resize(skel->maps.kd_histograms, session->banks * capacity)
		       ?: session_map_resize(skel->maps.kd_free_histograms, capacity);
}

static int free_list(const struct session *session)
{
	return bpf_map__fd(session->skel->maps.kd_free_histograms);
}

static exit_status histograms_attach(struct session *session)
{
	struct histograms *histograms = session->histograms;

	histograms->sets = session_map(session, session->skel->maps.kd_histogram_sets);
	histograms->memory = session_map(session, session->skel->maps.kd_histograms);
	if (!histograms->sets || !histograms->memory)
		return EX_OSERR;
	for (uint32_t index = 1; index < histograms->capacity; index++) {
		if (queue_put(free_list(session), index)) {
			log_error("cannot fill the list of free histograms: %s", strerror(errno));
			return EX_OSERR;
		}
	}
	return 0;
}

static struct kd_histogram *histogram_of(const struct histograms *histograms, uint32_t bank,
					 uint32_t index)
{
	return &histograms->memory[(size_t)bank * histograms->capacity + index];
}

int session_histogram(const struct session *session, const struct session_view *view, uint32_t slot,
		      uint32_t kind, struct distribution *distribution)
{
	const struct histograms *histograms = session->histograms;
	const struct kd_histogram *histogram;
	uint32_t index;
	int error = 0;

	if (!histograms)
		return 0;
	index = histograms->sets[slot].of[kind];
	if (index == KD_HISTOGRAM_NONE || index >= histograms->capacity)
		return 0;
	histogram = histogram_of(histograms, view->bank, index);
	if (histogram->gen != view->gen)
		return 0;
	for (unsigned int i = 0; i + 1 < KD_HISTOGRAM_BUCKETS && !error; i++)
		error = distribution_append(distribution, distribution_limit(i, KD_HISTOGRAM_BITS),
					    histogram->count[i]);
	if (!error)
		error = distribution_append(distribution, UINT64_MAX,
					    histogram->count[KD_HISTOGRAM_BUCKETS - 1]);
	return error;
}

int session_histogram_add(const struct session *session, struct distribution *distribution,
			  uint64_t ns)
{
	if (!session->histograms)
		return 0;
	return distribution_add(distribution, KD_HISTOGRAM_BITS, KD_HISTOGRAM_BUCKETS, ns);
}

static void histograms_free_slot(struct session *session, uint32_t slot)
{
	struct histograms *histograms = session->histograms;

	for (uint32_t kind = 0; kind < KD_HISTOGRAMS; kind++) {
		uint32_t index = histograms->sets[slot].of[kind];

		histograms->sets[slot].of[kind] = KD_HISTOGRAM_NONE;
		if (index == KD_HISTOGRAM_NONE || index >= histograms->capacity)
			continue;
		for (uint32_t bank = 0; bank < session->banks; bank++)
			histogram_of(histograms, bank, index)->gen = 0;
		if (queue_put(free_list(session), index))
			log_warn("cannot give back a histogram: %s; there is one less",
				 strerror(errno));
	}
}

const struct session_part histograms_part = {
	SESSION_STATE(histograms),   .scans = SCAN_HISTOGRAMS,          .select = histograms_select,
	.attach = histograms_attach, .free_slot = histograms_free_slot,
};
