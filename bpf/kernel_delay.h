/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What the BPF programs and user space share: plain types, and a hash.
 *
 * All times are nanoseconds of CLOCK_MONOTONIC counted from the run's epoch
 * (kd_epoch, set before the programs are loaded); 0 means "not known" or
 * "not running". */
#ifndef KERNEL_DELAY_H
#define KERNEL_DELAY_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#include "condition.h"
#include "culprit.h"
#include "descriptor.h"
#include "interruption.h"
#include "lock.h"
#include "mover.h"
#include "stop.h"
#include "target.h"
#include "window.h"

/* THREAD_SIZE, bytes: arch/x86/include/asm/page_64_types.h; arch/arm64/include/asm/memory.h, where
 * a stack is a page at least. */
#define KD_STACK_SIZE(page_size) ((page_size) > 16384 ? (page_size) : 16384)

/* Where a thread is. Interrupts are no state of their own: they are an overlay
 * on the running states and are subtracted from those in user space. */
enum kd_state {
	KD_UNSEEN, /* no event yet: the seed of the task iterator holds */
	KD_USER,
	KD_KERNEL,
	KD_FAULT,           /* running, in a page fault that came from user mode */
	KD_RECLAIM,         /* running, looking for memory to free, in a call or a fault */
	KD_READY_WOKEN,     /* runnable after a wake-up (or birth) */
	KD_READY_PREEMPTED, /* runnable after it was taken off its CPU */
	KD_BLOCKED,         /* interruptible sleep */
	KD_BLOCKED_UNINT,   /* uninterruptible sleep */
	KD_STOPPED,         /* job control or tracing stop */
	KD_FROZEN,          /* held by the freezer of its control group */
	KD_DEAD,            /* switched out for the last time */
	KD_STATES,
};
#define KD_STATES_ROOM 16 /* a power of two, so that a mask bounds the index */
#define KD_RUNNING 4      /* states from KD_USER on: a power of two */

static inline __attribute__((always_inline, unused)) int kd_is_running(__u32 state)
{
	return state - KD_USER < KD_RUNNING;
}

static inline __attribute__((always_inline, unused)) int kd_is_ready(__u32 state)
{
	return state == KD_READY_WOKEN || state == KD_READY_PREEMPTED;
}

/* What a blocked thread waits for. */
enum kd_awaited {
	KD_AWAITED_OTHER, /* none of these, or not known */
	KD_AWAITED_WORK,  /* in poll, epoll_wait, accept and the like */
	KD_AWAITED_LOCK,  /* of the program: futex, flock, semop */
	KD_AWAITED_DISK,  /* I/O (in_iowait), or in fsync and its like */
	KD_AWAITED_PAGE,  /* in a page fault */
	KD_AWAITED_FILE,  /* of a file, but no I/O: the file system, a network, FUSE */
	KD_AWAITED_PIPE,
	KD_AWAITED_SOCKET,
	KD_AWAITED_EVENTFD,
	KD_AWAITED_TTY,
	KD_AWAITED_CHILD,       /* wait4, waitid, vfork */
	KD_AWAITED_TIMER,       /* nanosleep, a read of a timerfd */
	KD_AWAITED_SIGNAL,      /* sigtimedwait, pause, a read of a signalfd */
	KD_AWAITED_KERNEL_LOCK, /* one that the kernel needs itself */
	KD_AWAITED_KERNEL,      /* outside of all calls: what the kernel does before or after one */
	KD_AWAITED_KINDS,
};
#define KD_AWAITED_ROOM 16 /* a power of two */
/* In tables of calls: one of these, or what the descriptor stands for; and whether there is one, in
 * the first argument. */
#define KD_AWAITED_BY_FILE 0x7f
#define KD_AWAITED_AT_FILE 0x80

/* Numbers of system calls have these bits where they are of another mode than the
 * kernel's own; each mode has a numbering of its own. */
#define KD_CALL_COMPAT 0x20000000 /* of a 32-bit program; x86-64: or by int $0x80 */
#define KD_CALL_X32 0x40000000    /* x86-64: as the kernel has it, __X32_SYSCALL_BIT */
#define KD_CALL_NUMBER 0x1fffffff

