/* SPDX-License-Identifier: Apache-2.0 */
/* --machine on trees of files that are like /proc and /sys, or hostile. */
#define _GNU_SOURCE
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/machine/machine.h"
#include "tap.h"

#define CPU "/sys/devices/system/cpu/"

static char root[64] = "/tmp/kdtest-machine-XXXXXX";
static char *said;

static void file_write(const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s%s", root, name);
	for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(path, 0700);
		*at = '/';
	}
	file = fopen(path, "we");
	if (!file || fputs(text, file) < 0 || fclose(file)) {
		perror(path);
		exit(1);
	}
}

/* What is said of the tree, in text; JSON has to be well-formed. */
static void look(pid_t pid, const struct cpu_quota *quota)
{
	struct machine machine = { .root = root, .pid = pid };
	char *json = NULL;
	size_t length;
	FILE *out;
	json_t *document;

	if (quota)
		machine.quota = *quota;
	free(said);
	is_i64(machine_look(&machine), 0, "it looks");
	out = open_memstream(&said, &length);
	is_i64(machine_text(&machine, out), 0, "text is written");
	fclose(out);
	out = open_memstream(&json, &length);
	is_i64(machine_json(&machine, out), 0, "JSON is written");
	fclose(out);
	document = json_loads(json, JSON_REJECT_DUPLICATES, NULL);
	is_u64(json_array_size(json_object_get(document, "findings")), machine.n,
	       "JSON has all that was found");
	json_decref(document);
	free(json);
	machine_clear(&machine);
}

static void says(const char *line)
{
	ok(strstr(said, line), "it says '%s'", line);
	if (!strstr(said, line))
		tap_print_string("said", said);
}

static void test_empty(void)
{
	look(0, NULL);
	says("note     interrupts         not known");
	says("note     clock source       not known");
	says("note     capabilities       not known");
	says("note     BTF                not there");
	look(4711, NULL);
	says("note     affinity           not known");
}

