// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "session_entry.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "irq_cost.h"
#include "kernel_delay.skel.h"

#define ROUNDS 15
#define CALLS 40       /* in a round: 10 us, seldom interrupted */
#define MOST_NS 100000 /* a machine on which that takes longer is not to be judged by it */

/* Page faults: so few pages are never one large one. A fault takes up to 35 us in a virtual
 * machine, so all of them are the longest part of these measurements. */
#define PAGES 8
#define PAGE_ROUNDS 6

/* Signals: each takes four calls and an exception's way back. */
#define SIGNALS 10
#define SIGNAL_ROUNDS 6

/* Readings of the price. */
#define FOLLOW_NS (200 * NSEC_PER_MSEC)
#define FOLLOW_ROUNDS 5
#define CHAIN 1000
#define PRICE_UNIT 1000

/* The least of all rounds is the one in which nothing came between. ns of CALLS. */
static uint64_t calls_measure(int rounds)
{
	uint64_t least = MOST_NS * CALLS;

	for (int i = 0; i < rounds; i++) {
		uint64_t ns = clock_monotonic();

		for (int j = 0; j < CALLS; j++)
			syscall(SYS_getppid);
		least = u64_min(least, clock_monotonic() - ns);
	}
	return least;
}

/* The same of multiplications, each of which needs the result of the one before: always so
 * many cycles, whatever else uses the core. */
static uint64_t chain_measure(int rounds)
{
	uint64_t least = MOST_NS * CALLS, value = 3;

	for (int i = 0; i < rounds; i++) {
		uint64_t ns = clock_monotonic();

		for (int j = 0; j < CHAIN; j++) {
			value *= value;
			__asm__ volatile("" : "+r"(value));
		}
		least = u64_min(least, clock_monotonic() - ns);
	}
	return least;
}

static uint64_t price_measure(int rounds)
{
	uint64_t chain = chain_measure(rounds);

	return chain ? calls_measure(rounds) * PRICE_UNIT / chain : 0;
}

/* Has the slot found, or not, by this thread's TID. */
static int slot_set(const struct kernel_delay *skel, uint32_t slot)
{
	int fd = bpf_map__fd(skel->maps.kd_tids);
	uint32_t tid = (uint32_t)gettid(), page = tid / KD_TID_PAGE;
	struct kd_tid_page *tids = malloc(sizeof(*tids));
	int error = tids ? 0 : -1;

	if (!error)
		error = bpf_map_lookup_elem(fd, &page, tids);
	if (!error) {
		tids->slot[tid % KD_TID_PAGE] = (uint16_t)slot;
		error = bpf_map_update_elem(fd, &page, tids, BPF_ANY);
	}
	free(tids);
	return error;
}

/* What a round has booked as user mode, per call. */
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

/* What a round of touching pages for the first time has booked as user mode, per page. */
static uint64_t pages_booked(const struct kd_record *record, volatile char *pages, size_t size)
{
	const volatile __u64 *user = &record->ns[KD_USER], *faults = &record->timed_faults;
	uint64_t before = *user, count = *faults;

	for (size_t i = 1; i < PAGES; i++)
		pages[i * size] = 1;
	return *faults == count + PAGES - 1 ? (*user - before) / (PAGES - 1) : MOST_NS;
}

/* The same by the clock. */
static uint64_t pages_took(volatile char *pages, size_t size)
{
	uint64_t before = clock_monotonic();

	for (size_t i = 1; i < PAGES; i++)
		pages[i * size] = 1;
	return (clock_monotonic() - before) / (PAGES - 1);
}

/* What a first touch of a page has booked as user mode in a record; NULL: what it takes. */
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

/* What a round of signals to this thread has booked as user mode beyond the two calls of each:
 * calling the handler. */
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

void entry_bare(struct entry_estimate *entry)
{
	entry->bare = calls_measure(ROUNDS) / CALLS;
	entry->bare_fault = faults_measure(NULL);
}

/* A window of this thread: in shared memory, from start on. */
static void window_begin(struct kernel_delay *skel, struct kd_thread *thread)
{
	struct kernel_delay__data_word *shared = skel->data_word;
	uint64_t start = clock_monotonic() - skel->rodata->kd_epoch;

	thread->since = start + 1;
	thread->state = KD_BLOCKED; /* so that the first call finds it running */
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
	slot_set(skel, KD_SLOT_FREE);
	memset(&shared->kd_windows[0], 0, sizeof(shared->kd_windows[0]));
	memset(skel->bss->kd_losses, 0, sizeof(skel->bss->kd_losses));
	skel->bss->kd_resynced = 0;
}

void entry_measure(struct entry_estimate *entry, struct kernel_delay *skel, uint32_t slot,
		   struct kd_thread *thread, const struct kd_record *record)
{
	uint64_t left = entry->bare / 3, ns = 0;

	window_begin(skel, thread);
	if (!slot_set(skel, slot)) {
		ns = rounds_measure(record);
		entry->at_start.signal_ns = signals_measure(record, ns);
		entry->at_start.irq_ns = irq_cost_timer(record);
		/* Where the other CPU was busy it is not known, or too much: a timer's is more. */
		entry->at_start.ipi_ns = u64_min(irq_cost_ipi(record), entry->at_start.irq_ns);
		entry->at_start.fault_ns = faults_measure(record);
		entry->at_start.fault_timing_ns = u64_sub(faults_measure(NULL), entry->bare_fault);
	}
	window_end(skel);
	entry->at_start.call_ns = ns > left ? ns - left : 0;
	entry->price = price_measure(ROUNDS);
}

void entry_follow(struct entry_estimate *entry)
{
	uint64_t now = clock_monotonic();

	if (!entry->price || now < entry->next)
		return;
	entry->prices += price_measure(FOLLOW_ROUNDS);
	entry->n_readings++;
	entry->next = now + FOLLOW_NS;
}

static uint64_t scaled(const struct entry_estimate *entry, uint64_t ns)
{
	if (!entry->n_readings)
		return ns;
	return (uint64_t)((double)ns * (double)entry->prices /
			  ((double)entry->n_readings * (double)entry->price));
}

struct entry_cost session_entry_cost(const struct entry_estimate *entry)
{
	return (struct entry_cost){
		.call_ns = scaled(entry, entry->at_start.call_ns),
		.irq_ns = scaled(entry, entry->at_start.irq_ns),
		.ipi_ns = scaled(entry, entry->at_start.ipi_ns),
		.fault_ns = scaled(entry, entry->at_start.fault_ns),
		.fault_timing_ns = scaled(entry, entry->at_start.fault_timing_ns),
		.signal_ns = scaled(entry, entry->at_start.signal_ns),
	};
}

void entry_renew(struct entry_estimate *entry)
{
	entry->prices = entry->n_readings = entry->next = 0;
}
