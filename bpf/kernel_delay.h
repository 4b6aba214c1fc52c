/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What the BPF programs and user space share: plain types, nothing else.
 *
 * All times are nanoseconds of CLOCK_MONOTONIC counted from the run's epoch
 * (kd_epoch, set before the programs are loaded); 0 means "not known" or
 * "not running". */
#ifndef KERNEL_DELAY_H
#define KERNEL_DELAY_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

/* Where a thread is. Interrupts are no state of their own: they are an overlay
 * on the running states and are subtracted from those in user space. */
enum kd_state {
	KD_UNSEEN, /* no event yet: the seed of the task iterator holds */
	KD_USER,
	KD_KERNEL,
	KD_READY_WOKEN,     /* runnable after a wake-up (or birth) */
	KD_READY_PREEMPTED, /* runnable after it was taken off its CPU */
	KD_BLOCKED,         /* interruptible sleep */
	KD_BLOCKED_UNINT,   /* uninterruptible sleep */
	KD_STOPPED,         /* job control or tracing stop */
	KD_DEAD,            /* switched out for the last time */
	KD_STATES,
};
#define KD_STATES_ROOM 16 /* a power of two, so that a mask bounds the index */

#define KD_COMM_LEN 16

/* The system call in progress, or one of these. */
#define KD_CALL_NONE -1    /* in user mode */
#define KD_CALL_UNKNOWN -2 /* in the kernel, number not known */

#define KD_CALLS 64     /* distinct system calls kept in a thread's table */
#define KD_PROBES 4     /* places looked at for one of them; more overflow */
#define KD_SOFTIRQS 16  /* vectors; the kernel has 10 */
#define KD_CPU_WORDS 16 /* bitmap of CPUs used: 1,024 of them */
#define KD_IRQ_NAME_LEN 32

#define KD_TID_PAGE 4096 /* slot numbers in one element of kd_tids */
#define KD_SLOT_FREE 0
#define KD_SLOT_REFUSED 0xffff /* the thread got no slot, which has been counted */
#define KD_SLOTS_MAX 0xfffe

struct kd_tid_page {
	__u16 slot[KD_TID_PAGE];
};

/* What is special about a system call, by number; 0 for nearly all of them. */
#define KD_CLASSES 512
enum kd_class {
	KD_CLASS_POLL = 1,
	KD_CLASS_IGNORED = 2, /* made by the kernel itself, for uprobes */
	KD_CLASS_EXEC = 4,
	KD_CLASS_RESTART = 8,
	KD_CLASS_MAPS = 16,   /* may map code */
	KD_CLASS_TRACED = 32, /* slow ones leave traces */
};

/* A window of time. The window word says all that a program needs on its fast
 * path: when the last edge was and whether it opened a window. The word of an
 * open window is also its generation: it is never used again. */
#define KD_BANKS 8 /* room; a power of two */
#define KD_MAX_BANKS 7
#define KD_NO_BANK 7ULL /* the window is timed, not recorded: all banks are taken */
#define KD_WORD_OPEN 1ULL
#define KD_WORD_BANK_SHIFT 1
#define KD_WORD_BANK_MASK 7ULL
#define KD_WORD_SHIFT 12
#define KD_FAR ((1ULL << 52) - 1) /* a time that does not come: somebody is setting an edge */

/* Edges that a trigger sets are this much later than its hit, so that no program
 * reads a time beyond the edge before it can know of it. */
#define KD_LEAD_NS 300

enum kd_bank {
	KD_BANK_FREE,
	KD_BANK_TAKEN,  /* its window is about to open, open, or about to end */
	KD_BANK_CLOSED, /* and not read yet */
};

struct kd_window {
	__u64 start;
	__u64 end;                  /* KD_NEVER while the window is open */
	__u64 gen;                  /* 0: nothing to record here */
	__u64 bank;                 /* enum kd_bank */
	__s32 opened_by, closed_by; /* TIDs; -1: user space */
};
#define KD_NEVER (~0ULL)

/* What became of a hit of a trigger's probe. Of a start and its stop both count,
 * the start when it is decided. */
enum kd_outcome {
	KD_HIT_USED,       /* an edge of a window that was kept */
	KD_HIT_SKIPPED,    /* of a window shorter than the delta */
	KD_HIT_MISSED,     /* of one as long as that for which no bank was free */
	KD_HIT_OVERLAPPED, /* start: another window was open; stop: of such a start */
	KD_HIT_IDLE,       /* none was wanted: pause between samples, or all are taken */
	KD_HIT_UNMATCHED,  /* stop without start */
	KD_OUTCOMES,
};

