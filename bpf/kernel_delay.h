/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Shared by the BPF programs and user space: plain types, and a hash.
 *
 * All times are nanoseconds of CLOCK_MONOTONIC counted from the run's epoch (kd_epoch, set
 * before the programs are loaded); 0 means "unknown" or "not running". */
#ifndef KERNEL_DELAY_H
#define KERNEL_DELAY_H

#include <linux/types.h>

#include "futex.h"
#include "losses.h"
#include "others.h"
#include "records.h"
#include "rows.h"
#include "target.h"

#define KD_LICENSE "GPL" /* of the BPF programs, as the kernel wants to see it */

/* THREAD_SIZE, bytes: arch/x86/include/asm/page_64_types.h; arch/arm64/include/asm/memory.h,
 * where a stack has at least a page. */
/* Words at the top of a kernel stack that hold the user registers. */
#define KD_STACK_TOP 64
#define KD_STACK_SIZE(page_size) ((page_size) > 16384 ? (page_size) : 16384)

/* States of a thread. Interrupts are not states, but an overlay on the running states; user
 * space subtracts them. */
enum kd_state {
	KD_UNSEEN, /* no event yet: the task iterator's seed applies */
	KD_USER,
	KD_KERNEL,
	KD_FAULT,           /* running, in a page fault from user mode */
	KD_RECLAIM,         /* running, reclaiming memory, in a call or a fault */
	KD_READY_WOKEN,     /* runnable after a wakeup (or birth) */
	KD_READY_PREEMPTED, /* runnable after a preemption */
	KD_BLOCKED,         /* interruptible sleep */
	KD_BLOCKED_UNINT,   /* uninterruptible sleep */
	KD_STOPPED,         /* job control or tracing stop */
	KD_FROZEN,          /* held by the cgroup freezer */
	KD_DEAD,            /* switched out for the last time */
	KD_STATES,
};
#define KD_STATES_PADDED 16 /* a power of two, so that a mask bounds the index */
#define KD_RUNNING 4        /* states from KD_USER on: a power of two */

static __always_inline int kd_is_running(__u32 state)
{
	return state - KD_USER < KD_RUNNING;
}

static __always_inline int kd_is_ready(__u32 state)
{
	return state == KD_READY_WOKEN || state == KD_READY_PREEMPTED;
}

/* What a blocked thread waits for. */
enum kd_awaited {
	KD_AWAITED_OTHER, /* none of these, or unknown */
	KD_AWAITED_WORK,  /* in poll, epoll_wait, accept and the like */
	KD_AWAITED_LOCK,  /* in user space: futex, flock, semop */
	KD_AWAITED_DISK,  /* I/O (in_iowait), or in fsync and the like */
	KD_AWAITED_PAGE,  /* in a page fault */
	KD_AWAITED_FILE,  /* a file without I/O: the file system, a network, FUSE */
	KD_AWAITED_PIPE,
	KD_AWAITED_SOCKET,
	KD_AWAITED_EVENTFD,
	KD_AWAITED_TTY,
	KD_AWAITED_CHILD,       /* wait4, waitid, vfork */
	KD_AWAITED_TIMER,       /* nanosleep, a read of a timerfd */
	KD_AWAITED_SIGNAL,      /* sigtimedwait, pause, a read of a signalfd */
	KD_AWAITED_KERNEL_LOCK, /* a lock inside the kernel */
	KD_AWAITED_KERNEL,      /* outside system calls: what the kernel does before or after one */
	KD_AWAITED_KINDS,
};
#define KD_AWAITED_PADDED 16 /* a power of two */
/* Tables of system calls: one of these; or by the request that ends the sleep, see request_wake();
 * or by the file behind the descriptor; and whether there is one, in the first argument. */
#define KD_AWAITED_BY_REQUEST 0x7e
#define KD_AWAITED_BY_FILE 0x7f
#define KD_AWAITED_AT_FILE 0x80

/* Mode bits of system call numbers, unless native; each mode has its own numbering. */
#define KD_CALL_COMPAT 0x20000000 /* 32-bit programs; x86-64: also int $0x80 */
#define KD_CALL_X32 0x40000000    /* x86-64: as in the kernel, __X32_SYSCALL_BIT */
#define KD_CALL_NUMBER 0x1fffffff

