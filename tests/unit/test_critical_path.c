// SPDX-License-Identifier: Apache-2.0
/* The critical path of recordings made by hand, of random ones, and of random ones that are true
 * to themselves, for which it is computed in another way as well. */
#include "cli/base/syscall_set.h"
#include "path_recording.h"
#include "random.h"
#include "say.h"
#include "tap.h"

#define MS 1000000ULL

/* The path of thread 10 in a window. */
static struct critical_path path_of(const struct recording *recording, uint64_t start, uint64_t end)
{
	struct critical_path path = { .thread = { .tid = 10, .pid = 10, .of_target = true },
				      .start = start,
				      .end = end };

	need(!critical_path_find(&path, recording));
	return path;
}

/* Without holes, from start to end; each row's parts are its time. */
static bool adds_up(const struct critical_path *path)
{
	uint64_t at = path->start, legs = 0;

	for (size_t i = 0; i < path->n_rows; i++) {
		const struct path_row *row = &path->rows[i];
		uint64_t parts = 0;

		for (size_t j = 0; j < PATH_STATES; j++)
			parts += row->states[j];
		if (row->start != at || row->end <= at || parts != row->end - at ||
		    row->mostly > parts || (row->legs == 1 && row->mostly != parts))
			return false;
		at = row->end;
		legs += row->legs;
	}
	return at == path->end && path->n_rows <= PATH_ROWS && legs == path->legs;
}

/* The path of thread 10 in a window: for each row when it begins (in ms), on which thread, and what
 * is said of it. */
static void is_path(const struct recording *made, uint64_t start, uint64_t end, const char *want,
		    const char *what)
{
	struct critical_path path = path_of(made, start, end);
	char text[SAY_LEN] = "", buffer[PATH_TEXT_LEN];

	for (size_t i = 0; i < path.n_rows; i++)
		say(text, "%s%g %d %s", i ? "; " : "", (double)path.rows[i].start / (double)MS,
		    path.rows[i].thread.tid, path_row_text(&path.rows[i], false, buffer));
	is_str(text, want, "%s", what);
	ok(adds_up(&path), "%s: the path adds up", what);
	critical_path_clear(&path);
}

/* Running in all ways, with interrupts in one another. */
TEST(running)
{
	struct recording made = { 0 };

	made_thread(&made, 10, 10, "main");
	made_state(&made, 10, 10 * MS, KD_USER);
	made_state(&made, 10, 20 * MS, KD_KERNEL)->call = (uint32_t)syscall_number("write");
	made_state(&made, 10, 30 * MS, KD_FAULT);
	made_state(&made, 10, 40 * MS, KD_RECLAIM)->call = (uint32_t)syscall_number("mmap");
	made_state(&made, 10, 50 * MS, KD_STOPPED);
	made_state(&made, 10, 60 * MS, KD_FROZEN);
	made_irq(&made, 0, 13 * MS, 15 * MS, true, "nvme0q1");
	made_irq(&made, 0, 12 * MS, 16 * MS, false, "net_rx");
	made_irq(&made, 1, 22 * MS, 23 * MS, true, "elsewhere");
	is_path(&made, 5 * MS, 60 * MS,
		"5 10 running user; 10 10 running kernel in write; 12 10 soft irq net_rx; "
		"13 10 hard irq nvme0q1; 15 10 soft irq net_rx; 16 10 running kernel in write; "
		"20 10 page faults; 30 10 reclaim in mmap; 40 10 stopped; 50 10 frozen",
		"running");
	is_path(&made, 14 * MS, 14 * MS + 1, "14 10 hard irq nvme0q1",
		"a window inside an interrupt");
	is_path(&made, 14 * MS, 14 * MS, "", "an empty window");
	recording_clear(&made);
}

