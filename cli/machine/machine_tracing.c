// SPDX-License-Identifier: Apache-2.0
/* What this program can see here. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "machine.h"

/* If not, errno says why. */
static bool is_there(const struct machine *machine, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s", machine->root, name);
	/* access() drops the capabilities of users other than root. */
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
	{ "irq_vectors/local_timer_entry", "interrupts without a line" },
	{ "exceptions/page_fault_user", "page faults" },
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
		{ "BTF", "/sys/kernel/btf/vmlinux", "give the kernel's with --btf" },
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

static void capabilities_look(struct machine *machine)
{
	static const struct {
		const char *name;
		unsigned int number;
	} wanted[] = {
		{ "CAP_BPF", 39 },       { "CAP_PERFMON", 38 }, { "CAP_SYS_PTRACE", 19 },
		{ "CAP_SYS_ADMIN", 21 }, { "CAP_SYSLOG", 34 },
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
			snprintf(missing + strlen(missing), sizeof(missing) - strlen(missing),
				 " %s", wanted[i].name);
	finding_add(machine, *missing ? FINDING_NOTE : FINDING_OK, "capabilities",
		    "see REQUIREMENTS in the manual page for what needs which",
		    *missing ? "this program lacks%s" : "all that are of use%s", missing);
}

void machine_look_tracing(struct machine *machine)
{
	events_look(machine);
	probes_look(machine);
	capabilities_look(machine);
}
