// SPDX-License-Identifier: Apache-2.0
#include "recording_make.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"

/* --- Rings --- */

/* What an event's time may be before those that were written before it: a switch that was not
 * reported is noticed later. What lies longer back is not looked for. */
#define LATE_NS 100000000ULL

/* Longest time for which events may be written during the copy. */
#define LATEST_NS 3600000000000ULL

struct copy {
	struct recorded_event *events;
	size_t n, capacity;
	uint64_t since, epoch, complete;
	uint64_t latest; /* nothing happened later */
};

/* An event's time lacks its upper bits: takes the latest possible time. */
static uint64_t event_at(const struct copy *copy, uint64_t word)
{
	uint64_t ago = copy->latest - copy->epoch - (word >> KD_RECORDED_WHEN);

	return copy->latest - (ago << KD_RECORDED_WHEN >> KD_RECORDED_WHEN);
}

static struct recorded_event event_read(const struct copy *copy, const struct kd_recorded *entry,
					uint32_t cpu)
{
	uint64_t word = __atomic_load_n(&entry->word, __ATOMIC_RELAXED);

	return (struct recorded_event){
		.at = event_at(copy, word),
		.tid = entry->tid,
		.what = entry->what,
		.cpu = (uint16_t)cpu,
		.kind = word & ((1U << KD_RECORDED_DETAIL) - 1),
		.detail = (uint8_t)(word >> KD_RECORDED_DETAIL),
	};
}

/* Where a ring begins, and the one before it ends: each CPU has its own ring, then the one for its
 * interrupts. */
static uint32_t ring_first(const struct recorder_rings *rings, uint32_t ring)
{
	return ring / 2 * (rings->capacity + rings->spare) + ring % 2 * rings->capacity;
}

/* Drops events overwritten during the copy, and the one possibly being written: they come first. */
static int ring_copy(const struct recorder_rings *rings, uint32_t ring, struct copy *copy)
{
	const struct kd_recorded *entries = rings->events + ring_first(rings, ring);
	const uint64_t capacity = ring_first(rings, ring + 1) - ring_first(rings, ring);
	const __u64 *position = &rings->positions[ring / 2].rings[ring % 2].position;
	uint64_t end = __atomic_load_n(position, __ATOMIC_ACQUIRE), first, after, oldest;
	uint64_t since = u64_sub(copy->since, LATE_NS);
	size_t begin = copy->n;

	first = u64_sub(end, capacity);
	first += ARRAY_SPLIT(end - first, i,
			     event_at(copy, entries[(first + i) % capacity].word) < since);
	if (array_reserve(&copy->events, copy->n + (end - first), &copy->capacity,
			  sizeof(*copy->events)))
		return -ENOMEM;
	for (uint64_t i = first; i < end; i++)
		copy->events[copy->n++] = event_read(copy, &entries[i % capacity], ring / 2);
	after = __atomic_load_n(position, __ATOMIC_ACQUIRE);
	oldest = u64_sub(after + 1, capacity);
	if (oldest > first && end > first) {
		size_t gone = u64_min(oldest - first, end - first);

		memmove(copy->events + begin, copy->events + begin + gone,
			(end - first - gone) * sizeof(*copy->events));
		copy->n -= gone;
		copy->complete = u64_max(copy->complete,
					 copy->n > begin ? copy->events[begin].at : UINT64_MAX);
	}
	return 0;
}

void recorder_rings_begin(struct recorder_rings *rings)
{
	for (uint32_t i = 0; i < rings->cpus * 2; i++) {
		struct kd_recorder_ring *ring = &rings->positions[i / 2].rings[i % 2];

		ring->first = ring->next = ring_first(rings, i);
		ring->end = ring_first(rings, i + 1);
	}
}

bool recorder_rings_are_full(const struct recorder_rings *rings)
{
	for (uint32_t i = 0; i < rings->cpus; i++) {
		const struct kd_recorder_ring *ring = &rings->positions[i].rings[0];

		if (__atomic_load_n(&rings->events[ring->end - 1].word, __ATOMIC_RELAXED))
			return true;
	}
	return false;
}