/* Ready: a leg for each that had the CPU. */
TEST(ready)
{
	struct recording made = { 0 };

	made_thread(&made, 10, 10, "main");
	made_thread(&made, 11, 10, "worker");
	made_state(&made, 10, 60 * MS, KD_READY_WOKEN)->cpu = 2;
	made_state(&made, 10, 70 * MS, KD_READY_PREEMPTED)->cpu = 2;
	made_state(&made, 10, 80 * MS, KD_USER);
	made_run(&made, 2, 0, 5 * MS, KD_WHO_IDLE);
	made_run(&made, 2, 10 * MS, 20 * MS, 4000);
	made_run(&made, 2, 20 * MS, 30 * MS, 4001);
	made_run(&made, 2, 30 * MS, 40 * MS, KD_WHO_HYPERVISOR);
	made_run(&made, 2, 40 * MS, 50 * MS, KD_WHO_THROTTLED);
	made_run(&made, 2, 50 * MS, 65 * MS, 4002);
	made.spans[SPAN_RUNS].all[made.spans[SPAN_RUNS].n - 1].tid = 11;
	made_culprit(&made, KD_WHO_IDLE, CULPRIT_IDLE, 0, "");
	made_culprit(&made, KD_WHO_THROTTLED, CULPRIT_THROTTLED, 0, "");
	made_culprit(&made, KD_WHO_HYPERVISOR, CULPRIT_STOLEN, 0, "");
	made_culprit(&made, 4000, CULPRIT_TASK, 812, "backup");
	made_culprit(&made, 4001, CULPRIT_REST, 0, "");
	made_irq(&made, 2, 12 * MS, 13 * MS, true, "eth0");
	made_irq(&made, 2, 14 * MS, 15 * MS, false, "timer");
	is_path(&made, 1 * MS, 80 * MS,
		"1 10 ready after wakeup, the CPU was idle; 5 10 ready after wakeup; "
		"10 10 ready after wakeup, the CPU had backup[812]; "
		"12 10 ready after wakeup, hard irq eth0; "
		"13 10 ready after wakeup, the CPU had backup[812]; "
		"14 10 ready after wakeup, soft irq timer; "
		"15 10 ready after wakeup, the CPU had backup[812]; "
		"20 10 ready after wakeup, others had the CPU; "
		"30 10 ready after wakeup, the hypervisor had the CPU; 40 10 throttled; "
		"50 10 ready after wakeup, the CPU had worker[11]; "
		"60 10 ready after preemption, the CPU had worker[11]; "
		"65 10 ready after preemption; 70 10 running user",
		"ready");
	recording_clear(&made);
}

/* Waits that no task ended. */
TEST(waits)
{
	struct recording made = { .to = 100 * MS };

	made_thread(&made, 10, 10, "main");
	made_wait(&made, 10, 10 * MS, KD_AWAITED_TIMER, KD_FROM_TIMER, 0)->call =
		(uint32_t)syscall_number("nanosleep");
	made_wait(&made, 10, 20 * MS, KD_AWAITED_DISK, KD_FROM_DISK, 0)->state = KD_BLOCKED_UNINT;
	made_wait(&made, 10, 30 * MS, KD_AWAITED_SOCKET, KD_FROM_NETWORK, 0)->call = 0x20000003;
	made_wait(&made, 10, 40 * MS, KD_AWAITED_OTHER, KD_FROM_INTERRUPT, 0);
	made_wait(&made, 10, 50 * MS, KD_AWAITED_LOCK, KD_FROM_UNKNOWN, 0)->call = KD_CALL_UNKNOWN;
	made_wait(&made, 10, 60 * MS, KD_AWAITED_LOCK, KD_FROM_TASK, 0);
	made_wait(&made, 10, 70 * MS, KD_AWAITED_PIPE, KD_FROM_TASK, 999);
	made_wait(&made, 10, 100 * MS, KD_AWAITED_WORK, KD_FROM_UNKNOWN, 0)->goes_on = true;
	is_path(&made, 0, 100 * MS,
		"0 10 blocked interruptible for timer (sleep) in nanosleep, ended by a timer; "
		"10 10 blocked uninterruptible for disk, ended by the disk; "
		"20 10 blocked interruptible for socket in read, ended by the network; "
		"30 10 blocked interruptible, ended by an interrupt; "
		"40 10 blocked interruptible for lock: it is not known who ended that; "
		"50 10 blocked interruptible for lock, ended by a thread: it is not known who "
		"ended that; "
		"60 10 blocked interruptible for pipe, ended by [999]: not followed until then; "
		"70 10 blocked interruptible for work (poll, accept): not over at the window's end",
		"waits");
	is_path(&made, 0, 5 * MS,
		"0 10 blocked interruptible for timer (sleep) in nanosleep: not over at the "
		"window's end",
		"a wait that is not over");
	recording_clear(&made);
}

