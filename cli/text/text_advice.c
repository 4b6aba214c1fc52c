/* SPDX-License-Identifier: Apache-2.0 */
/* Advice on the causes of the verdict. */
#define _GNU_SOURCE
#include "text_advice.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/escape.h"
#include "cli/base/parse.h"
#include "cli/base/texts.h"
#include "cli/model/user_wait.h"
#include "text_limits.h"
#include "text_next.h"
#include "text_parts.h"
#include "text_sentence.h"

#define LOCK_STATISTICS "[THREAD LOCK STATISTICS] says what the holder did meanwhile"

/* Advice by cause; multiple: wording for several processes, if different. */
static const struct {
	const char *one, *multiple;
} usual_advice[CAUSES] = {
	[CAUSE_TASK] = { "give it a CPU of its own, or a higher priority (taskset, chrt)",
			 "give them CPUs of their own, or a higher priority (taskset, chrt)" },
	[CAUSE_OWN_THREADS] = { "use fewer busy threads, or give them more CPUs (taskset -p)",
				NULL },
	[CAUSE_THROTTLED] = { "raise the group's cpu.max (cgroups), or use less CPU time", NULL },
	[CAUSE_DEADLINE] = { "let it do less in each period, or raise its runtime (chrt -d -T)",
			     "let them do less in each period, or raise their runtime (chrt -d "
			     "-T)" },
	[CAUSE_RT_LIMIT] = { "let it sleep at times; sched_rt_runtime_us or fair_server is the "
			     "limit",
			     "let them sleep at times; sched_rt_runtime_us or fair_server is the "
			     "limit" },
	[CAUSE_IDLE] = { "keep its CPU out of deep idle states (cpupower idle-set)",
			 "keep their CPUs out of deep idle states (cpupower idle-set)" },
	[CAUSE_HARDIRQ] = { "move interrupts to other CPUs (/proc/irq/*/smp_affinity)", NULL },
	[CAUSE_SOFTIRQ] = { "move the network's interrupts (RSS); on loopback, see who sends",
			    NULL },
	[CAUSE_STOLEN] = { "ask the host for dedicated CPUs", NULL },
	[CAUSE_LOCK] = { "--off-cpu=1ms shows where it waits for locks",
			 "--off-cpu=1ms shows where they wait for locks" },
	[CAUSE_KERNEL_LOCK] = { "--off-cpu=1ms shows which lock of the kernel it is", NULL },
	[CAUSE_DISK_LIMIT] = { "raise the group's limit (io.max, io.latency, io.weight)", NULL },
	[CAUSE_DISK] = { "-s 1ms lists the slow calls and their stacks", NULL },
	[CAUSE_PAGE_FAULT] = { "--profile shows where it touches new memory",
			       "--profile shows where they touch new memory" },
	[CAUSE_MAJOR_FAULT] = { "add memory, or keep its pages there (mlock, MAP_POPULATE)",
				"add memory, or keep their pages there (mlock, MAP_POPULATE)" },
	[CAUSE_RECLAIM] = { "raise the group's memory limit, or use less memory", NULL },
	[CAUSE_PEER] = { "look at the process at the other end; --off-cpu=1ms names it", NULL },
	[CAUSE_SERVER] = { "-s 1ms lists the slow calls and their stacks", NULL },
	[CAUSE_KERNEL_WORK] = { "-s 1ms lists the slow calls and their stacks", NULL },
	[CAUSE_DEVICE] = { "-s 1ms lists the slow calls and their stacks", NULL },
	[CAUSE_WAIT] = { "--off-cpu=1ms shows what it waited for", NULL },
	[CAUSE_CHILD] = { "--follow-fork watches its children, too",
			  "--follow-fork watches their children, too" },
	[CAUSE_TIMER] = { "see timer slack (PR_SET_TIMERSLACK) and idle states of the CPU", NULL },
	[CAUSE_STOPPED] = { "find out who stops it: a debugger, strace, job control, SIGSTOP",
			    "find out who stops them: a debugger, strace, job control, SIGSTOP" },
	[CAUSE_FROZEN] = { "find out who freezes it: cgroup.freeze or freezer.state, docker pause",
			   "find out who freezes them: cgroup.freeze or freezer.state, docker "
			   "pause" },
};

