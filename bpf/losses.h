/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Included by kernel_delay.h: why the report may lack data, as far as the kernel side counts it,
 * and the words for that. */
#ifndef KERNEL_DELAY_LOSSES_H
#define KERNEL_DELAY_LOSSES_H

/* LOSS(reason, key, one, many, what): key in JSON, CSV and metrics, which have them in this order;
 * noun and verb for one and for several; then what happened, why, and what to do. */
/* clang-format off */
#define KD_LOSS_ROWS(LOSS) \
	LOSS(KD_LOSS_THREADS, "threads", "thread is", "threads are", \
	     "missing (more threads at once than fit); take a shorter sample.") \
	LOSS(KD_LOSS_CALLS, "syscalls", "system call is", "system calls are", \
	     "missing from [SYSCALL STATISTICS], but not from [THREAD TIME] (too many different " \
	     "ones); take a shorter sample.") \
	LOSS(KD_LOSS_IRQ_NAMES, "irq_names", "hard interrupt is", "hard interrupts are", \
	     "shown without a name (too many different ones); look up the number in " \
	     "/proc/interrupts.") \
	LOSS(KD_LOSS_UNTRACKED, "untracked", "event is", "events are", \
	     "missing (from threads that were not known yet); take another sample.") \
	LOSS(KD_LOSS_PAIRS, "trigger_pairs", "start trigger is", "start triggers are", \
	     "missing (on too many threads of other processes at once); add target-only to them.") \
	LOSS(KD_LOSS_EDGES, "trigger_edges", "trigger is", "triggers are", \
	     "missing (another CPU was just starting or ending a sample).") \
	LOSS(KD_LOSS_DURATIONS, "durations", "duration is", "durations are", \
	     "missing from [DISTRIBUTIONS], but not from the other sections (no free histogram, or " \
	     "too many different system calls); take a shorter sample.") \
	LOSS(KD_LOSS_LOCKS, "locks", "wait for a lock is", "waits for locks are", \
	     "in [THREAD LOCK STATISTICS] without their locks, as others (too many different " \
	     "locks); take a shorter sample.") \
	LOSS(KD_LOSS_FILES, "descriptors", "sleep is", "sleeps are", \
	     "missing from [THREAD SLEEP STATISTICS], but not from the other sections (too " \
	     "many threads sleep); take a shorter sample.") \
	LOSS(KD_LOSS_INTERRUPTIONS, "interruptions", "interruption is", "interruptions are", \
	     "missing from [INTERRUPTIONS] (too many at once); take a shorter sample.") \
	LOSS(KD_LOSS_WAITERS, "waiters", "wait for a CPU is", "waits for a CPU are", \
	     "in part unexplained in [READY: WHO HAD THE CPU] (several threads were woken for one " \
	     "CPU at the same moment).") \
	LOSS(KD_LOSS_STOPS, "stops", "stop is", "stops are", \
	     "missing from [STOPPED: BY WHOM], but not from the other sections (too many stopped " \
	     "threads); take a shorter sample.") \
	LOSS(KD_LOSS_MOVES, "moves", "migration is", "migrations are", \
	     "missing from [AFFINITY SET: BY WHOM], but not from the other sections (too many " \
	     "threads were moved); take a shorter sample.") \
	LOSS(KD_LOSS_REQUESTS, "block_requests", "request to a disk is", "requests to disks are", \
	     "missing from [THREAD BLOCK I/O STATISTICS] (too many at once, too many threads and " \
	     "disks, or ends that the kernel hid); take a shorter sample.") \
	LOSS(KD_LOSS_RESENT, "retransmissions", "TCP segment that was sent again is", \
	     "TCP segments that were sent again are", \
	     "missing (of too many sockets on this machine); take a shorter sample.") \
	LOSS(KD_LOSS_COUNTERS, "counters", "run of a thread is", "runs of threads are", \
	     "missing from [THREAD COUNTERS] (too many threads, or CPUs); take a shorter sample.") \
	LOSS(KD_LOSS_CALLERS, "lock_callers", "wait for a lock is", "waits for locks are", \
	     "listed without the function that waited (too many threads and locks); choose some of " \
	     "them with --threads.") \
	LOSS(KD_LOSS_RECORDED, "recorded_events", "recorded event is", "recorded events are", \
	     "missing from what --record has, but not from the other sections (interrupts came in " \
	     "the middle of others).")
/* clang-format on */

#define KD_LOSS_REASON(reason, key, one, many, what) reason,
enum kd_loss { KD_LOSS_ROWS(KD_LOSS_REASON) KD_LOSSES };
#undef KD_LOSS_REASON

#endif
