/* SPDX-License-Identifier: Apache-2.0 */
#include "options_modes.h"

#include <stdio.h>

#include "cli/base/log.h"

struct mode {
	unsigned int in;
	const char *name, *why;
};

/* Those first that say most of what the run is. */
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

/* Refuses what is given, as messages name it, if one of these modes leaves it no meaning. */
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

/* Also refuses it if there are no triggers that it needs, or only one. */
static exit_status row_check(const struct option_row *row, unsigned int is)
{
	unsigned int too_few = row->in & IN_PAIR ? IN_ONE : 0;
	char what[64];
	int status;

	snprintf(what, sizeof(what), "option --%s", row->name);
	status = refuse_in(what, row->in | too_few, is);
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

exit_status options_modes_check(const struct options *options, const bool given[OPTIONS_ROOM],
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
	return status;
}