int recorder_rings_copy(const struct recorder_rings *rings, uint64_t since, uint64_t now,
			uint64_t epoch, struct recorded_event **events, size_t *n,
			uint64_t *complete)
{
	struct copy copy = {
		.since = since, .epoch = epoch, .complete = since, .latest = u64_add(now, LATEST_NS)
	};
	int error = 0;

	for (uint32_t i = 0; i < rings->cpus * 2 && !error; i++)
		error = ring_copy(rings, i, &copy);
	if (error)
		free(copy.events);
	*events = error ? NULL : copy.events;
	*n = error ? 0 : copy.n;
	*complete = copy.complete;
	return error;
}

/* --- Recording --- */

#define TID_MASK ((1U << KD_RECORDED_FROM) - 1)
#define FROM_MASK ((1U << (KD_RECORDED_AWAITED - KD_RECORDED_FROM)) - 1)

/* --- CPUs: events in write order --- */

static int run_add(struct recording *recording, const struct recorded_event *had, uint32_t key)
{
	const struct span run = {
		.start = u64_max(u64_sub(had->at, had->what), recording->from),
		.end = u64_min(had->at, recording->to),
		.tid = (pid_t)had->tid,
		.cpu = had->cpu,
		.key = key,
	};

	if (had->at <= recording->from || u64_sub(had->at, had->what) >= recording->to)
		return 0;
	return spans_add(&recording->spans[SPAN_RUNS], &run);
}

static int irq_add(struct recording *recording, const struct recording_source *source,
		   const struct recorded_event *event)
{
	struct span irq = {
		.start = u64_sub(event->at, event->what),
		.end = event->at,
		.tid = (pid_t)event->tid,
		.cpu = event->cpu,
		.state = event->detail >> KD_RECORDED_HIT_STATE,
		.hard = event->kind == KD_RECORDED_HARDIRQ,
	};

	if (irq.end <= recording->from || irq.start >= recording->to)
		return 0;
	irq.name = source->irq_name(source->context, irq.tid, irq.hard,
				    event->detail & (KD_IRQ_PADDED - 1));
	return spans_add(&recording->spans[SPAN_IRQS], &irq);
}

static int hit_add(struct recording *recording, const struct recorded_event *event)
{
	const struct span hit = { .start = event->at,
				  .end = event->at,
				  .tid = (pid_t)event->tid,
				  .role = event->detail };

	if (event->at < recording->from || event->at > recording->to)
		return 0;
	return spans_add(&recording->spans[SPAN_HITS], &hit);
}

static int hit_compare(const void *a, const void *b)
{
	const struct span *left = a, *right = b;

	return ORDER(left->start, right->start);
}

/* Two consecutive events say what had a CPU. Without the second one, it is unknown. */
static int cpus_make(struct recording *recording, const struct recording_source *source)
{
	const struct recorded_event *had = NULL;
	struct spans *hits = &recording->spans[SPAN_HITS];
	int error = 0;

	for (size_t i = 0; i < source->n_events && !error; i++) {
		const struct recorded_event *event = &source->events[i];

		switch (event->kind) {
		case KD_RECORDED_HAD_CPU:
			had = event;
			break;
		case KD_RECORDED_CULPRIT:
			if (had && had->cpu == event->cpu && had->tid == event->tid)
				error = run_add(recording, had, event->what);
			had = NULL;
			break;
		case KD_RECORDED_HARDIRQ:
		case KD_RECORDED_SOFTIRQ:
			error = irq_add(recording, source, event);
			break;
		case KD_RECORDED_HIT:
			error = hit_add(recording, event);
			break;
		default:
			break;
		}
	}
	ARRAY_SORT(hits->all, hits->n, hit_compare);
	return error;
}

