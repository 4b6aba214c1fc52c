/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "options_table.h"

#include <stdio.h>
#include <string.h>

#include "cli/base/clock.h"
#include "cli/base/log.h"
#include "cli/base/texts.h"
#include "cli/output/output_path.h"
#include "options_read.h"

/* --- Which options make sense in a run --- */

struct mode {
	unsigned int in;
	const char *name, *why;
};

/* Modes that say most about the run come first. */
static const struct mode modes[] = {
	{ IN_MACHINE, "--machine", "it shows how this machine is set up, and takes no samples" },
	{ IN_LIST_METRICS, "--list-metrics", "it lists the metrics, and does nothing else" },
	{ IN_LIST_PROBES, "--list-probes", "it lists what can be a trigger, and takes no samples" },
	{ IN_REPLAY, "--replay", "it reads what was sampled before, and looks at no process" },
	{ IN_CHECK, "--check", "it shows where probes would be, and takes no samples" },
	{ IN_LIVE, "--live", "it shows windows of a given time, one after the other" },
	{ IN_RECORD_ON, "--record-on", "its samples follow one another without a gap" },
	{ IN_LONG_POLL, "--long-poll", "it is a pair of triggers by itself" },
	{ IN_ONE | IN_PAIR, "triggers", "they say when samples begin and end" },
	{ IN_COMMAND, "a command", "it is started to be watched from its beginning to its end" },
};

static unsigned int modes_of(const struct options *options)
{
	bool start = options->triggers[KD_START], stop = options->triggers[KD_STOP];
	unsigned int is = 0;

	is |= options->machine ? IN_MACHINE : 0;
	is |= options->list_metrics ? IN_LIST_METRICS : 0;
	is |= options->list_probes ? IN_LIST_PROBES : 0;
	is |= options->replay ? IN_REPLAY : 0;
	is |= options->long_poll ? IN_LONG_POLL : 0;
	is |= start && stop ? IN_PAIR : start || stop ? IN_ONE : 0;
	is |= is ? 0 : IN_CLOCKED;
	is |= options->record_on ? IN_RECORD_ON : 0;
	is |= options->outputs.live ? IN_LIVE : 0;
	is |= options->check ? IN_CHECK : 0;
	is |= options->command ? IN_COMMAND : 0;
	return is;
}

/* Refuses an option, as messages name it, that has no meaning in one of these modes. */
static exit_status refuse_in(const char *what, unsigned int valid, unsigned int is)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		const struct mode *mode = &modes[i];

		if (!(mode->in & is & ~valid))
			continue;
		log_error("%s cannot be combined with %s", what, mode->name);
		log_hint("leave out one of them: %s", mode->why);
		return EX_USAGE;
	}
	return 0;
}

/* The first of the options in a list that was given; NULL if none was. */
static const struct option_row *first_given(const char *list, const bool given[OPTIONS_MAX])
{
	const struct option_row *row;

	for (size_t i = 0; (row = option_row_at(i)); i++)
		if (given[i] && row->name && option_list_has(list, row->name, strlen(row->name)))
			return row;
	return NULL;
}

/* "--a, --b or --c". Returns text. */
static const char *alternatives(const char *list, char text[static 128])
{
	*text = '\0';
	for (size_t n; *list; list += n + (list[n] == ' ')) {
		const char *before = !*text ? "" : strchr(list, ' ') ? ", " : " or ";

		n = strcspn(list, " ");
		text_append(text, 128, "%s--%.*s", before, (int)n, list);
	}
	return text;
}

/* What a row says of other options. */
static exit_status others_check(const struct option_row *row, const bool given[OPTIONS_MAX])
{
	const struct option_row *other = first_given(row->not_with, given);
	char what[64], with[64], list[128];

	option_called(row, what);
	if (other) {
		log_error("%s cannot be combined with %s", what,
			  option_called(other, with) + (other->of ? 0 : strlen("option ")));
		log_hint("%s", row->why ? row->why : "give one of them");
		return EX_USAGE;
	}
	if (!row->needs || first_given(row->needs, given))
		return 0;
	log_error("%s needs %s", what, alternatives(row->needs, list));
	log_hint("%s", row->why);
	return EX_USAGE;
}

/* Also refuses an option that needs triggers, or two of them. */
static exit_status row_check(const struct option_row *row, unsigned int is)
{
	unsigned int too_few = row->in & IN_PAIR ? IN_ONE : 0;
	char what[64];
	int status;

	status = refuse_in(option_called(row, what), row->in | too_few, is);
	if (status || !(is & ~row->in))
		return status;
	if (row->in & IN_ONE) {
		log_error("%s needs a trigger", what);
		log_hint("give --start-trigger, --stop-trigger or both");
	} else {
		log_error("%s needs two triggers", what);
		log_hint("give --start-trigger and --stop-trigger");
	}
	return EX_USAGE;
}