/* main waits for a lock of worker, which had to wait for another process's end of a pipe, which
 * waited for the disk, as a thread of the kernel told it; before, and in between, all of them did
 * other things. */
TEST(chain)
{
	struct recording made = { 0 };

	made_thread(&made, 10, 10, "main");
	made_thread(&made, 11, 10, "worker");
	made_thread(&made, 20, 20, "reader")->of_target = false;
	made_thread(&made, 30, 0, "kworker/0:1")->of_target = false;
	made.threads[3].of_kernel = true;
	made_state(&made, 10, 10 * MS, KD_USER);
	made_wait(&made, 10, 90 * MS, KD_AWAITED_LOCK, KD_FROM_TASK, 11)->call =
		(uint32_t)syscall_number("futex");
	made_state(&made, 10, 91 * MS, KD_READY_WOKEN);
	made_state(&made, 10, 100 * MS, KD_USER);
	made_wait(&made, 11, 5 * MS, KD_AWAITED_WORK, KD_FROM_TASK, 10);
	made_state(&made, 11, 20 * MS, KD_USER);
	made_wait(&made, 11, 70 * MS, KD_AWAITED_PIPE, KD_FROM_TASK, 20);
	made_state(&made, 11, 72 * MS, KD_READY_WOKEN);
	made_state(&made, 11, 100 * MS, KD_USER);
	made_state(&made, 20, 30 * MS, KD_USER);
	made_wait(&made, 20, 60 * MS, KD_AWAITED_DISK, KD_FROM_TASK, 30);
	made_state(&made, 20, 100 * MS, KD_USER);
	made_wait(&made, 30, 50 * MS, KD_AWAITED_OTHER, KD_FROM_DISK, 0);
	made_state(&made, 30, 100 * MS, KD_KERNEL);
	is_path(&made, 0, 100 * MS,
		"0 10 running user; 10 11 running user; 20 20 running; "
		"30 30 blocked interruptible, ended by the disk; 50 30 running kernel; "
		"60 20 running; 70 11 ready after wakeup; 72 11 running user; "
		"90 10 ready after wakeup; 91 10 running user",
		"a chain, each leg once");
	recording_clear(&made);
}

/* Over loopback the sender goes on. */
TEST(loopback)
{
	struct recording made = { 0 };

	made_thread(&made, 10, 10, "main");
	made_wait(&made, 10, 50 * MS, KD_AWAITED_SOCKET, KD_FROM_NETWORK, 20);
	made_state(&made, 20, 100 * MS, KD_USER)->of_target = false;
	is_path(&made, 0, 50 * MS, "0 20 running", "over loopback the sender");
	recording_clear(&made);
}

/* Where the recording does not say more. */
TEST(reasons)
{
	struct recording made = { .from = 10 * MS };

	made_thread(&made, 10, 10, "main");
	made_thread(&made, 20, 20, "peer")->of_target = false;
	made_wait(&made, 10, 50 * MS, KD_AWAITED_PIPE, KD_FROM_TASK, 20);
	made_state(&made, 10, 55 * MS, KD_DEAD);
	made_state(&made, 20, 50 * MS, KD_USER)->start = 30 * MS;
	is_path(&made, 0, 60 * MS,
		"0 10 not known: before the recording; "
		"10 10 blocked interruptible for pipe, ended by peer[20]: not followed until then; "
		"30 20 running; 50 10 not known: not seen",
		"reasons");
	made.from = 20 * MS;
	is_path(&made, 5 * MS, 50 * MS,
		"5 10 not known: before the recording; "
		"10 10 blocked interruptible for pipe, ended by peer[20]: before the recording; "
		"20 10 blocked interruptible for pipe, ended by peer[20]: not followed until then; "
		"30 20 running",
		"a beginning of which more is asked");
	recording_clear(&made);
}