/* How a system call is given its time-out, 0: it has none. Which argument it is, and: */
enum kd_timeout {
	KD_TIMEOUT_ARGUMENT = 7,
	KD_TIMEOUT_GIVEN = 8,      /* always set */
	KD_TIMEOUT_MS = 16,        /* the argument itself, ms; else it is the address of ns, */
	KD_TIMEOUT_US = 32,        /* or of us */
	KD_TIMEOUT_CLOCK = 64,     /* by a clock, maybe absolute: as clock_nanosleep */
	KD_TIMEOUT_FUTEX = 128,    /* as futex */
	KD_TIMEOUT_ESTIMATED = 256 /* with a slack that grows with it */
};

/* A sleep with a time-out. */
struct kd_timer {
	__u64 call_since; /* of its call */
	__u64 deadline;   /* 0: none, not known, or over */
	__u64 requested;  /* ns from the call on */
	__u64 slack;      /* that the kernel may add, ns */
};

/* The system call in progress, or one of these. */
#define KD_CALL_NONE -1    /* in user mode */
#define KD_CALL_UNKNOWN -2 /* in the kernel, number not known */

#define KD_CALLS 64      /* distinct system calls kept in a thread's table */
#define KD_CALL_PROBES 8 /* entries looked at for one of them; more overflow */
#define KD_PROBES 4      /* the same of an interrupt */
#define KD_SOFTIRQS 11   /* vectors; the kernel has 10, any other is the last */
#define KD_CPU_WORDS 16  /* bitmap of CPUs used: 1,024 of them */
#define KD_IRQ_NAME_LEN 32

/* What is special about a system call, by number in its mode; 0 for nearly all. */
#define KD_CLASSES 512
#define KD_CLASS_MODES 2 /* native ones, 32-bit ones */
enum kd_class {
	KD_CLASS_POLL = 1,
	KD_CLASS_IGNORED = 2, /* made by the kernel itself, for uprobes */
	KD_CLASS_EXEC = 4,
	KD_CLASS_RESTART = 8,
	KD_CLASS_MAPS = 16,   /* may map code */
	KD_CLASS_TRACED = 32, /* slow ones leave traces */
};

/* What became of a hit of a trigger's probe. Of a start and its stop both count,
 * the start when it is decided. */
enum kd_outcome {
	KD_HIT_USED,       /* an edge of a window that was kept */
	KD_HIT_SKIPPED,    /* of a window shorter than the delta */
	KD_HIT_MISSED,     /* of one as long as that for which no bank was free */
	KD_HIT_OVERLAPPED, /* start: another window was open; stop: of such a start */
	KD_HIT_IDLE,       /* none was wanted: pause between samples, or all are taken */
	KD_HIT_ENDED,      /* start: its thread, or program, ended before the stop */
	KD_HIT_UNMATCHED,  /* stop without start */
	KD_OUTCOMES,
};

enum kd_role { KD_START, KD_STOP, KD_ROLES };

/* A trigger of this role is at a system call's entry, or its exit. */
#define KD_AT(role, exit) (1U << ((role)*2 + (exit)))

/* Log-linear histograms of durations: values below 1 << bits have a bucket each,
 * larger ones as many buckets per power of two. That of windows: */
#define KD_WINDOW_BITS 5
#define KD_WINDOW_BUCKETS (64U << KD_WINDOW_BITS) /* a power of two */

/* Those of --histogram, whose last bucket has all that is longer. */
#define KD_HISTOGRAM_BITS 4
#define KD_HISTOGRAM_BUCKETS 640 /* up to 2.4 hours */

/* Durations of one kind, of one thread in one window. */
struct kd_histogram {
	__u64 gen;
	__u32 count[KD_HISTOGRAM_BUCKETS];
};

/* Which histogram of a bank has what of a thread: its system calls, by their index in
 * the thread's table, and these: */
#define KD_HISTOGRAM_RUN KD_CALLS
#define KD_HISTOGRAM_READY (KD_CALLS + 1)
#define KD_HISTOGRAMS 128 /* a power of two */
#define KD_HISTOGRAM_NONE 0
#define KD_HISTOGRAM_REFUSED (~0U) /* there was no free one */
struct kd_histogram_set {
	__u32 of[KD_HISTOGRAMS];
};

/* Counted per CPU, over the whole run. */
struct kd_tally {
	__u64 hits[KD_ROLES];
	__u64 foreign; /* of those and of unmet and unread ones, by other processes, both roles */
	__u64 outside; /* by other processes, of probes that count for the target only: they cost,
			  too */
	/* Not among the hits: those whose condition was not true, or could not be tested, as
	 * memory could not be read. */
	__u64 unmet[KD_ROLES], unread[KD_ROLES];
	__u64 outcome[KD_ROLES][KD_OUTCOMES];
	__u64 nested;   /* pairs not shorter than the delta that overlapped another's window */
	__u64 unlisted; /* records that found no room in the ring */
	__u64 min;      /* its complement, so that 0 is "none" */
	__u64 max;
	__u64 total;
	__u64 durations[KD_WINDOW_BUCKETS];
};

