// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "trigger_set.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../probes/confined.h"
#include "../probes/kernel.h"
#include "exit_status.h"
#include "log.h"

static const char *const role_names[KD_ROLES] = {
	[KD_START] = "start",
	[KD_STOP] = "stop",
};

/* Fills the trigger from its text. */
static int trigger_read(struct trigger *trigger, enum kd_role role, const char *text)
{
	const char *why = "";
	int error = trigger_parse(trigger, text, &why);

	if (error == -ENOMEM) {
		log_error("no memory");
		return EX_OSERR;
	}
	if (!error)
		return 0;
	log_error("%s trigger '%s': %s", role_names[role], text, why);
	for (size_t i = 0; i < trigger_grammar_len; i++)
		log_hint("%s", trigger_grammar[i]);
	return EX_CONFIG;
}

static int trigger_find(struct trigger_set *set, enum kd_role role, pid_t pid)
{
	struct places **place = &set->sets[role][set->n_sets[role]];
	int status = places_find(place, &set->triggers[role], pid);

	if (!status)
		set->n_sets[role]++;
	return status;
}

static bool text_is(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool triggers_are_same(const struct trigger *a, const struct trigger *b)
{
	return a->kind == b->kind && text_is(a->object, b->object) && text_is(a->group, b->group) &&
	       text_is(a->name, b->name) && a->offset == b->offset && a->address == b->address;
}

/* Whatever waits for file descriptors; not every machine or kernel has them all. */
static const char *const polls[] = { "poll",       "ppoll",       "select",      "pselect6",
				     "epoll_wait", "epoll_pwait", "epoll_pwait2" };
#define N_POLLS (sizeof(polls) / sizeof(*polls))
_Static_assert(N_POLLS <= TRIGGER_SETS, "a set of places for each");

/* Marks the calls that have a tracepoint. */
static int poll_event(void *has, const char *system, const char *event)
{
	for (size_t i = 0; i < N_POLLS; i++)
		if (!strcmp(system, "syscalls") && !strncmp(event, "sys_exit_", 9) &&
		    !strcmp(event + 9, polls[i]))
			((bool *)has)[i] = true;
	return 0;
}

/* The trigger of a role for one of the calls. */
static int poll_find(struct trigger_set *set, enum kd_role role, const char *call, pid_t pid)
{
	char text[64];
	int status;

	snprintf(text, sizeof(text), "t:syscalls:sys_%s_%s", role == KD_START ? "exit" : "enter",
		 call);
	trigger_clear(&set->triggers[role]);
	status = trigger_read(&set->triggers[role], role, text);
	return status ? status : trigger_find(set, role, pid);
}

/* What the triggers are called in lists and reports. */
static int triggers_rename(struct trigger_set *set, const char *name)
{
	for (int role = 0; role < KD_ROLES; role++) {
		char *text = strdup(name);

		if (!text) {
			log_error("no memory");
			return EX_OSERR;
		}
		free(set->triggers[role].text);
		set->triggers[role].text = text;
	}
	return 0;
}

/* From each return of such a call to the thread's next one. */
static int long_poll_find(struct trigger_set *set, pid_t pid)
{
	bool has[N_POLLS] = { false };
	int error = kernel_each_event(poll_event, has), status = 0;

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
	log_error("option --long-poll: the tracepoints of system calls are not to be found%s%s",
		  error ? ": " : "", error ? strerror(-error) : "");
	log_hint("a kernel with CONFIG_FTRACE_SYSCALLS=y is needed, and tracefs mounted on "
		 "/sys/kernel/tracing");
	return EX_OSERR;
}

static int given_find(struct trigger_set *set, const struct options *options, pid_t pid)
{
	int status = 0;

	for (int role = 0; role < KD_ROLES && !status; role++)
		if (options->triggers[role])
			status = trigger_read(&set->triggers[role], role, options->triggers[role]);
	for (int role = 0; role < KD_ROLES && !status; role++)
		if (options->triggers[role])
			status = trigger_find(set, role, pid);
	return status;
}

/* The probes must not be the target's death. */
static int safety_check(const struct trigger_set *set, pid_t pid)
{
	for (int role = 0; role < KD_ROLES; role++) {
		if (!trigger_set_has(set, role) || !trigger_is_user(&set->triggers[role]) ||
		    !probes_endanger(pid))
			continue;
		log_error("%s trigger '%s': seccomp confines the process, and on this kernel it "
			  "may be killed for such a probe",
			  role_names[role], set->triggers[role].text);
		log_hint("take a trigger in the kernel, such as t:syscalls:..., or a kernel that "
			 "lets probes pass seccomp (6.14, or an update of 6.12 or 6.13)");
		return EX_OSERR;
	}
	return 0;
}

int trigger_set_find(struct trigger_set *set, const struct options *options, pid_t pid)
{
	int status;

	memset(set, 0, sizeof(*set));
	status = options->long_poll ? long_poll_find(set, pid) : given_find(set, options, pid);
	if (!status)
		status = safety_check(set, pid);
	if (status)
		return status;
	for (int role = 0; role < KD_ROLES; role++)
		set->target_only[role] = trigger_set_has(set, role) &&
					 (options->target_only ||
					  trigger_is_of_target(&set->triggers[role]));
	set->same_thread = options->same_thread || options->long_poll;
	if (!trigger_set_has(set, KD_START) || !trigger_set_has(set, KD_STOP))
		return 0;
	set->delta = options->long_poll > options->trigger_delta ? options->long_poll
								 : options->trigger_delta;
	set->same_probe = triggers_are_same(&set->triggers[KD_START], &set->triggers[KD_STOP]);
	return 0;
}

void trigger_set_clear(struct trigger_set *set)
{
	for (int role = 0; role < KD_ROLES; role++) {
		trigger_clear(&set->triggers[role]);
		for (size_t i = 0; i < set->n_sets[role]; i++)
			places_free(set->sets[role][i]);
	}
	memset(set, 0, sizeof(*set));
}
