// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "trigger_set.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/array.h"
#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/base/proc_file.h"
#include "cli/model/words.h"
#include "probes/condition.h"
#include "probes/elf/objects.h"
#include "probes/hazards.h"
#include "probes/kernel.h"

static exit_status trigger_read(struct trigger *trigger, enum kd_role role, const char *text)
{
	const char *why = "";
	int error = trigger_parse(trigger, text, &why);

	if (error == -ENOMEM)
		return log_no_memory();
	if (!error)
		return 0;
	if (trigger->condition_at)
		return condition_refuse(text, trigger->condition_at, why);
	log_error("%s trigger '%s': %s", role_keys[role], text, why);
	for (size_t i = 0; i < trigger_grammar_len; i++)
		log_hint("%s", trigger_grammar[i]);
	return EX_CONFIG;
}

static exit_status trigger_find(struct trigger_set *set, enum kd_role role, pid_t pid)
{
	struct trigger_sites *given = &set->triggers[role];
	struct sites **sites = &given->sets[given->n_sets];
	int status = sites_find(sites, &given->trigger, pid, set->signals);

	if (status)
		return status;
	given->n_sets++;
	return conditions_add(given, *sites);
}

static bool text_is(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool triggers_are_same(const struct trigger *a, const struct trigger *b)
{
	return a->kind == b->kind && text_is(a->object, b->object) && text_is(a->group, b->group) &&
	       text_is(a->name, b->name) && a->offset == b->offset && a->address == b->address &&
	       !a->condition == !b->condition &&
	       (!a->condition || predicate_is(a->condition, b->condition));
}

/* All calls that wait for file descriptors; machines and kernels may lack some. */
static const char *const polls[] = { "poll",       "ppoll",       "select",      "pselect6",
				     "epoll_wait", "epoll_pwait", "epoll_pwait2" };
#define N_POLLS (sizeof(polls) / sizeof(*polls))
_Static_assert(N_POLLS <= TRIGGER_SETS, "a set of places for each");

/* Marks calls with a tracepoint. */
static int poll_event(void *has, const char *system, const char *event)
{
	for (size_t i = 0; i < N_POLLS; i++)
		if (!strcmp(system, "syscalls") && !strncmp(event, "sys_exit_", 9) &&
		    !strcmp(event + 9, polls[i]))
			((bool *)has)[i] = true;
	return 0;
}

/* Finds the trigger of a role for one of the calls. */
static exit_status poll_find(struct trigger_set *set, enum kd_role role, const char *call,
			     pid_t pid)
{
	char text[64];
	int status;

	snprintf(text, sizeof(text), "t:syscalls:sys_%s_%s", role == KD_START ? "exit" : "enter",
		 call);
	trigger_clear(&set->triggers[role].trigger);
	status = trigger_read(&set->triggers[role].trigger, role, text);
	return status ? status : trigger_find(set, role, pid);
}

/* Sets the name of the triggers in lists and reports. */
static exit_status triggers_rename(struct trigger_set *set, const char *name)
{
	for (int role = 0; role < KD_ROLES; role++) {
		char *text = strdup(name);

		if (!text)
			return log_no_memory();
		free(set->triggers[role].trigger.text);
		set->triggers[role].trigger.text = text;
	}
	return 0;
}

/* Triggers from each return of such a call to the thread's next call. */
static exit_status long_poll_find(struct trigger_set *set, pid_t pid)
{
	bool has[N_POLLS] = { false };
	int error = kernel_each_event("", poll_event, has), status = 0;

	for (size_t i = 0; i < N_POLLS && !error && !status; i++) {
		if (!has[i])
			continue;
		status = poll_find(set, KD_START, polls[i], pid);
		if (!status)
			status = poll_find(set, KD_STOP, polls[i], pid);
	}
	if (!status && trigger_set_has(set, KD_STOP))
		status = triggers_rename(set, "--long-poll");
	if (status || trigger_set_has(set, KD_STOP))
		return status;
	log_error("option --long-poll: the tracepoints of system calls cannot be found%s%s",
		  error ? ": " : "", error ? strerror(-error) : "");
	log_hint("%s", error ? kernel_events_hint(error)
			     : "a kernel with CONFIG_FTRACE_SYSCALLS=y is needed");
	return kernel_events_status(error);
}

/* --- Several processes --- */

/* Tells if the process maps files that no other process did, and records it. Returns -ESRCH
 * without such a process, or another negative errno. */
static int program_is_new(struct trigger_set *set, pid_t pid)
{
	struct objects *objects;
	int error = objects_read(&objects, pid);
	uint64_t key;

	if (error)
		return error;
	key = objects_key(objects);
	objects_free(objects);
	for (size_t i = 0; i < set->n_looked; i++)
		if (set->looked[i] == key)
			return false;
	error = ARRAY_ADD(set->looked, set->n_looked, set->capacity_looked, key);
	return error ? error : true;
}

/* An address is only valid in one file: instruction boundaries in others are unknown. */
static bool is_address(const struct trigger *trigger)
{
	return !trigger->name || trigger->offset;
}

/* Adds new sites of a trigger in the process's files. Messages are held back. Returns an exit
 * status: 0 also without new sites. */
static exit_status program_find(struct trigger_set *set, enum kd_role role, pid_t pid)
{
	struct trigger_sites *given = &set->triggers[role];
	size_t n = given->n_sets;
	struct sites *sites;
	int status;

	log_hold();
	status = sites_find(&sites, &given->trigger, pid, set->signals);
	if (status)
		return status;
	for (size_t i = 0; i < n; i++)
		sites_subtract(sites, given->sets[i]);
	/* In another file it may be in the middle of an instruction: a probe would crash that. */
	if (n && sites->n && is_address(&given->trigger)) {
		sites_free(sites);
		return EX_CONFIG;
	}
	if (sites->n && n < TRIGGER_SETS) {
		status = conditions_add(given, sites);
		if (status)
			sites_free(sites);
		else
			given->sets[given->n_sets++] = sites;
		return status;
	}
	if (sites->n && !set->full_reported[role]) {
		set->full_reported[role] = true;
		log_warn("trigger '%s' is in more than %d programs, and is left out in that of "
			 "process %d and others; watch fewer processes at a time",
			 given->trigger.text, TRIGGER_SETS, (int)pid);
	}
	sites_free(sites);
	return 0;
}

/* Number of programs without the trigger, and a process of one of those. */
struct lack {
	size_t n;
	pid_t pid;
};

static void lack_tell(const struct trigger_set *set, enum kd_role role, const struct lack *lack)
{
	char path[PATH_MAX];

	if (!lack->n)
		return;
	proc_link_read(proc_thread(lack->pid), "exe", path, sizeof(path));
	log_warn("trigger '%s' is not in %zu of the target's %zu programs, such as that of process "
		 "%d%s%s",
		 set->triggers[role].trigger.text, lack->n, set->n_looked, (int)lack->pid,
		 *path ? ", " : "", path);
}

/* True if the status says so, or the process has ended by now. */
static bool has_ended(int status, pid_t pid)
{
	return status == EX_UNAVAILABLE || (kill(pid, 0) && errno == ESRCH);
}

/* A missing or impossible trigger is no error if it exists anywhere. Returns false if the
 * process ended before everything was checked. */
static bool program_look(struct trigger_set *set, enum kd_role role, pid_t pid, struct lack *lack)
{
	int status = program_find(set, role, pid);

	log_release(!status);
	if (!status)
		return true;
	if (has_ended(status, pid))
		return false;
	if (!lack->n++)
		lack->pid = pid;
	return true;
}

/* No process has it: reports why, for the first one. */
static exit_status all_lack(struct trigger_set *set, enum kd_role role, pid_t pid)
{
	int status;

	set->triggers[role].trigger.terse = false;
	status = program_find(set, role, pid);
	log_release(true);
	return status;
}

/* Makes the next process with these mappings count as new. */
static void program_forget(struct trigger_set *set)
{
	set->n_looked--;
}

static exit_status programs_find(struct trigger_set *set, const struct processes *processes)
{
	struct lack lacks[KD_ROLES] = { 0 };
	int status = 0;

	for (size_t i = 0; i < processes->n; i++) {
		pid_t pid = processes->all[i].pid;
		int is_new = program_is_new(set, pid);
		bool complete = true;

		if (is_new == -ENOMEM)
			return log_no_memory();
		if (is_new <= 0)
			continue;
		for (int role = 0; role < KD_ROLES; role++)
			if (trigger_set_in_files(set, role))
				complete &= program_look(set, role, pid, &lacks[role]);
		if (!complete)
			program_forget(set);
	}
	for (int role = 0; role < KD_ROLES && !status; role++) {
		if (!trigger_set_in_files(set, role))
			continue;
		if (trigger_set_has(set, role))
			lack_tell(set, role, &lacks[role]);
		else
			status = all_lack(set, role,
					  lacks[role].n ? lacks[role].pid : processes->all[0].pid);
	}
	return status;
}

int trigger_set_add(struct trigger_set *set, pid_t pid)
{
	int is_new = program_is_new(set, pid);
	struct lack lack = { 0 };
	bool complete = true;

	if (is_new <= 0)
		return is_new == -ENOMEM || !is_new ? is_new : -ESRCH;
	for (int role = 0; role < KD_ROLES; role++)
		if (trigger_set_in_files(set, role))
			complete &= program_look(set, role, pid, &lack);
	if (complete)
		return 0;
	program_forget(set);
	return -ESRCH;
}

/* --- All triggers --- */

/* True if the kernel patches only this process: it uses the memory of the first thread, if that
 * still exists. */
static bool is_probed_alone(const struct processes *processes)
{
	pid_t pid = processes->all[0].pid;

	return processes_is_one(processes) && proc_thread(pid) == pid;
}

static exit_status given_find(struct trigger_set *set, const struct options *options,
			      const struct processes *processes)
{
	int status = 0;

	set->everywhere = !is_probed_alone(processes) && (trigger_set_in_files(set, KD_START) ||
							  trigger_set_in_files(set, KD_STOP));
	for (int role = 0; role < KD_ROLES && !status; role++) {
		struct trigger *trigger = &set->triggers[role].trigger;

		trigger->unsafe = options->unsafe_returns;
		trigger->everywhere = trigger->terse = set->everywhere;
		if (!processes_is_one(processes) && trigger_set_in_files(set, role) &&
		    !trigger->name && !trigger->object) {
			log_error("%s trigger '%s': with several processes an address needs its "
				  "file",
				  role_keys[role], trigger->text);
			log_hint("name the program or library, as in "
				 "up:/usr/sbin/ovs-vswitchd:0x1f0a4");
			status = EX_CONFIG;
		}
		if (trigger->text && !(set->everywhere && trigger_set_in_files(set, role)))
			status = trigger_find(set, role, processes->all[0].pid);
	}
	return status || !set->everywhere ? status : programs_find(set, processes);
}

/* Probes must never kill a process that hits them. */
static exit_status safety_check(const struct trigger_set *set, pid_t pid)
{
	for (int role = 0; role < KD_ROLES; role++) {
		if (!trigger_set_in_files(set, role) || !probes_endanger(set->everywhere ? 0 : pid))
			continue;
		log_error(set->everywhere
				  ? "%s trigger '%s': anybody on the machine "
				    "may hit it, and on this kernel such a probe may get a process "
				    "killed that seccomp confines"
				  : "%s trigger '%s': seccomp confines the process, and on this "
				    "kernel such a probe may get it killed",
			  role_keys[role], set->triggers[role].trigger.text);
		log_hint("%suse a trigger in the kernel, such as t:syscalls:..., or a kernel that "
			 "lets probes pass seccomp (6.14, or an update of 6.12 or 6.13)",
			 set->everywhere ? "watch one process, " : "");
		return EX_OSERR;
	}
	return 0;
}

static bool role_is_go(const struct trigger_set *set, enum kd_role role)
{
	const struct trigger_sites *given = &set->triggers[role];

	for (size_t i = 0; i < given->n_sets; i++)
		if (given->sets[i]->n && given->sets[i]->all[0].go)
			return true;
	return false;
}

exit_status trigger_set_read(struct trigger_set *set, const struct options *options)
{
	int status = 0;

	for (int role = 0; role < KD_ROLES && !status; role++)
		if (options->triggers[role])
			status = trigger_read(&set->triggers[role].trigger, role,
					      options->triggers[role]);
	return status;
}

bool trigger_set_in_libraries(const struct trigger_set *set)
{
	for (int role = 0; role < KD_ROLES; role++)
		if (trigger_set_in_files(set, role) && set->triggers[role].trigger.object)
			return true;
	return false;
}

exit_status trigger_set_find(struct trigger_set *set, const struct options *options,
			     const struct processes *processes)
{
	pid_t pid = processes->all[0].pid;
	int status;

	status = options->long_poll ? long_poll_find(set, pid)
				    : given_find(set, options, processes);
	if (!status)
		status = safety_check(set, pid);
	if (status)
		return status;
	for (int role = 0; role < KD_ROLES; role++)
		set->target_only[role] =
			trigger_set_has(set, role) &&
			(options->target_only ||
			 (options->any ? trigger_set_in_files(set, role)
				       : trigger_is_of_target(&set->triggers[role].trigger)));
	set->same_thread = options->same_thread || options->long_poll;
	if (options->same_thread && (role_is_go(set, KD_START) || role_is_go(set, KD_STOP)))
		log_warn("attribute same-thread: goroutines move between threads, so some "
			 "stops come on a different thread from their start, and starts are taken "
			 "for those of other goroutines");
	/* A thread that cannot hit one trigger makes hits of the other one meaningless. */
	if (set->same_thread && (set->target_only[KD_START] || set->target_only[KD_STOP]))
		set->target_only[KD_START] = set->target_only[KD_STOP] = true;
	if (!trigger_set_has(set, KD_START) || !trigger_set_has(set, KD_STOP))
		return 0;
	set->deltas = options->trigger_deltas;
	if (options->long_poll > set->deltas.others)
		set->deltas.others = options->long_poll;
	set->same_probe = triggers_are_same(&set->triggers[KD_START].trigger,
					    &set->triggers[KD_STOP].trigger);
	return 0;
}

exit_status trigger_set_placed(const struct trigger_set *set, const struct processes *processes,
			       pid_t pid)
{
	int status = 0;

	for (int role = 0; role < KD_ROLES && !status; role++) {
		const struct trigger_sites *given = &set->triggers[role];
		struct placed placed = { 0 };
		int error = 0;

		if (!trigger_set_in_files(set, role) || (set->same_probe && role == KD_STOP))
			continue;
		if (processes_is_one(processes))
			error = placed_look(&placed, given, pid);
		for (size_t i = 0; i < processes->n && !processes_is_one(processes) && !error; i++)
			error = placed_look(&placed, given, processes->all[i].pid);
		status = error ? log_no_memory() : placed_tell(&placed, &given->trigger);
	}
	return status;
}

void trigger_set_clear(struct trigger_set *set)
{
	for (int role = 0; role < KD_ROLES; role++) {
		struct trigger_sites *given = &set->triggers[role];

		trigger_clear(&given->trigger);
		free(given->conditions);
		for (size_t i = 0; i < given->n_sets; i++)
			sites_free(given->sets[i]);
	}
	free(set->looked);
	memset(set, 0, sizeof(*set));
}
