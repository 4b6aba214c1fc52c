// SPDX-License-Identifier: Apache-2.0
/* Checks of --machine. */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/clock.h"
#include "cli/base/proc_file.h"
#include "cli/base/texts.h"
#include "machine.h"

/* --- CPUs of interest, and what else runs there --- */

#define LISTED_IRQS 8
#define CPU_FOLDER "/sys/devices/system/cpu"

struct cpus {
	cpu_set_t online, isolated, nohz_full;
	cpu_set_t watched; /* the target's if bound, else the isolated ones */
	char watched_text[128];
};

/* CPUs of a list up to its first error, without those beyond a cpu_set_t. */
static cpu_set_t cpus_parse(const char *text)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	cpu_list_parse(text, (uint64_t *)&cpus, CPU_SETSIZE);
	return cpus;
}

static void cpus_text(char *text, size_t size, const cpu_set_t *cpus)
{
	cpu_list_text(text, size, (const uint64_t *)cpus, CPU_SETSIZE, false);
}

static cpu_set_t cpus_read(const struct machine *machine, const char *name)
{
	char text[1024];

	machine_read(machine, text, sizeof(text), CPU_FOLDER "/%s", name);
	return cpus_parse(text);
}

/* --- Target threads --- */

struct bound {
	unsigned int threads, on_isolated, sharing_nohz;
	cpu_set_t all;                     /* union */
	unsigned int per_cpu[CPU_SETSIZE]; /* threads bound to only this CPU */
};

/* False for a thread that has ended. */
static bool thread_cpus(const struct machine *machine, pid_t tid, cpu_set_t *allowed)
{
	static const char label[] = "\nCpus_allowed_list:\t";
	char text[8192], *found;

	machine_read(machine, text, sizeof(text), "/proc/%d/task/%d/status", (int)machine->pid,
		     (int)tid);
	found = strstr(text, "\nState:\tZ") ? NULL : strstr(text, label);
	if (found)
		*allowed = cpus_parse(found + strlen(label));
	return found;
}

static void thread_add(struct bound *bound, const struct cpus *cpus, const cpu_set_t *allowed)
{
	cpu_set_t usable, isolated;

	CPU_AND(&usable, allowed, &cpus->online);
	CPU_AND(&isolated, &usable, &cpus->isolated);
	CPU_OR(&bound->all, &bound->all, &usable);
	bound->threads++;
	bound->on_isolated += CPU_COUNT(&isolated) && CPU_COUNT(&usable) > 1;
	for (int cpu = 0; CPU_COUNT(&usable) == 1 && cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &usable))
			bound->sharing_nohz += CPU_ISSET(cpu, &cpus->nohz_full) &&
					       ++bound->per_cpu[cpu] == 2;
}

static void threads_look(struct machine *machine, struct bound *bound, const struct cpus *cpus)
{
	struct proc_list threads;
	cpu_set_t allowed;

	proc_list_begin(&threads, "%s/proc/%d/task", machine->root, (int)machine->pid);
	while (proc_list_next(&threads))
		if (thread_cpus(machine, threads.number, &allowed))
			thread_add(bound, cpus, &allowed);
}

static void affinity_look(struct machine *machine, struct cpus *cpus)
{
	struct bound bound = { 0 };
	char text[128];

	threads_look(machine, &bound, cpus);
	if (!bound.threads) {
		finding_add(machine, FINDING_NOTE, "affinity", NULL, "not known");
		return;
	}
	cpus_text(text, sizeof(text), &bound.all);
	if (*machine->rules.cpuset)
		finding_add(machine, FINDING_NOTE, "cpuset",
			    "taskset cannot give the target other CPUs: cpuset.cpus",
			    "CPUs %s, of %s", machine->rules.cpus, machine->rules.cpuset);
	if (CPU_EQUAL(&bound.all, &cpus->online)) {
		finding_add(machine, FINDING_NOTE, "affinity",
			    "the scheduler may move them, and others may run there",
			    "threads of the target may run on all CPUs");
	} else {
		finding_add(machine, FINDING_OK, "affinity", NULL,
			    "the target's threads run on CPUs %s only", text);
		cpus->watched = bound.all;
	}
	if (bound.on_isolated)
		finding_add(machine, FINDING_WARNING, "affinity",
			    "between isolated CPUs the kernel does not balance: bind each thread "
			    "to one",
			    "threads that may run on several CPUs, isolated ones among them: %u",
			    bound.on_isolated);
	if (bound.sharing_nohz)
		finding_add(machine, FINDING_WARNING, "nohz_full",
			    "the tick only stops where one thread is runnable",
			    "CPUs to which several threads are bound: %u", bound.sharing_nohz);
}

