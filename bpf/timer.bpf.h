/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Sleeps with a timeout: their deadlines, from the arguments of their calls, and how late threads
 * were woken. Calls that do not sleep cost nothing, nor do timers of other processes.
 *
 * A timeout counts from its call's entry. The kernel reads its clock a little later; after a loss
 * of the CPU in between, the deadline is unknown. */
#ifndef TIMER_BPF_H
#define TIMER_BPF_H

#include "compat.bpf.h"
#include "window.bpf.h"

/* include/uapi/linux/time.h */
#define CLOCK_REALTIME 0
#define CLOCK_MONOTONIC 1
#define CLOCK_PROCESS_CPUTIME_ID 2
#define CLOCK_THREAD_CPUTIME_ID 3
#define TIMER_ABSTIME 1

#define NSEC_PER_SEC 1000000000ULL

static __always_inline u32 call_timeout(s32 call)
{
	u64 number = (u32)call;

	barrier_var(number);
	return number < KD_CLASSES ? kd_call_timeouts[number] : 0;
}

/* Timeout in ns, KD_NEVER: none. argument: its value or address. */
static __always_inline u64 timeout_ns(u32 timeout, u64 argument)
{
	u64 time[2] = {};

	if (timeout & KD_TIMEOUT_MS)
		return (s32)argument < 0 ? KD_NEVER : (u64)(u32)argument * 1000000;
	if (!argument || bpf_probe_read_user(time, sizeof(time), (void *)argument))
		return KD_NEVER;
	if (time[0] >= KD_NEVER / NSEC_PER_SEC) /* too far away to matter */
		return KD_NEVER;
	return time[0] * NSEC_PER_SEC + (timeout & KD_TIMEOUT_US ? time[1] * 1000 : time[1]);
}

/* True for clocks that only advance while a process or thread runs; another one's are negative. */
static __always_inline bool is_cpu_clock(u64 clock)
{
	return (s32)clock < 0 || (u32)clock == CLOCK_PROCESS_CPUTIME_ID ||
	       (u32)clock == CLOCK_THREAD_CPUTIME_ID;
}

/* Offset to subtract from a timeout: 0 if relative; KD_NEVER: unknown. */
static __always_inline u64 timeout_origin(u32 timeout, u64 first, u64 second)
{
	u64 clock;

	if (timeout & KD_TIMEOUT_CLOCK) {
		if (is_cpu_clock(first))
			return KD_NEVER;
		if (!(second & TIMER_ABSTIME))
			return 0;
		clock = first;
	} else if (timeout & KD_TIMEOUT_FUTEX) {
		if ((second & KD_FUTEX_COMMAND) == KD_FUTEX_WAIT)
			return 0;
		if ((second & KD_FUTEX_COMMAND) != KD_FUTEX_WAIT_BITSET)
			return KD_NEVER;
		clock = second & KD_FUTEX_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC;
	} else {
		return 0;
	}
	if (!kd_clocks_are_ours)
		return KD_NEVER;
	return clock == CLOCK_MONOTONIC  ? kd_epoch
	       : clock == CLOCK_REALTIME ? kd_epoch + READ_ONCE(kd_real_time)
					 : KD_NEVER;
}

/* Slack of the kernel's wakeup: select_estimate_accuracy(), and hrtimer_nanosleep(). */
static __always_inline u64 timeout_slack(struct task_struct *task, u32 timeout, u64 ns)
{
	u64 slack = BPF_CORE_READ(task, timer_slack_ns), part;
	u32 prio = BPF_CORE_READ(task, prio);

	if ((s32)prio < MAX_RT_PRIO)
		return 0;
	if (!(timeout & KD_TIMEOUT_ESTIMATED))
		return slack;
	part = ns / (prio > DEFAULT_PRIO ? 200 : 1000);
	if (part > 100000000)
		part = 100000000;
	return part > slack ? part : slack;
}

/* Called when a thread goes to sleep in a call with a timeout. first, second: the call's arguments;
 * argument: the timeout. Global, to be verified once. */
__noinline int timer_begin(u32 slot, u32 timeout, u64 first, u64 second, u64 argument)
{
	struct kd_thread *thread = slot_thread(slot);
	struct kd_timer *timer;
	u64 ns, origin;

	if (!thread)
		return 0;
	timer = &thread->timer;
	timer->call_since = thread->call_since;
	timer->deadline = 0;
	if (thread->run_since > thread->call_since)
		return 0;
	/* Passes through memory: the verifier continues with one unknown number. */
	WRITE_ONCE(timer->slack, timeout_origin(timeout, first, second));
	origin = READ_ONCE(timer->slack);
	WRITE_ONCE(timer->requested, timeout_ns(timeout, argument));
	ns = READ_ONCE(timer->requested);
	/* A timeout of 0 asks for no sleep: this sleep is for something else. */
	if (origin == KD_NEVER || ns == KD_NEVER || ns < origin || !(origin | ns))
		return 0;
	timer->deadline = origin ? ns - origin : thread->call_since + ns;
	/* Deadline in the past: the program itself was late. */
	if (timer->deadline < thread->call_since)
		timer->deadline = thread->call_since;
	timer->requested = timer->deadline - thread->call_since;
	timer->slack = timeout_slack((struct task_struct *)thread->task, timeout, timer->requested);
	return 0;
}

/* Called when a thread has gone to sleep, maybe several times in one call. */
static __always_inline void timer_sleep(struct kd_thread *thread, u32 slot,
					struct task_struct *task)
{
	u32 timeout = call_timeout(thread->call);
	struct call_arguments is;

	/* Drops an earlier call's deadline, which is not this sleep's. */
	if (!timeout)
		thread->timer.deadline = 0;
	if (!timeout || !thread->call_since || thread->timer.call_since == thread->call_since)
		return;
	is = task_call_arguments(task, timeout & KD_TIMEOUT_ARGUMENT);
	timer_begin(slot, timeout, is.first, is.second, is.other);
}

/* Counts a wakeup after the deadline, once: later sleeps in this call are not for the timeout. */
__noinline int timer_end(u32 slot, u64 t)
{
	struct target target = { .slot = slot, .thread = slot_thread(slot) };
	u64 deadline;

	if (!target.thread)
		return 0;
	deadline = target.thread->timer.deadline;
	target.thread->timer.deadline = 0;
	item_book(event_at(target, t), ITEM_OVERSLEPT, 0, deadline);
	return 0;
}

static __always_inline void timer_wake(struct event event)
{
	u64 deadline = event.thread->timer.deadline;

	if (deadline && event.t > deadline)
		timer_end(event.slot, event.t);
}

#endif
