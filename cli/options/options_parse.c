/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "options_parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/kernel_delay.h"
#include "cli/base/array.h"
#include "cli/base/clock.h"
#include "cli/base/log.h"
#include "cli/output/output_path.h"
#include "options_read.h"
#include "options_table.h"

/* --- Options files, one option per line: @FILE --- */

#define BLANKS " \t\r\n"

struct option_file {
	const char *path;
	size_t line; /* current line, from 1 */
	struct option_texts *texts;
	options_found *found;
	void *context;
};

static bool is_blank(char c)
{
	return c && strchr(BLANKS, c);
}

/* Strips surrounding blanks and the comment, which begins the line or follows a blank. */
static char *line_trim(char *line)
{
	size_t length = 0;

	line += strspn(line, BLANKS);
	for (char *at = line; *at && !(*at == '#' && (at == line || is_blank(at[-1]))); at++)
		if (!is_blank(*at))
			length = (size_t)(at - line) + 1;
	line[length] = '\0';
	return line;
}

/* Joins an option and its value into a word. NULL without memory. */
static char *word_new(const char *line)
{
	size_t name = strcspn(line, BLANKS "=");
	char *word;

	if (*line != '-' || !is_blank(line[name]))
		return strdup(line);
	if (asprintf(&word, "%.*s%s%s", (int)name, line, line[1] == '-' ? "=" : "",
		     line + name + strspn(line + name, BLANKS)) < 0)
		return NULL;
	return word;
}

static exit_status word_walk(struct option_file *file, char *word)
{
	char *argv[] = { (char[]){ PROGRAM }, word, NULL }, **command;
	int at, status;

	if (!strncmp(word, "--", 2) && (!word[2] || word[2] == '=')) {
		log_error("an options file cannot hold a command");
		log_hint("give it on the command line, after --");
		return EX_USAGE;
	}
	status = options_walk(2, argv, file->found, file->context, &at, &command);
	if (status == -EINVAL)
		return options_refuse_word(word);
	return status < 0 ? log_no_memory() : status;
}

static exit_status line_read(struct option_file *file, char *line)
{
	struct option_texts *texts = file->texts;
	char *word;
	int status;

	line = line_trim(line);
	if (!*line)
		return 0;
	if (ARRAY_GROW(texts->all, texts->n, texts->room))
		return log_no_memory();
	word = word_new(line);
	if (!word)
		return log_no_memory();
	texts->all[texts->n++] = word;
	status = word_walk(file, word);
	if (status)
		log_hint("see line %zu of %s", file->line, file->path);
	return status;
}

static exit_status unreadable(const char *path, const char *why)
{
	log_error("cannot read options from '%s': %s", path, why);
	log_hint(
		"@FILE stands for the options in FILE, one per line; give a process of such a name "
		"with --comm");
	return EX_NOINPUT;
}

/* Reads a text, cutting it into lines. */
static exit_status lines_read(struct option_file *file, char *text)
{
	int status = 0;

	while (text && !status) {
		char *line = strsep(&text, "\n");

		file->line++;
		status = line_read(file, line);
	}
	return status;
}

/* Reads the file, which must be text, into OPTIONS_FILE_MAX + 2 bytes. */
static exit_status text_read(const char *path, char *text)
{
	FILE *in = fopen(path, "re");
	size_t size;
	int error;

	if (!in)
		return unreadable(path, strerror(errno));
	errno = 0;
	size = fread(text, 1, OPTIONS_FILE_MAX + 1, in);
	error = ferror(in) ? (errno ? errno : EIO) : 0;
	fclose(in);
	text[size] = '\0';
	if (error)
		return unreadable(path, strerror(error));
	if (size > OPTIONS_FILE_MAX)
		return unreadable(path, "it is larger than 64 KiB");
	if (strlen(text) != size)
		return unreadable(path, "it is not a text file");
	return 0;
}

/* Calls found() for the option or process on each line of a file, as if it were on the command
 * line. The words go to *texts, as options may point to them. Returns 0, or an exit status after
 * printing what is wrong, and on which line. */