static void isolation_look(struct machine *machine, const struct cpus *cpus)
{
	const struct {
		const char *topic, *why;
		const cpu_set_t *cpus;
	} kinds[] = {
		{ "isolated CPUs",
		  "other threads may be moved to the target's CPUs (isolcpus=, or "
		  "cpuset partitions)",
		  &cpus->isolated },
		{ "nohz_full CPUs", "the tick interrupts whatever runs (nohz_full=)",
		  &cpus->nohz_full },
	};
	char text[128];
	cpu_set_t missing;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		CPU_XOR(&missing, &cpus->watched, kinds[i].cpus);
		CPU_AND(&missing, &missing, &cpus->watched);
		cpus_text(text, sizeof(text), kinds[i].cpus);
		if (!CPU_COUNT(kinds[i].cpus))
			finding_add(machine, FINDING_NOTE, kinds[i].topic, kinds[i].why, "none");
		else if (machine->pid && CPU_COUNT(&missing))
			finding_add(machine, FINDING_NOTE, kinds[i].topic, kinds[i].why,
				    "%s; not all of the target's, %s", text, cpus->watched_text);
		else
			finding_add(machine, FINDING_OK, kinds[i].topic, NULL, "%s", text);
	}
}

/* --- Interrupts --- */

struct irq {
	char line[200]; /* number and names */
	uint64_t count;
};

/* Sums a row of /proc/interrupts over these CPUs; *names: rest of the row. */
static uint64_t row_count(char *row, const int *columns, int n_columns, const cpu_set_t *watched,
			  char **names)
{
	uint64_t sum = 0;

	for (int i = 0; i < n_columns; i++) {
		char *end;
		uint64_t count = strtoull(row, &end, 10);

		if (end == row || (*end && !isspace((unsigned char)*end)))
			break;
		if (CPU_ISSET(columns[i], watched))
			sum += count;
		row = end;
	}
	*names = row + strspn(row, " ");
	return sum;
}

static void irq_keep(struct irq irqs[LISTED_IRQS], const char *number, const char *names,
		     uint64_t count)
{
	int at = LISTED_IRQS - 1;

	if (count <= irqs[at].count)
		return;
	for (; at > 0 && irqs[at - 1].count < count; at--)
		irqs[at] = irqs[at - 1];
	irqs[at].count = count;
	snprintf(irqs[at].line, sizeof(irqs[at].line), "%.15s (%.150s)", number, names);
}

/* True if the kernel may send it to these CPUs; false for per-CPU interrupts such as the timer. */
static bool irq_may_come(const struct machine *machine, const char *number,
			 const cpu_set_t *watched)
{
	char text[1024];
	cpu_set_t cpus;

	if (!isdigit((unsigned char)*number) ||
	    machine_read(machine, text, sizeof(text), "/proc/irq/%.15s/smp_affinity_list", number) <
		    0)
		return false;
	cpus = cpus_parse(text);
	CPU_AND(&cpus, &cpus, watched);
	return CPU_COUNT(&cpus);
}

static int header_read(const char *line, int columns[CPU_SETSIZE])
{
	int n = 0;

	while (n < CPU_SETSIZE && (line = strstr(line, "CPU")))
		columns[n++] = (int)(strtoul(line += 3, NULL, 10) % CPU_SETSIZE);
	return n;
}