/* --- Threads: events by TID and time --- */

/* A thread whose events are being read. */
struct event_walk {
	struct recording *recording;
	struct span now; /* current state */
	const struct recorded_thread *thread;
	int32_t call;
	uint64_t call_since; /* 0: unknown */
	pid_t holder;        /* holder of the lock it sleeps for next */
	bool valid;          /* now is valid, */
	bool first;          /* inferred from the next event only: it began before the first
			      * event */
};

/* Adds the part of a state inside the recording. */
static int state_add(struct recording *recording, const struct span *state)
{
	struct span part = *state;

	part.start = u64_max(state->start, recording->from);
	part.end = u64_min(state->end, recording->to);
	part.goes_on = state->end > recording->to;
	if (part.start >= part.end || state->state == KD_UNSEEN || state->state == KD_DEAD)
		return 0;
	return spans_add(&recording->spans[SPAN_STATES], &part);
}

static uint8_t awaited_of(uint32_t awaited)
{
	return awaited < KD_AWAITED_KINDS ? (uint8_t)awaited : KD_AWAITED_OTHER;
}

static bool state_has_call(uint32_t state)
{
	return state != KD_USER && state != KD_FAULT;
}

static void walk_begin(struct event_walk *walk, const struct recorded_event *event)
{
	bool of_target = walk->thread && walk->thread->of_target;
	uint32_t before = recorded_event_before(event);

	/* How long others had been in it is unknown. Sleeps are traced back to their wakers. */
	if (!of_target && event->kind != KD_RECORDED_WOKEN)
		before = KD_UNSEEN;
	walk->now = (struct span){
		.start = walk->recording->from,
		.tid = (pid_t)event->tid,
		.cpu = event->cpu,
		.state = (uint8_t)before,
		.of_target = of_target,
		.early = !of_target,
	};
	walk->call = event->kind == KD_RECORDED_CALL || !state_has_call(before) ? KD_CALL_NONE
										: KD_CALL_UNKNOWN;
	walk->valid = walk->first = true;
}

static int call_end(struct event_walk *walk, const struct recorded_event *event)
{
	const struct recording *recording = walk->recording;
	uint64_t end = u64_min(event->at, recording->to), start = walk->call_since ?: end;
	bool goes_on = event->at > recording->to;
	const struct span call = {
		.start = start,
		.end = goes_on ? start : end,
		.tid = (pid_t)event->tid,
		.call = walk->call,
		.value = goes_on ? 0 : (int32_t)event->what,
		.early = !walk->call_since,
		.goes_on = goes_on,
	};

	if (event->at < recording->from || walk->call_since >= recording->to)
		return 0;
	return spans_add(&walk->recording->spans[SPAN_CALLS], &call);
}

/* Sets the state that begins with the event. */
static void state_begin(struct event_walk *walk, const struct recorded_event *event)
{
	walk->now = (struct span){
		.start = event->at,
		.tid = (pid_t)event->tid,
		.cpu = event->cpu,
		.state = (uint8_t)recorded_event_state(event),
		.of_target = walk->now.of_target,
		.call = walk->call,
	};
	if (event->kind == KD_RECORDED_SLEEP) {
		walk->now.awaited = awaited_of(event->what);
		walk->now.holder = walk->holder;
	}
	walk->holder = 0;
}

/* True for an event of another process's thread before which a switch was not reported: since when
 * it ran, or did not, is unknown. Of the target's threads the kernel side makes up for it. */
static bool state_is_doubtful(const struct event_walk *walk, const struct recorded_event *event)
{
	uint32_t before = recorded_event_before(event);

	return !walk->now.of_target && before != KD_UNSEEN && walk->now.state != KD_UNSEEN &&
	       kd_is_running(before) != kd_is_running(walk->now.state);
}