/* Recordings that cannot be: they wake one another, or themselves, or while they sleep. */
TEST(contradictions)
{
	struct recording made = { 0 };

	made_wait(&made, 10, 50 * MS, KD_AWAITED_LOCK, KD_FROM_TASK, 11);
	made_wait(&made, 11, 50 * MS, KD_AWAITED_LOCK, KD_FROM_TASK, 10);
	is_path(&made, 0, 50 * MS,
		"0 11 blocked interruptible for lock, ended by [10]: the recording contradicts "
		"itself",
		"in a circle");
	made.spans[SPAN_STATES].all[0].waker = 10;
	is_path(&made, 0, 50 * MS,
		"0 10 blocked interruptible for lock, ended by [10]: the recording contradicts "
		"itself",
		"nobody wakes itself");
	made.spans[SPAN_STATES].all[0].waker = 11;
	made.spans[SPAN_STATES].all[1].end = 60 * MS;
	is_path(&made, 0, 50 * MS,
		"0 11 blocked interruptible for lock, ended by [10]: the recording contradicts "
		"itself",
		"nor is anybody woken by one who sleeps");
	recording_clear(&made);
}

/* A hundred that wait for one another. */
TEST(depth)
{
	struct recording made = { 0 };
	struct critical_path path;

	for (pid_t tid = 10; tid < 110; tid++) {
		uint64_t woken = (110 - (uint64_t)tid) * MS;

		made_wait(&made, tid, woken, KD_AWAITED_LOCK, KD_FROM_TASK, tid + 1);
		made_state(&made, tid, 200 * MS, KD_USER);
	}
	path = path_of(&made, 0, 100 * MS);
	ok(adds_up(&path), "waits that are too deep: the path adds up");
	is_u64(path.rows[0].reason, PATH_TOO_DEEP, "the last one is not followed");
	is_u64(path.n_rows, 64, "of this many threads");
	critical_path_clear(&path);
	recording_clear(&made);
}

/* Many short legs share rows, the long ones keep theirs. */
TEST(many)
{
	struct recording made = { 0 };
	struct critical_path path;
	uint64_t at = 0, user = 0, kernel = 0, sum[PATH_STATES] = { 0 };
	size_t longs = 0;

	for (unsigned int i = 0; i < 100000; i++) {
		uint64_t ns = 500 + chance(1000) + (i % 10000 == 5000) * 20 * MS;

		at += ns;
		made_state(&made, 10, at, i % 2 ? KD_USER : KD_KERNEL);
		*(i % 2 ? &user : &kernel) += ns;
	}
	path = path_of(&made, 0, at);
	ok(adds_up(&path), "100,000 legs add up");
	is_u64(path.legs, 100000, "all are counted");
	for (size_t i = 0; i < path.n_rows; i++) {
		longs += path.rows[i].legs == 1 && path.rows[i].mostly > 20 * MS;
		for (size_t j = 0; j < PATH_STATES; j++)
			sum[j] += path.rows[i].states[j];
	}
	is_u64(longs, 10, "long ones have rows of their own");
	ok(sum[LEDGER_USER] == user && sum[LEDGER_KERNEL] == kernel, "states keep their sums");
	critical_path_clear(&path);
	recording_clear(&made);
}

/* --- Random recordings --- */

#define THREADS 6
#define STEPS 400

/* Threads that take turns, and wake one another; time goes in steps. */
static void simulate(struct recording *made)
{
	static const enum kd_state awake[] = { KD_USER, KD_KERNEL, KD_READY_PREEMPTED };
	struct {
		enum kd_state is;
		uint64_t since;
	} now[THREADS];
	struct span rows[THREADS][STEPS];
	size_t n[THREADS] = { 0 };

	for (pid_t i = 0; i < THREADS; i++)
		now[i].is = KD_USER, now[i].since = 0;
	for (uint64_t t = 1; t <= STEPS; t++) {
		size_t i = chance(THREADS), waker = chance(THREADS);
		bool asleep = now[i].is == KD_BLOCKED;
		bool by_task = asleep && waker != i && kd_is_running(now[waker].is);

		if (t < STEPS && asleep && !by_task && chance(4))
			continue;
		for (size_t j = 0; j < THREADS; j++) {
			struct span *row = &rows[j][n[j]];

			if ((t < STEPS && j != i) || now[j].since == t)
				continue;
			*row = (struct span){ .start = now[j].since,
					      .end = t,
					      .tid = 10 + (pid_t)j,
					      .state = (uint8_t)now[j].is,
					      .of_target = true,
					      .call = KD_CALL_NONE };
			row->goes_on = t == STEPS;
			if (asleep && j == i && t < STEPS) {
				row->from = by_task ? KD_FROM_TASK : KD_FROM_TIMER;
				row->waker = by_task ? 10 + (pid_t)waker : 0;
			}
			n[j]++;
			now[j].since = t;
		}
		now[i].is = chance(2) ? KD_BLOCKED : awake[chance(3)];
		if (asleep)
			now[i].is = KD_READY_WOKEN;
	}
	for (pid_t i = 0; i < THREADS; i++) {
		made_thread(made, 10 + i, 10, "thread");
		for (size_t j = 0; j < n[i]; j++)
			made_span(made, SPAN_STATES, rows[i][j]);
	}
}

