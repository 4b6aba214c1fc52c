// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "irq_cost.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "bpf/kernel_delay.h"
#include "cli/base/arith.h"
#include "cli/base/clock.h"

#define ROUNDS 15
#define ROUNDS_LEAST 5
#define PATIENCE_NS 50000             /* until one is not expected any more */
#define ALL_NS (1000 * NSEC_PER_USEC) /* for all of a kind */
#define TIMER_NS 5000                 /* ahead: the call that sets it has returned */

/* What the programs have seen of interrupts of this thread, ns. */
static uint64_t irqs_seen(const struct kd_record *record)
{
	const volatile struct kd_overlay *hard = &record->hardirq_ns, *soft = &record->softirq_ns;
	uint64_t ns = 0;

	for (int i = 0; i < KD_RUNNING; i++)
		ns += hard->in[i] + soft->in[i];
	return ns;
}

/* Waits, without a call, for an interrupt and returns what it took beyond what the programs have
 * seen; 0: none came. before: what they had seen. step: the least time between two readings of
 * the clock so far. */
static uint64_t gap_measure(const struct kd_record *record, uint64_t before, uint64_t *step)
{
	uint64_t from = clock_monotonic(), last = from, seen = irqs_seen(record), then, ns;

	for (uint64_t end = from + PATIENCE_NS; last < end; seen = irqs_seen(record)) {
		if (seen != before)
			break;
		/* So nothing was seen before this, and the interrupt comes after from. */
		from = last;
		last = clock_monotonic();
		if (last > from)
			*step = u64_min(*step, last - from);
	}
	then = irqs_seen(record);
	ns = clock_monotonic() - from;
	if (irqs_seen(record) != then) /* another one, which may or may not be in ns */
		return 0;
	seen = then - before;
	return seen && ns > seen + 2 * *step ? ns - seen - 2 * *step : 0;
}

/* Asks for an interrupt. Returns false if none will come. */
typedef bool ask_fn(void *source);

/* The least: with some of them other interrupts or threads come. */
static uint64_t source_measure(const struct kd_record *record, ask_fn *ask, void *source)
{
	uint64_t end = clock_monotonic() + ALL_NS, step = PATIENCE_NS, least = 0, before, ns;
	int n = 0;

	while (n < ROUNDS && clock_monotonic() < end) {
		if (!ask(source))
			continue;
		before = irqs_seen(record);
		ns = gap_measure(record, before, &step);
		if (!ns)
			continue;
		least = n++ ? u64_min(least, ns) : ns;
	}
	return n >= ROUNDS_LEAST ? least : 0;
}

struct timer {
	int fd;
	uint64_t set; /* what setting it took the last time: in a virtual machine 20 us or more */
};

static bool timer_ask(void *source)
{
	struct timer *timer = source;
	const struct itimerspec after = {
		.it_value.tv_nsec = (long)(TIMER_NS + u64_min(timer->set, PATIENCE_NS)),
	};
	uint64_t before = clock_monotonic();

	if (timerfd_settime(timer->fd, 0, &after, NULL))
		return false;
	timer->set = clock_monotonic() - before;
	return true;
}

uint64_t irq_cost_timer(const struct kd_record *record)
{
	struct timer timer = { .fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC) };
	uint64_t ns;

	if (timer.fd < 0)
		return 0;
	ns = source_measure(record, timer_ask, &timer);
	close(timer.fd);
	return ns;
}

/* A thread on another CPU. It may not get to run there as long as somebody else does: so it is
 * not waited for, and who is the last one frees this. */
struct sender {
	atomic_int users, asked;
	atomic_bool over;
};

static void sender_leave(struct sender *sender)
{
	if (atomic_fetch_sub(&sender->users, 1) == 1)
		free(sender);
}

/* Makes this process's threads on other CPUs pass a memory barrier, by an interrupt. */
static void *sender_run(void *context)
{
	struct sender *sender = context;
	int sent = 0;

	while (!atomic_load(&sender->over)) {
		if (sent == atomic_load(&sender->asked))
			continue;
		syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
		sent++;
	}
	sender_leave(sender);
	return NULL;
}

static bool sender_ask(void *source)
{
	struct sender *sender = source;

	atomic_fetch_add(&sender->asked, 1);
	return true;
}

/* Those where this process may run, without the one where this thread is. Returns false if there
 * is none: the others are left to the target (placement_choose()). */
static bool other_cpus(cpu_set_t *cpus)
{
	int here = sched_getcpu();

	if (here < 0 || here >= CPU_SETSIZE || sched_getaffinity(0, sizeof(*cpus), cpus))
		return false;
	CPU_CLR(here, cpus);
	return CPU_COUNT(cpus) > 0;
}

/* Signals are for the thread that waits for them. */
static bool sender_start(struct sender *sender, const cpu_set_t *cpus)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t thread;
	bool started;

	if (pthread_attr_init(&attributes))
		return false;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	started = !pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) &&
		  !pthread_attr_setaffinity_np(&attributes, sizeof(*cpus), cpus) &&
		  !pthread_create(&thread, &attributes, sender_run, sender);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return started;
}

uint64_t irq_cost_ipi(const struct kd_record *record)
{
	struct sender *sender;
	uint64_t ns = 0;
	cpu_set_t cpus;

	/* With one thread that takes no time (membarrier_register_private_expedited()). */
	if (!other_cpus(&cpus) ||
	    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0))
		return 0;
	sender = calloc(1, sizeof(*sender));
	if (!sender)
		return 0;
	atomic_init(&sender->users, 2);
	if (sender_start(sender, &cpus))
		ns = source_measure(record, sender_ask, sender);
	else
		sender_leave(sender);
	atomic_store(&sender->over, true);
	sender_leave(sender);
	return ns;
}