/* Ends the previous state. */
static int state_end(struct event_walk *walk, const struct recorded_event *event)
{
	if (event->kind == KD_RECORDED_WOKEN) {
		walk->now.waker = (pid_t)(event->what & TID_MASK);
		walk->now.from = (uint8_t)(event->what >> KD_RECORDED_FROM & FROM_MASK);
		if (walk->first)
			walk->now.awaited = awaited_of(event->what >> KD_RECORDED_AWAITED);
	}
	/* The wakeup event has the waker's CPU; the thread waits where it runs in the end. */
	if (event->kind == KD_RECORDED_RUN && walk->now.state == KD_READY_WOKEN)
		walk->now.cpu = event->cpu;
	walk->first = false;
	if (state_is_doubtful(walk, event))
		walk->now.state = KD_UNSEEN;
	walk->now.end = event->at;
	return state_add(walk->recording, &walk->now);
}

static int walk_enter(struct event_walk *walk, const struct recorded_event *event)
{
	int error;

	if (!walk->valid)
		walk_begin(walk, event);
	walk->now.call = walk->call;
	error = state_end(walk, event);
	if (event->kind == KD_RECORDED_CALL) {
		walk->call = (int32_t)event->what;
		walk->call_since = event->at;
	} else if (event->kind == KD_RECORDED_RETURN) {
		if (!error)
			error = call_end(walk, event);
		walk->call = KD_CALL_NONE;
		walk->call_since = 0;
	}
	state_begin(walk, event);
	return error;
}

static int stolen_add(struct event_walk *walk, const struct recorded_event *event)
{
	const struct span stolen = {
		.start = walk->valid ? u64_min(walk->now.start, event->at) : event->at,
		.end = event->at,
		.tid = (pid_t)event->tid,
		.value = event->what,
	};

	if (event->at <= walk->recording->from || event->at > walk->recording->to)
		return 0;
	return spans_add(&walk->recording->spans[SPAN_STOLEN], &stolen);
}

/* NULL: not a target thread, or ended. */
static const struct recorded_now *now_of(const struct recording_source *source, pid_t tid)
{
	size_t at = ARRAY_SPLIT(source->n_now, i, source->now[i].tid < tid);

	return at < source->n_now && source->now[at].tid == tid ? source->now + at : NULL;
}

/* Makes the rows of one thread from its events. */
static int walk_make(struct recording *recording, const struct recording_source *source,
		     const struct recorded_event *events, size_t n)
{
	const struct recorded_now *now = now_of(source, (pid_t)events->tid);
	struct event_walk walk = { .recording = recording };
	int error = 0;

	walk.thread = recording_thread(recording, (pid_t)events->tid);
	for (size_t i = 0; i < n && !error; i++) {
		if (events[i].kind < KD_RECORDED_ENTERS)
			error = walk_enter(&walk, events + i);
		else if (events[i].kind == KD_RECORDED_LOCK)
			walk.holder = (pid_t)events[i].what;
		else if (events[i].kind == KD_RECORDED_STOLEN)
			error = stolen_add(&walk, events + i);
	}
	if (!walk.valid || error)
		return error;
	walk.now.end = UINT64_MAX;
	walk.now.call = walk.call;
	if (walk.now.state == KD_READY_WOKEN && now)
		walk.now.cpu = now->cpu;
	return state_add(recording, &walk.now);
}

/* Makes the row of a thread without events. */
static int silent_make(struct recording *recording, const struct recorded_now *now)
{
	const struct span state = {
		.start = now->since,
		.end = UINT64_MAX,
		.tid = now->tid,
		.cpu = now->cpu,
		.state = now->state,
		.awaited = now->awaited,
		.of_target = true,
		.call = now->call,
	};

	return state_add(recording, &state);
}

/* Idle tasks are not threads, even when they wake some: all have TID 0. */
static bool is_of_thread(const struct recorded_event *event)
{
	return event->kind && event->tid &&
	       (event->kind < KD_RECORDED_ENTERS || event->kind == KD_RECORDED_LOCK ||
		event->kind == KD_RECORDED_STOLEN);
}