/* How a system call gets its timeout; 0: none. Index of the argument, and: */
enum kd_timeout {
	KD_TIMEOUT_ARGUMENT = 7,
	KD_TIMEOUT_GIVEN = 8,      /* always set */
	KD_TIMEOUT_MS = 16,        /* the argument itself, ms; else the address of ns, */
	KD_TIMEOUT_US = 32,        /* or of us */
	KD_TIMEOUT_CLOCK = 64,     /* on a clock, maybe absolute, as in clock_nanosleep */
	KD_TIMEOUT_FUTEX = 128,    /* as in futex */
	KD_TIMEOUT_ESTIMATED = 256 /* the slack grows with it */
};

/* A sleep with a timeout. */
struct kd_timer {
	__u64 call_since; /* of the system call */
	__u64 deadline;   /* 0: none, unknown, or over */
	__u64 requested;  /* ns since the call */
	__u64 slack;      /* added by the kernel at most, ns */
};

/* System call in progress, or one of these. */
#define KD_CALL_NONE -1    /* in user mode */
#define KD_CALL_UNKNOWN -2 /* in the kernel, number unknown */

#define KD_CALLS 64      /* distinct system calls per thread's table */
#define KD_CALL_PROBES 8 /* entries probed for one of them; others overflow */
#define KD_PROBES 4      /* for interrupts */
#define KD_SOFTIRQS 11   /* vectors; the kernel has 10, the last is for any other */
#define KD_CPU_WORDS 16  /* bitmap of CPUs used: 1,024 */
#define KD_IRQ_NAME_LEN 32

/* Special properties of system calls, by number in their mode; 0 for nearly all. */
#define KD_CLASSES 512
#define KD_CLASS_MODES 2 /* native, 32-bit */
enum kd_class {
	KD_CLASS_POLL = 1,
	KD_CLASS_IGNORED = 2, /* made by the kernel itself, for uprobes */
	KD_CLASS_EXEC = 4,
	KD_CLASS_RESTART = 8,
	KD_CLASS_MAPS = 16,   /* may map code */
	KD_CLASS_TRACED = 32, /* slow ones leave traces */
};

/* Histograms of a thread in a bank: its system calls, by index in the thread's table, and these: */
#define KD_HISTOGRAM_RUN KD_CALLS
#define KD_HISTOGRAM_READY (KD_CALLS + 1)
#define KD_HISTOGRAMS 128 /* a power of two */
#define KD_HISTOGRAM_NONE 0
#define KD_HISTOGRAM_REFUSED (~0U) /* none was free */
struct kd_histogram_set {
	__u32 of[KD_HISTOGRAMS];
};

/* Interrupts other than irq_handler_*: their tracepoints pass no name. They have the first
 * entries in a thread's table of hardirqs. */
enum kd_vector {
	KD_VECTOR_LOCAL_TIMER, /* arm64: arch_timer, which has a line */
	KD_VECTOR_RESCHEDULE,
	KD_VECTOR_CALL_FUNCTION,
	KD_VECTOR_CALL_FUNCTION_SINGLE,
	KD_VECTOR_IRQ_WORK,
	KD_VECTOR_THERMAL,
	KD_VECTOR_NMI,
	KD_VECTORS,
};
#define KD_LINES 16                              /* distinct interrupt lines per thread */
#define KD_HARDIRQ_OTHER (KD_VECTORS + KD_LINES) /* lines without an entry */
#define KD_HARDIRQS (KD_HARDIRQ_OTHER + 1)
#define KD_IRQ_PADDED 32 /* a power of two, for either index */

/* Keys of interrupt lines; 0: free. */
#define KD_IRQ_LINE (1ULL << 32)      /* | irq number, and the name's address << 35 */
#define KD_IRQ_UNHANDLED (1ULL << 34) /* the handler returned IRQ_NONE */
#define KD_IRQ_NAME_SHIFT 35

struct kd_irq_name {
	char text[KD_IRQ_NAME_LEN];
};

/* Sleeps of a thread up to their timeout, in a window. */
struct kd_overslept {
	struct kd_count by;   /* how much longer */
	struct kd_count late; /* subset that matters, see overslept_add() */
	__u64 requested;
	__u64 slack; /* largest */
};
#define KD_LATE_NS 1000000 /* overslept by this, */
#define KD_LATE_PARTS 20   /* and by this fraction of the request */

struct kd_span {
	__u64 count;
	__u64 total;
	__u64 max;
	__u64 min;
	__u64 began; /* the longest; 0: unknown */
};