/* What user space is told as it happens; start and end are edges, too. */
enum kd_event_type {
	KD_EVENT_OPENED, /* a window that user space has to close */
	KD_EVENT_CLOSED, /* a window waits in its bank */
	KD_EVENT_SKIPPED,
	KD_EVENT_NESTED,
	KD_EVENT_EXEC, /* the target has a new program */
};

struct kd_event {
	__u32 type; /* enum kd_event_type */
	__u32 tid;
	__u64 start, end;
	char comm[KD_COMM_LEN];
};

/* --- Traces: what slow calls, long waits and samples of running code leave in
 * kd_traces, a ring of its own. --- */

/* A length that no call and no wait has: none of them are wanted. */
#define KD_UNWANTED (~0ULL)

#include "blocker.h"
#include "trace_records.h"
#include "caller.h"

/* Interrupts that are not irq_handler_*: their tracepoints give no name. They
 * have the first entries in a thread's table of hard interrupts. */
enum kd_vector {
	KD_VECTOR_LOCAL_TIMER,
	KD_VECTOR_RESCHEDULE,
	KD_VECTOR_CALL_FUNCTION,
	KD_VECTOR_CALL_FUNCTION_SINGLE,
	KD_VECTOR_IRQ_WORK,
	KD_VECTOR_THERMAL,
	KD_VECTOR_NMI,
	KD_VECTORS,
};
#define KD_LINES 16                              /* distinct interrupt lines kept per thread */
#define KD_HARDIRQ_OTHER (KD_VECTORS + KD_LINES) /* lines that find no entry */
#define KD_HARDIRQS (KD_HARDIRQ_OTHER + 1)
#define KD_IRQ_ROOM 32 /* a power of two, for the index of either */

/* Keys of interrupt lines; 0 is a free entry. */
#define KD_IRQ_LINE (1ULL << 32)      /* | irq number, and the name's address << 35 */
#define KD_IRQ_UNHANDLED (1ULL << 34) /* the handler said IRQ_NONE */
#define KD_IRQ_NAME_SHIFT 35

struct kd_irq_name {
	char text[KD_IRQ_NAME_LEN];
};

struct kd_count {
	__u64 count;
	__u64 total;
	__u64 max;
};

/* Sleeps of a thread that lasted up to their time-out, in one window. */
struct kd_overslept {
	struct kd_count by;   /* how much longer */
	struct kd_count late; /* of these the ones that matter, see overslept_add() */
	__u64 requested;
	__u64 slack; /* the largest */
};
#define KD_LATE_NS 1000000 /* they overslept by that, */
#define KD_LATE_PARTS 20   /* and by this part of what was requested */

struct kd_span {
	__u64 count;
	__u64 total;
	__u64 max;
	__u64 min;
};

struct kd_cell {
	__u64 gen;
	__u64 count;
	__u64 total;
	__u64 max;
};

/* Time that one class of interrupts took from a thread in one window. It has a generation of its
 * own, and that of the counts of each interrupt of the class, as an interrupt may hit a program
 * that is just zeroing the rest of the record. */
struct kd_overlay {
	__u64 gen;
	__u64 in[KD_RUNNING]; /* by the state it hit, from KD_USER on */
};

/* One interrupt in progress on top of a thread. */
struct kd_irq_frame {
	__u64 since;
	__u64 stolen; /* taken by interrupts nested in it */
	__u32 index;  /* in its table of the record, where its entry tells that */
	__u32 pad;
};

/* What crosses an edge of a window and has ended since. */
struct kd_open {
	__u64 since; /* 0: before we looked */
	__u64 until; /* 0: there was none */
	__s32 what;  /* the number of a call, the state of a period */
	__u32 pad;
};

/* A thread is in at most one of each at an edge. */
struct kd_opens {
	struct kd_open call;
	struct kd_open period; /* KD_USER: a run, KD_READY_WOKEN: any wait for a CPU, KD_STOPPED */
	struct kd_open round;  /* from one poll to the next */
};

/* The run time of a thread by the kernel's count (sum_exec_runtime) and by
 * ours, read at one moment by the task iterator, or when the thread ended. */
