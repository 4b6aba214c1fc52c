// SPDX-License-Identifier: Apache-2.0
/* --check: what triggers mean, and what a hit costs. */
#include "trigger_set.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/base/log.h"
#include "cli/model/words.h"
#include "probes/attach.h"
#include "probes/attach_cost.h"
#include "probes/elf/usdt.h"
#include "probes/kernel.h"
#include "probes/list.h"

/* --- Values that a condition can name at a site --- */

static char sign_letter(bool is_signed)
{
	return is_signed ? 's' : 'u';
}

/* Returns the word in front of the assembler's text for a place. */
static const char *location_word(const struct usdt_argument *argument)
{
	if (argument->in_memory)
		return "at";
	return argument->base.size || argument->index.size ? "in" : "is";
}

static void argument_print(struct list_out *out, const struct usdt_argument *argument)
{
	char location[64];

	snprintf(location, sizeof(location), "%.*s", (int)argument->location_length,
		 argument->location);
	list_print(out, ":%c%d %s ", sign_letter(argument->is_signed), 8 * argument->size,
		   location_word(argument));
	list_print_text(out, location, 0);
}

static void arguments_print(struct list_out *out, const char *text)
{
	struct usdt_argument argument;
	const char *why;

	for (unsigned int i = 0; i < PREDICATE_ARGUMENTS; i++) {
		int error = usdt_argument_read(&argument, MACHINE_HERE, text, i, &why);

		if (error == -ENOENT) {
			list_print(out, "%s", i ? "\n" : "");
			return;
		}
		list_print(out, "%sarg%u", i ? ", " : "    arguments: ", i);
		if (error)
			list_print(out, " (%s)", why);
		else
			argument_print(out, &argument);
	}
	list_print(out, "\n");
}

static void fields_print(struct list_out *out, const struct site *site)
{
	struct event_field field;
	char *format;
	const char *rest;
	bool any = false;

	if (kernel_event_format(&format, site->group, site->name))
		return;
	rest = format;
	while (event_field_next(&field, &rest)) {
		if (!field.is_number)
			continue;
		list_print(out, "%s%.*s:%c%d", any ? ", " : "    fields: ", (int)field.length,
			   field.name, sign_letter(field.is_signed), 8 * field.size);
		any = true;
	}
	list_print(out, "%s", any ? "\n" : "");
	free(format);
}

/* Prints a line with a USDT probe's arguments and their places, or a tracepoint's fields. Prints
 * nothing where there are none, or for other sites, whose values no file describes. */
static void list_print_values(struct list_out *out, const struct trigger *trigger,
			      const struct site *site)
{
	if (site->arguments)
		arguments_print(out, site->arguments);
	else if (trigger_is_tracepoint(trigger))
		fields_print(out, site);
}

/* --- A trigger and its sites --- */

static void site_print(struct list_out *out, const struct attach_costs *costs,
		       const struct trigger *trigger, const struct site *site)
{
	list_print(out, "  ");
	if (site->group) {
		list_print_text(out, site->group, 0);
		list_print(out, ":");
	}
	list_print_text(out, *site->name ? site->name : "(by address)", 0);
	if (trigger->offset)
		list_print(out, "+0x%" PRIx64, trigger->offset);
	if (site->danger)
		list_print(out, "%s0x%" PRIx64, site->into < 0 ? "-" : "+",
			   site->into < 0 ? -(uint64_t)site->into : (uint64_t)site->into);
	if (site->object) {
		list_print(out, "  at 0x%" PRIx64 " of ", site->offset);
		list_print_text(out, site->object, 0);
	}
	if (site->semaphore)
		list_print(out, ", semaphore at 0x%" PRIx64, site->semaphore);
	if (site->danger)
		list_print(out, ", a return instruction (%s)", site->danger);
	else if (site->on_return)
		list_print(out, ", by a return probe");
	list_print(out, "\n");
	list_print_values(out, trigger, site);
	list_print(out, "    about %" PRIu64 " ns per hit (%s)\n",
		   attach_cost(costs, trigger, site), attach_cost_reason(costs, trigger, site));
}

/* Prints what a trigger means: its kind, whom it fires for, every site, and the cost of a hit. */
static exit_status sites_check(const struct attach_costs *costs, const struct trigger_set *set,
			       enum kd_role role, const struct sites *sites)
{
	const struct trigger *trigger = &set->triggers[role].trigger;
	struct list_out out = { .file = stdout };

	list_print(&out, "%s ", role_keys[role]);
	list_print_text(&out, trigger->text, 0);
	list_print(&out, ": %s, %zu site%s, fires for %s%s\n", trigger_kind_name(trigger->kind),
		   sites->n, sites->n == 1 ? "" : "s",
		   set->target_only[role] ? "the target only"
					  : "any process, unless target-only is behind it",
		   trigger_is_user(trigger) && trigger->everywhere
			   ? "; other processes that run this code pay as much"
			   : "");
	for (size_t i = 0; i < sites->n && !out.error; i++)
		site_print(&out, costs, trigger, &sites->all[i]);
	if (!out.error && fflush(stdout))
		out.error = errno ? -errno : -EIO;
	return out.error ? log_write_failed("the list", out.error) : 0;
}

/* --- All triggers --- */

/* Attaches as a run does: attaching may fail, and the probes must end up in the process's
 * memory. Hits cost the process as much as in a run. */
static exit_status probes_check(const struct attach_costs *costs, const struct trigger_set *set,
				const struct processes *processes)
{
	struct attachment *attachments[KD_ROLES] = { NULL };
	const struct bpf_program *program = attach_costs_program(costs);
	pid_t pid = processes->all[0].pid;
	int status = 0;

	for (int role = 0; role < KD_ROLES && program && !status; role++) {
		const struct trigger_sites *given = &set->triggers[role];

		if (trigger_set_in_files(set, role))
			status = attachment_add(&attachments[role], program, &given->trigger,
						given->sets, given->n_sets,
						set->everywhere ? 0 : pid);
	}
	if (!status && program)
		status = trigger_set_placed(set, processes, pid);
	attachments_close(attachments, KD_ROLES);
	return status;
}

exit_status check_triggers(const struct trigger_set *set, const struct processes *processes)
{
	struct attach_costs *costs = attach_costs_new(set->triggers, KD_ROLES);
	int status = 0;

	if (!costs)
		return log_no_memory();
	attach_costs_measure(costs);
	for (int role = 0; role < KD_ROLES; role++)
		for (size_t i = 0; i < set->triggers[role].n_sets && !status; i++)
			status = sites_check(costs, set, role, set->triggers[role].sets[i]);
	if (!status)
		status = probes_check(costs, set, processes);
	attach_costs_free(costs);
	return status;
}
