/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The few kernel structures and constants that the programs use, relocated
 * against the running kernel (CO-RE), in place of a generated vmlinux.h.
 *
 * Integers are declared unsigned whatever the kernel says: libbpf can adapt the
 * size of an unsigned load to the running kernel's field (on_cpu became u8 in
 * 7.2), not that of a signed one. */
#ifndef KERNEL_TYPES_H
#define KERNEL_TYPES_H

#define __VMLINUX_H__ /* libbpf's headers and ours ask for no others */

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed int __s32;
typedef signed long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
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

/* Registers of a user's context as programs of perf events and other processes
 * see them (arch/ARCH/include/uapi/asm/ptrace.h): of a layout that never changes,
 * which those that the kernel keeps begin with. */
struct user_regs {
#if defined(__TARGET_ARCH_x86)
	u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	u64 orig_ax, ip, cs, flags, sp, ss;
#else
	u64 regs[31], sp, pc, pstate;
#endif
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
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_QUEUE = 22,
	BPF_MAP_TYPE_RINGBUF = 27,
};
enum { BPF_ANY, BPF_NOEXIST };
enum { BPF_F_MMAPABLE = 1U << 10 };
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2 };
enum { BPF_RB_AVAIL_DATA = 0 };
#define PROT_EXEC 4 /* include/uapi/asm-generic/mman-common.h */
#define MAP_ANONYMOUS 0x20
#if defined(__TARGET_ARCH_x86)
#define NR_MMAP 9 /* arch/x86/entry/syscalls/syscall_64.tbl */
#else
#define NR_MMAP 222 /* include/uapi/asm-generic/unistd.h */
#endif

/* include/linux/sched.h */
#define TASK_INTERRUPTIBLE 0x1
#define TASK_UNINTERRUPTIBLE 0x2
#define __TASK_STOPPED 0x4
#define __TASK_TRACED 0x8
#define TASK_DEAD 0x80
#define TASK_WAKING 0x200
#define TASK_RTLOCK_WAIT 0x1000
#define PF_IO_WORKER 0x10

#define IRQ_NONE 0 /* include/linux/irqreturn.h */
#define EINTR 4
#define ERESTART_RESTARTBLOCK 516 /* include/linux/errno.h */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct rq {
	u64 clock;
	u64 clock_task;
};

struct cfs_rq {
	struct rq *rq;
};

struct sched_entity {
	u64 exec_start;
	u64 sum_exec_runtime;
	struct cfs_rq *cfs_rq;
};

struct thread_info {
	u32 cpu;
#if defined(__TARGET_ARCH_arm64)
	struct {
		u32 count;
	} preempt;
#endif
};

struct mm_struct {
	unsigned long start_stack;
};

struct thread_struct {
#if defined(__TARGET_ARCH_x86)
	unsigned long fsbase;
#else
	struct {
		unsigned long tp_value;
	} uw;
#endif
};

struct super_block {
	u32 s_dev;
};

struct inode {
	unsigned long i_ino;
	struct super_block *i_sb;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
};

struct path {
	struct dentry *dentry;
};

struct file {
	struct path f_path;
	struct inode *f_inode;
};

struct fdtable {
	u32 max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct task_struct {
	struct thread_info thread_info;
	u32 __state;
	void *stack;
	u32 flags;
	u32 on_cpu;
	u32 on_rq;
	struct sched_entity se;
	u32 exit_state;
	u32 pid;
	u32 tgid;
	u64 start_time;
	char comm[16];
	struct mm_struct *mm;
	struct files_struct *files;
	unsigned long sas_ss_sp;
	unsigned long sas_ss_size;
	struct thread_struct thread;
};

struct task_struct___before_5_14 {
	unsigned long state;
};

struct sched_entity___delayed {
	u8 sched_delayed;
};

struct trace_event_raw_sys_enter {
	unsigned long id;
};

struct trace_event_raw_sys_exit {
	unsigned long ret;
};

struct irqaction {
	const char *name;
};

struct linux_binprm;

struct pt_regs {
#if defined(__TARGET_ARCH_x86)
	unsigned long ax;
	unsigned long ip;
	unsigned long orig_ax;
	unsigned long dx;
#elif defined(__TARGET_ARCH_arm64)
	u64 regs[31];
	u64 pc;
	u64 orig_x0;
	u32 syscallno;
#else
#error "this architecture's pt_regs is not known yet"
#endif
};

struct bpf_iter__task {
	struct task_struct *task;
};

/* Only the enumerators asked about; their values are the running kernel's. */
enum bpf_func_id {
	BPF_FUNC_get_current_task_btf = 158,
	BPF_FUNC_task_pt_regs = 175,
};

#pragma clang attribute pop

#endif