static void interrupts_look(struct machine *machine, const struct cpus *cpus)
{
	struct irq irqs[LISTED_IRQS] = { 0 };
	unsigned int covering = 0;
	char path[PATH_MAX], *line = NULL, *names;
	int columns[CPU_SETSIZE], n_columns;
	size_t capacity = 0;
	double uptime;
	FILE *file;

	machine_read(machine, path, sizeof(path), "/proc/uptime");
	uptime = strtod(path, NULL);
	uptime = uptime >= 1 ? uptime : 1;
	snprintf(path, sizeof(path), "%s/proc/interrupts", machine->root);
	file = fopen(path, "re");
	n_columns = file && getline(&line, &capacity, file) > 0 ? header_read(line, columns) : 0;
	while (n_columns && getline(&line, &capacity, file) > 0) {
		char *number = line + strspn(line, " "), *colon = strchr(number, ':');
		uint64_t count;

		if (!colon)
			continue;
		*colon = '\0';
		count = row_count(colon + 1, columns, n_columns, &cpus->watched, &names);
		names[strcspn(names, "\n")] = '\0';
		covering += irq_may_come(machine, number, &cpus->watched);
		irq_keep(irqs, number, names, count);
	}
	free(line);
	if (file)
		fclose(file);
	if (!n_columns) {
		finding_add(machine, FINDING_NOTE, "interrupts", NULL, "not known");
		return;
	}
	/* Without dedicated CPUs, a target shares them with interrupts, like everything else. */
	finding_add(machine,
		    !covering                                  ? FINDING_OK
		    : CPU_EQUAL(&cpus->watched, &cpus->online) ? FINDING_NOTE
							       : FINDING_WARNING,
		    "interrupts",
		    "write other CPUs to /proc/irq/NUMBER/smp_affinity_list, and stop irqbalance",
		    "of devices, %u may be sent to CPUs %s", covering, cpus->watched_text);
	for (int i = 0; i < LISTED_IRQS && irqs[i].count; i++)
		finding_add(machine, FINDING_NOTE, "interrupts", NULL,
			    "%" PRIu64 " on CPUs %s since the start, %.1f/s: %s", irqs[i].count,
			    cpus->watched_text, (double)irqs[i].count / uptime, irqs[i].line);
}

/* --- Frequency and idle states --- */

static void governor_look(struct machine *machine, const struct cpus *cpus)
{
	char text[64], other[64] = "";
	int found = 0, others = 0;

	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &cpus->watched) ||
		    machine_read(machine, text, sizeof(text),
				 CPU_FOLDER "/cpu%d/cpufreq/scaling_governor", cpu) <= 0)
			continue;
		text[strcspn(text, "\n")] = '\0';
		found++;
		if (!strcmp(text, "performance"))
			continue;
		others++;
		memcpy(other, text, sizeof(other));
	}
	if (!found)
		finding_add(machine, FINDING_OK, "frequency", NULL,
			    "the kernel does not change it (no cpufreq)");
	else if (others)
		finding_add(machine, FINDING_NOTE, "frequency",
			    "a CPU may be slow when work comes: the governor performance keeps it "
			    "fast",
			    "governor %s on %d of CPUs %s", other, others, cpus->watched_text);
	else
		finding_add(machine, FINDING_OK, "frequency", NULL, "governor performance");
}

#define SLOW_IDLE_US 20

static void idle_look(struct machine *machine, const struct cpus *cpus)
{
	char text[64], name[64], deepest[64] = "";
	unsigned long slowest = 0, latency;
	int states = 0;

	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		for (int state = 0; CPU_ISSET(cpu, &cpus->watched) && state < 16; state++) {
			if (machine_read(machine, text, sizeof(text),
					 CPU_FOLDER "/cpu%d/cpuidle/state%d/latency", cpu,
					 state) <= 0)
				break;
			states++;
			latency = strtoul(text, NULL, 10);
			machine_read(machine, text, sizeof(text),
				     CPU_FOLDER "/cpu%d/cpuidle/state%d/disable", cpu, state);
			if (*text == '1' || latency <= slowest)
				continue;
			machine_read(machine, name, sizeof(name),
				     CPU_FOLDER "/cpu%d/cpuidle/state%d/name", cpu, state);
			name[strcspn(name, "\n")] = '\0';
			slowest = latency;
			memcpy(deepest, name, sizeof(deepest));
		}
	if (slowest > SLOW_IDLE_US)
		finding_add(machine, FINDING_NOTE, "idle states",
			    "that delays the first wake-up: cpupower idle-set -D 20",
			    "%s takes %lu us to leave", deepest, slowest);
	else if (states)
		finding_add(machine, FINDING_OK, "idle states", NULL,
			    "none takes longer than %d us to leave", SLOW_IDLE_US);
	else
		finding_add(machine, FINDING_OK, "idle states", NULL,
			    "not chosen by this kernel (no cpuidle)");
}

static void cpus_look(struct machine *machine)
{
	struct cpus cpus;

	cpus.online = cpus_read(machine, "online");
	cpus.isolated = cpus_read(machine, "isolated");
	cpus.nohz_full = cpus_read(machine, "nohz_full");
	cpus.watched = CPU_COUNT(&cpus.isolated) ? cpus.isolated : cpus.online;
	if (machine->pid)
		affinity_look(machine, &cpus);
	cpus_text(cpus.watched_text, sizeof(cpus.watched_text), &cpus.watched);
	isolation_look(machine, &cpus);
	interrupts_look(machine, &cpus);
	governor_look(machine, &cpus);
	idle_look(machine, &cpus);
}

