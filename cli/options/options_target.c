/* SPDX-License-Identifier: Apache-2.0 */
/* Options for the target process, and their readers. */
#define _GNU_SOURCE
#include "options_read.h"

#include <ctype.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/base/parse.h"

/* Parses comma-separated PIDs. Returns 0 or a negative errno. */
static int pids_parse(const char *text, pid_t pids[PIDS_MAX])
{
	char number[24];
	uint64_t pid;
	size_t n = 0;
	int error = 0;

	for (const char *at = text; at && !error; n++) {
		size_t length = strcspn(at, ",");

		if (n == PIDS_MAX)
			return -E2BIG;
		snprintf(number, sizeof(number), "%.*s", (int)length, at);
		error = length < sizeof(number) ? parse_u64(number, 1, INT32_MAX, &pid) : -ERANGE;
		if (!error)
			pids[n] = (pid_t)pid;
		at = at[length] ? at + length + 1 : NULL;
	}
	if (!error && n < PIDS_MAX)
		pids[n] = 0;
	return error;
}

/* most: hint if there are too many; form: their syntax. */
static exit_status ids_read(const struct option_row *row, const char *text, pid_t ids[PIDS_MAX],
			    const char *most, const char *form)
{
	switch (pids_parse(text, ids)) {
	case 0:
		return 0;
	case -E2BIG:
		return options_refuse_value(row, text, "has too many numbers",
					    "give at most %d, or %s", PIDS_MAX, most);
	case -ERANGE:
		return options_refuse_value(row, text, "is out of range",
					    "give a number from 1 to %d, as in: %s", INT32_MAX,
					    form);
	default:
		return options_refuse_value(
			row, text, "is not a whole number, or several with commas between them",
			"give a number from 1 to %d, as in: %s", INT32_MAX, form);
	}
}

static int read_pids(const struct option_row *row, const char *text, struct options *options)
{
	return ids_read(row, text, option_field(row, options), "--cgroup or --comm NAME --all",
			"--pid 12 or --pid 12,34");
}

static int read_tids(const struct option_row *row, const char *text, struct options *options)
{
	return ids_read(row, text, option_field(row, options),
			"--threads and a pattern of their names", "--tid 12 or --tid 12,34");
}

static exit_status take_name(const char *text, const char **name)
{
	if (!*text) {
		log_error("the name of the process is empty");
		log_hint("give it as in /proc/PID/comm");
		return EX_USAGE;
	}
	if (strlen(text) >= KD_COMM_LEN) {
		log_error("'%s' is too long for the name of a process", text);
		log_hint("the kernel keeps %d bytes of it, as in /proc/PID/comm: give '%.*s'",
			 KD_COMM_LEN - 1, KD_COMM_LEN - 1, text);
		return EX_USAGE;
	}
	*name = text;
	return 0;
}

static exit_status read_name(const struct option_row *row, const char *text,
			     struct options *options)
{
	return take_name(text, option_field(row, options));
}

static exit_status read_user(const struct option_row *row, const char *text,
			     struct options *options)
{
	const struct passwd *user;
	uint64_t number;

	if (!parse_u64(text, 0, UINT32_MAX - 1, &number))
		return option_store(row, number, options);
	user = getpwnam(text);
	if (user)
		return option_store(row, user->pw_uid, options);
	return options_refuse_value(row, text, "is no user of this machine",
				    "give a name as `getent passwd` lists it, or a number");
}

exit_status options_read_process(const char *text, struct options *options)
{
	const char *other = options->command     ? "a command"
			    : options->pidfile   ? "--pidfile"
			    : options->cgroup    ? "--cgroup"
			    : options->container ? "--container"
						 : NULL;
	int error;

	if (other) {
		log_error("'%s' and %s are given, but only one target can be watched", text, other);
		log_hint("give one of them");
		return EX_USAGE;
	}
	if (*options->pids || options->comm) {
		log_error("the process is given twice: as '%s' and with --%s", text,
			  *options->pids ? "pid" : "comm");
		log_hint("give it once");
		return EX_USAGE;
	}
	if (options->list_probes && strchr(text, ':')) {
		log_error("'%s' is not a process", text);
		log_hint("to list what matches it, give --list-probes='%s'", text);
		return EX_USAGE;
	}
	if (!isdigit((unsigned char)*text) || text[strspn(text, "0123456789,")])
		return take_name(text, &options->comm);
	error = pids_parse(text, options->pids);
	if (!error)
		return 0;
	if (error == -ERANGE)
		log_error("'%s' is out of range for a PID", text);
	else
		log_error("'%s' is not a PID, or up to %d with commas between them", text,
			  PIDS_MAX);
	log_hint("give a number from 1 to %d; or a name of digits with --comm", INT32_MAX);
	return EX_USAGE;
}

static int read_wait(const struct option_row *row, const char *text, struct options *options)
{
	return text ? read_duration(row, text, options) : option_store(row, UINT64_MAX, options);
}