/* Advice for a named culprit: other is followed by its PID, own is for target threads. NULL: as
 * above. */
#define LOOK_AT(what) "look at " what ": kernel_delay"
static const struct {
	const char *other, *own;
} named_advice[CAUSES] = {
	[CAUSE_LOCK] = { LOOK_AT("what the holder does"), LOCK_STATISTICS },
	[CAUSE_KERNEL_LOCK] = { LOOK_AT("what the holder does"), LOCK_STATISTICS },
	[CAUSE_PEER] = { LOOK_AT("the process at the other end"),
			 "see that thread's own sections for what it did meanwhile" },
	[CAUSE_SERVER] = { LOOK_AT("the process that has to answer"),
			   "see that thread's own sections for what it did meanwhile" },
	[CAUSE_CHILD] = { NULL, "see the child's own sections for what it did meanwhile" },
	[CAUSE_WAIT] = { NULL, "see that thread's own sections for what it did meanwhile" },
	[CAUSE_PAGE_FAULT] = { LOOK_AT("the process that has the same pages"),
			       "see the sections of the process that has the same pages" },
	[CAUSE_STOPPED] = { "see why that process does so: ps -fp", NULL },
};

#define AGAINST_TICKS "use nohz_full against ticks; keep threads that set timers off its CPU"

/* Advice by the start of an interrupt's name: some cannot be moved, and some are not from
 * devices. "": several kinds. */
static const struct {
	enum cause cause;
	const char *name, *advice;
} interrupt_advice[] = {
	{ CAUSE_HARDIRQ, "local_timer", AGAINST_TICKS },
	{ CAUSE_HARDIRQ, "arch_timer", AGAINST_TICKS }, /* of arm64 */
	{ CAUSE_HARDIRQ, "call_function",
	  "other CPUs send these: look for munmap, mprotect, membarrier, RPS, tracing" },
	{ CAUSE_HARDIRQ, "reschedule", "other CPUs send these, to wake threads on its CPU" },
	{ CAUSE_HARDIRQ, "nmi", "see what uses NMIs: perf, nmi_watchdog" },
	{ CAUSE_HARDIRQ, "thermal", "its CPU is too hot: see to its cooling" },
	{ CAUSE_HARDIRQ, "",
	  "[HARD IRQ STATISTICS] says which; move those of devices (smp_affinity)" },
	{ CAUSE_SOFTIRQ, "block", "move the disks' interrupts to other CPUs (smp_affinity)" },
	{ CAUSE_SOFTIRQ, "timer", "keep threads that set timers off its CPU, and see nohz_full" },
	{ CAUSE_SOFTIRQ, "hrtimer", "keep threads that set timers off its CPU, and see nohz_full" },
	{ CAUSE_SOFTIRQ, "rcu", "move RCU's work to other CPUs (rcu_nocbs, nohz_full)" },
	{ CAUSE_SOFTIRQ, "sched", "keep other threads off its CPU (isolcpus)" },
	{ CAUSE_SOFTIRQ, "tasklet", "move the device's interrupts to other CPUs (smp_affinity)" },
	{ CAUSE_SOFTIRQ, "", "[SOFT IRQ STATISTICS] says which of them" },
};

/* Advice by kind of interrupt; NULL: the usual one. */
static const char *kind_advice(const struct verdict_row *row)
{
	const char *by = row->who.comm;

	for (size_t i = 0; i < sizeof(interrupt_advice) / sizeof(*interrupt_advice); i++) {
		const char *name = interrupt_advice[i].name;

		if (row->cause == interrupt_advice[i].cause && !row->who.pid &&
		    (*name ? !strncmp(by, name, strlen(name)) : !*by))
			return interrupt_advice[i].advice;
	}
	return NULL;
}

/* Advice by what stopped it; NULL: the usual one. */
static const char *stop_advice(const struct verdict_row *row)
{
	static const struct {
		const char *by, *advice;
	} stops[] = {
		{ "SIGTTOU",
		  "it used its terminal from the background: fg, or redirect its output" },
		{ "SIGTTIN", "it read from its terminal in the background: fg, or </dev/null" },
		{ "SIGTSTP", "Ctrl-Z at its terminal; fg, or kill -CONT, lets it go on" },
	};

	for (size_t i = 0; i < sizeof(stops) / sizeof(*stops); i++)
		if (row->cause == CAUSE_STOPPED && !strcmp(row->who.stopped_by, stops[i].by))
			return stops[i].advice;
	return NULL;
}

