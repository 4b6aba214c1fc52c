// SPDX-License-Identifier: Apache-2.0
/* What becomes of the flight recorder's events: their order, the rows, and copying a ring while it
 * is written. Rows are compared with the walk of states of which the events were made. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cli/model/recording_make.h"
#include "tap.h"

#define CPUS 3
#define EVENTS 20000
#define LARGE 4000001 /* a TID */

static uint64_t seed = 1;

static uint32_t any(uint32_t below)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(seed >> 33) % below;
}

static const char *irq_name(void *context, pid_t tid, bool hard, uint8_t index)
{
	(void)context;
	(void)tid;
	(void)index;
	return hard ? "hard" : "soft";
}

/* --- Rows --- */

#define FROM 1000000ULL
#define TO 9000000ULL

static struct recorded_event event(uint64_t at, uint32_t tid, enum kd_recorded_kind kind,
				   uint32_t before, uint32_t state, uint32_t what)
{
	return (struct recorded_event){
		.at = at,
		.tid = tid,
		.what = what,
		.cpu = 1,
		.kind = (uint8_t)kind,
		.detail = (uint8_t)(state | before << KD_RECORDED_BEFORE),
	};
}

static struct recording made(struct recorded_event *events, size_t n,
			     const struct recorded_now *now, size_t n_now)
{
	static struct recorded_thread threads[] = {
		{ .tid = 7, .pid = 7, .name = "seven", .of_target = true },
		{ .tid = 8, .pid = 7, .name = "eight", .of_target = true },
		{ .tid = 50, .pid = 50, .name = "other" },
		{ .tid = LARGE, .pid = 7, .name = "large", .of_target = true },
	};
	struct recording recording = { .from = FROM, .to = TO };
	struct recording_source source = { .events = events,
					   .n_events = n,
					   .now = now,
					   .n_now = now ? n_now : 0,
					   .irq_name = irq_name };

	recording.threads = malloc(sizeof(threads));
	need(recording.threads);
	memcpy(recording.threads, threads, sizeof(threads));
	recording.n_threads = 4;
	need(!recording_make(&recording, &source));
	return recording;
}

static void is_state(const struct recording *recording, size_t i, uint64_t start, uint64_t end,
		     uint32_t state, const char *what)
{
	const struct span *row = &recording->spans[SPAN_STATES].all[i];

	ok(i < recording->spans[SPAN_STATES].n && row->start == start && row->end == end &&
		   row->state == state,
	   "%s: %llu to %llu, %u", what, (unsigned long long)row->start,
	   (unsigned long long)row->end, row->state);
}

