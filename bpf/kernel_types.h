/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The few kernel structures and constants used by the programs, relocated against the running
 * kernel (CO-RE), in place of a generated vmlinux.h.
 *
 * All integers are unsigned: libbpf can adapt the size of an unsigned load to the running
 * kernel's field (on_cpu became u8 in 7.2), but not that of a signed load. */
#ifndef KERNEL_TYPES_H
#define KERNEL_TYPES_H

#include <asm-generic/errno-base.h>
#include <asm-generic/mman-common.h>
#include <linux/magic.h>
#include <linux/major.h>
#include <linux/stat.h>
#include <linux/types.h>

#define __VMLINUX_H__ /* for libbpf's headers: registers are named as in the kernel */

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;
typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)

/* Structures with a fixed layout are not relocated. Of the others those inside of another one
 * have no name here: the kernel's are found by their members' names. */

/* User registers as seen by perf event programs and other processes
 * (arch/ARCH/include/uapi/asm/ptrace.h). The kernel's own structures start with them; on x86
 * they are the same. */
#if defined(__TARGET_ARCH_x86)
#define user_regs pt_regs
struct user_regs {
	u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	u64 orig_ax, ip, cs, flags, sp, ss;
};
#else
struct user_regs {
	u64 regs[31], sp, pc, pstate;
};
#endif

/* kernel/bpf/task_iter.c: like all iterator programs, it gets pointers to the iteration's
 * metadata and to the current element. */
struct bpf_iter__task {
	u64 meta;
	struct task_struct *task;
};

/* include/uapi/linux/bpf_perf_event.h */
struct bpf_perf_event_data {
	struct user_regs regs;
	u64 sample_period;
	u64 addr;
};

/* include/uapi/linux/bpf.h */
enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PROG_ARRAY = 3,
	BPF_MAP_TYPE_PERF_EVENT_ARRAY = 4,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_QUEUE = 22,
	BPF_MAP_TYPE_RINGBUF = 27,
};
enum { BPF_ANY, BPF_NOEXIST, BPF_EXIST };
enum { BPF_F_MMAPABLE = 1U << 10 };
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2 };
enum { BPF_RB_AVAIL_DATA = 0 };
#if defined(__TARGET_ARCH_x86)
#define NR_MMAP 9 /* arch/x86/entry/syscalls/syscall_64.tbl */
#else
#define NR_MMAP 222 /* include/uapi/asm-generic/unistd.h */
#endif

#if defined(__TARGET_ARCH_x86)
#define TS_COMPAT 0x2  /* arch/x86/include/asm/thread_info.h */
#define USER32_CS 0x23 /* arch/x86/include/asm/segment.h */
#else
#define TIF_32BIT_BIT (1U << 22) /* arch/arm64/include/asm/thread_info.h */
#endif

/* include/linux/sched.h */
#define TASK_INTERRUPTIBLE 0x1
#define TASK_UNINTERRUPTIBLE 0x2
#define __TASK_STOPPED 0x4
#define __TASK_TRACED 0x8
#define TASK_DEAD 0x80
#define TASK_WAKING 0x200
#define TASK_RTLOCK_WAIT 0x1000
#define TASK_FROZEN 0x8000 /* since 6.1 */
#define PF_EXITING 0x4
#define PF_IO_WORKER 0x10
#define PF_SIGNALED 0x400
#define PF_USER_WORKER 0x4000 /* since 6.4, with PF_IO_WORKER or alone (vhost) */
#define PF_FROZEN 0x10000     /* before 6.1 */
#define PF_KTHREAD 0x200000
#define MAX_RT_PRIO 100 /* include/linux/sched/prio.h */
#define DEFAULT_PRIO 120
/* include/linux/sched/jobctl.h */
#define JOBCTL_STOP_SIGMASK 0xffffUL
#define JOBCTL_TRAP_FREEZE (1UL << 23)

#define UNIX98_PTY_LAST_MAJOR 143 /* include/uapi/linux/major.h, of their slaves */
/* include/trace/events/lock.h, since 5.19 */
#define LCB_F_SPIN 1
#define LCB_F_READ 2
#define LCB_F_WRITE 4
#define LCB_F_RT 8
#define LCB_F_PERCPU 16
#define LCB_F_MUTEX 32
#define MINORBITS 20                        /* include/linux/kdev_t.h */
#define TUN_DEVICE (10U << MINORBITS | 200) /* include/linux/miscdevice.h */
#define FMODE_WRITE 0x2                     /* include/linux/fs.h */
#define UIO_MAXIOV 1024                     /* include/uapi/linux/uio.h */
/* include/linux/blk_types.h */
#define REQ_OP_MASK 0xff
#define REQ_OP_READ 0
#define REQ_OP_WRITE 1