/* Makes the rows of all threads in order of TID, with and without events. */
static int courses_make(struct recording *recording, const struct recording_source *source,
			size_t n)
{
	const struct recorded_event *events = source->events;
	size_t first = 0, end, silent = 0;
	int error = 0;

	while (!error && (first < n || silent < source->n_now)) {
		pid_t tid = first < n ? (pid_t)events[first].tid : INT32_MAX;

		if (silent < source->n_now && source->now[silent].tid <= tid) {
			if (source->now[silent].tid < tid)
				error = silent_make(recording, &source->now[silent]);
			silent++;
			continue;
		}
		for (end = first; end < n && (pid_t)events[end].tid == tid;)
			end++;
		error = walk_make(recording, source, events + first, end - first);
		first = end;
	}
	return error;
}

/* --- Sorting events --- */

#define DIGIT_BITS 11 /* a TID has 22 bits: two passes */
#define DIGITS (1U << DIGIT_BITS)

/* Stable radix pass from one array to the other. */
static void sort_by_digit(const struct recorded_event *from, struct recorded_event *to, size_t n,
			  unsigned int shift)
{
	size_t begins[DIGITS] = { 0 }, sum = 0;

	for (size_t i = 0; i < n; i++)
		begins[from[i].tid >> shift & (DIGITS - 1)]++;
	for (size_t digit = 0; digit < DIGITS; digit++) {
		size_t count = begins[digit];

		begins[digit] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[begins[from[i].tid >> shift & (DIGITS - 1)]++] = from[i];
}

/* Number of leading events in order of time. */
static size_t run_length(const struct recorded_event *events, size_t n)
{
	size_t length = n > 0;

	while (length < n && events[length - 1].at <= events[length].at)
		length++;
	return length;
}

static void merge(const struct recorded_event *left, size_t n_left,
		  const struct recorded_event *right, size_t n_right, struct recorded_event *to)
{
	while (n_left && n_right) {
		if (left->at <= right->at) {
			*to++ = *left++;
			n_left--;
		} else {
			*to++ = *right++;
			n_right--;
		}
	}
	memcpy(to, n_left ? left : right, (n_left + n_right) * sizeof(*to));
}

/* Merges neighbouring runs until one is left. There are few, because each CPU wrote in order of
 * time. */
static void sort_by_time(struct recorded_event *events, struct recorded_event *spare, size_t n)
{
	while (run_length(events, n) < n) {
		size_t at = 0;

		while (at < n) {
			size_t left = run_length(events + at, n - at);
			size_t right = run_length(events + at + left, n - at - left);

			merge(events + at, left, events + at + left, right, spare + at);
			at += left + right;
		}
		memcpy(events, spare, n * sizeof(*events));
	}
}

/* Sorts by TID, then by time; stable. spare: space for n events. Takes linear time if each CPU's
 * events were nearly in order. */
static void events_sort(struct recorded_event *events, struct recorded_event *spare, size_t n)
{
	sort_by_digit(events, spare, n, 0);
	sort_by_digit(spare, events, n, DIGIT_BITS);
	for (size_t first = 0, end; first < n; first = end) {
		for (end = first + 1; end < n && events[end].tid == events[first].tid;)
			end++;
		sort_by_time(events + first, spare, end - first);
	}
}

int recording_make(struct recording *recording, const struct recording_source *source)
{
	struct recorded_event *events = source->events, *spare;
	int error = cpus_make(recording, source);
	size_t n = 0;

	if (error)
		return error;
	for (size_t i = 0; i < source->n_events; i++) {
		recording->events += events[i].at >= recording->from &&
				     events[i].at <= recording->to;
		if (is_of_thread(&events[i]))
			events[n++] = events[i];
	}
	spare = malloc((n + 1) * sizeof(*spare));
	if (!spare)
		return -ENOMEM;
	events_sort(events, spare, n);
	free(spare);
	return courses_make(recording, source, n);
}