/* A thread reads, sleeps, is woken and runs; another one has no events. */
TEST(rows)
{
	struct recorded_event events[] = {
		event(FROM + 100, 7, KD_RECORDED_CALL, KD_USER, KD_KERNEL, 45),
		event(FROM + 200, 7, KD_RECORDED_LOCK, 0, KD_LOCK_MUTEX, 8),
		event(FROM + 200, 7, KD_RECORDED_SLEEP, KD_KERNEL, KD_BLOCKED, KD_AWAITED_LOCK),
		event(FROM + 500, 7, KD_RECORDED_WOKEN, KD_BLOCKED, KD_READY_WOKEN,
		      8 | KD_FROM_TASK << KD_RECORDED_FROM),
		event(FROM + 600, 7, KD_RECORDED_RUN, KD_READY_WOKEN, KD_KERNEL, 0),
		event(FROM + 650, 7, KD_RECORDED_RETURN, KD_KERNEL, KD_USER, (uint32_t)-11),
		event(FROM + 800, 7, KD_RECORDED_PREEMPTED, KD_USER, KD_READY_PREEMPTED, 0),
		event(TO + 100, 7, KD_RECORDED_RUN, KD_READY_PREEMPTED, KD_USER, 0),
	};
	struct recorded_now now[] = {
		{ .tid = 7, .state = KD_USER, .call = KD_CALL_NONE, .since = TO + 100 },
		{ .tid = 8,
		  .state = KD_BLOCKED,
		  .awaited = KD_AWAITED_TIMER,
		  .call = 35,
		  .cpu = 2 },
	};
	struct recording recording;
	size_t n;

	events[4].cpu = 2; /* that of its switch-in; the waker has another one */
	recording = made(events, COUNT(events), now, 2);
	is_u64(recording.spans[SPAN_STATES].n, 8, "states");
	is_state(&recording, 0, FROM, FROM + 100, KD_USER, "what it was before its first event");
	is_state(&recording, 1, FROM + 100, FROM + 200, KD_KERNEL, "the call");
	is_i64(recording.spans[SPAN_STATES].all[1].call, 45, "which it is");
	is_state(&recording, 2, FROM + 200, FROM + 500, KD_BLOCKED, "asleep in it");
	is_i64(recording.spans[SPAN_STATES].all[2].holder, 8, "who has the lock");
	is_i64(recording.spans[SPAN_STATES].all[2].waker, 8, "who ended that");
	is_u64(recording.spans[SPAN_STATES].all[2].from, KD_FROM_TASK, "from what context");
	is_u64(recording.spans[SPAN_STATES].all[2].awaited, KD_AWAITED_LOCK, "what it waited for");
	is_state(&recording, 3, FROM + 500, FROM + 600, KD_READY_WOKEN, "ready");
	is_u64(recording.spans[SPAN_STATES].all[3].cpu, 2, "for the CPU on which it runs then");
	is_state(&recording, 4, FROM + 600, FROM + 650, KD_KERNEL, "the call goes on");
	is_state(&recording, 5, FROM + 650, FROM + 800, KD_USER, "and has returned");
	ok(recording.spans[SPAN_STATES].all[5].call == KD_CALL_NONE, "in no call");
	spans_of_thread(&recording.spans[SPAN_STATES], 7, &n);
	is_u64(n, 6 + 1, "of one thread");
	is_state(&recording, 6, FROM + 800, TO, KD_READY_PREEMPTED, "cut at the end");
	ok(recording.spans[SPAN_STATES].all[6].goes_on, "and said so");
	is_u64(recording.spans[SPAN_CALLS].n, 1, "calls");
	is_i64(recording.spans[SPAN_CALLS].all[0].value, -11, "its result");
	is_u64(recording.spans[SPAN_CALLS].all[0].end, FROM + 650, "its end");
	recording_clear(&recording);
}

static void is_call(const struct recording *recording, size_t i, struct span want, const char *what)
{
	const struct span *call = &recording->spans[SPAN_CALLS].all[i];

	ok(i < recording->spans[SPAN_CALLS].n && call->start == want.start &&
		   call->end == want.end && call->call == want.call && call->value == want.value &&
		   call->early == want.early && call->goes_on == want.goes_on,
	   "%s", what);
}

/* An end that is not in the recording is that of the call that is. */
TEST(calls_cut)
{
	struct recorded_event events[] = {
		event(FROM + 100, 7, KD_RECORDED_RETURN, KD_KERNEL, KD_USER, 5),
		event(FROM + 300, 7, KD_RECORDED_CALL, KD_USER, KD_KERNEL, 45),
		event(TO + 50, 7, KD_RECORDED_RETURN, KD_KERNEL, KD_USER, 6),
		event(TO + 60, 8, KD_RECORDED_RETURN, KD_KERNEL, KD_USER, 7),
	};
	struct recording recording = made(events, COUNT(events), NULL, 0);

	is_u64(recording.spans[SPAN_CALLS].n, 3, "calls");
	is_call(&recording, 0,
		(struct span){ FROM + 100, FROM + 100, .call = KD_CALL_UNKNOWN, .value = 5,
			       .early = true },
		"one that began earlier");
	is_call(&recording, 1, (struct span){ FROM + 300, FROM + 300, .call = 45, .goes_on = true },
		"one that goes on");
	is_call(&recording, 2,
		(struct span){ TO, TO, .call = KD_CALL_UNKNOWN, .early = true, .goes_on = true },
		"one that does both");
	recording_clear(&recording);
}