/* include/linux/sched/signal.h; SIGNAL_GROUP_COREDUMP is gone since 5.18 */
#define SIGNAL_STOP_STOPPED 0x1
#define SIGNAL_GROUP_EXIT 0x4
#define SIGNAL_GROUP_COREDUMP 0x8
#define SIGNAL_UNKILLABLE 0x40

/* include/uapi/asm-generic/signal.h, signal-defs.h */
#define SIGKILL 9
#define SIGCHLD 17
#define SIGCONT 18
#define SIGSTOP 19
#define SIGTSTP 20
#define SIGTTIN 21
#define SIGTTOU 22
#define SIGURG 23
#define SIGWINCH 28
#define SIGSYS 31
#define SIG_DFL 0
#define SIG_IGN 1

/* 32-bit calls, of x86 and Arm; and others, which have one number everywhere. */
#define CALL_COMPAT_FUTEX (KD_CALL_COMPAT | 240)
#define CALL_COMPAT_FUTEX_TIME64 (KD_CALL_COMPAT | 422)
#define CALL_FUTEX_WAITV 449 /* since 5.16 */
#define CALL_FUTEX_WAIT 455  /* since 6.7 */

struct futex_waitv {
	u64 value, address;
	u32 flags, reserved;
};

#define IRQ_NONE 0                /* include/linux/irqreturn.h */
#define ERESTART_RESTARTBLOCK 516 /* include/linux/errno.h */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct rq {
	u64 clock, clock_task, clock_pelt;
	unsigned long lost_idle_time;
	u64 prev_steal_time_rq; /* CONFIG_PARAVIRT_TIME_ACCOUNTING */
	u64 rq_cpu_time;        /* of all tasks that have left it; CONFIG_SCHEDSTATS */
	u64 idle_stamp;         /* since when it is idle */
	u32 online;
	struct task_struct *curr, *idle;
};

/* Throttling, depending on the kernel; see quota_before(). */
struct cfs_rq {
	struct rq *rq;
	struct task_group *tg;
	u32 runtime_enabled;
	u32 throttled : 1; /* a full word before 6.18 */
	u64 throttled_clock_self, throttled_clock_self_time;
	u64 throttled_clock_pelt, throttled_clock_pelt_time;
	u64 throttled_clock_task, throttled_clock_task_time;
	u32 throttle_count;
};

struct sched_entity {
	u64 exec_start, sum_exec_runtime;
	u8 sched_delayed; /* since 6.12 */
	struct sched_entity *parent;
	struct cfs_rq *cfs_rq;
};

struct xol_area {
	unsigned long vaddr;
};

typedef struct {
	unsigned long counter;
} atomic_long_t;

/* Locks. With PREEMPT_RT the first two consist of the last one. */
struct mutex {
	atomic_long_t owner;
};

struct rw_semaphore {
	atomic_long_t owner;
};

struct rt_mutex_base {
	struct task_struct *owner;
};

struct rwbase_rt {
	struct rt_mutex_base rtmutex;
};

struct mm_struct {
	struct rw_semaphore mmap_lock;
	unsigned long start_stack;
	struct {
		struct xol_area *xol_area;
	} uprobes_state;
};

struct return_instance {
	unsigned long stack, orig_ret_vaddr;
	struct return_instance *next;
};

struct uprobe_task {
	struct return_instance *return_instances;
	struct uprobe *active_uprobe;
	unsigned long xol_vaddr, vaddr;
};

struct super_block {
	u32 s_dev;
	unsigned long s_magic;
};

struct inode {
	u16 i_mode;
	u32 i_rdev;
	unsigned long i_ino;
	struct super_block *i_sb;
};

struct dentry {
	struct dentry *d_parent;
	struct {
		const unsigned char *name;
	} d_name;
};

struct file {
	u32 f_mode;
	struct {
		struct dentry *dentry;
	} f_path;
	struct inode *f_inode;
	void *private_data;
};

/* Sockets. */
struct net {
	struct {
		u32 inum;
	} ns;
};

struct sock_common {
	u32 skc_daddr, skc_rcv_saddr;
	u16 skc_dport, skc_num, skc_family;
	struct {
		struct net *net;
	} skc_net;
	struct {
		u8 bytes[16];
	} skc_v6_daddr, skc_v6_rcv_saddr; /* each read as a unit */
};

struct sock {
	struct sock_common __sk_common;
	u16 sk_protocol;
	struct socket *sk_socket;
};

struct socket {
	struct file *file;
	struct sock *sk;
};

struct sockaddr_un {
	u16 sun_family;
};

struct unix_address {
	u32 len;
	struct sockaddr_un name[];
};

struct unix_sock {
	struct unix_address *addr;
	struct sock *peer;
};