/* A lock that has a name need not be found; NULL: the usual advice. */
static const char *lock_advice(const struct verdict_row *row)
{
	return row->cause == CAUSE_KERNEL_LOCK && row->lock_ns > row->ns / 2
		       ? "--off-cpu=1ms shows which system calls wait for it"
		       : NULL;
}

/* Points to data of an option that was given. */
static const char *given_advice(enum cause cause, const struct sample *sample)
{
	const struct trace_list *traces = &sample->traces;

	switch (cause) {
	case CAUSE_LOCK:
	case CAUSE_KERNEL_LOCK:
	case CAUSE_PEER:
	case CAUSE_WAIT:
		return traces->waits_wanted ? "OFF-CPU WAITS says where it waited, and who woke it"
					    : NULL;
	case CAUSE_DISK:
	case CAUSE_SERVER:
	case CAUSE_KERNEL_WORK:
	case CAUSE_DEVICE:
		return traces->calls_wanted ? "SYSCALL EVENTS says where it waited" : NULL;
	case CAUSE_PAGE_FAULT:
		return traces->profile_hz ? "ON-CPU SAMPLES says where it touches new memory"
					  : NULL;
	case CAUSE_CHILD:
		return text_is_multiprocess(sample) ? "see the children's own sections" : NULL;
	default:
		return NULL;
	}
}

#define ADVICE_WIDTH (SCREEN_WIDTH - sizeof("NEXT    "))
#define GROUP_LEAST 8 /* columns of a group's path */

/* "raise io.max of /pods/web (vda: reads 2.1 MB/s)": a group between two texts, whose path keeps
 * its end if it is too long. */
static void group_advice(char advice[static SCREEN_WIDTH], const char *before, const char *group,
			 const char *after)
{
	char escaped[ESCAPE_SIZE(CULPRIT_GROUP_LEN)];
	const size_t taken = escape_width(before) + escape_width(after);

	text_path_cut(escaped, sizeof(escaped), group, CULPRIT_GROUP_LEN,
		      taken + GROUP_LEAST < ADVICE_WIDTH ? ADVICE_WIDTH - taken : GROUP_LEAST);
	snprintf(advice, SCREEN_WIDTH, "%s", before);
	text_append(advice, SCREEN_WIDTH, "%s%s", escaped, after);
}

static void limit_advice(char advice[static SCREEN_WIDTH], const struct disk_limit *limit)
{
	char text[TEXT_LIMIT_LEN], after[TEXT_LIMIT_LEN + 4];

	snprintf(after, sizeof(after), " (%s)", text_disk_limit(text, limit));
	group_advice(advice, limit->version_1 ? "raise blkio.throttle of " : "raise io.max of ",
		     limit->group, after);
}

static void memory_advice(char advice[static SCREEN_WIDTH], const struct memory_limit *limit)
{
	char file[ESCAPE_SIZE(sizeof(limit->file))], bytes[TEXT_BYTES_LEN], before[64], after[64];

	escape_text(file, sizeof(file), limit->file, sizeof(limit->file));
	snprintf(before, sizeof(before), "raise %.32s of ", file);
	snprintf(after, sizeof(after), " (%s)", text_bytes(bytes, limit->bytes));
	group_advice(advice, before, limit->group, after);
}

/* --- Which knob helps a thread that waits for a CPU --- */

#define FAIR(policy) ((policy) == SCHED_OTHER || (policy) == SCHED_BATCH || (policy) == SCHED_IDLE)
#define RT_HIGHEST 99
#define AUTOGROUP_NICE (-10) /* is advised */
#define NICE_LEAST (-20)

/* False if a real-time priority helps against nobody who has the CPU, or the thread's group has no
 * time for one. */
static bool chrt_helps(const struct cpu_rules *rules, const struct verdict_who *who)
{
	const bool rt = who->policy == SCHED_FIFO || who->policy == SCHED_RR;

	return who->policy != SCHED_DEADLINE && !(rt && who->priority >= RT_HIGHEST) &&
	       !(rules->rt_period_ns && !rules->rt_runtime_ns);
}