struct kd_cell {
	__u64 gen;
	__u64 count;
	__u64 total;
	__u64 max;
};

/* Time that a class of interrupts took from a thread in a window. Has its own generation, and
 * that of the counts of each interrupt in the class: an interrupt may hit a program that is just
 * zeroing the rest of the record. */
struct kd_overlay {
	__u64 gen;
	__u64 in[KD_RUNNING]; /* by interrupted state, from KD_USER on */
};

/* Ticks that hit a thread in a window. Has its own generation, too. */
struct kd_ticks {
	__u64 gen;
	__u64 all;
	/* In states KD_USER and KD_FAULT, while the CPU was in user mode, and in the kernel. */
	__u64 user[2], fault[2];
};

/* An interrupt in progress on a thread. */
struct kd_irq_frame {
	__u64 since;
	__u64 stolen; /* taken by nested interrupts */
	__u32 index;  /* in its table of the record, if its entry tells */
	__u32 pad;
};

/* An item that crosses a window edge and has ended since. */
struct kd_open {
	__u64 since; /* 0: before tracing */
	__u64 until; /* 0: none */
	__s32 what;  /* number of a call, state of a period */
	__u32 pad;
};

/* A thread is in at most one of each at an edge. */
struct kd_opens {
	struct kd_open call;
	struct kd_open period; /* KD_USER: a run, KD_READY_WOKEN: any wait for a CPU, KD_STOPPED */
	struct kd_open round;  /* from one poll to the next */
};

/* Run time of a thread by the kernel's count (sum_exec_runtime) and by ours. Read at the same
 * moment by the task iterator, or when the thread ended. */
struct kd_reading {
	__u64 at; /* 0: not read */
	__u64 exec_ns;
	__u64 run_ns;
	__u64 ran; /* since an unreported switch-in */
	/* The kernel's counts since the thread's birth: page faults, and CPU time by ticks; gtime,
	 * that in a guest, is part of utime. */
	__u64 minor_faults, major_faults, utime, stime, gtime;
	__u64 stolen_ns; /* part of run_ns that the kernel does not count */
};
enum kd_reading_at { KD_AT_OPEN = 0, KD_AT_CLOSE = 1, KD_AT_DEATH, KD_READINGS };

/* Task of the iterator. */
enum kd_visit {
	KD_VISIT_OPEN,    /* a window is about to open */
	KD_VISIT_CLOSE,   /* a window has closed */
	KD_VISIT_NEXT,    /* the next one opened at the same edge: the reading belongs to it */
	KD_VISIT_JOIN,    /* a process was moved into the target's cgroup */
	KD_VISIT_WAITING, /* threads that wait for a CPU: what has it? */
};

/* CLOCK_MONOTONIC less the run queues' clocks, and the visit that measured it; 0: none did. */
struct kd_clock_skew {
	__s64 ns;
	__u32 visit, pad;
};

/* Current data of a thread, whether a window is open or not. The slot is the thread's index in
 * kd_threads and, per bank, in kd_records.
 *
 * Data for each switch and wakeup comes first, in few cache lines. */
/* Of an event loop, see poll.bpf.h. */
struct kd_rounds {
	__u64 since;     /* last return from a poll of the outermost loop; 0: none, or in one */
	__u64 sp;        /* stack pointer of its polls; 0: unknown */
	__u32 elsewhere; /* polls since its last one */
	__u32 nested;    /* the last poll was within a round */
};