struct fdtable {
	u32 max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct signal_struct {
	struct {
		u32 counter;
	} live;
	u32 group_stop_count;
	u32 flags;
};

struct k_sigaction {
	struct {
		void *sa_handler;
	} sa;
};

/* An IDR is a tree of nodes with 64 slots each; in small kernels 16. */
struct xa_node {
	u8 shift;
	void *slots[64];
};

struct pid_namespace {
	struct {
		struct {
			void *xa_head;
		} idr_rt;
	} idr;
};

struct upid {
	u32 nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct {
		void *first;
	} tasks[4]; /* the first: the thread with this TID */
	struct upid numbers[1];
};

struct kernfs_node {
	const char *name;
	u64 id;
};

struct cgroup_root {
	u32 hierarchy_id;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
	struct cgroup_root *root;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct task_group {
	struct cgroup_subsys_state css;
	struct {
		u64 period, quota;
	} cfs_bandwidth;
};

struct task_struct {
	struct {
		u32 cpu;
#if defined(__TARGET_ARCH_x86)
		u32 status;
#else
		unsigned long flags;
#endif
	} thread_info;
	u32 __state;
	unsigned long state; /* before 5.14 */
	u32 cpu;             /* before 5.16 */
	void *stack;
	u32 flags;
	u32 on_cpu;
	u32 on_rq;
	struct sched_entity se;
	struct {
		u64 dl_runtime, dl_deadline, dl_period, deadline;
		u32 dl_throttled : 1;
	} dl;
	u8 throttled; /* since 6.18 */
	u32 prio;
	u32 policy;
	const struct cpumask *cpus_ptr;
	struct {
		u64 last_arrival; /* on its CPU, by rq.clock */
	} sched_info;             /* CONFIG_SCHED_INFO */
	u32 exit_state;
	unsigned long jobctl;
	u32 ptrace;
	u32 in_iowait : 1;
	u32 pid, tgid;
	u64 start_time;
	u64 self_exec_id;
	u64 timer_slack_ns;
	u64 utime, stime, gtime;
	unsigned long min_flt, maj_flt;
	char comm[16];
	struct task_struct *real_parent, *parent, *group_leader;
	struct signal_struct *signal;
	struct css_set *cgroups;
	struct mm_struct *mm;
	struct files_struct *files;
	struct pid *thread_pid;
	struct {
		void *next;
	} pid_links[4]; /* as pid.tasks */
	unsigned long sas_ss_sp, sas_ss_size;
	struct {
#if defined(__TARGET_ARCH_x86)
		unsigned long fsbase, sp;
#else
		struct {
			unsigned long tp_value;
		} uw;
#endif
	} thread;
	struct uprobe_task *utask;
	void *worker_private; /* since 5.17 */
};

struct io_worker {
	void *cur_work;
};

struct trace_event_raw_sys_enter {
	unsigned long id;
};

struct trace_event_raw_sys_exit {
	unsigned long ret;
};

struct gendisk {
	char disk_name[32];
};

struct request_queue {
	struct gendisk *disk;
};

struct hd_struct {
}; /* before 5.11 */

struct request {
	u32 cmd_flags;
	u32 __data_len;
	u64 start_time_ns;
	u64 io_start_time_ns; /* 0: statistics are off */
	struct gendisk *rq_disk;
	struct request_queue *q;
};

struct irqaction {
	const char *name;
};

/* Registers of a system call in pt_regs: its number, arguments and result. */
#if defined(__TARGET_ARCH_x86)
#define REGS_READ BPF_PROBE_READ
#define REG_CALL orig_ax
#define REG_IP ip
#define REG_RESULT ax
#define REG_1 di
#define REG_2 si
#define REG_3 dx
#define REG_4 r10
#define REG_5 r8
#define REG_6 r9
#define REG_COMPAT_1 bx
#define REG_COMPAT_2 cx
#define REG_COMPAT_3 dx
#define REG_COMPAT_4 si
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
	u64 regs[31];
	u64 sp;
	u64 pc;
	u64 orig_x0;
	u32 syscallno;
};
#define REGS_READ BPF_CORE_READ
#define REG_CALL syscallno
#define REG_IP pc
#define REG_RESULT regs[0]
#define REG_1 orig_x0
#define REG_2 regs[1]
#define REG_3 regs[2]
#define REG_4 regs[3]
#define REG_5 regs[4]
#define REG_6 regs[5]
#define REG_COMPAT_1 orig_x0
#define REG_COMPAT_2 regs[1]
#define REG_COMPAT_3 regs[2]
#define REG_COMPAT_4 regs[3]
#else
#error "this architecture's pt_regs is not known yet"
#endif

/* Only enumerators that are tested; their values are the running kernel's. */
enum bpf_func_id {
	BPF_FUNC_get_current_task_btf = 158,
	BPF_FUNC_snprintf = 165,
	BPF_FUNC_get_attach_cookie = 174,
	BPF_FUNC_task_pt_regs = 175,
};

#pragma clang attribute pop

#endif