static exit_status options_file_walk(const char *path, struct option_texts *texts,
				     options_found *found, void *context)
{
	struct option_file file = {
		.path = path, .texts = texts, .found = found, .context = context
	};
	char *text = malloc(OPTIONS_FILE_MAX + 2); /* the stack may be smaller */
	int status;

	if (!text)
		return log_no_memory();
	status = text_read(path, text) ?: lines_read(&file, text);
	free(text);
	return status;
}

/* Frees the texts. */
static void option_texts_clear(struct option_texts *texts)
{
	for (size_t i = 0; i < texts->n; i++)
		free(texts->all[i]);
	free(texts->all);
	*texts = (struct option_texts){ 0 };
}

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

/* Also refuses an option that needs triggers, or two of them. */
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

/* Refuses given options, by row index, that are not valid in every mode of the options. Process
 * is one given without an option, or NULL. Returns 0, or an exit status after printing what is
 * wrong. */
static exit_status options_modes_check(const struct options *options,
				       const bool given[OPTIONS_ROOM], const char *process)
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

/* --- The command line --- */

#define COUNT_UNSET UINT64_MAX

struct reading {
	struct options *options;
	const char *process; /* given without an option */
	bool in_file;
	bool given[OPTIONS_ROOM]; /* by row index */
};

static exit_status word_read(void *context, const struct option_row *row, char *text);

static exit_status file_read(struct reading *reading, const char *path)
{
	int status;

	if (reading->in_file) {
		log_error("an options file cannot name another one: '@%s'", path);
		log_hint("give both on the command line");
		return EX_USAGE;
	}
	reading->in_file = true;
	status = options_file_walk(path, &reading->options->texts, word_read, reading);
	reading->in_file = false;
	return status;
}

static exit_status word_read(void *context, const struct option_row *row, char *text)
{
	struct reading *reading = context;

	if (row) {
		reading->given[option_row_index(row)] = true;
		return row->read(row, text ? text : row->implied, reading->options);
	}
	if (*text == '@')
		return file_read(reading, text + 1);
	if (reading->process) {
		log_error("unexpected argument '%s': the process is '%s'", text, reading->process);
		return options_see_help();
	}
	reading->process = text;
	return 0;
}

static exit_status words_read(int argc, char **argv, struct reading *reading)
{
	struct options *options = reading->options;
	int at, status = options_walk(argc, argv, word_read, reading, &at, &options->command);

	if (status == -EINVAL)
		return options_refuse_word(argv[at]);
	if (status < 0)
		return log_no_memory();
	if (!status && reading->process)
		status = options_read_process(reading->process, options);
	return status ? status : options_modes_check(options, reading->given, reading->process);
}

static int presets_read(struct options *options)
{
	const struct option_row *row;
	int status = 0;

	for (size_t i = 0; !status && (row = option_row_at(i)); i++)
		if (row->preset)
			status = row->read(row, row->preset, options);
	return status;
}

/* --- What options mean in combination --- */

bool options_want_traces(const struct options *options)
{
	return options->call_events || options->off_cpu || options->profile_hz;
}

static bool has_triggers(const struct options *options)
{
	return options->triggers[KD_START] || options->triggers[KD_STOP] || options->long_poll;
}

static bool needs_stacks(const struct outputs_config *outputs)
{
	for (size_t i = 0; i < outputs->n; i++)
		if (outputs->all[i].format->needs_stacks)
			return true;
	return false;
}

static bool has_tables(const struct outputs_config *outputs)
{
	for (size_t i = 0; i < outputs->n; i++)
		if (outputs->all[i].format->tables)
			return true;
	return false;
}

/* True for a file in which every record needs the first one. */
static bool has_pages(const struct outputs_config *outputs)
{
	for (size_t i = 0; i < outputs->n; i++)
		if (outputs->all[i].format->begin &&
		    !(outputs->all[i].file && output_path_varies(outputs->all[i].file)))
			return true;
	return false;
}

/* A copy has a multiple of the page size, and the buffer holds one while another is read. */
static void round_sizes(struct options *options)
{
	uint64_t pages = 1, least;

	options->stack_bytes = (options->stack_bytes + KD_STACK_PAGE - 1) / KD_STACK_PAGE;
	options->stack_bytes *= KD_STACK_PAGE;
	least = 2 * (options->stack_bytes + sizeof(struct kd_trace)) / BUFFER_PAGE + 1;
	while (pages < options->buffer_pages || pages < least)
		pages *= 2;
	options->buffer_pages = pages;
}