/* Of what overlaps on a CPU, the target's states win, then those of others, then what rows say. */
TEST(cpu_runs)
{
	static const struct span states[] = {
		{ 100, 200, .tid = 7, .cpu = 1, .state = KD_USER, .of_target = true },
		{ 200, 250, .tid = 7, .cpu = 1, .state = KD_KERNEL, .of_target = true },
		{ 250, 300, .tid = 7, .cpu = 1, .state = KD_BLOCKED, .of_target = true },
		{ 50, 150, .tid = 50, .cpu = 1, .state = KD_USER },
	};
	static const struct span row = { 10, 90, .tid = 60, .cpu = 1, .key = 0x1800 };
	struct recording recording = { .from = 0, .to = 1000 };
	struct spans runs = { 0 };
	const struct span *run;

	for (size_t i = 0; i < COUNT(states); i++)
		need(!spans_add(&recording.spans[SPAN_STATES], &states[i]));
	need(!spans_add(&recording.spans[SPAN_RUNS], &row));
	ok(!cpu_runs_make(&runs, &recording, 20, 240) && runs.n == 3, "runs of a CPU");
	need(runs.n == 3);
	run = runs.all;
	ok(run->tid == 60 && run->start == 20 && run->end == 50 && run->key == 0x1800,
	   "a row, until another thread runs");
	ok(run[1].tid == 50 && run[1].start == 50 && run[1].end == 100 && !run[1].of_target,
	   "that one, until the target does");
	ok(run[2].tid == 7 && run[2].start == 100 && run[2].end == 240 && run[2].of_target,
	   "whose states are one run");
	free(runs.all);
	recording_clear(&recording);
}

TEST(silent)
{
	struct recorded_now now[] = {
		{ .tid = 7, .state = KD_BLOCKED, .awaited = KD_AWAITED_WORK, .call = 232 },
		{ .tid = 8, .state = KD_USER, .call = KD_CALL_NONE, .since = FROM + 77 },
	};
	struct recording recording = made(NULL, 0, now, 2);

	is_u64(recording.spans[SPAN_STATES].n, 2, "threads without events");
	is_state(&recording, 0, FROM, TO, KD_BLOCKED, "one state all the time");
	is_state(&recording, 1, FROM + 77, TO, KD_USER, "from its birth on");
	recording_clear(&recording);
}

/* Others are known from their first event on, and have been asleep if that woke them; who had a CPU
 * by two events. */
TEST(others)
{
	struct recorded_event events[] = {
		event(FROM + 10, 50, KD_RECORDED_WOKEN, KD_BLOCKED, KD_READY_WOKEN, 7),
		event(FROM + 30, 50, KD_RECORDED_RUN, KD_READY_WOKEN, KD_USER, 0),
		event(FROM + 50, 50, KD_RECORDED_SLEEP, KD_USER, KD_BLOCKED, KD_AWAITED_DISK),
		event(FROM + 60, 50, KD_RECORDED_STATE, KD_UNSEEN, KD_UNSEEN, 0),
		event(FROM + 70, 60, KD_RECORDED_HAD_CPU, 0, 0, 100),
		event(FROM + 70, 60, KD_RECORDED_CULPRIT, 0, 0, 0x1800),
		event(FROM + 80, 61, KD_RECORDED_HAD_CPU, 0, 0, 5),
		event(FROM + 90, 0, KD_RECORDED_HARDIRQ, 0, KD_VECTOR_LOCAL_TIMER, 7),
		event(FROM + 95, 7, KD_RECORDED_HIT, 0, KD_STOP, 0),
	};
	struct recording recording = made(events, COUNT(events), NULL, 0);

	is_u64(recording.spans[SPAN_STATES].n, 4, "states of another process's thread");
	is_state(&recording, 0, FROM, FROM + 10, KD_BLOCKED, "asleep before");
	ok(recording.spans[SPAN_STATES].all[0].early && !recording.spans[SPAN_STATES].all[1].early,
	   "since when is not known");
	is_i64(recording.spans[SPAN_STATES].all[0].waker, 7,
	       "nor does that matter for who ended it");
	is_state(&recording, 1, FROM + 10, FROM + 30, KD_READY_WOKEN, "woken");
	is_state(&recording, 3, FROM + 50, FROM + 60, KD_BLOCKED,
		 "until it was no longer followed");
	is_u64(recording.spans[SPAN_RUNS].n, 1, "a run without its second event is none");
	is_u64(recording.spans[SPAN_RUNS].all[0].start, FROM, "cut at the beginning");
	is_u64(recording.spans[SPAN_RUNS].all[0].end, FROM + 70, "its end");
	is_u64(recording.spans[SPAN_IRQS].n, 1, "interrupts");
	is_u64(recording.spans[SPAN_IRQS].all[0].start, FROM + 83, "as long as it took");
	is_u64(recording.spans[SPAN_HITS].n, 1, "hits");
	is_u64(recording.spans[SPAN_HITS].all[0].role, KD_STOP, "of which trigger");
	recording_clear(&recording);
}