struct kd_reading {
	__u64 at; /* 0: not read */
	__u64 exec_ns;
	__u64 run_ns;
	__u64 ran; /* since a switch-in that was not reported to us */
	/* The kernel's own counts, since the thread's birth: page faults, and CPU time by ticks. */
	__u64 minor_faults, major_faults, utime, stime;
	__u64 stolen_ns; /* of run_ns: the kernel does not count it */
};
enum kd_reading_at { KD_AT_OPEN = 0, KD_AT_CLOSE = 1, KD_AT_DEATH, KD_READINGS };

/* What the task iterator is to do. */
enum kd_visit {
	KD_VISIT_OPEN,    /* a window is about to open */
	KD_VISIT_CLOSE,   /* one has closed */
	KD_VISIT_NEXT,    /* the next one opened at the same edge: its reading is that one's */
	KD_VISIT_JOIN,    /* a process has been moved into the target's control group */
	KD_VISIT_WAITING, /* threads that wait for a CPU: who has it? */
};

/* What is known of a thread right now, whether a window is open or not. The
 * slot is the thread's index in kd_threads and, per bank, in kd_records.
 *
 * What each switch and wake-up looks at comes first, in few cache lines. */
struct kd_thread {
	__u64 since;      /* when it entered its state */
	__u32 state;      /* enum kd_state */
	__s32 call;       /* KD_CALL_* or the number of the call in progress */
	__u64 call_since; /* 0: entered before we looked */
	__u64 run_since;  /* switched in, or first seen */
	__u64 run_ns;     /* all its run time before run_since */
	__u64 ready_ns;   /* all its time ready for a CPU before since, */
	__u64 asleep_ns;  /* and blocked */
	__u64 task;       /* address of its task_struct: its identity */
	__u64 exec_out;   /* the kernel's count of it at the last switch-out */
	__u32 tid, tgid;
	__u32 cpu;
	__u32 on_cpu;
	__u32 ready_state;  /* in which it waited for its present run */
	__u32 before;       /* its state before this one */
	__u32 awaited;      /* enum kd_awaited: of its last sleep */
	__s32 slept_in;     /* the call of its last sleep, or KD_CALL_* */
	__u32 moved;        /* enum kd_move: since it last ran */
	__s32 restart_call; /* KD_CALL_NONE: none */
	__u32 fault;        /* the generation of the page fault that it is in; 0: none */
	__u32 reclaim;      /* it looks for memory to free */
	/* What the hypervisor takes: its CPU's sum (with 1 added, 0: not known) when it was looked
	 * at last in this run, and when; of all runs until then, and until this one. */
	__u64 steal, steal_at, stolen_ns, stolen_before;
	struct kd_waiting waiting; /* in KD_READY_* */
	struct kd_at at;           /* the descriptor of its last sleep */
	struct kd_looked looked;
	struct kd_timer timer;
	struct kd_irq_frame hardirq;
	struct kd_irq_frame softirq;
	struct kd_contended contended;
	struct kd_locked locked;
	struct kd_waited waited;
	struct kd_mover mover;
	struct kd_stopper stopper; /* of its last stop */
	__u64 poll_since;          /* last return from poll; 0: none, or in one */
	__u64 restart_since;       /* a call that the kernel may restart, see call_exit() */
	__u64 restart_at;
	__u64 out_since; /* traces only: when it was switched out, */
	__u64 woken_at;  /* woken (0: not yet), */
	__u32 out_state; /* and what it was then */
	__u16 noted;     /* there is something in its kd_wait, or a trace of this call */
	__u16 long_wait; /* waited says for which lock, in this call */
	__u64 fault_ran; /* its run time at the end of its last fault */
	/* When the one that it is in began, timed or not (0: it is in none), what it had run and
	 * slept. */
	__u64 fault_at, fault_began_ran, fault_began_asleep;
	/* --interruptions only: when it lost its CPU, 0: it has not; what limits have taken
	 * since. Who has had the CPU is in waiting. */
	__u64 lost_at, lost_limited;
	__u32 lost_in_fault, lost_others;
	__u64 ticked;          /* the end of the local timer's last interrupt of it */
	__u64 stack, wakes_at; /* its kernel stack; see current_is_in_call() */
	__u64 process_began;   /* of several: as in struct kd_process */
	__u64 seen;            /* it got its slot: what it did then may have begun earlier, */
	__u64 born;            /* if this is 0: it was there before us */
	__u64 died;            /* 0: alive */
	__u64 hits;            /* of triggers' probes */
	__u64 pair;            /* a start that waits for its stop, see pair.bpf.h; 0: none */
	__u32 left; /* it has lost the name that was asked for: it is not in the report */