struct kd_thread {
	__u64 since;      /* when it entered its state */
	__u32 state;      /* enum kd_state */
	__s32 call;       /* KD_CALL_* or the number of the current call */
	__u64 call_since; /* 0: entered before tracing */
	__u64 run_since;  /* switched in, or first seen */
	__u64 run_ns;     /* run time before run_since */
	__u64 ready_ns;   /* time ready for a CPU before since, */
	__u64 asleep_ns;  /* and blocked */
	__u64 task;       /* address of its task_struct, as identity */
	__u64 exec_out;   /* the kernel's run time at the last switch-out */
	__u32 tid, tgid;
	__u32 cpu;
	__u32 on_cpu;
	__u32 ready_state;  /* in which it waited for its current run */
	__u32 before;       /* previous state */
	__u32 awaited;      /* enum kd_awaited: of its last sleep */
	__s32 slept_in;     /* system call of its last sleep, or KD_CALL_* */
	__u32 moved;        /* enum kd_move: since its last run */
	__s32 restart_call; /* KD_CALL_NONE: none */
	__u32 fault;        /* generation of the page fault it is in; 0: none */
	__u32 reclaim;      /* reclaiming memory */
	__u32 by_request;   /* awaited depends on what ends that sleep */
	__u32 pad;
	/* Steal time: its CPU's sum (plus 1, 0: unknown) at the last look in this run, and when;
	 * sum of all runs so far. */
	__u64 steal, steal_at, stolen_ns;
	struct kd_waiting waiting; /* in KD_READY_* */
	struct kd_at at;           /* descriptor of its last sleep */
	/* Of its last sleep with a known one, which ended then; and of the sleep that the task
	 * iterator found it in. */
	struct kd_wchan wchan[2];
	__u64 wchan_at;
	/* How many it had, see struct kd_long_sleep, and of struct kd_user_tick. */
	__u64 long_sleeps[KD_SLEEP_CLASSES], user_ticks;
	struct kd_looked looked;
	struct kd_timer timer;
	struct kd_irq_frame hardirq;
	struct kd_irq_frame softirq;
	struct kd_contended contended;
	struct kd_locked locked;
	struct kd_waited waited;
	struct kd_mover mover;
	struct kd_stopper stopper; /* of its last stop */
	struct kd_rounds polls;    /* of poll and ppoll, */
	struct kd_rounds rounds;   /* of --long-poll */
	__u64 restart_since;       /* start of a call the kernel may restart, see call_exit() */
	__u64 restart_at;
	__u64 out_since; /* traces only: time of the switch-out, */
	__u64 woken_at;  /* of the wakeup (0: none yet), */
	__u32 out_state; /* and the state between */
	__u16 noted;     /* its kd_wait is in use, or this call has a trace */
	__u16 long_wait; /* waited says for which lock, in this call */
	__u64 fault_ran; /* run time at the end of its last fault */
	/* Start of the current fault, timed or not (0: none), and run and sleep time at that
	 * point. */
	__u64 fault_at, fault_began_ran, fault_began_asleep;
	__u64 fault_page; /* as in struct kd_record */
	/* --interruptions only: when it lost its CPU, 0: it did not; time limits took since.
	 * What had the CPU is in waiting. */
	__u64 lost_at, lost_limited;
	__u32 lost_in_fault, lost_others;
	__u64 ticked;          /* end of its last local timer interrupt */
	__u64 utime, stime;    /* the kernel's counts when the one in progress began */
	__u64 stack, wakes_at; /* its kernel stack; see current_is_in_call() */
	__u64 process_began;   /* several processes: as in struct kd_process */
	__u64 tracked;         /* when it got its slot: what it did then may have begun earlier, */
	__u64 born;            /* if this is 0: it existed before tracing */
	__u64 died;            /* 0: alive */
	__u64 unseen_at;       /* last run after a sleep whose wakeup was not reported */
	__u64 hits;            /* of trigger probes */
	__u64 pair;            /* a start without stop yet, see pair.bpf.h; 0: none */
	__u16 left;            /* no longer has a wanted name: left out of the report */
	__u16 pid_level;       /* of its PID namespace; 0: the initial one */

	/* Written only by the task iterator. */
	__u32 seed_state;
	__s32 seed_call;
	__u32 seed_awaited;
	struct kd_at seed_at;
	struct kd_reading readings[KD_READINGS];

	char comm[KD_COMM_LEN];

	/* Open addressing; a key keeps its entry until the slot is reused. */
	__u32 call_keys[KD_CALLS]; /* number + 1 */
	__u64 line_keys[KD_LINES];
} __attribute__((aligned(64)));

/* Pages of some timed page faults of a thread. Addresses, with these low bits; 0: none. */
#define KD_FAULTED 8
enum { KD_FAULTED_MINOR, KD_FAULTED_MAJOR, KD_FAULTED_KINDS };
enum {
	KD_FAULTED_PRESENT = 1, /* the page was there, but might not be used so */
	KD_FAULTED_WRITE = 2,
	KD_FAULTED_BITS = 4095, /* of these and others */
};

/* Major page faults from user mode: time on CPU and asleep, and the part asleep. */
struct kd_majors {
	struct kd_count times;
	__u64 asleep;
};