/* --- Kernel settings for CPU time and memory --- */

/* Reads a file of one line, without its line feed. */
static bool line_read(const struct machine *machine, char *text, size_t size, const char *path)
{
	bool found = machine_read(machine, text, size, "%s", path) > 0;

	text[strcspn(text, "\n")] = '\0';
	return found;
}

/* Chosen word in brackets or parentheses; the full list without any. */
static const char *chosen(char *text)
{
	char *open = strpbrk(text, "[("), *close = open ? strpbrk(open, "])") : NULL;

	if (!close)
		return text;
	*close = '\0';
	return open + 1;
}

static void quota_look(struct machine *machine)
{
	const struct cpu_quota *quota = &machine->quota;

	if (quota->period_ns)
		finding_add(machine, FINDING_WARNING, "CPU quota",
			    machine->rules.version_1
				    ? "what is beyond it waits for the next period: "
				      "cpu.cfs_quota_us"
				    : "what is beyond it waits for the next period: cpu.max",
			    "%.2f CPUs in each %.1f ms, of %s",
			    (double)quota->quota_ns / (double)quota->period_ns,
			    (double)quota->period_ns / 1e6, quota->group);
	else if (machine->pid)
		finding_add(machine, FINDING_OK, "CPU quota", NULL,
			    "none in the target's control groups");
}

static void last_look(struct machine *machine)
{
	if (*machine->rules.idle_group)
		finding_add(machine, FINDING_WARNING, "CPU weight",
			    "the target gets what other groups leave: write 0 to cpu.idle",
			    "cpu.idle is set, of %s", machine->rules.idle_group);
	if (machine->rules.policy == SCHED_IDLE)
		finding_add(machine, FINDING_WARNING, "scheduling class",
			    "it gets what other threads leave: chrt -o -p 0 TID",
			    "the target's main thread is SCHED_IDLE");
}

static void realtime_look(struct machine *machine)
{
	const struct cpu_rules *rules = &machine->rules;
	char runtime[32], period[32];
	long long run, period_us;

	if (rules->rt_period_ns) {
		finding_add(machine, FINDING_NOTE, "real-time limit",
			    rules->rt_runtime_ns
				    ? "a thread of real-time priority that needs more is stopped "
				      "for the rest: cpu.rt_runtime_us"
				    : "no thread can get a real-time priority: cpu.rt_runtime_us",
			    "%llu of %llu us, of %s",
			    (unsigned long long)(rules->rt_runtime_ns / NSEC_PER_USEC),
			    (unsigned long long)(rules->rt_period_ns / NSEC_PER_USEC),
			    rules->rt_group);
		return;
	}
	if (!line_read(machine, runtime, sizeof(runtime), "/proc/sys/kernel/sched_rt_runtime_us") ||
	    !line_read(machine, period, sizeof(period), "/proc/sys/kernel/sched_rt_period_us")) {
		finding_add(machine, FINDING_NOTE, "real-time limit", NULL, "not known");
		return;
	}
	run = strtoll(runtime, NULL, 10);
	period_us = strtoll(period, NULL, 10);
	if (run < 0 || run >= period_us)
		finding_add(machine, FINDING_OK, "real-time limit", NULL, "none");
	else
		finding_add(machine, FINDING_NOTE, "real-time limit",
			    "a thread of real-time priority that never sleeps is stopped for the "
			    "rest: kernel.sched_rt_runtime_us=-1",
			    "%lld of %lld us", run, period_us);
}

static void clock_look(struct machine *machine)
{
	static const char *const slow[] = { "hpet", "acpi_pm", "jiffies", "refined-jiffies" };
	enum finding_level level = FINDING_OK;
	char text[64];

	if (!line_read(machine, text, sizeof(text),
		       "/sys/devices/system/clocksource/clocksource0/current_clocksource")) {
		finding_add(machine, FINDING_NOTE, "clock source", NULL, "not known");
		return;
	}
	for (size_t i = 0; i < sizeof(slow) / sizeof(*slow); i++)
		if (!strcmp(text, slow[i]))
			level = FINDING_WARNING;
	finding_add(machine, level, "clock source",
		    "reading the time takes a system call, and microseconds in it", "%s", text);
}