enum kd_role { KD_START, KD_STOP, KD_ROLES };

/* A trigger of this role is at a system call's entry, or its exit. */
#define KD_AT(role, exit) (1U << ((role)*2 + (exit)))

/* Log-linear histograms of durations: values below 1 << bits have a place each,
 * larger ones as many places per power of two. That of windows: */
#define KD_WINDOW_BITS 5
#define KD_WINDOW_PLACES (64U << KD_WINDOW_BITS) /* a power of two */

/* Those of --histogram, whose last place has all that is longer. */
#define KD_HISTOGRAM_BITS 4
#define KD_HISTOGRAM_PLACES 640 /* up to 2.4 hours */

/* Durations of one kind, of one thread in one window. */
struct kd_histogram {
	__u64 gen;
	__u32 count[KD_HISTOGRAM_PLACES];
};

/* Which histogram of a bank has what of a thread: its system calls, by their place in
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
	__u64 foreign; /* hits by other processes, both roles */
	__u64 outcome[KD_ROLES][KD_OUTCOMES];
	__u64 nested;   /* pairs not shorter than the delta that overlapped another's window */
	__u64 unlisted; /* records that found no room in the ring */
	__u64 min;      /* its complement, so that 0 is "none" */
	__u64 max;
	__u64 total;
	__u64 durations[KD_WINDOW_PLACES];
};

/* What user space is told as it happens; start and end are edges, too. */
enum kd_event_type {
	KD_EVENT_OPENED, /* a window that user space has to close */
	KD_EVENT_CLOSED, /* a window waits in its bank */
	KD_EVENT_SKIPPED,
	KD_EVENT_NESTED,
};

struct kd_event {
	__u32 type; /* enum kd_event_type */
	__u32 tid;
	__u64 start, end;
	char comm[KD_COMM_LEN];
};

/* --- Traces: what slow calls, long waits and samples of running code leave in
 * kd_traces, a ring of its own. --- */

/* User registers, by their DWARF numbers. */
#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#define KD_REGS 17
#define KD_REG_SP 7
#define KD_REG_IP 16
#else
#define KD_REGS 33
#define KD_REG_SP 31
#define KD_REG_IP 32
#endif

/* The stack is copied in pieces of this size, those that are in memory. */
#define KD_STACK_PAGE 4096
#define KD_STACK_PAGES 256 /* looked at, from the stack pointer on: 1 MB */
#define KD_STACK_WORDS (KD_STACK_PAGES / 64)
#define KD_STACK_MAX (128 * 1024) /* copied at most */
#define KD_OTHER_PAGES 16         /* of the stack that a signal's handler has left */
#define KD_KERNEL_FRAMES 64

enum kd_trace_type {
	KD_TRACE_CALL,   /* a slow system call has returned */
	KD_TRACE_WAIT,   /* a long wait has ended */
	KD_TRACE_STACK,  /* the user stack that belongs to waits with the same since */
	KD_TRACE_OPEN,   /* a slow system call that goes on at the window's end */
	KD_TRACE_SAMPLE, /* where a thread was running */
	KD_TRACE_MAPS,   /* the target has mapped code, or replaced its program */
};

enum kd_trace_flags {
	KD_TRACE_REGS = 1,    /* regs are set, and the stack was copied */
	KD_TRACE_LIMITED = 2, /* no user stack: --stack-rate */
	KD_TRACE_WAITED = 4,  /* kernel[] is where the thread waited longest, for waited ns */
	KD_TRACE_CUT = 8,     /* the stack is larger than what may be copied */
	KD_TRACE_EARLIER = 16 /* it began before start, when that was not watched */
};

/* A record ends where it has nothing more to say: in front of kernel if there are
 * no frames, in front of regs if the stack was not copied. Behind a whole one there
 * are the bytes of the stack, then those of the other. */
