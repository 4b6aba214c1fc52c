/* SPDX-License-Identifier: Apache-2.0 */
/* --machine on trees of files that are like /proc and /sys, or hostile; and lists of CPUs. */
#define _GNU_SOURCE
#include <jansson.h>
#include <sched.h>

#include "cli/base/texts.h"
#include "cli/machine/machine.h"
#include "cases.h"
#include "tree.h"

#define CPU "/sys/devices/system/cpu/"

static char *said;

static struct cpu_rules rules; /* of the target's control groups */

/* What is said of the tree, in text; JSON has to be well-formed. */
static void look(pid_t pid, const struct cpu_quota *quota)
{
	struct machine machine = { .root = tree, .pid = pid };
	char *json = NULL;
	size_t length;
	FILE *out;
	json_t *document;

	if (quota)
		machine.quota = *quota;
	machine.rules = rules;
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

static void says(const char *const *lines, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		ok(strstr(said, lines[i]), "it says '%s'", lines[i]);
		if (!strstr(said, lines[i]))
			tap_print_string("said", said);
	}
}

#define SAYS(...)                                                                                  \
	says((const char *const[]){ __VA_ARGS__ },                                                 \
	     sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

/* What is cut ends with a whole character. */
TEST(cut)
{
	static const char euro[] = "\xe2\x82\xac";

	for (size_t size = 2; size < 12; size++) {
		char text[16] = "";

		text_append(text, size, "%s%s%s", euro, euro, euro);
		is_u64(strlen(text), (size - 1) / 3 * 3, "cut to %zu bytes", size - 1);
	}
}

TEST(empty)
{
	look(0, NULL);
	SAYS("note     interrupts         not known", "note     clock source       not known",
	     "note     capabilities       not known", "note     BTF                not there");
	look(4711, NULL);
	SAYS("note     affinity           not known");
}

TEST(good)
{
	tree_put(CPU "online", "0-3\n");
	tree_put(CPU "isolated", "2-3\n");
	tree_put(CPU "nohz_full", "2-3\n");
	tree_put(CPU "cpu2/cpufreq/scaling_governor", "performance\n");
	tree_put(CPU "cpu2/cpuidle/state0/latency", "2\n");
	tree_put("/proc/interrupts",
		 "           CPU0       CPU1       CPU2       CPU3\n"
		 "  9:       1000          5          7          0  PCI eth0\n"
		 "LOC:        100        200        300        400  Local timer\n"
		 "ERR:          0\n");
	tree_put("/proc/irq/9/smp_affinity_list", "0-1\n");
	tree_put("/proc/uptime", "100.00 300.00\n");
	tree_put("/proc/7/task/7/status", "Name:\tx\nCpus_allowed_list:\t2\n");
	tree_put("/proc/7/task/8/status", "Name:\tx\nCpus_allowed_list:\t3\n");
	tree_put("/proc/7/status", "Name:\tx\nVmSwap:\t       0 kB\n");
	tree_put("/proc/sys/kernel/sched_rt_runtime_us", "-1\n");
	tree_put("/proc/sys/kernel/sched_rt_period_us", "1000000\n");
	tree_put("/proc/version", "Linux version 6.1 #1 SMP PREEMPT_RT Debian\n");
	tree_put("/proc/swaps", "Filename\tType\tSize\n");
	tree_put("/proc/stat", "cpu  10 0 10 80 0 0 0 0 0 0\n");
	tree_put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
	tree_put("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
	tree_put("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
	look(7, NULL);
	SAYS("OK       affinity           the target's threads run on CPUs 2-3 only\n",
	     "OK       isolated CPUs      2-3\n", "OK       nohz_full CPUs     2-3\n",
	     "OK       interrupts         of devices, 0 may be sent to CPUs 2-3\n",
	     "700 on CPUs 2-3 since the start, 7.0/s: LOC (Local timer)\n",
	     "7 on CPUs 2-3 since the start, 0.1/s: 9 (PCI eth0)\n",
	     "OK       frequency          governor performance\n",
	     "OK       idle states        none takes longer than 20 us",
	     "OK       CPU quota          none", "OK       real-time limit    none\n",
	     "OK       clock source       tsc\n", "OK       preemption         PREEMPT_RT",
	     "OK       huge pages         transparent: never\n",
	     "OK       swap               none\n", "OK       steal              0.00 %",
	     "OK       lockdown           integrity\n");
	ok(!strstr(said, "WARNING"), "nothing is to be warned of");
}

/* The same machine, with each thing wrong. */
TEST(bad)
{
	const struct cpu_quota quota = { .group = "/system.slice/x\x1b[2J",
					 .quota_ns = 50000000,
					 .period_ns = 100000000 };

	tree_put("/proc/irq/9/smp_affinity_list", "0-2\n");
	tree_put("/proc/7/task/8/status", "Name:\tx\nCpus_allowed_list:\t2-3\n");
	tree_put("/proc/7/task/9/status", "Name:\tx\nCpus_allowed_list:\t2\n");
	tree_put("/proc/7/status", "Name:\tx\nVmSwap:\t     120 kB\n");
	tree_put(CPU "cpu3/cpufreq/scaling_governor", "powersave\n");
	tree_put(CPU "cpu2/cpuidle/state1/latency", "133\n");
	tree_put(CPU "cpu2/cpuidle/state1/name", "C6\n");
	tree_put("/proc/sys/kernel/sched_rt_runtime_us", "950000\n");
	tree_put("/proc/version", "Linux version 6.1 #1 SMP Debian\n");
	tree_put("/proc/swaps", "Filename\tType\tSize\n/dev/sda2 partition 100\n");
	tree_put("/proc/stat", "cpu  10 0 10 75 0 0 0 5 0 0\n");
	tree_put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
	tree_put("/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
	tree_put("/proc/self/status", "Name:\tx\nCapEff:\t000000c000000000\n");
	tree_put("/sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
	look(7, &quota);
	SAYS("WARNING  affinity           threads that may run on several CPUs, isolated ones "
	     "among them: 1\n",
	     "WARNING  nohz_full          CPUs to which several threads are bound: 1\n",
	     "WARNING  interrupts         of devices, 1 may be sent to CPUs 2-3\n",
	     "note     frequency          governor powersave on 1 of CPUs 2-3\n",
	     "note     idle states        C6 takes 133 us to leave\n",
	     "WARNING  CPU quota          0.50 CPUs in each 100.0 ms, of "
	     "/system.slice/x\\x1b[2J\n",
	     "note     real-time limit    950000 of 1000000 us\n",
	     "WARNING  clock source       hpet\n",
	     "note     preemption         none or voluntary\n",
	     "note     huge pages         transparent: always\n",
	     "note     swap               in use\n",
	     "WARNING  swap               120 KB of the target are swapped out\n",
	     "WARNING  steal              5.00 %", "note     lockdown           confidentiality\n",
	     "note     capabilities       this program lacks CAP_SYS_PTRACE "
	     "CAP_DAC_READ_SEARCH CAP_SYS_ADMIN CAP_SYSLOG\n");
	rules = (struct cpu_rules){ .version_1 = true,
				    .cpuset = "/pods",
				    .cpus = "2-3",
				    .idle_group = "/late",
				    .policy = SCHED_IDLE,
				    .rt_group = "/rt",
				    .rt_runtime_ns = 50000000,
				    .rt_period_ns = 100000000 };
	look(7, &quota);
	SAYS("note     cpuset             CPUs 2-3, of /pods\n",
	     "taskset cannot give the target other CPUs: cpuset.cpus",
	     "WARNING  CPU weight         cpu.idle is set, of /late\n",
	     "WARNING  scheduling class   the target's main thread is SCHED_IDLE\n",
	     "note     real-time limit    50000 of 100000 us, of /rt\n", "rest: cpu.rt_runtime_us",
	     "next period: cpu.cfs_quota_us");
	ok(!strstr(said, "kernel.sched_rt"), "the machine's limit is not what decides");
	rules = (struct cpu_rules){ .version_1 = false };
	tree_put(CPU "cpu2/cpuidle/state1/disable", "1\n");
	look(7, NULL);
	SAYS("OK       idle states        none takes longer than 20 us");
}

/* Those files all have this text. */
static void hostile(const char *names, const char *text)
{
	unsigned int wrong = 0;
	char name[CASE_LEN];

	while (case_next(&names, name))
		tree_put(name, text);
	look(7, NULL);
	for (const char *at = said; *at; at++)
		wrong += *at != '\n' && (*at < ' ' || *at > '~');
	is_u64(wrong, 0, "'%.20s': nothing but ASCII", text);
}

/* Whatever is in them: no line of text is added, and nothing is read beyond its end. */
TEST(hostile)
{
	static const char names[] =
		"/sys/devices/system/cpu/online|/sys/devices/system/cpu/isolated"
		"|/sys/devices/system/cpu/nohz_full"
		"|/sys/devices/system/cpu/cpu2/cpufreq/scaling_governor"
		"|/sys/devices/system/cpu/cpu2/cpuidle/state0/latency|/proc/interrupts"
		"|/proc/uptime|/proc/irq/9/smp_affinity_list|/proc/7/task/7/status|/proc/7/status"
		"|/proc/sys/kernel/sched_rt_runtime_us|/proc/version|/proc/swaps|/proc/stat"
		"|/sys/kernel/debug/sched/preempt|/proc/self/status"
		"|/sys/kernel/mm/transparent_hugepage/enabled";
	static char lots[70000];
	static const char texts[] =
		"|\n|0-|0-99999999999999999999,5|-1|4294967296-4294967299|5-3|0-1023|,,,|CPU"
		"|CPU0 CPU99999999999 CPU-1\n9: 1 2 3 \x1b[2J\n:\n 9:"
		"|cpu 18446744073709551615 99999999999999999999 1 1 1 1 1 1|[|([|[x|\x1b[2J]"
		"|Cpus_allowed_list:|\nCpus_allowed_list:\t|\nVmSwap:|nan";
	char text[CASE_LEN];

	memset(lots, 'x', sizeof(lots) - 1);
	hostile(names, lots);
	for (const char *list = texts; case_next(&list, text);)
		hostile(names, text);
}

/* --- Lists of CPUs --- */

#define CPUS 128
static const char cpu_lists[] =
	"64 0-3,8 = 0-3,8|64 0,1,2,63-66,127-500 = 0-2,63-66,127|64 127 = 127|64 0-127 = 0-127"
	"|64 8,1,3-2,200 = 1,8|64 1,x = 1, then no list|64 x = , then no list|64 7- = "
	"|12 0,2,4,6,8,10 = 0,2,4,6...|10 0,2,4,6,8 = 0,2,4...|4 0-9 = ...";

/* "SIZE LIST", read and written again. */
static const char *cpu_list(const char *input)
{
	static char text[CASE_LEN];
	uint64_t words[CPUS / 64] = { 0 };
	char *list;
	size_t size = strtoul(input, &list, 10);
	bool right = cpu_list_parse(list + 1, words, CPUS);

	cpu_list_text(text, size, words, CPUS, false);
	return right ? text : strcat(text, ", then no list");
}

TEST(cpus)
{
	uint64_t words[CPUS / 64] = { 1 };
	char text[16] = "the CPUs are ";

	cases_check(cpu_lists, cpu_list, "CPUs");
	text_append(text, sizeof(text), "%d-%d", 0, 127);
	is_str(text, "the CPUs are 0-", "what does not fit is cut");
	cpu_list_text(text, sizeof(text), words, CPUS, true);
	is_str(text, "0,128+", "and those that have no bit");
}
