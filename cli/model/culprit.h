/* SPDX-License-Identifier: Apache-2.0 */
/* What had the CPU while a thread waited for it. */
#ifndef CULPRIT_H
#define CULPRIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"
#include "cli/base/clock.h"

enum culprit_kind {
	CULPRIT_TASK,
	CULPRIT_HARDIRQ,
	CULPRIT_SOFTIRQ,
	CULPRIT_IDLE,      /* none: the CPU was waking up, or could not run the thread */
	CULPRIT_THROTTLED, /* its cgroup had used up its quota */
	CULPRIT_DEADLINE,  /* the thread had used up its own SCHED_DEADLINE runtime */
	CULPRIT_STOLEN,    /* the hypervisor had taken the CPU from the VM */
	CULPRIT_OWN,       /* target threads too small for a row, */
	CULPRIT_REST,      /* and other tasks too small for one */
	CULPRIT_UNKNOWN,
	CULPRIT_KINDS,
};

/* Longest wakeup of an idle CPU. If a wait is longer, the thread may not run there. */
#define WAKE_UP_NS NSEC_PER_MSEC

#define CULPRIT_GROUP_LEN 64

/* One culprit of a thread's waits for a CPU. Rows add up to the states ready_woken,
 * ready_preempted and throttled of the ledger. */
struct culprit {
	enum culprit_kind kind;
	/* Tasks only. Threads of another process with the same class and priority share a row. */
	int32_t tid; /* 0: several threads of the process */
	int32_t pid;
	char name[KD_COMM_LEN]; /* not escaped: of the thread, or of the process if tid is 0 */
	uint32_t policy;        /* SCHED_* of sched(7), in culprit_policies[] */
	int32_t priority;       /* fifo, rr: 1 to 99; other, batch, idle: nice; deadline: 0 */
	bool own;               /* a thread of the target, also in CULPRIT_OWN */
	bool kernel;            /* a kernel thread, */
	bool ksoftirqd;         /* which runs softirqs */
	/* The thread is real-time, and a normal task or nothing ran. A limit held the thread
	 * back: sched_rt_runtime_us, or the fair server. */
	bool rt_limit;
	/* Cgroup path below the root, or its tail; not escaped. Task: only if it differs from
	 * the target's; also "" if the process was gone when looked up. CULPRIT_THROTTLED: the
	 * group with the quota; "": unknown. */
	char group[CULPRIT_GROUP_LEN];
	bool same_group; /* the task is in the target's cgroup, so nice values count between them */
	pid_t parent;    /* the process that this one is a child of; 0: unknown, or own */
	char parent_name[KD_COMM_LEN]; /* not escaped; "" if that has ended */
	/* Quota of the group, or of CULPRIT_DEADLINE: CPU time per period; 0: unknown. */
	uint64_t quota_ns, period_ns;

	uint64_t woken_ns;      /* time the thread waited after a wakeup, */
	uint64_t preempted_ns;  /* and after a preemption */
	uint64_t longest_ns;    /* longest in one wait, including time outside the window */
	uint64_t longest_began; /* when that wait began; 0: unknown */
};

/* CPU bandwidth limit of a cgroup. */
struct cpu_quota {
	char group[CULPRIT_GROUP_LEN]; /* as in struct culprit */
	uint64_t quota_ns, period_ns;  /* period 0: no quota */
};

/* What decides how much CPU time a thread gets beside a rival: ROW(kind, key). A promise. */
#define CPU_BY_WORDS(ROW)                                                                          \
	ROW(CPU_BY_UNKNOWN, "unknown")                                                             \
	ROW(CPU_BY_NICE, "nice")                                                                   \
	ROW(CPU_BY_AUTOGROUP, "autogroup")                                                         \
	ROW(CPU_BY_GROUP, "group")
#define CPU_BY_KIND(kind, key) kind,
enum cpu_by { CPU_BY_WORDS(CPU_BY_KIND) CPU_BY_KINDS };
extern const char *const cpu_by_keys[CPU_BY_KINDS];

#define CPU_RULES_LIST 64

