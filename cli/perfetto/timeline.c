// SPDX-License-Identifier: Apache-2.0
#include "timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"
#include "perfetto_fields.h"

/* --- Tracks of a trace: threads below processes, states and more below threads --- */

/* Makes numbers that other writers are unlikely to use (the finalizer of splitmix64, a
 * bijection). */
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

/* --- Timed data of a sample by thread, to write events track by track --- */

static uint64_t end_of(const struct trace_row *row)
{
	return row->end ?: UINT64_MAX;
}

static int row_compare(const void *a, const void *b)
{
	const struct trace_row *x = *(const struct trace_row *const *)a;
	const struct trace_row *y = *(const struct trace_row *const *)b;

	return ORDER(x->tid, y->tid) ?: ORDER(x->start, y->start) ?: ORDER(end_of(y), end_of(x));
}

static int interruption_compare(const void *a, const void *b)
{
	const struct interruption *x = *(const struct interruption *const *)a;
	const struct interruption *y = *(const struct interruption *const *)b;

	return ORDER(x->tid, y->tid) ?: ORDER(x->since, y->since);
}

static int thread_compare(const void *a, const void *b)
{
	const struct timeline_thread *x = a, *y = b;

	return ORDER(x->tid, y->tid);
}

/* A thread's row sorts first. */
static int thread_order(const void *a, const void *b)
{
	const struct timeline_thread *x = a, *y = b;

	return thread_compare(a, b) ?: !!y->row - !!x->row;
}

static int irq_compare(const void *a, const void *b)
{
	const struct span *x = *(const struct span *const *)a;
	const struct span *y = *(const struct span *const *)b;

	return ORDER(x->tid, y->tid) ?: ORDER(x->start, y->start) ?: ORDER(y->end, x->end);
}

static int wakeup_compare(const void *a, const void *b)
{
	const struct wakeup *x = a, *y = b;

	return ORDER(x->at, y->at) ?: ORDER(x->from, y->from) ?: ORDER(x->to, y->to);
}

static int other_compare(const void *a, const void *b)
{
	const struct timeline_other *x = a, *y = b;

	return ORDER(x->tid, y->tid);
}

/* --- Threads --- */

static int rows_sort(struct timeline *timeline, const struct sample *sample)
{
	timeline->rows = calloc(sample->traces.n + 1, sizeof(*timeline->rows));
	timeline->interruptions = calloc(sample->n_interruptions + 1,
					 sizeof(*timeline->interruptions));
	if (!timeline->rows || !timeline->interruptions)
		return -ENOMEM;
	for (size_t i = 0; i < sample->traces.n; i++)
		timeline->rows[i] = &sample->traces.rows[i];
	for (size_t i = 0; i < sample->n_interruptions; i++)
		timeline->interruptions[i] = &sample->interruptions[i];
	ARRAY_SORT(timeline->rows, sample->traces.n, row_compare);
	ARRAY_SORT(timeline->interruptions, sample->n_interruptions, interruption_compare);
	return 0;
}

/* Merges with the last thread if it is the same. Without a row, the latest name wins: new
 * threads start with their creator's. */
static int thread_add(struct timeline *timeline, const struct timeline_thread *thread)
{
	struct timeline_thread *last = timeline->n_threads
					       ? &timeline->threads[timeline->n_threads - 1]
					       : NULL;

	if (last && last->tid == thread->tid) {
		last->pid = last->pid ?: thread->pid;
		last->name = last->row || !*thread->name ? last->name : thread->name;
		last->row = thread->row ?: last->row;
		last->rows = last->rows ?: thread->rows;
		last->n_rows += thread->n_rows;
		last->interruptions = last->interruptions ?: thread->interruptions;
		last->n_interruptions += thread->n_interruptions;
		last->foreign &= thread->foreign;
		return 0;
	}
	return ARRAY_ADD(timeline->threads, timeline->n_threads, timeline->capacity_threads,
			 *thread);
}