/* Its switches to a CPU and from it were not reported: between the events around them it is not
 * known what it did. */
TEST(others_unreported)
{
	struct recorded_event events[] = {
		event(2000000, 50, KD_RECORDED_WOKEN, KD_BLOCKED, KD_READY_WOKEN, 7),
		event(4000000, 50, KD_RECORDED_SLEEP, KD_USER, KD_BLOCKED, KD_AWAITED_OTHER),
		event(5000000, 50, KD_RECORDED_WOKEN, KD_BLOCKED, KD_READY_WOKEN, 7),
		event(5100000, 50, KD_RECORDED_RUN, KD_READY_WOKEN, KD_USER, 0),
		event(8000000, 50, KD_RECORDED_WOKEN, KD_BLOCKED, KD_READY_WOKEN, 7),
	};
	struct recording recording = made(events, 5, NULL, 0);

	is_u64(recording.spans[SPAN_STATES].n, 4, "states that are known");
	is_state(&recording, 0, FROM, 2000000, KD_BLOCKED, "asleep until it was woken");
	is_state(&recording, 1, 4000000, 5000000, KD_BLOCKED, "asleep after an unknown run");
	is_state(&recording, 2, 5000000, 5100000, KD_READY_WOKEN, "it waited");
	is_state(&recording, 3, 8000000, TO, KD_READY_WOKEN, "woken from an unknown sleep");
	recording_clear(&recording);
}

/* A walk: states of a thread, one after the other, with events on any CPU, of which some are
 * noticed late. */
TEST(walk)
{
	static struct recorded_event events[EVENTS], on[CPUS][EVENTS];
	static struct span want[EVENTS];
	size_t n = 0, n_want = 0, n_on[CPUS] = { 0 };
	struct recording recording;
	bool same;

	for (uint32_t tid = 7; tid <= LARGE; tid += LARGE - 7) {
		uint64_t at = FROM - 500000;
		uint32_t state = KD_USER;

		for (size_t i = 0; i < 4000; i++) {
			uint32_t next = KD_USER + any(KD_FROZEN - KD_USER + 1), cpu = any(CPUS);
			uint64_t start = at;

			at += 1 + any(5000);
			on[cpu][n_on[cpu]++] = event(at, tid, KD_RECORDED_STATE, state, next, 0);
			if (at > FROM && start < TO)
				want[n_want++] = (struct span){
					.start = start > FROM ? start : FROM,
					.end = at < TO ? at : TO,
					.tid = (pid_t)tid,
					.state = (uint8_t)state,
				};
			state = next;
		}
	}
	for (size_t cpu = 0; cpu < CPUS; cpu++)
		for (size_t i = 0; i < n_on[cpu]; i++) {
			size_t late = any(50) || !i ? n : n - 1;

			events[n++] = events[late];
			events[late] = on[cpu][i];
		}
	recording = made(events, n, NULL, 0);
	same = recording.spans[SPAN_STATES].n == n_want;
	for (size_t i = 0; i < n_want && same; i++)
		same = recording.spans[SPAN_STATES].all[i].start == want[i].start &&
		       recording.spans[SPAN_STATES].all[i].end == want[i].end &&
		       recording.spans[SPAN_STATES].all[i].tid == want[i].tid &&
		       recording.spans[SPAN_STATES].all[i].state == want[i].state;
	ok(same, "%zu states are those of the walk", n_want);
	recording_clear(&recording);
}

