// SPDX-License-Identifier: Apache-2.0
/* How the kernel shares out time and memory. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/proc_file.h"
#include "machine.h"

/* A file of one line, without its line feed. */
static bool line_read(const struct machine *machine, char *text, size_t size, const char *path)
{
	bool found = machine_read(machine, text, size, "%s", path) > 0;

	text[strcspn(text, "\n")] = '\0';
	return found;
}

/* The word in brackets or parentheses, of a list of choices; the list itself without. */
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

	if (!machine->pid)
		return;
	if (quota->period_ns)
		finding_add(machine, FINDING_WARNING, "CPU quota",
			    "what is beyond it waits for the next period: cpu.max",
			    "%.2f CPUs in each %.1f ms, of %s",
			    (double)quota->quota_ns / (double)quota->period_ns,
			    (double)quota->period_ns / 1e6, quota->group);
	else
		finding_add(machine, FINDING_OK, "CPU quota", NULL,
			    "none in the target's control groups");
}

static void realtime_look(struct machine *machine)
{
	char runtime[32], period[32];
	long long run, whole;

	if (!line_read(machine, runtime, sizeof(runtime), "/proc/sys/kernel/sched_rt_runtime_us") ||
	    !line_read(machine, period, sizeof(period), "/proc/sys/kernel/sched_rt_period_us")) {
		finding_add(machine, FINDING_NOTE, "real-time limit", NULL, "not known");
		return;
	}
	run = strtoll(runtime, NULL, 10);
	whole = strtoll(period, NULL, 10);
	if (run < 0 || run >= whole)
		finding_add(machine, FINDING_OK, "real-time limit", NULL, "none");
	else
		finding_add(machine, FINDING_NOTE, "real-time limit",
			    "a thread of real-time priority that never sleeps is stopped for the "
			    "rest: kernel.sched_rt_runtime_us=-1",
			    "%lld of %lld us", run, whole);
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
	/* The first line has titles. */
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

void machine_look_kernel(struct machine *machine)
{
	quota_look(machine);
	realtime_look(machine);
	clock_look(machine);
	preemption_look(machine);
	memory_look(machine);
	steal_look(machine);
}
