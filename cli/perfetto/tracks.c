/* SPDX-License-Identifier: Apache-2.0 */
#include "tracks.h"

#include <string.h>

#include "perfetto_fields.h"

/* Numbers that other writers' tracks hardly have (the finaliser of splitmix64, which keeps what
 * differs different). */
static uint64_t uuid_mix(uint64_t key)
{
	key ^= 0x6b65726e5f646c79ULL;
	key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9ULL;
	key = (key ^ key >> 27) * 0x94d049bb133111ebULL;
	return key ^ key >> 31;
}

uint64_t track_uuid(enum track track, pid_t id)
{
	return uuid_mix((uint64_t)track << 56 | (uint32_t)id);
}

uint64_t track_uuid_counter(pid_t tid, size_t counter)
{
	return uuid_mix((uint64_t)TRACK_COUNTERS << 56 | (uint64_t)(uint16_t)counter << 32 |
			(uint32_t)tid);
}

static void descriptor_begin(struct pftrace *trace, uint64_t uuid, uint64_t parent)
{
	pftrace_packet_begin(trace);
	proto_begin(&trace->proto, PACKET_TRACK_DESCRIPTOR);
	proto_u64(&trace->proto, TRACK_UUID, uuid);
	if (parent)
		proto_u64(&trace->proto, TRACK_PARENT_UUID, parent);
}

static void descriptor_end(struct pftrace *trace)
{
	proto_end(&trace->proto);
	pftrace_packet_end(trace);
}

static void named_write(struct pftrace *trace, uint64_t uuid, uint64_t parent, const char *name,
			uint64_t rank)
{
	descriptor_begin(trace, uuid, parent);
	pftrace_text(trace, TRACK_NAME, name, SIZE_MAX);
	if (!parent)
		proto_u64(&trace->proto, TRACK_CHILD_ORDERING, ORDERING_EXPLICIT);
	proto_u64(&trace->proto, TRACK_SIBLING_ORDER_RANK, rank);
	descriptor_end(trace);
}

void tracks_write_common(struct pftrace *trace)
{
	uint64_t root = track_uuid(TRACK_ROOT, 0);

	named_write(trace, root, 0, "kernel_delay", 0);
	named_write(trace, track_uuid(TRACK_WINDOWS, 0), root, "windows and verdict", 0);
	named_write(trace, track_uuid(TRACK_OTHERS, 0), root, "who woke them", 1);
}

void tracks_write_process(struct pftrace *trace, pid_t pid, const char *name, const char *title)
{
	descriptor_begin(trace, track_uuid(TRACK_PROCESS, pid), 0);
	proto_begin(&trace->proto, TRACK_PROCESS_DESCRIPTOR);
	proto_i64(&trace->proto, PROCESS_PID, pid);
	pftrace_text(trace, PROCESS_NAME, name, KD_COMM_LEN);
	if (*title)
		pftrace_text(trace, PROCESS_CMDLINE, title, PROCESS_TITLE);
	proto_end(&trace->proto);
	descriptor_end(trace);
}

void tracks_write_thread(struct pftrace *trace, pid_t pid, pid_t tid, const char *name)
{
	static const char *const titles[] = {
#define TRACK_TITLE(track, title) [track] = (title),
		THREAD_TRACKS(TRACK_TITLE)
#undef TRACK_TITLE
	};
	unsigned int end = trace->sample->recording ? TRACK_COUNTERS : TRACK_IRQS;
	uint64_t uuid = track_uuid(TRACK_THREAD, tid);

	descriptor_begin(trace, uuid, track_uuid(TRACK_PROCESS, pid));
	proto_begin(&trace->proto, TRACK_THREAD_DESCRIPTOR);
	proto_i64(&trace->proto, THREAD_PID, pid);
	proto_i64(&trace->proto, THREAD_TID, tid);
	pftrace_text(trace, THREAD_NAME, name, KD_COMM_LEN);
	proto_end(&trace->proto);
	descriptor_end(trace);
	for (unsigned int i = TRACK_NONE + 1; i < end; i++)
		named_write(trace, track_uuid((enum track)i, tid), uuid, titles[i], i);
}

void tracks_write_counter(struct pftrace *trace, pid_t tid, size_t index, const char *name)
{
	descriptor_begin(trace, track_uuid_counter(tid, index), track_uuid(TRACK_THREAD, tid));
	pftrace_text(trace, TRACK_NAME, name, SIZE_MAX);
	proto_u64(&trace->proto, TRACK_SIBLING_ORDER_RANK, TRACK_COUNTERS + index);
	proto_begin(&trace->proto, TRACK_COUNTER_DESCRIPTOR);
	proto_u64(&trace->proto, COUNTER_UNIT, UNIT_COUNT);
	proto_end(&trace->proto);
	descriptor_end(trace);
}

void tracks_write_other(struct pftrace *trace, pid_t tid, const char *name)
{
	char text[KD_COMM_LEN + 16];

	snprintf(text, sizeof(text), "%.*s %d", KD_COMM_LEN, name, (int)tid);
	named_write(trace, track_uuid(TRACK_OTHER, tid), track_uuid(TRACK_OTHERS, 0), text, 0);
}

void tracks_write_path(struct pftrace *trace)
{
	named_write(trace, track_uuid(TRACK_PATH, 0), track_uuid(TRACK_ROOT, 0), "critical path",
		    2);
}

void tracks_write_cpus(struct pftrace *trace)
{
	named_write(trace, track_uuid(TRACK_CPUS, 0), 0, "CPUs", 1);
}

void tracks_write_cpu(struct pftrace *trace, uint32_t cpu)
{
	uint64_t uuid = track_uuid(TRACK_CPU, (pid_t)cpu);
	char text[32];

	snprintf(text, sizeof(text), "CPU %u", cpu);
	named_write(trace, uuid, track_uuid(TRACK_CPUS, 0), text, cpu);
	named_write(trace, track_uuid(TRACK_CPU_IRQS, (pid_t)cpu), uuid, "interrupts", 0);
}