/* False if the group or autogroup has as much as it can have. */
static bool weight_helps(const struct cpu_rules *rules)
{
	const int64_t most = rules->version_1 ? 262144 : 10000;

	return rules->decided_by == CPU_BY_AUTOGROUP
		       ? rules->weight > NICE_LEAST
		       : rules->decided_by == CPU_BY_GROUP && rules->weight < most;
}

/* The knob that decides against the rival. */
static void rival_advice(char advice[static SCREEN_WIDTH], const struct cpu_rules *rules, bool chrt)
{
	const char *others = chrt ? ", or taskset, chrt" : ", or taskset";
	char after[64];

	if (rules->decided_by == CPU_BY_GROUP && !strcmp(rules->idle_group, rules->weighed)) {
		group_advice(advice, "write 0 to cpu.idle of ", rules->weighed, others);
		return;
	}
	if (rules->decided_by == CPU_BY_GROUP) {
		snprintf(after, sizeof(after), " (%lld)%s", (long long)rules->weight, others);
		group_advice(advice,
			     rules->version_1 ? "raise cpu.shares of " : "raise cpu.weight of ",
			     rules->weighed, after);
		return;
	}
	snprintf(advice, SCREEN_WIDTH, "taskset, %sor echo %d >/proc/%d/autogroup (its nice is %d)",
		 chrt ? "chrt, " : "", rules->weight > AUTOGROUP_NICE ? AUTOGROUP_NICE : NICE_LEAST,
		 (int)rules->tid, (int)rules->weight % 100);
}

static void cpuset_advice(char advice[static SCREEN_WIDTH], const struct cpu_rules *rules,
			  const char *other)
{
	char cpus[40], after[96];

	escape_text(cpus, 24, rules->cpus, sizeof(rules->cpus));
	snprintf(after, sizeof(after), " (%s)%s", cpus, other);
	group_advice(advice, "widen cpuset.cpus of ", rules->cpuset, after);
}

/* Nice values only matter between normal threads of the same cgroup, and then of the same
 * autogroup. What does not say which rules hold is of an older version. */
static bool nice_helps(const struct sample *sample, const struct verdict_row *row)
{
	const struct cpu_rules *rules = &sample->cpu_rules;

	return row->cause == CAUSE_TASK && row->who.pid && row->who.same_group &&
	       (!rules->tid ||
		(rules->rival == row->who.pid && rules->decided_by == CPU_BY_NICE)) &&
	       FAIR(row->who.policy) && !text_is_multiprocess(sample);
}

static const char *nice_advice(const struct sample *sample, const struct verdict_row *row)
{
	return nice_helps(sample, row)
		       ? "give it a CPU of its own, or a higher priority (taskset, chrt, nice)"
		       : NULL;
}

/* A thread that others of other processes keep from its CPU. Returns false if no rule of a group
 * decides, and all knobs help. */
static bool task_advice(char advice[static SCREEN_WIDTH], const struct sample *sample,
			const struct verdict_row *row)
{
	const struct cpu_rules *rules = &sample->cpu_rules;
	const bool chrt = chrt_helps(rules, &row->who);
	const bool rival = row->who.pid == rules->rival && FAIR(row->who.policy);

	if (*rules->cpus && rules->confined)
		cpuset_advice(advice, rules, chrt ? ", or a higher priority (chrt)" : "");
	else if (rival && weight_helps(rules))
		rival_advice(advice, rules, chrt);
	else if (rival && rules->decided_by == CPU_BY_NICE && rules->policy == SCHED_IDLE)
		snprintf(advice, SCREEN_WIDTH,
			 "it is SCHED_IDLE, and gets what is left: chrt -o -p 0 %d", rules->tid);
	else if (!chrt)
		snprintf(advice, SCREEN_WIDTH, "%s",
			 text_is_multiprocess(sample) ? "give them CPUs of their own (taskset)"
			 : nice_helps(sample, row)
				 ? "give it a CPU of its own, or a higher priority (taskset, nice)"
				 : "give it a CPU of its own (taskset)");
	else
		return false;
	return true;
}