exit_status options_check_modes(const struct options *options, const bool given[OPTIONS_MAX],
				const char *process)
{
	unsigned int is = modes_of(options);
	const struct option_row *row;
	int status = 0;

	if (process)
		status = refuse_in("a process", option_row_find('p')->in, is);
	for (size_t i = 0; !status && (row = option_row_at(i)); i++)
		if (given[i])
			status = row_check(row, is);
	for (size_t i = 0; !status && (row = option_row_at(i)); i++)
		if (given[i])
			status = others_check(row, given);
	return status;
}

/* --- What options mean in combination --- */

static bool needs_stacks(const struct outputs_config *outputs)
{
	for (size_t i = 0; i < outputs->n; i++)
		if (outputs->all[i].format->needs_stacks)
			return true;
	return false;
}

static bool has_limited_tables(const struct outputs_config *outputs)
{
	for (size_t i = 0; i < outputs->n; i++)
		if (outputs->all[i].settings.limit && outputs->all[i].format->tables)
			return true;
	return false;
}

/* True for a file in which every record needs the first one. */
static bool has_limited_pages(const struct outputs_config *outputs)
{
	for (size_t i = 0; i < outputs->n; i++)
		if (outputs->all[i].settings.limit && outputs->all[i].format->begin &&
		    !(outputs->all[i].file && output_path_varies(outputs->all[i].file)))
			return true;
	return false;
}

#define GIVE_ONE "give one PID, without --all, --cgroup, --container or --follow-fork"

struct option_rule {
	bool wrong;
	const char *error, *hint;
};

static exit_status rules_apply(const struct option_rule *rules, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!rules[i].wrong)
			continue;
		log_error("%s", rules[i].error);
		log_hint("%s", rules[i].hint);
		return EX_USAGE;
	}
	return 0;
}

/* True if the target may be several processes. */
static bool names_multiple(const struct options *options)
{
	return (options->pids[0] && options->pids[1]) || options->all || options->cgroup ||
	       options->container || options->follow_fork;
}

static exit_status refuse_process(const struct options *options)
{
	bool many = names_multiple(options);
	const struct option_rule rules[] = {
		{ options->list_probes && many, "option --list-probes looks at one process",
		  GIVE_ONE },
		{ options->follow_restart && many,
		  "option --follow-restart needs a target of one process",
		  "--cgroup, --container and --follow-fork go on with new processes by "
		  "themselves" },
		{ options->machine && many, "option --machine looks at one process",
		  "give one PID or none, without --all, --cgroup, --container or --follow-fork" },
		{ options->follow_restart && options->sample_count == 1,
		  "option --follow-restart needs several samples",
		  "give --sample-count, --duration or --listen" },
		{ options->follow_restart && options->outputs.listen &&
			  options_scans(options) & SCAN_TRACES,
		  "option --follow-restart cannot be combined with stacks and --listen",
		  "leave out --syscall-events, --off-cpu and --profile, or --listen" },
		{ options->command && !*options->command, "there is no command after --",
		  "give one, as in: kernel_delay -- ls -l" },
		{ options->pass_status && !options->command, "option --exit-status needs a command",
		  "give one, as in: -- make check" },
	};

	return rules_apply(rules, sizeof(rules) / sizeof(*rules));
}

static bool is_to_stdout(const struct outputs_config *outputs)
{
	for (size_t i = 0; i < outputs->n; i++)
		if (!outputs->all[i].file)
			return true;
	return false;
}

exit_status options_check_together(const struct options *options)
{
	bool traces = options_scans(options) & SCAN_TRACES;
	const struct option_rule rules[] = {
		{ options->trigger_worst && !options->sample_count &&
			  options->duration == UINT64_MAX && !options->command,
		  "attribute worst needs an end of the run",
		  "give --duration, or --sample-count for a number of samples" },
		{ options->outputs.compare && options->replay &&
			  !strcmp(options->outputs.compare, "-") && !strcmp(options->replay, "-"),
		  "options --compare and --replay cannot both read standard input",
		  "give a file to one of them" },
		{ syscall_set_is_empty(&options->calls), "no system call is left to list",
		  "name other ones with --syscall-filter" },
		{ options->outputs.live && is_to_stdout(&options->outputs),
		  "option --live cannot be combined with output to standard output",
		  "the view is there; give -o FORMAT:FILE" },
		{ has_limited_tables(&options->outputs),
		  "attribute limit cannot be combined with --output csv",
		  "what it removes would be missing from the tables" },
		{ has_limited_pages(&options->outputs),
		  "attribute limit cannot be combined with --output html in one file",
		  "give each sample a page of its own: html:FILE-%n.html" },
		{ needs_stacks(&options->outputs) && !options->replay && !traces,
		  "option --output folded needs stacks",
		  "give --syscall-events, --off-cpu or --profile" },
	};

	return refuse_process(options) ?: rules_apply(rules, sizeof(rules) / sizeof(*rules));
}