/* Whatever is in the rings: rows lie in the recording, in order, without overlaps. */
TEST(garbage)
{
	static struct recorded_event events[EVENTS];
	bool good = true;

	for (int round = 0; round < 50 && good; round++) {
		size_t n = any(2000);
		struct recording recording;

		for (size_t i = 0; i < n; i++)
			events[i] = (struct recorded_event){
				.at = any(4) ? FROM + any((uint32_t)(TO - FROM)) : any(~0U) * 7ULL,
				.tid = any(3) ? 5 + any(5) : any(1 << 22),
				.what = any(2) ? any(1000) : any(~0U),
				.cpu = (uint16_t)any(CPUS),
				.kind = (uint8_t)any(KD_RECORDED_KINDS + 2),
				.detail = (uint8_t)any(256),
			};
		recording = made(events, n, NULL, 0);
		for (size_t i = 0; i < recording.spans[SPAN_STATES].n && good; i++) {
			const struct span *row = &recording.spans[SPAN_STATES].all[i];

			good = row->start < row->end && row->start >= FROM && row->end <= TO;
			if (good && i && row[-1].tid == row->tid)
				good = row[-1].end <= row->start;
			else if (good && i)
				good = row[-1].tid < row->tid;
		}
		for (size_t i = 0; i < recording.spans[SPAN_RUNS].n && good; i++)
			good = recording.spans[SPAN_RUNS].all[i].start >= FROM &&
			       recording.spans[SPAN_RUNS].all[i].end <= TO;
		recording_clear(&recording);
	}
	ok(good, "rows of any events");
}

/* --- Copying --- */

#define NOW (1ULL << 50)
#define ROOM 1000
#define SPARE 64

struct writer {
	struct recorder_rings *rings;
	atomic_bool over;
	atomic_ullong written;
};

/* As recorder_put() does it, with a number in place of the time. */
static void *write_on(void *context)
{
	struct writer *writer = context;
	struct kd_recorder_ring *ring = writer->rings->positions->rings;
	unsigned long long number = 0;

	while (!writer->over) {
		struct kd_recorded *entry = &writer->rings->events[ring->next];

		number++;
		__atomic_store_n(&entry->word, number << KD_RECORDED_WHEN | KD_RECORDED_RUN,
				 __ATOMIC_RELAXED);
		__atomic_store_n(&entry->tid, (uint32_t)number, __ATOMIC_RELAXED);
		ring->next = ring->next + 1 < ring->end ? ring->next + 1 : ring->first;
		__atomic_store_n(&ring->position, ring->position + 1, __ATOMIC_RELEASE);
		writer->written = number;
	}
	return NULL;
}

/* The rings of one CPU. */
static struct recorder_rings rings_of(struct kd_recorded *entries, struct kd_recorder *recorder)
{
	return (struct recorder_rings){ .events = entries,
					.positions = recorder,
					.cpus = 1,
					.capacity = ROOM,
					.spare = SPARE };
}