/* Advice that names the rule of a control group, or the like, where another knob would do nothing.
 * Returns false if none decides. */
static bool rules_advice(char advice[static SCREEN_WIDTH], const struct sample *sample,
			 const struct verdict_row *row)
{
	const struct cpu_rules *rules = &sample->cpu_rules;
	char after[96];

	if (!rules->tid)
		return false;
	if (row->cause == CAUSE_TASK)
		return task_advice(advice, sample, row);
	if (row->cause == CAUSE_OWN_THREADS && *rules->cpus && rules->confined) {
		cpuset_advice(advice, rules, ", or use fewer busy threads");
	} else if (row->cause == CAUSE_OWN_THREADS && rules->anywhere) {
		snprintf(advice, SCREEN_WIDTH,
			 "use fewer busy threads: they may run on all CPUs that there are");
	} else if (row->cause == CAUSE_RT_LIMIT && rules->rt_period_ns) {
		snprintf(after, sizeof(after), " (%s of %s)", AS_LIMIT(rules->rt_runtime_ns),
			 AS_LIMIT(rules->rt_period_ns));
		group_advice(advice, "raise cpu.rt_runtime_us of ", rules->rt_group, after);
	} else if (row->cause == CAUSE_THROTTLED && *row->who.comm) {
		group_advice(advice,
			     rules->version_1 ? "raise cpu.cfs_quota_us of " : "raise cpu.max of ",
			     row->who.comm,
			     text_quota_of_others(sample, row) ? ", or let the others use less"
							       : ", or use less CPU time");
	} else {
		return false;
	}
	return true;
}

/* Who does not answer, or does not go on. Returns false if there is nothing more to say. */
static bool silent_advice(char advice[static SCREEN_WIDTH], const struct verdict_row *row)
{
	const struct descriptor_row *asked = row->wait.asked;
	const char *state = row->wait.state;
	char to[ESCAPE_SIZE(DESCRIPTOR_ADDRESS_LEN)];

	if (row->culprits > 1 || row->wait_ns <= row->ns / 2)
		return false;
	if (row->who.pid && state && !strcmp(state, "stopped")) {
		snprintf(advice, SCREEN_WIDTH, "see who stopped it; kill -CONT %d lets it go on",
			 (int)row->who.pid);
		return true;
	}
	if (row->wait.kept_back) {
		snprintf(advice, SCREEN_WIDTH,
			 "set TCP_NODELAY where it sends, or send each request in one write");
		return true;
	}
	if (row->who.pid || !asked)
		return false;
	if (!*asked->asked) {
		snprintf(advice, SCREEN_WIDTH, "ss -xtp shows who is at the other end");
		return true;
	}
	escape_text(to, sizeof(to), asked->asked, sizeof(asked->asked));
	snprintf(advice, SCREEN_WIDTH, "see whether %.40s answers others", to);
	return true;
}

/* The command of the server or language that knows more; %d: the process that waits. */
static const char *const user_advice[USER_FAMILY_COUNT] = {
	[USER_DNS] = "dig, or resolvectl query, asks the name servers; see /etc/resolv.conf",
	[USER_HTTP] = "look at the server that has to answer; curl -v shows what takes so long",
	[USER_LIBPQ] = "on the server of PostgreSQL, pg_stat_activity says what it does",
	[USER_POSTGRESQL] = "psql -c 'select pg_blocking_pids(%d)', and pg_stat_activity",
	[USER_WAL] = "pg_stat_wal and wait_event of pg_stat_activity: is fsync slow?",
	[USER_STANDBY] = "pg_stat_replication says which standby is behind",
	[USER_MYSQL] = "SHOW ENGINE INNODB STATUS, SHOW PROCESSLIST, and metadata_lock_info",
	[USER_SQLITE] = "fuser, or lsof, says who has the database's files open",
	[USER_JAVA] = "jstack %d says who has it, and where",
	[USER_GO] = "go tool trace, and goroutines of net/http/pprof",
	[USER_APT] = "fuser -v /var/lib/dpkg/lock-frontend says who has it",
	[USER_PYTHON] = "py-spy dump --pid %d says what its threads do",
	[USER_RUBY] = "rbspy snapshot --pid %d says what computes",
};