	/* Written by the task iterator only. */
	__u32 seed_state;
	__s32 seed_call;
	__u32 seed_awaited;
	struct kd_at seed_at;
	__u64 asleep_at, asleep_since; /* as kernel_at: of the sleep that began then */
	struct kd_reading readings[KD_READINGS];

	char comm[KD_COMM_LEN];

	/* Open addressing, a key stays in its entry until the slot is reused. */
	__u32 call_keys[KD_CALLS]; /* number + 1 */
	__u64 line_keys[KD_LINES];
} __attribute__((aligned(64)));

/* Major page faults from user mode: their time on a CPU and asleep, and of that asleep. */
struct kd_majors {
	struct kd_count times;
	__u64 asleep;
};

/* What happened to a thread in one window. What each switch adds to comes first, in few cache
 * lines. */
struct kd_record {
	__u64 gen;
	__u64 upto;                         /* booked up to this time */
	__u32 last;                         /* state of the last interval booked */
	__u32 cpus_beyond;                  /* ran on a CPU beyond the bitmap */
	__u32 before_awaited, last_awaited; /* of before and last, if those are sleeps */
	__u64 voluntary;
	__u64 involuntary;
	__u64 migrations;
	__u64 cpus[KD_CPU_WORDS];
	__u64 ns[KD_STATES_ROOM]; /* by enum kd_state */
	struct kd_count ready;
	struct kd_span run;
	/* Waits at descriptors and for locks that were shorter than kd_detail_ns. */
	struct kd_count short_files, short_locks;
	__u64 first; /* booked from this time on, and what it was before: */
	__u64 before;
	__u64 asleep_since;         /* the last one that went on beyond the window */
	__u64 kernel_ns, kernel_at; /* the longest for KD_AWAITED_KERNEL; in the code */
	struct kd_opens open_start, open_end;
	struct kd_span long_poll;
	struct kd_count stopped;
	struct kd_overslept overslept;
	/* Of the migrations by enum kd_move. */
	__u64 other_migrations, wakeup_migrations, balance_migrations, affinity_migrations;
	__u64 minor_faults; /* whose end was reported, also of those in system calls */
	__u64 major_faults;
	__u64 timed_faults; /* of those the ones from user mode */
	struct kd_majors majors;
	__u64 signals;                            /* that a handler got */
	struct kd_count awaited[KD_AWAITED_ROOM]; /* KD_BLOCKED and KD_BLOCKED_UNINT, by what for */
	struct kd_count calls[KD_CALLS];
	/* From here on each part has a generation of its own. */
	struct kd_cell stolen; /* from the running states, by the hypervisor */
	struct kd_overlay hardirq_ns;
	struct kd_overlay softirq_ns;
	struct kd_count hardirqs[KD_HARDIRQS];
	struct kd_count softirqs[KD_SOFTIRQS];
} __attribute__((aligned(64)));

/* In kd_fault_gen, which is counted up where timing begins and where it ends. */
#define KD_FAULTS_TIMED 1

/* Page faults on one CPU whose ends are seen; alone in its cache line. */
struct kd_fault_cpu {
	__u64 seen;            /* 1: they are */
	__u64 target, foreign; /* faults */
	__u64 ran;             /* what threads of the target ran between theirs, ns */
	__u64 pad[4];
};

/* Of each CPU, where there is a clock of what the hypervisor takes: its run queue's address, and
 * the sum as the last switch or tick saw it that was looked at, with 1 added, and when the last
 * switch was. No other CPU's is in the same cache line. */
struct kd_steal_cpu {
	__u64 runqueue, ns, at;
	__u64 pad[5];
};

/* System calls that find no entry in their thread's table. */
struct kd_overflow_key {
	__u64 gen;
	__u32 slot;
	__u32 number;
};

/* What keys of hashes begin with that have something of a thread in a window: all of them have
 * these two at these offsets. */
struct kd_row_key {
	__u64 gen;
	__u32 slot;
	__u32 rest;
};

/* Waits of a thread for one lock, of those that one thread had when they began, that ended in
 * a window. */