TEST(copy)
{
	static struct kd_recorded entries[ROOM + SPARE];
	static struct kd_recorder recorder;
	struct recorder_rings rings = rings_of(entries, &recorder);
	struct writer writer = { .rings = &rings };
	struct recorded_event *events;
	size_t n, all = 0, rounds = 0, cut = 0;
	uint64_t complete;
	bool good = true;
	pthread_t thread;

	recorder_rings_begin(&rings);
	ok(!recorder_rings_copy(&rings, 0, NOW, 0, &events, &n, &complete) && !n && !complete,
	   "an empty ring");
	free(events);
	need(!pthread_create(&thread, NULL, write_on, &writer));
	/* Until the ring was overwritten in many of them. */
	while ((rounds < 2000 || cut < 1000) && good) {
		unsigned long long before = writer.written;

		good = !recorder_rings_copy(&rings, 0, NOW, 5, &events, &n, &complete);
		for (size_t i = 0; i < n && good; i++)
			good = events[i].at == events[0].at + i && events[i].at >= complete &&
			       events[i].tid == (uint32_t)(events[i].at - 5);
		if (good && n)
			good = events[n - 1].at >= before &&
			       complete == (events[0].at == 1 + 5 ? 0 : events[0].at);
		cut += complete > 6;
		rounds++;
		all += n;
		free(events);
	}
	writer.over = true;
	pthread_join(thread, NULL);
	ok(good && rounds && all && cut,
	   "one that is written meanwhile: %zu copies, %zu events, none torn, none missing", rounds,
	   all);
}

/* What interrupts one that is being written is in a ring of its own, behind that of its CPU. */
TEST(spare)
{
	static struct kd_recorded entries[2 * (ROOM + SPARE)];
	static struct kd_recorder recorders[2];
	struct recorder_rings rings = { .events = entries,
					.positions = recorders,
					.cpus = 2,
					.capacity = ROOM,
					.spare = SPARE };
	struct kd_recorder_ring *ring = &recorders[1].rings[1];
	struct recorded_event *events;
	uint64_t complete;
	size_t n;

	recorder_rings_begin(&rings);
	ok(ring->first == 2 * ROOM + SPARE && ring->end == 2 * (ROOM + SPARE), "the last entries");
	for (uint32_t i = 0; i < SPARE + 2; i++) {
		entries[ring->next].word = ((uint64_t)(i + 1) * 1000) << KD_RECORDED_WHEN;
		entries[ring->next].tid = i;
		ring->next = ring->next + 1 < ring->end ? ring->next + 1 : ring->first;
		ring->position++;
	}
	ok(!recorder_rings_copy(&rings, 0, NOW, 0, &events, &n, &complete), "copied");
	ok(n == SPARE - 1 && events[0].tid == 3 && events[0].cpu == 1 &&
		   events[n - 1].tid == SPARE + 1,
	   "all but the overwritten, and the one that may just be");
	is_u64(complete, 4000, "from there on nothing is missing");
	free(events);
}

/* Of a long ring only what is asked for. */
TEST(since)
{
	static struct kd_recorded entries[ROOM + SPARE];
	static struct kd_recorder recorder;
	struct recorder_rings rings = rings_of(entries, &recorder);
	struct recorded_event *events;
	uint64_t complete;
	size_t n;

	for (uint64_t i = 0; i < 900; i++)
		entries[recorder.rings->position++].word = i * 10000000ULL << KD_RECORDED_WHEN;
	ok(!recorder_rings_copy(&rings, 8000000000ULL, NOW, 0, &events, &n, &complete), "copied");
	is_u64(n, 900 - 800 + 10, "what came since, and what may be late");
	is_u64(complete, 8000000000ULL, "all of it is there");
	free(events);
}

/* Events have 51 bits of their time: after 26 days it begins anew. */
TEST(days)
{
	static struct kd_recorded entries[ROOM + SPARE];
	static struct kd_recorder recorder;
	struct recorder_rings rings = rings_of(entries, &recorder);
	const uint64_t day = 24 * 3600 * 1000000000ULL, epoch = 77, now = epoch + 100 * day;
	struct recorded_event *events;
	uint64_t complete;
	size_t n;

	for (uint64_t i = 0; i < 5; i++)
		entries[recorder.rings->position++].word =
			(100 * day - 500 + i * 200) << KD_RECORDED_WHEN | KD_RECORDED_RUN;
	ok(!recorder_rings_copy(&rings, now - day, now, epoch, &events, &n, &complete) && n == 5,
	   "after 100 days");
	ok(n == 5 && events[0].at == now - 500 && events[4].at == now + 300 &&
		   events[0].kind == KD_RECORDED_RUN,
	   "at their times, also what came after now");
	free(events);
}
