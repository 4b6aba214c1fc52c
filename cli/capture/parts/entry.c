// SPDX-License-Identifier: Apache-2.0
/* Cost of entering and leaving the kernel that the programs cannot measure. Tracepoints of system
 * calls and interrupts come after the entry and before the exit, and the programs read the clock
 * amid their own code. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "bpf/kernel_delay.h"
#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "cli/capture/session/maps.h"
#include "cli/capture/session/parts.h"
#include "cli/capture/session/slots.h"
#include "kernel_delay.skel.h"

/* --- Interrupts --- */

#define IRQ_ROUNDS 15
#define ROUNDS_LEAST 5
#define PATIENCE_NS 50000             /* until an interrupt is given up */
#define ALL_NS (1000 * NSEC_PER_USEC) /* for all rounds */
#define TIMER_NS 5000                 /* ahead, so that the call that sets it has returned */

/* Returns the time that the programs measured for interrupts of this thread, ns. */
static uint64_t irqs_measured(const struct kd_record *record)
{
	const volatile struct kd_overlay *hard = &record->hardirq_ns, *soft = &record->softirq_ns;
	uint64_t ns = 0;

	for (int i = 0; i < KD_RUNNING; i++)
		ns += hard->in[i] + soft->in[i];
	return ns;
}

/* Spins until an interrupt, without calls. Returns the interrupt's time beyond what the programs
 * measured; 0: none came. before: what they had measured before. step: the shortest interval
 * between two clock readings so far. */
static uint64_t gap_measure(const struct kd_record *record, uint64_t before, uint64_t *step)
{
	uint64_t from = clock_monotonic(), last = from, measured = irqs_measured(record), then, ns;

	for (uint64_t end = from + PATIENCE_NS; last < end; measured = irqs_measured(record)) {
		if (measured != before)
			break;
		/* Nothing was measured until after this reading: the interrupt comes later. */
		from = last;
		last = clock_monotonic();
		if (last > from)
			*step = u64_min(*step, last - from);
	}
	then = irqs_measured(record);
	ns = clock_monotonic() - from;
	if (irqs_measured(record) != then) /* another interrupt, which may or may not be in ns */
		return 0;
	measured = then - before;
	return measured && ns > measured + 2 * *step ? ns - measured - 2 * *step : 0;
}

struct timer {
	int fd;
	uint64_t set; /* time of the last set: in a virtual machine 20 us or more */
};

/* Arms the timer. Returns false if no interrupt will come. */
static bool timer_set(struct timer *timer)
{
	const struct itimerspec after = {
		.it_value.tv_nsec = (long)(TIMER_NS + u64_min(timer->set, PATIENCE_NS)),
	};
	uint64_t before = clock_monotonic();

	if (timerfd_settime(timer->fd, 0, &after, NULL))
		return false;
	timer->set = clock_monotonic() - before;
	return true;
}

/* Measures a timer's interrupt, ns; 0: unknown. record: of this thread, which the programs count in
 * now. Takes the least value, as some include other interrupts or threads. */
static uint64_t irqs_measure(const struct kd_record *record)
{
	struct timer timer = { .fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC) };
	uint64_t end = clock_monotonic() + ALL_NS, step = PATIENCE_NS, least = 0, before, ns;
	int n = 0;

	if (timer.fd < 0)
		return 0;
	while (n < IRQ_ROUNDS && clock_monotonic() < end) {
		if (!timer_set(&timer))
			continue;
		before = irqs_measured(record);
		ns = gap_measure(record, before, &step);
		if (!ns)
			continue;
		least = n++ ? u64_min(least, ns) : ns;
	}
	close(timer.fd);
	return n >= ROUNDS_LEAST ? least : 0;
}

/* --- Costs of entering the kernel --- */

#define ROUNDS 15
#define CALLS 40       /* in a round: 10 us, rarely interrupted */
#define MOST_NS 100000 /* above this, nothing is corrected */

/* Page faults. So few pages never become a huge page. A fault takes up to 35 us in a virtual
 * machine, so faults take most of this measurement. */
#define PAGES 8
#define PAGE_ROUNDS 6

/* Signals: each takes four calls and a return from an exception. */
#define SIGNALS 10
#define SIGNAL_ROUNDS 6

/* Returns the time of the shortest round of CALLS, which was not disturbed, ns. */
static uint64_t calls_measure(void)
{
	uint64_t least = MOST_NS * CALLS;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t ns = clock_monotonic();

		for (int j = 0; j < CALLS; j++)
			syscall(SYS_getppid);
		least = u64_min(least, clock_monotonic() - ns);
	}
	return least;
}

/* Returns the user time accounted per call in a round. */
static uint64_t round_measure(const struct kd_record *record)
{
	const volatile __u64 *user = &record->ns[KD_USER];
	uint64_t before;

	syscall(SYS_getppid);
	before = *user;
	for (int i = 0; i < CALLS; i++)
		syscall(SYS_getppid);
	return (*user - before) / CALLS;
}

static uint64_t rounds_measure(const struct kd_record *record)
{
	uint64_t least = MOST_NS;

	for (int i = 0; i < ROUNDS; i++)
		least = u64_min(least, round_measure(record));
	return least < MOST_NS ? least : 0;
}

/* Returns the user time accounted per page, in a round of first touches. */
static uint64_t pages_booked(const struct kd_record *record, volatile char *pages, size_t size)
{
	const volatile __u64 *user = &record->ns[KD_USER], *faults = &record->timed_faults;
	uint64_t before = *user, count = *faults;

	for (size_t i = 1; i < PAGES; i++)
		pages[i * size] = 1;
	return *faults == count + PAGES - 1 ? (*user - before) / (PAGES - 1) : MOST_NS;
}