struct kd_trace {
	__u32 type; /* enum kd_trace_type */
	__u32 flags;
	__u32 tid;
	__u32 cpu;
	__u64 start, end; /* of the call or wait; sample: its time, twice */
	__u64 since;      /* of the system call in progress, or of the wait outside one */
	__u64 waited;
	__s64 result;   /* of the call */
	__s32 call;     /* its number, or KD_CALL_* */
	__u32 state;    /* wait: enum kd_state */
	__u32 ended_by; /* wait: TID of the thread that woke it; 0: an interrupt, or unknown */
	__u32 n_kernel; /* frames in kernel[], innermost first */
	char comm[KD_COMM_LEN];
	char ended_by_comm[KD_COMM_LEN];
	__u64 user_ip;
	__u64 kernel[KD_KERNEL_FRAMES];
	__u64 regs[KD_REGS];
	__u64 stack_start;           /* address of the first byte copied */
	__u64 stack_end;             /* behind the last that is worth a look; ~0: not known */
	__u64 pages[KD_STACK_WORDS]; /* bitmap, page 0 being that of stack_start */
	/* In a signal's handler with a stack of its own: the outermost part of the
	 * thread's. 0: none. */
	__u64 other_start;
	__u64 other_pages;
	__u32 size, other_size;
};

/* Behind the part of a KD_TRACE_MAPS in front of kernel: what was mapped. */
enum kd_mapped_kind {
	KD_MAPPED_FILE,    /* by mmap: a file */
	KD_MAPPED_NO_FILE, /* by mmap: memory of no file */
	KD_MAPPED_CHANGED, /* by mprotect: what was mapped there can be executed now */
	KD_MAPPED_ALL,     /* by execve: everything is new */
};

#define KD_PATH_NAMES 16
#define KD_PATH_NAME 64 /* with its NUL */

/* Ends behind the last of the names. */
struct kd_mapped {
	__u32 kind;   /* enum kd_mapped_kind */
	__u32 device; /* of the file's file system: major << 20 | minor */
	__u64 start;
	__u64 length; /* as the process said it */
	__u64 offset; /* of start in the file */
	__u64 inode;
	__u32 n;     /* names of the file's path in its file system, innermost first */
	__u32 whole; /* there are no others */
	char names[KD_PATH_NAMES][KD_PATH_NAME];
};
_Static_assert(sizeof(struct kd_mapped) == 48 + KD_PATH_NAMES * KD_PATH_NAME, "no padding");

/* A thread's longest wait in the system call that it is in. */
struct kd_wait {
	__u64 ns;
	__u32 ended_by;
	__u32 n;
	char ended_by_comm[KD_COMM_LEN];
	__u64 kernel[KD_KERNEL_FRAMES];
};

/* Interrupts that are not irq_handler_*: their tracepoints give no name. They
 * have the first places in a thread's table of hard interrupts. */
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
#define KD_LINES 16                        /* distinct interrupt lines kept per thread */
#define KD_HARDIRQS 32                     /* room for both, a power of two */
#define KD_HARDIRQ_OTHER (KD_HARDIRQS - 1) /* lines that find no place */

/* Keys of interrupt lines; 0 is a free place. */
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

/* Time that one class of interrupts took from a thread in one window. It has
 * its own generation, as an interrupt may hit a program that is just zeroing
 * the rest of the record. */
struct kd_overlay {
	__u64 gen;
	__u64 in_user;
	__u64 in_kernel;
};

/* One interrupt in progress on top of a thread. */
struct kd_irq_frame {
	__u64 since;
	__u64 stolen; /* taken by interrupts nested in it */
};

/* A system call that crosses an edge of a window. */
struct kd_open_call {
	__u64 since; /* 0: before we looked */
	__u64 until;
	__s32 call; /* KD_CALL_NONE: there was none */
	__u32 pad;
};

/* The run time of a thread by the kernel's count (sum_exec_runtime) and by
 * ours, read at one moment by the task iterator. */
struct kd_reading {
	__u64 at; /* 0: not read */
	__u64 exec_ns;
	__u64 run_ns;
	__u64 ran; /* since a switch-in that was not reported to us */
};
enum kd_reading_edge { KD_AT_OPEN, KD_AT_CLOSE, KD_READINGS };

/* What is known of a thread right now, whether a window is open or not. The
 * slot is the thread's index in kd_threads and, per bank, in kd_records. */