/* The help appends the default and the implied value. */
static const struct option_row rows[] = {
	{ .help = "Target:", .value = "target" },
	{ "pid", 'p', TAKES_VALUE, "PID[,PID...]",
	  "Watch the process with this PID, or several as one target; PIDs alone do the same.",
	  .brief = "the process, or several as one target", .read = read_pids, INTO(pids),
	  .words = WORDS_PIDS, .in = PROCESS },
	{ "pid-ns", 0, TAKES_VALUE, "PID",
	  "Take the PID as it is in the PID namespace of this process, such as one in a container; "
	  "also of --pidfile.",
	  NUMBER(pid_ns, 1, INT32_MAX), .words = WORDS_PIDS, .in = PROCESS, .of = "pid pidfile",
	  .attribute = "ns", .needs = "pid pidfile",
	  .why = "give the PID that the process has in its namespace" },
	{ "comm", 'C', TAKES_VALUE, "NAME",
	  "Watch the process with this name; a NAME alone does the same (default: the running "
	  "ovs-vswitchd, else the running vpp_main or vpp).",
	  .read = read_name, INTO(comm), .words = WORDS_NAMES, .in = PROCESS, .not_with = "pid" },
	{ "exe", 0, TAKES_VALUE, "FILE",
	  "Only a process that executes this file. Any process can take any name.",
	  .read = read_file, INTO(exe), .words = WORDS_FILES, .in = PROCESS, .of = "comm",
	  .needs = "comm", .why = "name the process, as in: --comm redis-server,exe=FILE" },
	{ "uid", 0, TAKES_VALUE, "USER|UID",
	  "Only a process whose real and effective user is this one.", .read = read_user, INTO(uid),
	  .words = WORDS_USERS, .in = PROCESS, .of = "comm", .needs = "comm",
	  .why = "name the process, as in: --comm redis-server,uid=redis" },
	{ "all", 0, TAKES_NONE, NULL, "Watch all processes with the name of --comm as one target.",
	  FLAG(all), .in = PROCESS, .needs = "comm",
	  .why = "name the processes, as in: --comm postgres --all" },
	{ "cgroup", 0, TAKES_VALUE, "PATH",
	  "Watch all processes of this control group and of those below it as one target, also "
	  "those that come later. PATH is as in /proc/PID/cgroup, or that of its directory.",
	  .read = read_text, INTO(cgroup), .words = WORDS_FILES, .in = PROCESS,
	  .not_with = "container pid comm pidfile" },
	{ "container", 0, TAKES_VALUE, "NAME|ID",
	  "Watch all processes of this container as one target, also those that come later: by "
	  "name, POD/NAME, ID or the beginning of one. The name of a pod stands for all its "
	  "containers.",
	  .read = read_text, INTO(container), .in = PROCESS, .not_with = "pid comm pidfile" },
	{ "follow-fork", 0, TAKES_NONE, NULL,
	  "Watch the children of the target, too, as they are born.", FLAG(follow_fork),
	  .in = PROCESS | IN_COMMAND },
	{ "show-arguments", 0, TAKES_NONE, NULL,
	  "Of several processes, show the arguments of their command lines, too, which may hold "
	  "passwords (default: argv[0], or a title that the program wrote itself).",
	  FLAG(show_arguments), .in = SAMPLES },
	{ "tid", 0, TAKES_VALUE, "TID[,TID...]",
	  "Watch only these threads of the target: others cost next to nothing, and are not in "
	  "the report.",
	  .read = read_tids, INTO(tids), .in = SAMPLES & ~IN_COMMAND,
	  .not_with = "follow-fork cgroup container follow-restart",
	  .why = "give --threads and a pattern of names" },
	{ "threads", 0, TAKES_VALUE, "GLOB",
	  "Watch only threads whose names match, while they do. With --replay: in the text, list "
	  "only those; the verdict is about all that were watched.",
	  .read = read_glob, INTO(outputs.settings.report.threads), .in = REPORT,
	  .not_with = "tid" },
	{ "pidfile", 0, TAKES_VALUE, "FILE", "Watch the process whose PID is in FILE.",
	  .read = read_file, INTO(pidfile), .words = WORDS_FILES, .in = PROCESS,
	  .not_with = "pid comm" },
	{ "wait", 0, TAKES_ATTACHED, "DURATION",
	  "Wait until the process of --comm or --pidfile exists, or one is in the group of "
	  "--cgroup, at most this long (default: no limit).",
	  .read = read_wait, INTO(wait), .min = 1, .in = PROCESS, .needs = "comm pidfile cgroup",
	  .why = "name what to wait for" },
	{ "follow-restart", 0, TAKES_NONE, NULL,
	  "When the process ends, go on with its successor: the next one with the same name and "
	  "executable. Needs several samples, --duration or --listen.",
	  FLAG(follow_restart), .in = IN_CLOCKED | IN_RECORD_ON },
	{ "exit-status", 0, TAKES_NONE, NULL,
	  "Exit with the status of COMMAND, or 128+N if signal N ended it; if that is 0, with "
	  "this program's own.",
	  FLAG(pass_status), .in = SAMPLES & ~IN_LIVE },
};

OPTION_GROUP(options_of_target, rows);