static int threads_add(struct timeline *timeline, const struct sample *sample)
{
	int err = 0;

	for (size_t i = 0; i < sample->n_threads && !err; i++) {
		const struct thread_row *row = &sample->threads[i];
		const struct timeline_thread thread = {
			.tid = row->tid, .pid = row->pid, .name = row->name, .row = row
		};

		if (row->members == 1)
			err = thread_add(timeline, &thread);
	}
	for (size_t i = 0; i < sample->traces.n && !err; i++) {
		const struct trace_row *row = timeline->rows[i];
		const struct timeline_thread thread = { .tid = row->tid,
							.pid = row->pid,
							.name = row->name,
							.rows = &timeline->rows[i],
							.n_rows = 1 };

		err = thread_add(timeline, &thread);
	}
	for (size_t i = 0; i < sample->n_interruptions && !err; i++) {
		const struct interruption *row = timeline->interruptions[i];
		const struct timeline_thread thread = { .tid = row->tid,
							.name = row->name,
							.interruptions =
								&timeline->interruptions[i],
							.n_interruptions = 1 };

		err = thread_add(timeline, &thread);
	}
	return err;
}

static bool has_states(const struct recording *recording, pid_t tid)
{
	size_t n;

	return spans_of_thread(&recording->spans[SPAN_STATES], tid, &n);
}

/* Includes threads that ended before the window, and threads of other processes. */
static int recorded_threads_add(struct timeline *timeline, const struct recording *recording)
{
	int err = 0;

	for (size_t i = 0; i < recording->n_threads && !err; i++) {
		const struct recorded_thread *row = &recording->threads[i];
		const struct timeline_thread thread = { .tid = row->tid,
							.pid = row->pid,
							.name = row->name,
							.foreign = !row->of_target };

		if (row->of_target ||
		    (row->pid && !row->of_kernel && has_states(recording, row->tid)))
			err = thread_add(timeline, &thread);
	}
	return err;
}

static void threads_join(struct timeline *timeline, const struct sample *sample)
{
	size_t n = timeline->n_threads;

	ARRAY_SORT(timeline->threads, n, thread_order);
	timeline->n_threads = 0;
	/* The array has been reserved: this never fails. */
	for (size_t i = 0; i < n; i++) {
		const struct timeline_thread thread = timeline->threads[i];

		thread_add(timeline, &thread);
	}
	for (size_t i = 0; i < timeline->n_threads; i++)
		if (!timeline->threads[i].pid)
			timeline->threads[i].pid = sample->pid;
}

const struct timeline_thread *timeline_thread(const struct timeline *timeline, pid_t tid)
{
	const struct timeline_thread wanted = { .tid = tid };

	return timeline->n_threads ? bsearch(&wanted, timeline->threads, timeline->n_threads,
					     sizeof(wanted), thread_compare)
				   : NULL;
}

uint64_t hit_track(const struct timeline *timeline, pid_t tid)
{
	return timeline_thread(timeline, tid) ? track_uuid(TRACK_THREAD, tid)
					      : track_uuid(TRACK_WINDOWS, 0);
}

/* --- Recorded data --- */

const struct span **irqs_sort(const struct recording *recording,
			      int (*compare)(const void *, const void *))
{
	const struct spans *spans = &recording->spans[SPAN_IRQS];
	const struct span **irqs = calloc(spans->n + 1, sizeof(*irqs));

	for (size_t i = 0; irqs && i < spans->n; i++)
		irqs[i] = &spans->all[i];
	if (irqs)
		ARRAY_SORT(irqs, spans->n, compare);
	return irqs;
}

/* Assigns recorded data to threads: all lists are by TID. */
static void recorded_join(struct timeline *timeline, const struct recording *recording)
{
	const struct spans *spans = recording->spans;
	const struct span *const *irqs = timeline->irqs;
	size_t n = spans[SPAN_IRQS].n;

	for (size_t i = 0; i < timeline->n_threads; i++) {
		struct timeline_thread *thread = &timeline->threads[i];
		pid_t tid = thread->tid;

		thread->states = spans_of_thread(&spans[SPAN_STATES], tid, &thread->n_states);
		thread->calls = spans_of_thread(&spans[SPAN_CALLS], tid, &thread->n_calls);
		thread->irqs = irqs + ARRAY_SPLIT(n, j, irqs[j]->tid < tid);
		thread->n_irqs = ARRAY_SPLIT(n, j, irqs[j]->tid <= tid) -
				 (size_t)(thread->irqs - irqs);
		thread->stolen = spans_of_thread(&spans[SPAN_STOLEN], tid, &thread->n_stolen);
	}
	for (size_t i = 0; i < timeline->n_others; i++)
		timeline->others[i].states = spans_of_thread(&spans[SPAN_STATES],
							     timeline->others[i].tid,
							     &timeline->others[i].n_states);
}

/* --- Wakeups --- */

static int wakeup_add(struct timeline *timeline, const struct wakeup *wakeup)
{
	return ARRAY_ADD(timeline->wakeups, timeline->n_wakeups, timeline->capacity_wakeups,
			 *wakeup);
}