/* Data of a thread in one window. What each switch updates comes first, in few cache lines. */
struct kd_record {
	__u64 gen;
	__u64 upto;                         /* accounted up to this time */
	__u32 last;                         /* state of the last interval */
	__u32 cpus_beyond;                  /* ran on a CPU beyond the bitmap */
	__u32 before_awaited, last_awaited; /* of before and last, if sleeps */
	__u64 voluntary;
	__u64 involuntary;
	__u64 migrations;
	__u64 cpus[KD_CPU_WORDS];
	__u64 ns[KD_STATES_PADDED]; /* by enum kd_state */
	struct kd_count ready;
	struct kd_span run;
	/* Sleeps, and waits for locks, below kd_detail_ns. */
	struct kd_count short_files, short_locks;
	__u64 first; /* accounted from this time on, and the state before: */
	__u64 before;
	__u64 asleep_since; /* last one that continued beyond the window */
	struct kd_opens open_start, open_end;
	struct kd_span long_poll;
	struct kd_count stopped;
	struct kd_overslept overslept;
	/* Migrations by enum kd_move. */
	__u64 other_migrations, wakeup_migrations, balance_migrations, affinity_migrations;
	__u64 minor_faults; /* with a reported end, including faults in system calls */
	__u64 major_faults;
	__u64 timed_faults; /* subset from user mode */
	__u64 faulted[KD_FAULTED_KINDS][KD_FAULTED];
	struct kd_majors majors;
	__u64 signals;                              /* that a handler received */
	struct kd_count awaited[KD_AWAITED_PADDED]; /* KD_BLOCKED and KD_BLOCKED_UNINT by awaited
						     * kind */
	struct kd_count calls[KD_CALLS];
	/* From here on each part has its own generation. */
	struct kd_cell stolen; /* taken from running states by the hypervisor */
	struct kd_ticks ticks;
	struct kd_overlay hardirq_ns;
	struct kd_overlay softirq_ns;
	struct kd_count hardirqs[KD_HARDIRQS];
	struct kd_count softirqs[KD_SOFTIRQS];
} __attribute__((aligned(64)));

/* In kd_fault_gen, which is incremented where timing begins and where it ends. */
#define KD_FAULTS_TIMED 1

/* Page faults of a CPU whose ends are visible; in its own cache line. */
struct kd_fault_cpu {
	__u64 visible;         /* 1: they are */
	__u64 target, foreign; /* faults */
	__u64 ran;             /* run time of target threads between their faults, ns */
	__u64 pad[4];
};

/* Steal time of a CPU, if available: address of its run queue, sum at the last switch or tick
 * looked at, plus 1, and the time of the last such switch. In its own cache line. */
struct kd_steal_cpu {
	__u64 runqueue, ns, at;
	__u64 pad[5];
};

/* Open vSwitch upcalls that ended on a CPU in a window, by errno; 0: success. */
#define KD_ERRNOS 136
struct kd_upcalls {
	__u64 gen;
	__u64 count[KD_ERRNOS]; /* the last one is for all others */
};

struct kd_task_name {
	__u32 tid;
	char comm[KD_COMM_LEN];
};

/* Softirqs of one vector that ran on a CPU in a window: how long after they were raised, and who
 * had the CPU when the longest delay began and when it ended. */
#define KD_SOFTIRQS_PADDED 16 /* a power of two, so that a mask bounds the index */
struct kd_softirq_delay {
	__u64 gen;
	struct kd_count delays;
	struct kd_task_name raised, ran;
};

/* A softirq that a CPU has not run since it was raised. */
struct kd_raised {
	__u64 at; /* 0: none */
	struct kd_task_name by;
	__u32 pad;
};

_Static_assert(KD_HARDIRQS <= KD_IRQ_PADDED && KD_SOFTIRQS <= KD_IRQ_PADDED,
	       "room for each interrupt");
_Static_assert(KD_STATES <= KD_STATES_PADDED, "room for each state");
_Static_assert(KD_AWAITED_KINDS <= KD_AWAITED_PADDED, "room for each kind of sleep");
_Static_assert(KD_USER + KD_RUNNING == KD_READY_WOKEN, "the running states are the first");
_Static_assert(KD_HISTOGRAM_READY < KD_HISTOGRAMS, "room for each histogram");
_Static_assert(sizeof(struct kd_record) % 8 == 0, "array elements are 8-byte aligned");
_Static_assert(sizeof(struct kd_thread) % 8 == 0, "array elements are 8-byte aligned");

#endif