#define LIVE_WINDOW NSEC_PER_SEC /* the help says so too */

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
static bool names_several(const struct options *options)
{
	return (options->pids[0] && options->pids[1]) || options->all || options->cgroup ||
	       options->container || options->follow_fork;
}

static exit_status refuse_choice(const struct options *options)
{
	bool many = names_several(options);
	const struct option_rule rules[] = {
		{ *options->tids && options->outputs.report.threads,
		  "options --tid and --threads cannot be combined", "give one of them" },
		{ *options->tids && (options->follow_fork || options->cgroup || options->container),
		  "option --tid cannot be combined with --follow-fork, --cgroup or --container",
		  "give --threads and a pattern of names" },
		{ *options->tids && options->follow_restart,
		  "option --tid cannot be combined with --follow-restart",
		  "give --threads and a pattern of names" },
		{ options->outputs.allow_host && !options->outputs.listen,
		  "option --allow-host needs --listen", "give the port that requests come to" },
		{ options->list_probes && many, "option --list-probes looks at one process",
		  GIVE_ONE },
	};

	return rules_apply(rules, sizeof(rules) / sizeof(*rules));
}

static exit_status refuse_process(const struct options *options)
{
	bool group = options->cgroup || options->container;
	bool many = names_several(options);
	const struct option_rule rules[] = {
		{ *options->pids && options->comm, "options --pid and --comm cannot be combined",
		  "give one of them" },
		{ options->pidfile && (*options->pids || options->comm),
		  "option --pidfile cannot be combined with --pid or --comm", "give one of them" },
		{ options->cgroup && options->container,
		  "options --cgroup and --container cannot be combined", "give one of them" },
		{ group && (*options->pids || options->comm || options->pidfile),
		  "options --cgroup and --container cannot be combined with --pid, --comm or "
		  "--pidfile",
		  "give one of them" },
		{ (options->exe || options->uid != UID_ANY) && !options->comm,
		  "options --exe and --uid need --comm",
		  "name the process, as in: --comm redis-server --uid redis" },
		{ options->all && !options->comm, "option --all needs --comm",
		  "name the processes, as in: --comm postgres --all" },
		{ options->pid_ns && !*options->pids && !options->pidfile,
		  "option --pid-ns needs --pid or --pidfile",
		  "give the PID that the process has in its namespace" },
		{ options->follow_restart && many,
		  "option --follow-restart needs a target of one process",
		  "--cgroup, --container and --follow-fork go on with new processes by "
		  "themselves" },
		{ options->machine && many, "option --machine looks at one process",
		  "give one PID or none, without --all, --cgroup, --container or --follow-fork" },
		{ options->wait && !options->comm && !options->pidfile && !options->cgroup,
		  "option --wait needs --comm, --pidfile or --cgroup", "name what to wait for" },
		{ options->follow_restart && options->sample_count == 1,
		  "option --follow-restart needs several samples",
		  "give --sample-count, --duration or --listen" },
		{ options->follow_restart && options->outputs.listen &&
			  options_want_traces(options),
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

static exit_status refuse_together(const struct options *options)
{
	bool traces = options_want_traces(options), worst = options->trigger_worst;
	const struct option_rule rules[] = {
		{ options->any && options->target_only,
		  "options --trigger-any and --trigger-target-only cannot be combined",
		  "without either, system calls count for the process only, other probes of the "
		  "kernel for any process" },
		{ worst && !options->sample_count && options->duration == UINT64_MAX &&
			  !options->command,
		  "option --trigger-worst needs an end of the run",
		  "give --duration, or --sample-count for a number of samples" },
		{ options->full && options->summary,
		  "options --full and --summary cannot be combined", "give one of them" },
		{ options->calls_chosen && !options->call_events && !options->off_cpu,
		  "option --syscall-filter needs --syscall-events or --off-cpu",
		  "give --syscall-events, or -s, as well" },
		{ options->waits_chosen && !options->off_cpu,
		  "option --wait-filter needs --off-cpu",
		  "give --off-cpu as well, as in --off-cpu=1ms" },
		{ options->all_wakers && !options->off_cpu, "option --wakers needs --off-cpu",
		  "give --off-cpu as well, as in --off-cpu=1ms" },
		{ options->outputs.compare && options->replay &&
			  !strcmp(options->outputs.compare, "-") && !strcmp(options->replay, "-"),
		  "options --compare and --replay cannot both read standard input",
		  "give a file to one of them" },
		{ syscall_set_is_empty(&options->calls), "no system call is left to list",
		  "name other ones with --syscall-filter" },
		{ options->outputs.live && is_to_stdout(&options->outputs),
		  "option --live cannot be combined with output to standard output",
		  "the view is there; give -o FORMAT:FILE" },
		{ options->outputs.listen && worst,
		  "option --listen cannot be combined with --trigger-worst",
		  "it serves samples as they are taken" },
		{ options->outputs.limit && has_tables(&options->outputs),
		  "option --output-limit cannot be combined with --output csv",
		  "what it removes would be missing from the tables" },
		{ options->outputs.limit && has_pages(&options->outputs),
		  "option --output-limit cannot be combined with --output html in one file",
		  "give each sample a page of its own: html:FILE-%n.html" },
		{ options->counters.per_cpu && !options->counters.n,
		  "option --per-cpu needs --counters", "give --counters default, as well" },
		{ needs_stacks(&options->outputs) && !options->replay && !traces,
		  "option --output folded needs stacks",
		  "give --syscall-events, --off-cpu or --profile" },
	};

	return refuse_process(options)
		       ?: refuse_choice(options)
		       ?: rules_apply(rules, sizeof(rules) / sizeof(*rules));
}

static void warn_of_deltas(const struct options *options)
{
	bool pairs = options->long_poll ||
		     (options->triggers[KD_START] && options->triggers[KD_STOP]);

	if ((options->trigger_deltas.others || options->trigger_deltas.n) && !pairs &&
	    !options->outputs.quiet)
		log_warn("--trigger-delta has no effect without both triggers");
}

/* True if samples come until something ends the run: a single sample would not wait for that. */
static bool has_other_end(const struct options *options)
{
	return options->duration != UINT64_MAX || options->outputs.listen ||
	       options->outputs.live || options->trigger_worst ||
	       (options->command && (has_triggers(options) || options->record_on));
}

/* Chooses number and length of samples. A command's sample lasts as long as the command, or the
 * run. */
static void lengths_choose(struct options *options)
{
	bool unset = options->sample_count == COUNT_UNSET;
	bool whole = options->command && !options->sample_time_given && !options->record_on &&
		     !has_triggers(options) &&
		     (unset ? !options->outputs.listen : options->sample_count == 1);

	if (unset)
		options->sample_count = has_other_end(options) && !whole ? 0 : 1;
	if (whole)
		options->sample_time = UINT64_MAX;
	else if (options->outputs.live && !options->sample_time_given)
		options->sample_time = LIVE_WINDOW;
}

exit_status options_parse(int argc, char **argv, struct options *options)
{
	struct reading reading = { .options = options };
	int status;

	*options = (struct options){ .sample_count = COUNT_UNSET,
				     .duration = UINT64_MAX,
				     .uid = UID_ANY };
	syscall_set_fill(&options->calls);
	status = presets_read(options) ?: words_read(argc, argv, &reading);
	if (status)
		return status;
	lengths_choose(options);
	options->outputs.has_command = options->command;
	if (options->record_on && !options->sample_time_given)
		options->sample_time = 100 * NSEC_PER_MSEC;
	if (options->record_on && !options->record)
		options->record = 5 * NSEC_PER_SEC;
	options->outputs.one = options->sample_count == 1 || options->trigger_worst ||
			       options->replay;
	if (options->record && has_triggers(options))
		options->outputs.one = false; /* SIGUSR1 may ask for others */
	options->outputs.report.extent = options->full      ? REPORT_FULL
					 : options->summary ? REPORT_SUMMARY
							    : REPORT_SHORT;
	if (options->skip_polls)
		syscall_set_remove_polls(&options->calls);
	round_sizes(options);
	status = refuse_together(options);
	if (!status)
		warn_of_deltas(options);
	options->calls_chosen |= options->skip_polls;
	return status;
}

void options_clear(struct options *options)
{
	option_texts_clear(&options->texts);
}