/* Returns the clock time per page, in a round of first touches. */
static uint64_t pages_took(volatile char *pages, size_t size)
{
	uint64_t before = clock_monotonic();

	for (size_t i = 1; i < PAGES; i++)
		pages[i * size] = 1;
	return (clock_monotonic() - before) / (PAGES - 1);
}

/* Returns the user time that the first touch of a page adds to a record; with NULL, the clock time
 * that it takes. */
static uint64_t faults_measure(const struct kd_record *record)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	void *pages = mmap(NULL, PAGES * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	uint64_t least = MOST_NS;

	if (pages == MAP_FAILED)
		return 0;
	for (int i = 0; i < PAGE_ROUNDS && !madvise(pages, PAGES * size, MADV_DONTNEED); i++) {
		*(volatile char *)pages = 1;
		least = u64_min(least, record ? pages_booked(record, pages, size)
					      : pages_took(pages, size));
	}
	munmap(pages, PAGES * size);
	return least < MOST_NS ? least : 0;
}

static void signal_taken(int signal)
{
	(void)signal;
}

/* Returns the user time accounted for calling the handler, per signal to this thread, beyond the
 * four calls of each. */
static uint64_t signals_booked(const struct kd_record *record, uint64_t call_ns)
{
	const volatile __u64 *user = &record->ns[KD_USER], *signals = &record->signals;
	uint64_t before, count;

	syscall(SYS_getppid);
	before = *user;
	count = *signals;
	for (int i = 0; i < SIGNALS; i++)
		syscall(SYS_tgkill, getpid(), gettid(), SIGURG);
	return *signals == count + SIGNALS ? u64_sub((*user - before) / SIGNALS, 4 * call_ns)
					   : MOST_NS;
}

static uint64_t signals_measure(const struct kd_record *record, uint64_t call_ns)
{
	struct sigaction action = { .sa_handler = signal_taken }, before;
	uint64_t least = MOST_NS;

	if (sigaction(SIGURG, &action, &before))
		return 0;
	for (int i = 0; i < SIGNAL_ROUNDS; i++)
		least = u64_min(least, signals_booked(record, call_ns));
	sigaction(SIGURG, &before, NULL);
	return least < MOST_NS ? least : 0;
}

/* Measures a nearly empty call and a page fault, before the programs are attached. */
static exit_status bare_measure(struct session *session)
{
	session->bare_call_ns = calls_measure() / CALLS;
	session->bare_fault_ns = faults_measure(NULL);
	return 0;
}

SESSION_PART(bare) = { .attach = bare_measure };

/* Begins a window of this thread in shared memory. */
static void window_begin(struct kernel_delay *skel, struct kd_thread *thread)
{
	struct kernel_delay__data_word *shared = skel->data_word;
	uint64_t start = clock_monotonic() - skel->rodata->kd_epoch;

	thread->since = start + 1;
	thread->state = KD_BLOCKED; /* the first call will find it running */
	thread->call = KD_CALL_NONE;
	thread->restart_call = KD_CALL_NONE;
	shared->kd_windows[0].start = start;
	shared->kd_windows[0].end = KD_NEVER;
	shared->kd_windows[0].gen = kd_word_compose(start, 0, KD_WORD_OPEN);
	shared->kd_tgid = (uint32_t)getpid();
	__atomic_store_n(&shared->kd_word, shared->kd_windows[0].gen, __ATOMIC_SEQ_CST);
}

static void window_end(struct kernel_delay *skel)
{
	struct kernel_delay__data_word *shared = skel->data_word;

	__atomic_store_n(&shared->kd_word, 0, __ATOMIC_SEQ_CST);
	shared->kd_tgid = 0;
	tid_set(skel, gettid(), KD_SLOT_FREE);
	memset(&shared->kd_windows[0], 0, sizeof(shared->kd_windows[0]));
	memset(skel->bss->kd_losses, 0, sizeof(skel->bss->kd_losses));
	skel->bss->kd_resynced = 0;
}

/* Measures calls, signals, page faults and interrupts of this thread, which takes 2 to 3 ms. The
 * programs take this process for the target, and record a window of it, before they get the real
 * target.
 *
 * The last part of leaving a call stays with user mode. Interrupts are off there, so a tick or a
 * sample that falls into it hits user mode, and utime includes it, too. It is estimated as a third
 * of a bare call. */
static exit_status entry_measure(struct session *session)
{
	int free_slots = bpf_map__fd(session->skel->maps.kd_free_slots);
	uint64_t left = session->bare_call_ns / 3, ns = 0;
	struct kernel_delay *skel = session->skel;
	struct entry_cost *cost = &session->entry;
	const struct kd_record *record;
	struct kd_thread *thread;
	uint32_t slot;

	if (queue_take(free_slots, &slot))
		return 0;
	thread = &session->threads[slot];
	record = &session->records[slot];
	window_begin(skel, thread);
	if (!tid_set(skel, gettid(), slot)) {
		ns = rounds_measure(record);
		cost->signal_ns = signals_measure(record, ns);
		cost->irq_ns = irqs_measure(record);
		cost->fault_ns = faults_measure(record);
		cost->fault_timing_ns = u64_sub(faults_measure(NULL), session->bare_fault_ns);
	}
	window_end(skel);
	cost->call_ns = ns > left ? ns - left : 0;
	session_slot_free(session, slot);
	return 0;
}

SESSION_PART(entry) = { .attach = entry_measure };