/* Returns false if the wait may end. */
static bool hang_advice(char advice[static SCREEN_WIDTH], const struct sample *sample,
			const struct verdict_row *row)
{
	if (!row->wait.hangs || row->wait_ns <= row->ns / 2)
		return false;
	snprintf(advice, SCREEN_WIDTH,
		 "gdb -p %d -batch -ex 'thread apply all bt' says where it hangs",
		 (int)thread_pid(sample, row->worst));
	return true;
}

/* Returns false if nobody but this program knows more. Who has the lock of a file is all that there
 * is to know. */
static bool wait_advice(char advice[static SCREEN_WIDTH], const struct sample *sample,
			const struct verdict_row *row)
{
	const struct user_wait *user = row->wait.user;
	const pid_t pid = thread_pid(sample, row->worst);

	if (!user || row->wait_ns <= row->ns / 2 || !user_advice[user->family] ||
	    (user->family == USER_SQLITE && row->who.pid))
		return false;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(advice, SCREEN_WIDTH, user_advice[user->family], (int)pid);
#pragma GCC diagnostic pop
	return true;
}

/* Waits for a CPU while another was idle need no higher priority. A cpuset that keeps the thread
 * from it is named by rules_advice(). */
static const char *cpus_advice(const struct sample *sample, const struct verdict_row *row)
{
	const struct cpu_rules *rules = &sample->cpu_rules;

	switch (verdict_idle(sample->verdict, row)) {
	case KD_IDLE_ALLOWED:
		return "taskset keeps them apart: the scheduler left a CPU idle";
	case KD_IDLE_BARRED:
		return rules->tid && *rules->cpus && rules->confined
			       ? NULL
			       : "taskset: move it, or who had its CPU, to those that were idle";
	default:
		return NULL;
	}
}

bool text_has_second(const struct verdict *verdict)
{
	return verdict->largest != VERDICT_BLAMED && verdict->n_told_blamed &&
	       u64_times(verdict->told[0].ns, 100) >=
		       u64_times(verdict->busy, VERDICT_SELDOM_LEAST);
}

bool text_has_cpus(const struct sample *sample)
{
	const struct verdict *verdict = sample->verdict;

	return (verdict->largest == VERDICT_BLAMED || text_has_second(verdict)) &&
	       cpus_advice(sample, &verdict->told[0]);
}

/* Each has ended by now, or soon will. */
static const char *several_advice(const struct verdict_row *row)
{
	return row->cause == CAUSE_PEER && row->culprits > 1 && *row->who.comm
		       ? "look at what these programs do; --follow-fork watches children, too"
		       : NULL;
}

/* A named culprit needs no search. */
static void culprit_advice(char advice[static SCREEN_WIDTH], const struct sample *sample,
			   const struct verdict_row *row)
{
	const char *other = named_advice[row->cause].other, *named = named_advice[row->cause].own;
	const char *usual = usual_advice[row->cause].multiple;
	const pid_t pid = row->who.pid;
	const bool own = sample_has_process(sample, pid) ||
			 (row->who.tid && sample_thread(sample, row->who.tid));

	if (row->cause == CAUSE_LOCK && row->at) /* of a file, which has no list */
		named = named_advice[CAUSE_PEER].own;
	if (!usual || !text_is_multiprocess(sample))
		usual = usual_advice[row->cause].one;
	usual = given_advice(row->cause, sample)
			?: kind_advice(row) ?: stop_advice(row) ?: lock_advice(row)
			?: nice_advice(sample, row) ?: several_advice(row) ?: usual;
	if (rules_advice(advice, sample, row) || silent_advice(advice, row) ||
	    hang_advice(advice, sample, row) || wait_advice(advice, sample, row))
		return;
	if (row->cause == CAUSE_DISK_LIMIT && sample->disk_limit.per_second)
		limit_advice(advice, &sample->disk_limit);
	else if (text_is_journal(row) && sample->journal_use.limit.per_second)
		limit_advice(advice, &sample->journal_use.limit);
	else if (row->cause == CAUSE_DISK && sample->disk_use.pid &&
		 !strncmp(sample->disk_use.device, row->who.comm, DISK_LIMIT_DEVICE))
		snprintf(advice, SCREEN_WIDTH,
			 "look at who has the disk: kernel_delay %d --resources",
			 (int)sample->disk_use.pid);
	else if (text_limit_is_memory(row) && sample->memory_limit.bytes)
		memory_advice(advice, &sample->memory_limit);
	else if (pid && !own && other)
		snprintf(advice, SCREEN_WIDTH, "%s %d", other, (int)pid);
	else if (row->cause == CAUSE_CHILD && pid && !own && row->wait.state)
		snprintf(advice, SCREEN_WIDTH, "look at what the child does: kernel_delay %d",
			 (int)pid);
	else if (!(row->cause == CAUSE_LOCK && !row->at && (own || !pid) &&
		   text_next(advice, SCREEN_WIDTH, sample, true)))
		snprintf(advice, SCREEN_WIDTH, "%s", own && named ? named : usual);
}