static int other_add(struct timeline *timeline, pid_t tid, const char *name)
{
	if (timeline_thread(timeline, tid))
		return 0;
	return ARRAY_ADD(timeline->others, timeline->n_others, timeline->capacity_others,
			 (struct timeline_other){ .tid = tid, .name = name });
}

/* Adds a row's wakers; each was woken by the next one. */
static int row_wakeups_add(struct timeline *timeline, const struct trace_row *row, uint64_t from,
			   uint64_t until)
{
	pid_t to = row->tid;
	const char *to_name = row->name;
	int err = 0;

	for (size_t i = 0; i < KD_WAKERS && !err && row->kind == TRACE_WAIT; i++) {
		const struct waker *waker = &row->wakers[i];
		const struct wakeup wakeup = { waker->at,   waker->tid, to,
					       waker->name, to_name,    waker->from };

		if (!waker->tid || waker->at < from || waker->at > until)
			break;
		err = wakeup_add(timeline, &wakeup) ?: other_add(timeline, waker->tid, waker->name);
		to = waker->tid;
		to_name = waker->name;
	}
	return err;
}

/* Name of KD_COMM_LEN bytes, if the recording has it. */
static const char *recorded_thread_name(const struct recording *recording, pid_t tid)
{
	static const char unknown[KD_COMM_LEN];
	const struct recorded_thread *thread = recording_thread(recording, tid);

	return thread ? thread->name : unknown;
}

static int recorded_wakeups_add(struct timeline *timeline, const struct recording *recording,
				uint64_t from, uint64_t until)
{
	const struct spans *states = &recording->spans[SPAN_STATES];
	int err = 0;

	for (size_t i = 0; i < states->n && !err; i++) {
		const struct span *state = &states->all[i];
		struct wakeup wakeup = { .at = state->end,
					 .from = state->waker,
					 .to = state->tid,
					 .context = state->from };

		if (state->waker <= 0 || state->goes_on || wakeup.at < from || wakeup.at > until)
			continue;
		wakeup.from_name = recorded_thread_name(recording, wakeup.from);
		wakeup.to_name = recorded_thread_name(recording, wakeup.to);
		err = wakeup_add(timeline, &wakeup)
			      ?: other_add(timeline, wakeup.from, wakeup.from_name);
	}
	for (size_t i = 0; i < recording->n_threads && !err; i++)
		if (has_states(recording, recording->threads[i].tid))
			err = other_add(timeline, recording->threads[i].tid,
					recording->threads[i].name);
	return err;
}

/* A wakeup appears in each row that it led to. */
static void wakeups_sort(struct timeline *timeline)
{
	ARRAY_SORT(timeline->wakeups, timeline->n_wakeups, wakeup_compare);
	timeline->n_wakeups = ARRAY_UNIQUE(timeline->wakeups, timeline->n_wakeups, wakeup_compare);
	ARRAY_SORT(timeline->others, timeline->n_others, other_compare);
	timeline->n_others = ARRAY_UNIQUE(timeline->others, timeline->n_others, other_compare);
}

static int wakeups_find(struct timeline *timeline, const struct sample *sample, uint64_t from)
{
	int err = 0;

	for (size_t i = 0; i < sample->traces.n && !err; i++)
		err = row_wakeups_add(timeline, timeline->rows[i], from, sample->end);
	if (!err && sample->recording)
		err = recorded_wakeups_add(timeline, sample->recording, from, sample->end);
	wakeups_sort(timeline);
	return err;
}

/* --- Timeline --- */

int timeline_make(struct timeline *timeline, const struct sample *sample, uint64_t from)
{
	const struct recording *recording = sample->recording;
	int err = rows_sort(timeline, sample) ?: threads_add(timeline, sample);

	if (!err && recording) {
		timeline->irqs = irqs_sort(recording, irq_compare);
		err = timeline->irqs ? recorded_threads_add(timeline, recording) : -ENOMEM;
	}
	if (err)
		return err;
	threads_join(timeline, sample);
	err = wakeups_find(timeline, sample, from);
	if (!err && recording)
		recorded_join(timeline, recording);
	return err;
}

void timeline_clear(struct timeline *timeline)
{
	free(timeline->threads);
	free(timeline->wakeups);
	free(timeline->others);
	free(timeline->rows);
	free(timeline->interruptions);
	free(timeline->irqs);
	*timeline = (struct timeline){ 0 };
}