/* Rules for the thread that waited longest for a CPU. Paths are as in struct culprit. */
struct cpu_rules {
	int32_t tid;                     /* 0: unknown */
	bool version_1;                  /* of the hierarchy of the cpu controller; else 2 */
	int32_t rival;                   /* PID of the task that took most, 0: none */
	uint32_t decided_by;             /* enum cpu_by, between these two: */
	char weighed[CULPRIT_GROUP_LEN]; /* the thread's group or autogroup, */
	int64_t weight, rival_weight;    /* its cpu.shares, cpu.weight or nice value; 0: unknown */
	uint32_t autogroup;              /* the thread's; 0: none, or without effect */
	int32_t autogroup_nice;
	/* The group whose cpuset has not all CPUs, and these; "": none. confined: the thread may
	 * run on each of them, so that only the cpuset keeps it from others. */
	char cpuset[CULPRIT_GROUP_LEN], cpus[CPU_RULES_LIST];
	bool confined;
	bool anywhere;   /* it may run on each CPU that is online */
	uint32_t policy; /* the thread's: SCHED_*, in culprit_policies[] */
	/* A group with cpu.idle, which gets what others leave: the weighed one, if it has it; "":
	 * none. */
	char idle_group[CULPRIT_GROUP_LEN];
	char rt_group[CULPRIT_GROUP_LEN];     /* with a limit of its own for real-time threads, */
	uint64_t rt_runtime_ns, rt_period_ns; /* so much per period; 0: none */
};

/* Who used up a CPU quota: of the group with it, the one right below that used most; and of the
 * processes in the target's own group, the one that is not the target's and used most. */
struct quota_use {
	char group[CULPRIT_GROUP_LEN], user[CULPRIT_GROUP_LEN]; /* "": unknown */
	bool own;                                               /* the target is in it */
	uint64_t used_ns, all_ns;                               /* of the user, and of the group */
	bool has_target; /* it is known what the target used: */
	uint64_t target_ns;
	int32_t pid; /* 0: none */
	char name[KD_COMM_LEN];
	uint64_t pid_ns;
};

/* True if that was mostly others than the target. */
bool quota_use_is_others(const struct quota_use *use);

/* Culprits that a report names; the others are "the rest". */
#define CULPRITS_SHOWN 5

uint64_t culprit_ns(const struct culprit *culprit);

/* Keys: ROW(kind, key), and policies as in sched(7). A promise, see words.h. */
#define CULPRIT_WORDS(ROW)                                                                         \
	ROW(CULPRIT_TASK, "task")                                                                  \
	ROW(CULPRIT_HARDIRQ, "hardirq")                                                            \
	ROW(CULPRIT_SOFTIRQ, "softirq")                                                            \
	ROW(CULPRIT_IDLE, "idle")                                                                  \
	ROW(CULPRIT_THROTTLED, "throttled")                                                        \
	ROW(CULPRIT_DEADLINE, "deadline")                                                          \
	ROW(CULPRIT_STOLEN, "stolen")                                                              \
	ROW(CULPRIT_OWN, "own")                                                                    \
	ROW(CULPRIT_REST, "rest")                                                                  \
	ROW(CULPRIT_UNKNOWN, "unexplained")
extern const char *const culprit_kinds[CULPRIT_KINDS];
#define CULPRIT_POLICIES 8
#define CULPRIT_POLICY_UNKNOWN 4 /* SCHED_ISO, which no kernel has */
extern const char *const culprit_policies[CULPRIT_POLICIES];

/* Sets policy and priority from the values of task_struct. */
void culprit_set_priority(struct culprit *culprit, uint32_t policy, uint32_t prio);

/* True if this task_struct prio is real-time or deadline. */
bool culprit_prio_is_real_time(uint32_t prio);

/* Adds to the row of the same culprit, or makes one. Thousands of tasks may have had the CPU in
 * a long sample: beyond CULPRITS_MOST rows, the smallest tasks become CULPRIT_OWN and
 * CULPRIT_REST. Returns 0 or -ENOMEM. */
#define CULPRITS_MOST 128
int culprits_add(struct culprit **rows, size_t *n, const struct culprit *culprit);