#define MOVER_SIZE 17 /* bytes of the name, which leave a line's space for PID and count */

/* Gets a line of its own: it is no cause, but matters to readers of wait figures. */
static void mover_advice(struct text *text, const struct verdict *verdict)
{
	char name[MOVER_SIZE], tid[16] = "";
	const struct verdict_who *who = &verdict->mover;

	if (!verdict->moves)
		return;
	escape_text(name, sizeof(name), who->comm, KD_COMM_LEN);
	if (who->tid)
		snprintf(tid, sizeof(tid), "[%d]", (int)who->tid);
	text_bold(text, "        ");
	columns_print(&text->columns, "see why %s%s moved the threads %s times\n", name, tid,
		      GROUPED(u64_min(verdict->moves, 99999999)));
}

static const char *idle_advice(const struct sample *sample)
{
	if (text_is_multiprocess(sample) || sample->start_triggered || sample->stop_triggered)
		return "if the delay came at another time, watch longer: --sample-time";
	return "if the delay came at another time, --long-poll or a trigger waits for it";
}

/* Advice when the largest share has no culprit; own: space for that of the program. */
static const char *share_advice(const struct sample *sample, char own[static SCREEN_WIDTH])
{
	const struct verdict *verdict = sample->verdict;
	const struct trace_list *traces = &sample->traces;
	bool unexplained = verdict->largest == VERDICT_UNEXPLAINED;
	bool multiple = text_is_multiprocess(sample);

	if (!unexplained && (verdict_had_little(verdict) ||
			     (!verdict->n_told_blamed && verdict->busy <= verdict->life / 100)))
		return idle_advice(sample);
	if (!unexplained && verdict->guest > u64_max(verdict->user, verdict->kernel))
		return "what it computes can only be seen in the guest";
	if (unexplained && traces->waits_wanted)
		return "OFF-CPU WAITS says where it waited, and who woke it";
	if (!unexplained && traces->profile_hz)
		return "ON-CPU SAMPLES says what it computes";
	/* The program knows what it computes, but not what the kernel does for it. */
	if ((unexplained || verdict->user >= verdict->kernel) &&
	    text_next(own, SCREEN_WIDTH, sample, unexplained))
		return own;
	if (unexplained)
		return multiple ? "--off-cpu=1ms shows what they waited for"
				: "--off-cpu=1ms shows what it waited for";
	return multiple ? "--profile shows what they compute" : "--profile shows what it computes";
}

static void advice_line(struct text *text, const char *before, const char *advice)
{
	text_bold(text, before);
	columns_add(&text->columns, advice);
	columns_add(&text->columns, "\n");
}

void text_advice(struct text *text)
{
	const struct verdict *verdict = text->sample->verdict;
	char of_culprit[SCREEN_WIDTH], of_share[SCREEN_WIDTH];
	bool first = verdict->largest == VERDICT_BLAMED;

	if (!first)
		advice_line(text, "NEXT    ", share_advice(text->sample, of_share));
	if (text_has_cpus(text->sample)) {
		advice_line(text, first ? "NEXT    " : "        ",
			    cpus_advice(text->sample, &verdict->told[0]));
		first = false;
	}
	if (verdict->largest == VERDICT_BLAMED || text_has_second(verdict)) {
		culprit_advice(of_culprit, text->sample, &verdict->told[0]);
		advice_line(text, first ? "NEXT    " : "        ", of_culprit);
	}
	mover_advice(text, verdict);
}