/* Whose each step is, and in what state, from waits' beginnings to their ends, forwards. */
static void reference(const struct recording *made, pid_t tid, uint64_t start, uint64_t end,
		      struct path_row steps[STEPS])
{
	size_t n;
	const struct span *states = spans_of_thread(&made->spans[SPAN_STATES], tid, &n);

	for (size_t i = 0; i < n; i++) {
		uint64_t from = states[i].start > start ? states[i].start : start;
		uint64_t to = states[i].end < end ? states[i].end : end;

		if (from < to && states[i].waker && states[i].end <= end) {
			reference(made, states[i].waker, from, to, steps);
			continue;
		}
		for (uint64_t t = from; t < to; t++) {
			steps[t].thread.tid = tid;
			steps[t].state =
				(uint32_t)(ledger_words_of(states[i].state) - ledger_words);
		}
	}
}

TEST(reference)
{
	unsigned int different = 0, depths = 0;

	for (unsigned int i = 0; i < 300; i++) {
		struct recording made = { .to = STEPS };
		struct path_row steps[STEPS] = { 0 };
		uint64_t start = chance(STEPS / 2), end = start + 1 + chance(STEPS / 2);
		struct critical_path path;

		simulate(&made);
		reference(&made, 10, start, end, steps);
		path = path_of(&made, start, end);
		different += !adds_up(&path);
		for (size_t j = 0; j < path.n_rows; j++)
			for (uint64_t t = path.rows[j].start; t < path.rows[j].end; t++) {
				different += path.rows[j].thread.tid != steps[t].thread.tid ||
					     path.rows[j].state != steps[t].state;
				depths += path.rows[j].thread.tid != 10;
			}
		critical_path_clear(&path);
		recording_clear(&made);
	}
	is_u64(different, 0, "as computed forwards, of 300 random recordings");
	ok(depths > 1000, "much of them on other threads");
}

static uint64_t random_time(void)
{
	return chance(20) ? chance(1000) : random_next() >> chance(64);
}

/* Whatever the rows are. */
TEST(random)
{
	unsigned int bad = 0;

	for (unsigned int i = 0; i < 3000; i++) {
		struct recording made = { .from = random_time(), .to = random_time() };
		uint64_t start = random_time() >> 1, end = start + chance(1200);
		struct critical_path path;

		for (uint64_t n = chance(60); n; n--) {
			struct span *state = made_state(
				&made, 8 + (pid_t)chance(5) + (chance(2) ? 0 : (pid_t)(n / 12)),
				random_time(), (enum kd_state)chance(16));

			state->start = chance(2) ? state->start : random_time();
			state->awaited = (uint8_t)random_next(), state->from = (uint8_t)chance(7);
			state->waker = (pid_t)chance(16), state->cpu = (uint32_t)chance(3);
			state->call = (int32_t)random_next(), state->goes_on = !chance(8);
		}
		for (uint64_t n = chance(30); n; n--) {
			made_irq(&made, (uint32_t)chance(3), random_time(), random_time(),
				 chance(2), chance(2) ? "any" : NULL);
			made_run(&made, (uint32_t)chance(3), random_time(), random_time(),
				 (uint32_t)chance(9));
			made_culprit(&made, (uint32_t)chance(9),
				     (enum culprit_kind)chance(CULPRIT_KINDS), 5, "x");
		}
		path = path_of(&made, start, end);
		bad += !adds_up(&path);
		critical_path_clear(&path);
		recording_clear(&made);
	}
	is_u64(bad, 0, "whatever was recorded, the path has no holes");
}