/* Sorts by descending time; CULPRIT_OWN, CULPRIT_REST and CULPRIT_UNKNOWN come last. */
void culprits_sort(struct culprit *rows, size_t n);

/* Sums the rows from an index on. */
uint64_t culprits_sum(const struct culprit *rows, size_t n, size_t from);

/* Number of sorted rows to show; the others are "the rest". */
size_t culprits_shown(const struct culprit *rows, size_t n);

/* Name for conditions and metrics: of a task, not escaped, else the key of its kind. Returns
 * buffer. */
#define CULPRIT_NAME_LEN (KD_COMM_LEN + 1)
const char *culprit_name(const struct culprit *culprit, char buffer[CULPRIT_NAME_LEN]);

/* Short label: "backup[812]", "soft irq". Task names are not escaped. Returns buffer. */
#define CULPRIT_LABEL_LEN (KD_COMM_LEN + 16)
const char *culprit_label(const struct culprit *culprit, char buffer[CULPRIT_LABEL_LEN]);

/* --- I/O limit of a cgroup on a disk --- */

/* What is limited per second: ROW(kind, key, words). Keys are a promise, see words.h. */
#define DISK_LIMIT_WORDS(ROW)                                                                      \
	ROW(DISK_LIMIT_READ_BYTES, "read_bytes", "reads")                                          \
	ROW(DISK_LIMIT_WRITE_BYTES, "write_bytes", "writes")                                       \
	ROW(DISK_LIMIT_READS, "reads", "reads")                                                    \
	ROW(DISK_LIMIT_WRITES, "writes", "writes")
#define DISK_LIMIT_KIND(kind, key, words) kind,
enum disk_limit_kind { DISK_LIMIT_WORDS(DISK_LIMIT_KIND) DISK_LIMIT_KINDS };
extern const char *const disk_limit_keys[DISK_LIMIT_KINDS],
	*const disk_limit_words[DISK_LIMIT_KINDS];

#define DISK_LIMIT_DEVICE KD_DISK_NAME

struct disk_limit {
	char group[CULPRIT_GROUP_LEN]; /* as in struct culprit */
	char device[DISK_LIMIT_DEVICE];
	uint32_t kind;       /* enum disk_limit_kind */
	bool version_1;      /* cgroup v1: blkio.throttle.*, else io.max */
	uint64_t per_second; /* 0: no limit */
	uint64_t used;       /* of the limit, per second */
};

/* Usage below this share of a limit holds nothing up. The kernel counts I/O when it is
 * dispatched, and loses some of each time slice. */
#define DISK_LIMIT_REACHED 70 /* percent */

/* --- Who else used a disk --- */

/* The process, not of the target, that read and wrote more than half of a disk's bytes. */
struct disk_use {
	char device[DISK_LIMIT_DEVICE]; /* that threads waited for: perhaps a part of the disk */
	pid_t pid;                      /* 0: none known */
	char name[KD_COMM_LEN];         /* raw, not escaped */
	uint64_t bytes, all_bytes;      /* its own, and of the disk */
};

/* --- For whom a journal wrote --- */

/* The threads of the kernel that write the journals of ext4. */
#define JOURNAL_NAME "jbd2/"

static inline bool journal_is_name(const char *name)
{
	return !strncmp(name, JOURNAL_NAME, strlen(JOURNAL_NAME));
}

/* The journal for which threads waited longest. */
struct journal_use {
	char journal[KD_COMM_LEN]; /* the thread that writes it, raw; "": none */
	bool waits;                /* it waited itself, until data of files was written: */
	pid_t pid;                 /* whose; 0: unknown */
	char name[KD_COMM_LEN];    /* raw */
	struct disk_limit limit;   /* of that one's group; per_second 0: none */
};

/* --- Memory limit of a cgroup --- */

struct memory_limit {
	char group[CULPRIT_GROUP_LEN]; /* as in struct culprit */
	char file[32];                 /* that sets it, as "memory.max" */
	bool version_1;
	uint64_t bytes, used; /* 0 bytes: no limit */
	uint64_t hits;        /* how often it was reached in the window */
};

#endif