static void preemption_look(struct machine *machine)
{
	char version[512], text[128];

	line_read(machine, version, sizeof(version), "/proc/version");
	if (strstr(version, "PREEMPT_RT"))
		finding_add(machine, FINDING_OK, "preemption", NULL,
			    "PREEMPT_RT: interrupts are threads");
	else if (line_read(machine, text, sizeof(text), "/sys/kernel/debug/sched/preempt"))
		finding_add(machine, FINDING_OK, "preemption", NULL, "%s, chosen at run time",
			    chosen(text));
	else if (strstr(version, "PREEMPT"))
		finding_add(machine, FINDING_OK, "preemption", NULL, "%s",
			    strstr(version, "PREEMPT_DYNAMIC") ? "chosen at start (preempt=)"
							       : "full");
	else
		finding_add(machine, FINDING_NOTE, "preemption",
			    "a thread in a long system call keeps others from the CPU",
			    "none or voluntary");
}

static void memory_look(struct machine *machine)
{
	char text[4096], *swap;

	if (!line_read(machine, text, sizeof(text), "/sys/kernel/mm/transparent_hugepage/enabled"))
		finding_add(machine, FINDING_OK, "huge pages", NULL, "no transparent ones");
	else if (strstr(text, "[always]"))
		finding_add(machine, FINDING_NOTE, "huge pages",
			    "page faults may wait for memory to be compacted, and khugepaged for "
			    "locks: madvise or never",
			    "transparent: always");
	else
		finding_add(machine, FINDING_OK, "huge pages", NULL, "transparent: %s",
			    chosen(text));
	/* The first line is a header. */
	machine_read(machine, text, sizeof(text), "/proc/swaps");
	swap = strchr(text, '\n');
	if (swap && swap[1])
		finding_add(machine, FINDING_NOTE, "swap",
			    "pages may have to be read back: mlockall(), or swapoff", "in use");
	else
		finding_add(machine, FINDING_OK, "swap", NULL, "none");
	if (!machine->pid)
		return;
	machine_read(machine, text, sizeof(text), "/proc/%d/status",
		     (int)proc_thread(machine->pid));
	swap = strstr(text, "\nVmSwap:");
	if (swap && strtoull(swap + 8, NULL, 10))
		finding_add(machine, FINDING_WARNING, "swap",
			    "each of these pages is a major fault when it is needed",
			    "%llu KB of the target are swapped out", strtoull(swap + 8, NULL, 10));
}

static void steal_look(struct machine *machine)
{
	unsigned long long ticks[8] = { 0 }, sum = 0;
	double share;
	char text[512];

	machine_read(machine, text, sizeof(text), "/proc/stat");
	if (sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &ticks[0], &ticks[1],
		   &ticks[2], &ticks[3], &ticks[4], &ticks[5], &ticks[6], &ticks[7]) != 8) {
		finding_add(machine, FINDING_NOTE, "steal", NULL, "not known");
		return;
	}
	for (int i = 0; i < 8; i++)
		sum += ticks[i];
	share = sum ? 100.0 * (double)ticks[7] / (double)sum : 0;
	finding_add(machine,
		    share >= 1 ? FINDING_WARNING
		    : ticks[7] ? FINDING_NOTE
			       : FINDING_OK,
		    "steal", "the hypervisor gave CPUs of this virtual machine to others",
		    "%.2f %% of the time since the start", share);
}

static void kernel_look(struct machine *machine)
{
	quota_look(machine);
	last_look(machine);
	realtime_look(machine);
	clock_look(machine);
	preemption_look(machine);
	memory_look(machine);
	steal_look(machine);
}

/* --- Visibility for this program --- */

/* If not, errno has the reason. */
static bool is_there(const struct machine *machine, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s", machine->root, name);
	/* access() drops the capabilities of non-root users. */
	return !faccessat(AT_FDCWD, path, F_OK, AT_EACCESS);
}

static const struct {
	const char *event, *for_what;
} events[] = {
	{ "raw_syscalls/sys_enter", "system calls" },
	{ "sched/sched_switch", "threads and CPUs" },
	{ "sched/sched_waking", "wake-ups" },
	{ "irq/irq_handler_entry", "interrupts" },
	{ "irq/softirq_entry", "softirqs" },
#if defined(__x86_64__) /* the others' have lines */
	{ "irq_vectors/local_timer_entry", "interrupts without a line" },
#endif
	{ "vmscan/mm_vmscan_direct_reclaim_begin", "reclaim" },
	{ "compaction/mm_compaction_begin", "compaction" },
	{ "syscalls/sys_enter_read", "triggers at system calls" },
};

