// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "run_confine.h"

#include <string.h>

#include "cli/base/log.h"
#include "cli/capture/session_triggers.h"
#include "cli/process/kernelfs.h"
#include "cli/sandbox/confine.h"

/* kernel.perf_event_paranoid, from which on perf_event_open(2) needs CAP_SYS_ADMIN. Such a level is
 * not Linus Torvalds's, but that of Debian, Ubuntu and Android. */
#define PARANOID_ADMIN 3

/* --- Which runs need what (PRIVILEGES in the manual page has the same table) --- */

static bool is_capture(const struct run *run)
{
	return run->session;
}

static bool is_replay(const struct run *run)
{
	return !run->session;
}

static bool has_traces(const struct run *run)
{
	return run->tracing.on;
}

/* Who may be another user than this process. */
static bool has_children(const struct run *run)
{
	return run->stacks || run->command || outputs_are_served(run->outputs);
}

static bool has_command(const struct run *run)
{
	return run->command;
}

static bool has_files(const struct run *run)
{
	const struct outputs_config *outputs = &run->options->outputs;

	if (outputs->live) /* which writes what somebody asks for */
		return true;
	for (size_t i = 0; i < outputs->n; i++)
		if (outputs->all[i].file)
			return true;
	return false;
}

static bool has_pager(const struct run *run)
{
	return outputs_have_pager(run->outputs);
}

/* Their probes may be put in again, or into newcomers, and their cost is measured at the end. */
static bool has_triggers(const struct run *run)
{
	return run->session && !trigger_set_is_empty(run->triggers);
}

static bool has_successors(const struct run *run)
{
	return run->options->follow_restart;
}

static bool has_successors_by_btf(const struct run *run)
{
	return run->options->follow_restart && run->options->btf_file;
}

/* Attaching by perf_event_open(2): to functions of processes that needs CAP_SYS_ADMIN in any
 * case (perf_uprobe_event_init()). */
static bool attaches_by_perf(const struct run *run)
{
	const struct triggers *triggers = run->session ? session_triggers(run->session) : NULL;
	bool paranoid = kernel_perf_paranoid() >= PARANOID_ADMIN;

	if (!triggers)
		return false;
	return triggers_have_events(triggers, true) ||
	       (paranoid && (triggers_have_events(triggers, false) || has_successors(run)));
}

static const struct need {
	bool (*wanted)(const struct run *run);
	uint64_t capabilities;
	unsigned int calls;
} needs[] = {
	/* Maps and iterators of BPF; files of the target in /proc, and those it has mapped. */
	{ is_capture,
	  CAPABILITY(CAP_BPF) | CAPABILITY(CAP_SYS_PTRACE) | CAPABILITY(CAP_DAC_READ_SEARCH) |
		  CAPABILITY(CAP_CHECKPOINT_RESTORE),
	  0 },
	{ is_replay, CAPABILITY(CAP_DAC_READ_SEARCH), 0 }, /* the file */
	{ has_traces, CAPABILITY(CAP_SYSLOG), 0 },         /* addresses in /proc/kallsyms */
	{ has_children, CAPABILITY(CAP_KILL), 0 },         /* signals */
	{ has_files, CAPABILITY(CAP_DAC_OVERRIDE), 0 },
	{ has_command, 0, CONFINE_DETACH },
	{ has_pager, CAPABILITY(CAP_SETUID) | CAPABILITY(CAP_SETGID) | CAPABILITY(CAP_SETPCAP),
	  CONFINE_EXECUTE | CONFINE_USERS | CONFINE_SOCKETS }, /* it becomes sudo's caller */
	{ has_triggers, CAPABILITY(CAP_PERFMON), CONFINE_ATTACH },
	{ attaches_by_perf, CAPABILITY(CAP_SYS_ADMIN), 0 },
	/* To begin anew; CAP_NET_ADMIN is for the process connector. */
	{ has_successors,
	  CAPABILITY(CAP_PERFMON) | CAPABILITY(CAP_SYSLOG) | CAPABILITY(CAP_NET_ADMIN) |
		  CAPABILITY(CAP_KILL) | CAPABILITY(CAP_SETUID) | CAPABILITY(CAP_SETGID) |
		  CAPABILITY(CAP_SETPCAP) | CAPABILITY(CAP_SYS_CHROOT),
	  CONFINE_ATTACH | CONFINE_USERS | CONFINE_SOCKETS },
	{ has_successors_by_btf, CAPABILITY(CAP_SYS_ADMIN), CONFINE_MOUNT },
};

/* CAP_SYS_ADMIN stands for those that were split off from it. */
static uint64_t with_substitute(uint64_t capabilities)
{
	static const unsigned int split[] = { CAP_BPF, CAP_PERFMON, CAP_CHECKPOINT_RESTORE };

	for (size_t i = 0; i < sizeof(split) / sizeof(*split); i++)
		if (capabilities >> split[i] & 1 && !confine_has(split[i]))
			capabilities |= CAPABILITY(CAP_SYS_ADMIN);
	return capabilities;
}

void run_confine(const struct run *run)
{
	struct confine left = { 0 };
	const char *what;
	int error;

	if (run->options->keep_privileges)
		return;
	for (size_t i = 0; i < sizeof(needs) / sizeof(*needs); i++) {
		if (!needs[i].wanted(run))
			continue;
		left.capabilities |= needs[i].capabilities;
		left.calls |= needs[i].calls;
	}
	left.capabilities = with_substitute(left.capabilities);
	error = confine(&left, &what);
	if (error)
		log_warn("this program goes on with more privileges than it needs: %s: %s", what,
			 strerror(-error));
}