struct kd_lock_key {
	__u64 gen;
	__u32 slot;   /* of the thread that waited */
	__u32 holder; /* TID; 0: none is known */
	__u64 address;
	__u32 kind;        /* enum kd_lock */
	__u32 in_progress; /* the wait that went on at the window's end, and has ended since */
};

struct kd_lock_waits {
	struct kd_count waits;
	struct kd_doing meanwhile; /* the holder did during them */
	__u64 others;              /* were ended by others than the holder */
	__s32 slept_in;            /* the holder's last call that it slept in; KD_CALL_NONE: none */
	__u32 released_by;         /* TID of the thread that ended the last one; 0: none did */
	char released_comm[KD_COMM_LEN];
	__u32 holder_tgid, pad; /* of a holder in another process, else 0 */
	char holder_comm[KD_COMM_LEN];
};
#define KD_LOCKS 4096 /* of all threads and windows that have not been read */

/* What of a thread's stops by one other lies in a window. */
struct kd_stop_key {
	__u64 gen;
	__u32 slot;
	__u32 tid; /* this and the others as in struct kd_stopper */
	__u32 kind, signal;
};

struct kd_stop_times {
	struct kd_count count;
	struct kd_stopper by;
};
#define KD_STOPS 512 /* as KD_LOCKS */

/* Upcalls of openvswitch that ended on one CPU in one window, by errno; 0:
 * successful. */
#define KD_ERRNOS 136
struct kd_upcalls {
	__u64 gen;
	__u64 count[KD_ERRNOS]; /* the last one: whatever has no entry */
};

#include "counter.h"
#include "recording.h"
#include "resource.h"

/* Every reason for which something may be missing from the report. */
enum kd_loss {
	KD_LOSS_THREADS, /* no free slot for a thread */
	KD_LOSS_CALLS,   /* no room for a (thread, system call) */
	KD_LOSS_IRQ_NAMES,
	KD_LOSS_UNTRACKED,     /* event of a target thread that has no slot */
	KD_LOSS_PAIRS,         /* no room for the start of a thread of another process */
	KD_LOSS_EDGES,         /* hits while another was busy for long (before 5.12) */
	KD_LOSS_DURATIONS,     /* no room in histograms */
	KD_LOSS_LOCKS,         /* no room for a (thread, lock, holder) */
	KD_LOSS_FILES,         /* no room for a thread's descriptor */
	KD_LOSS_INTERRUPTIONS, /* no room in their ring */
	KD_LOSS_WAITERS, /* no room for a thread that waits for a CPU: it is not known who had it */
	KD_LOSS_STOPS,   /* no room for a (thread, who stopped it) */
	KD_LOSS_MOVES,   /* no room for a (thread, who moved it) */
	KD_LOSS_REQUESTS, /* no room for a request, or a (thread, disk); or its end was not seen */
	KD_LOSS_RESENT,   /* no room for a socket that sent again */
	KD_LOSS_COUNTERS, /* no room for what a run of a thread has counted */
	KD_LOSS_CALLERS,  /* no room for the function that waited for a lock */
	KD_LOSS_RECORDED, /* an event for the flight recorder came while two were being written */
	KD_LOSSES,
};

_Static_assert(KD_HARDIRQS <= KD_IRQ_ROOM && KD_SOFTIRQS <= KD_IRQ_ROOM, "room for each interrupt");
_Static_assert(KD_STATES <= KD_STATES_ROOM, "room for each state");
_Static_assert(KD_AWAITED_KINDS <= KD_AWAITED_ROOM, "room for each kind of sleep");
_Static_assert(KD_USER + KD_RUNNING == KD_READY_WOKEN, "the running states are the first");
_Static_assert(KD_HISTOGRAM_READY < KD_HISTOGRAMS, "room for each histogram");
_Static_assert(sizeof(struct kd_histogram) % 8 == 0, "array elements are 8-byte aligned");
_Static_assert(sizeof(struct kd_lock_key) == 32, "no padding in a key");
_Static_assert(sizeof(struct kd_caller_key) == 24, "no padding in a key");
_Static_assert(sizeof(struct kd_stop_key) == 24, "no padding in a key");
_Static_assert(sizeof(struct kd_overflow_key) == 16, "no padding in a key");
_Static_assert(sizeof(struct kd_trace) % 8 == 0, "no padding in a trace");
_Static_assert(sizeof(struct kd_record) % 8 == 0, "array elements are 8-byte aligned");
_Static_assert(sizeof(struct kd_thread) % 8 == 0, "array elements are 8-byte aligned");

#endif