static void test_good(void)
{
	file_write(CPU "online", "0-3\n");
	file_write(CPU "isolated", "2-3\n");
	file_write(CPU "nohz_full", "2-3\n");
	file_write(CPU "cpu2/cpufreq/scaling_governor", "performance\n");
	file_write(CPU "cpu2/cpuidle/state0/latency", "2\n");
	file_write("/proc/interrupts",
		   "           CPU0       CPU1       CPU2       CPU3\n"
		   "  9:       1000          5          7          0  PCI eth0\n"
		   "LOC:        100        200        300        400  Local timer\n"
		   "ERR:          0\n");
	file_write("/proc/irq/9/smp_affinity_list", "0-1\n");
	file_write("/proc/uptime", "100.00 300.00\n");
	file_write("/proc/7/task/7/status", "Name:\tx\nCpus_allowed_list:\t2\n");
	file_write("/proc/7/task/8/status", "Name:\tx\nCpus_allowed_list:\t3\n");
	file_write("/proc/7/status", "Name:\tx\nVmSwap:\t       0 kB\n");
	file_write("/proc/sys/kernel/sched_rt_runtime_us", "-1\n");
	file_write("/proc/sys/kernel/sched_rt_period_us", "1000000\n");
	file_write("/proc/version", "Linux version 6.1 #1 SMP PREEMPT_RT Debian\n");
	file_write("/proc/swaps", "Filename\tType\tSize\n");
	file_write("/proc/stat", "cpu  10 0 10 80 0 0 0 0 0 0\n");
	file_write("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
	file_write("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
	look(7, NULL);
	says("OK       affinity           the target's threads run on CPUs 2-3 only\n");
	says("OK       isolated CPUs      2-3\n");
	says("OK       nohz_full CPUs     2-3\n");
	says("OK       interrupts         of devices, 0 may be sent to CPUs 2-3\n");
	says("700 on CPUs 2-3 since the start, 7.0/s: LOC (Local timer)\n");
	says("7 on CPUs 2-3 since the start, 0.1/s: 9 (PCI eth0)\n");
	says("OK       frequency          governor performance\n");
	says("OK       idle states        none takes longer than 20 us");
	says("OK       CPU quota          none");
	says("OK       real-time limit    none\n");
	says("OK       clock source       tsc\n");
	says("OK       preemption         PREEMPT_RT");
	says("OK       huge pages         transparent: never\n");
	says("OK       swap               none\n");
	says("OK       steal              0.00 %");
	ok(!strstr(said, "WARNING"), "nothing is to be warned of");
}

/* The same machine, with each thing wrong. */
static void test_bad(void)
{
	const struct cpu_quota quota = { .group = "/system.slice/x\x1b[2J",
					 .quota_ns = 50000000,
					 .period_ns = 100000000 };

	file_write("/proc/irq/9/smp_affinity_list", "0-2\n");
	file_write("/proc/7/task/8/status", "Name:\tx\nCpus_allowed_list:\t2-3\n");
	file_write("/proc/7/task/9/status", "Name:\tx\nCpus_allowed_list:\t2\n");
	file_write("/proc/7/status", "Name:\tx\nVmSwap:\t     120 kB\n");
	file_write(CPU "cpu3/cpufreq/scaling_governor", "powersave\n");
	file_write(CPU "cpu2/cpuidle/state1/latency", "133\n");
	file_write(CPU "cpu2/cpuidle/state1/name", "C6\n");
	file_write("/proc/sys/kernel/sched_rt_runtime_us", "950000\n");
	file_write("/proc/version", "Linux version 6.1 #1 SMP Debian\n");
	file_write("/proc/swaps", "Filename\tType\tSize\n/dev/sda2 partition 100\n");
	file_write("/proc/stat", "cpu  10 0 10 75 0 0 0 5 0 0\n");
	file_write("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
	file_write("/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
	file_write("/proc/self/status", "Name:\tx\nCapEff:\t000000c000000000\n");
	look(7, &quota);
	says("WARNING  affinity           threads that may run on several CPUs, isolated ones "
	     "among them: 1\n");
	says("WARNING  nohz_full          CPUs to which several threads are bound: 1\n");
	says("WARNING  interrupts         of devices, 1 may be sent to CPUs 2-3\n");
	says("note     frequency          governor powersave on 1 of CPUs 2-3\n");
	says("note     idle states        C6 takes 133 us to leave\n");
	says("WARNING  CPU quota          0.50 CPUs in each 100.0 ms, of "
	     "/system.slice/x\\x1b[2J\n");
	says("note     real-time limit    950000 of 1000000 us\n");
	says("WARNING  clock source       hpet\n");
	says("note     preemption         none or voluntary\n");
	says("note     huge pages         transparent: always\n");
	says("note     swap               in use\n");
	says("WARNING  swap               120 KB of the target are swapped out\n");
	says("WARNING  steal              5.00 %");
	says("note     capabilities       this program lacks CAP_SYS_PTRACE CAP_SYS_ADMIN "
	     "CAP_SYSLOG\n");
	file_write(CPU "cpu2/cpuidle/state1/disable", "1\n");
	look(7, NULL);
	says("OK       idle states        none takes longer than 20 us");
}

/* Whatever is in them: no line of text is added, and nothing is read beyond its end. */
static void test_hostile(void)
{
	static const char *const names[] = {
		CPU "online",
		CPU "isolated",
		CPU "nohz_full",
		CPU "cpu2/cpufreq/scaling_governor",
		CPU "cpu2/cpuidle/state0/latency",
		"/proc/interrupts",
		"/proc/uptime",
		"/proc/irq/9/smp_affinity_list",
		"/proc/7/task/7/status",
		"/proc/7/status",
		"/proc/sys/kernel/sched_rt_runtime_us",
		"/proc/version",
		"/proc/swaps",
		"/proc/stat",
		"/sys/kernel/debug/sched/preempt",
		"/proc/self/status",
		"/sys/kernel/mm/transparent_hugepage/enabled",
	};
	static char lots[70000];
	static const char *const texts[] = {
		"",
		"\n",
		"0-",
		"0-99999999999999999999,5",
		"-1",
		"4294967296-4294967299",
		"5-3",
		"0-1023",
		",,,",
		"CPU",
		"CPU0 CPU99999999999 CPU-1\n9: 1 2 3 \x1b[2J\n:\n 9:",
		"cpu 18446744073709551615 99999999999999999999 1 1 1 1 1 1",
		"[",
		"([",
		"[x",
		"\x1b[2J]",
		"Cpus_allowed_list:",
		"\nCpus_allowed_list:\t",
		"\nVmSwap:",
		"nan",
		lots,
	};
	const char *before;

	memset(lots, 'x', sizeof(lots) - 1);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		unsigned int wrong = 0;

		for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++)
			file_write(names[k], texts[i]);
		look(7, NULL);
		for (before = said; *before; before++)
			wrong += *before != '\n' && (*before < ' ' || *before > '~');
		is_u64(wrong, 0, "text %zu: nothing but ASCII", i);
	}
}

int main(void)
{
	char command[128];

	if (!mkdtemp(root))
		return 1;
	test_empty();
	test_good();
	test_bad();
	test_hostile();
	free(said);
	snprintf(command, sizeof(command), "rm -r %s", root);
	is_i64(system(command), 0, "the tree is removed");
	return done_testing();
}