struct kd_thread {
	__u64 since;         /* when it entered its state */
	__u64 out_since;     /* traces only: when it was switched out, */
	__u64 woken_at;      /* woken (0: not yet), */
	__u32 out_state;     /* and what it was then */
	__u32 noted;         /* there is something in its kd_wait, or a trace of this call */
	__u32 state;         /* enum kd_state */
	__s32 call;          /* KD_CALL_* or the number of the call in progress */
	__u64 call_since;    /* 0: entered before we looked */
	__u64 run_since;     /* switched in, or first seen */
	__u64 run_ns;        /* all its run time before run_since */
	__u64 exec_out;      /* the kernel's count of it at the last switch-out */
	__u64 poll_since;    /* last return from poll; 0: none */
	__u64 restart_since; /* a call that the kernel may restart, see call_exit() */
	__u64 restart_at;
	__s32 restart_call; /* KD_CALL_NONE: none */
	__u32 on_cpu;
	__u32 ready_state; /* in which it waited for its present run */
	__u32 before;      /* its state before this one */
	__u64 task;        /* address of its task_struct: its identity */
	__u32 tid;
	__u32 cpu;
	__u64 born; /* 0: it was there before us */
	__u64 died; /* 0: alive */
	__u64 hits; /* of triggers' probes */
	__u64 pair; /* a start that waits for its stop, see trigger.bpf.h; 0: none */
	struct kd_irq_frame hardirq;
	struct kd_irq_frame softirq;

	/* Written by the task iterator only. */
	__u32 seed_state;
	__s32 seed_call;
	struct kd_reading readings[KD_READINGS];

	char comm[KD_COMM_LEN];

	/* Open addressing, a key stays in its place until the slot is reused. */
	__u32 call_keys[KD_CALLS]; /* number + 1 */
	__u64 line_keys[KD_LINES];
};

/* What happened to a thread in one window. */
struct kd_record {
	__u64 gen;
	__u64 first; /* booked from this time on, and what it was before: */
	__u64 before;
	__u64 upto;        /* booked up to this time */
	__u32 last;        /* state of the last interval booked */
	__u32 cpus_beyond; /* ran on a CPU beyond the bitmap */
	struct kd_open_call open_start, open_end;
	__u64 ns[KD_STATES_ROOM]; /* by enum kd_state */
	struct kd_span run;
	struct kd_span long_poll;
	struct kd_count ready;
	struct kd_count stopped;
	__u64 voluntary;
	__u64 involuntary;
	__u64 migrations;
	__u64 cpus[KD_CPU_WORDS];
	/* From here on each part has a generation of its own. */
	struct kd_overlay hardirq_ns;
	struct kd_overlay softirq_ns;
	struct kd_cell hardirqs[KD_HARDIRQS];
	struct kd_cell softirqs[KD_SOFTIRQS];
	struct kd_cell calls[KD_CALLS];
};

/* System calls that find no place in their thread's table. */
struct kd_overflow_key {
	__u64 gen;
	__u32 slot;
	__u32 number;
};

/* Upcalls of openvswitch that ended on one CPU in one window, by errno; 0:
 * successful. */
#define KD_ERRNOS 136
struct kd_upcalls {
	__u64 gen;
	__u64 count[KD_ERRNOS]; /* the last one: whatever has no place */
};

/* Every reason for which something may be missing from the report. */
enum kd_loss {
	KD_LOSS_THREADS, /* no free slot for a thread */
	KD_LOSS_CALLS,   /* no room for a (thread, system call) */
	KD_LOSS_IRQ_NAMES,
	KD_LOSS_UNTRACKED, /* event of a target thread that has no slot */
	KD_LOSS_PAIRS,     /* no room for the start of a thread of another process */
	KD_LOSS_EDGES,     /* hits while another was busy for long (before 5.12) */
	KD_LOSS_DURATIONS, /* no room in histograms */
	KD_LOSSES,
};

_Static_assert(KD_VECTORS + KD_LINES < KD_HARDIRQS, "a place for each interrupt");
_Static_assert(KD_STATES <= KD_STATES_ROOM, "a place for each state");
_Static_assert(KD_HISTOGRAM_READY < KD_HISTOGRAMS, "a place for each histogram");
_Static_assert(sizeof(struct kd_histogram) % 8 == 0, "array elements are 8-byte aligned");
_Static_assert(sizeof(struct kd_overflow_key) == 16, "no padding in a key");
_Static_assert(sizeof(struct kd_trace) % 8 == 0, "no padding in a trace");
_Static_assert(sizeof(struct kd_record) % 8 == 0, "array elements are 8-byte aligned");
_Static_assert(sizeof(struct kd_thread) % 8 == 0, "array elements are 8-byte aligned");

#endif