static void events_look(struct machine *machine)
{
	static const char *const folders[] = { "/sys/kernel/debug/tracing/events",
					       "/sys/kernel/tracing/events" };
	const char *folder = folders[is_there(machine, folders[1])];
	unsigned int found = 0;
	char path[PATH_MAX];

	if (!is_there(machine, folder)) {
		bool closed = !is_there(machine, folders[1]) && errno == EACCES;

		finding_add(machine, FINDING_NOTE, "tracepoints",
			    closed ? "tracefs is closed to this user; triggers at tracepoints "
				     "need root, or CAP_DAC_READ_SEARCH"
				   : "tracefs is not mounted; kernel_delay mounts it for itself",
			    "not known");
		return;
	}
	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, events[i].event);
		if (is_there(machine, path))
			found++;
		else
			finding_add(machine, FINDING_NOTE, "tracepoints",
				    "this kernel cannot tell of them", "%s is missing: %s",
				    events[i].event, events[i].for_what);
	}
	finding_add(machine, FINDING_OK, "tracepoints", NULL, "%u of %zu are there", found,
		    sizeof(events) / sizeof(*events));
}

static void probes_look(struct machine *machine)
{
	static const struct {
		const char *topic, *file, *why;
	} files[] = {
		{ "BTF", "/sys/kernel/btf/vmlinux",
		  "kernel_delay needs a kernel built with CONFIG_DEBUG_INFO_BTF=y" },
		{ "kernel probes", "/sys/bus/event_source/devices/kprobe/type",
		  "triggers k: and kr: need CONFIG_KPROBE_EVENTS" },
		{ "user probes", "/sys/bus/event_source/devices/uprobe/type",
		  "triggers u:, up: and ur: need CONFIG_UPROBE_EVENTS" },
		{ "software events", "/sys/bus/event_source/devices/software/type",
		  "page faults are not timed without CONFIG_PERF_EVENTS" },
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		bool found = is_there(machine, files[i].file);

		finding_add(machine, found ? FINDING_OK : FINDING_NOTE, files[i].topic,
			    files[i].why, "%s", found ? "there" : "not there");
	}
}

static void lockdown_look(struct machine *machine)
{
	char text[128];
	bool locked;

	if (machine_read(machine, text, sizeof(text), "/sys/kernel/security/lockdown") <= 0)
		return;
	locked = strstr(text, "[confidentiality]");
	finding_add(machine, locked ? FINDING_NOTE : FINDING_OK, "lockdown",
		    "kernel_delay cannot run: boot without lockdown=confidentiality", "%s",
		    locked                        ? "confidentiality"
		    : strstr(text, "[integrity]") ? "integrity"
						  : "none");
}

static void capabilities_look(struct machine *machine)
{
	static const struct {
		const char *name;
		unsigned int number;
	} wanted[] = {
		{ "CAP_BPF", 39 },        { "CAP_PERFMON", 38 },
		{ "CAP_SYS_PTRACE", 19 }, { "CAP_DAC_READ_SEARCH", 2 },
		{ "CAP_SYS_ADMIN", 21 },  { "CAP_SYSLOG", 34 },
	};
	char text[8192], missing[128] = "", *found;
	uint64_t set;

	machine_read(machine, text, sizeof(text), "/proc/self/status");
	found = strstr(text, "\nCapEff:");
	if (!found) {
		finding_add(machine, FINDING_NOTE, "capabilities", NULL, "not known");
		return;
	}
	set = strtoull(found + 8, NULL, 16);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		if (!(set >> wanted[i].number & 1))
			text_append(missing, sizeof(missing), " %s", wanted[i].name);
	finding_add(machine, *missing ? FINDING_NOTE : FINDING_OK, "capabilities",
		    "see REQUIREMENTS in the manual page for what needs which",
		    *missing ? "this program lacks%s" : "all that are of use%s", missing);
}

static void tracing_look(struct machine *machine)
{
	events_look(machine);
	probes_look(machine);
	lockdown_look(machine);
	capabilities_look(machine);
}

int machine_look(struct machine *machine)
{
	cpus_look(machine);
	kernel_look(machine);
	tracing_look(machine);
	return machine->error;
}
