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
#include "cli/base/names.h"
#include "options_read.h"
#include "options_table.h"

struct reading {
	struct options *options;
	char *process;           /* given without an option */
	const char *file;        /* of options, while it is read; NULL: none */
	size_t line;             /* of that, from 1 */
	bool given[OPTIONS_MAX]; /* by row index */
	bool moved[OPTIONS_MAX]; /* as an option, although it is an attribute */
};

static exit_status word_read(void *context, const struct option_row *row, char *text);

/* --- Options files, one option per line: @FILE --- */

#define BLANKS " \t\r\n"

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

/* Has it freed with the others. Returns it; NULL without memory. */
static char *text_keep(struct option_texts *texts, char *text)
{
	if (!text || ARRAY_ADD(texts->all, texts->n, texts->capacity, text)) {
		free(text);
		return NULL;
	}
	return text;
}

static exit_status word_walk(struct reading *reading, char *word)
{
	char *argv[] = { (char[]){ PROGRAM }, word, NULL }, **command;
	int at, status;

	if (!strncmp(word, "--", 2) && (!word[2] || word[2] == '=')) {
		log_error("an options file cannot hold a command");
		log_hint("give it on the command line, after --");
		return EX_USAGE;
	}
	status = options_walk(2, argv, word_read, reading, &at, &command);
	if (status == -EINVAL)
		return options_refuse_word(word);
	return status < 0 ? log_no_memory() : status;
}

static exit_status line_read(struct reading *reading, char *line)
{
	char *word;
	int status;

	reading->line++;
	line = line_trim(line);
	if (!*line)
		return 0;
	word = text_keep(&reading->options->texts, word_new(line));
	if (!word)
		return log_no_memory();
	status = word_walk(reading, word);
	if (status)
		log_hint("see line %zu of %s", reading->line, reading->file);
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

/* Reads the option or process on each line of a file, as if it were on the command line. */
static exit_status file_read(struct reading *reading, const char *path)
{
	char *all, *text;
	int status;

	if (reading->file) {
		log_error("an options file cannot name another one: '@%s'", path);
		log_hint("give both on the command line");
		return EX_USAGE;
	}
	all = text = malloc(OPTIONS_FILE_MAX + 2); /* the stack may be smaller */
	if (!all)
		return log_no_memory();
	reading->file = path;
	reading->line = 0;
	status = text_read(path, text);
	while (text && !status)
		status = line_read(reading, strsep(&text, "\n"));
	reading->file = NULL;
	free(all);
	return status;
}

/* --- The command line --- */

#define COUNT_UNSET UINT64_MAX

/* --- Attributes --- */

/* The next attribute of an option behind a comma, NULL if there is none. */
static char *attribute_next(const struct option_row *option, char *text)
{
	while ((text = strchr(text, ',')))
		if (attribute_find(option, ++text))
			return text;
	return NULL;
}

/* Refuses the value if what stands behind one of its commas is almost an attribute. */
static exit_status refuse_similar(const struct option_row *option, const char *value)
{
	const struct option_row *row;
	struct names_closest closest;
	bool is_similar = false;
	char name[64];

	while (!is_similar && (value = strchr(value, ','))) {
		value++;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(value, ",=:"), value);
		if (strlen(name) < 4 || attribute_find(option, name))
			continue; /* the reader of the value says that more is behind it */
		names_closest_init(&closest, name);
		for (size_t i = 0; (row = option_row_at(i)); i++)
			if (row->of && attribute_find(option, attribute_name(row)) == row)
				names_closest_offer(&closest, attribute_name(row));
		is_similar = closest.n;
		if (is_similar) {
			log_error("option --%s has no attribute '%s'", option->name, name);
			names_closest_hint(&closest, "", NULL);
		}
		names_closest_clear(&closest);
	}
	return is_similar ? EX_USAGE : 0;
}

/* format: of the output that has it; NULL: another option does. */
static exit_status attribute_read(struct reading *reading, const struct option_row *row,
				  const char *value, const struct output_format *format)
{
	char called[64];

	option_called(row, called);
	reading->given[option_row_index(row)] = true;
	if (format && row->formats &&
	    !option_list_has(row->formats, format->name, strlen(format->name))) {
		log_error("%s means nothing to the format %s", called, format->name);
		log_hint("it is for: %s", row->formats);
		return EX_USAGE;
	}
	if (!value == (row->takes == TAKES_NONE))
		return row->read(row, value, reading->options);
	log_error(value ? "%s takes no value" : "%s needs a value", called);
	return options_see_help();
}

/* Reads a list of them, which is cut to pieces. */
static exit_status attributes_read(struct reading *reading, const struct option_row *option,
				   char *list, const struct output_format *format)
{
	int status = 0;

	while (list && !status) {
		const struct option_row *row = attribute_find(option, list);
		char *next = attribute_next(option, list), *value;

		if (next)
			next[-1] = '\0';
		value = strchr(list, '=');
		status = attribute_read(reading, row, value ? value + 1 : NULL, format);
		list = next;
	}
	return status;
}

/* Cuts the attributes off an option's value, of which a copy is made: *value is then without them,
 * NULL if nothing is left of it. *list is NULL if there are none. */
static exit_status attributes_cut(struct reading *reading, const struct option_row *option,
				  char **value, char **list)
{
	bool may_lack = option->takes > TAKES_VALUE || option->preset;
	char *copy;

	*list = NULL;
	if (!*value || !strpbrk(*value, may_lack ? ",=" : ","))
		return 0;
	copy = text_keep(&reading->options->texts, strdup(*value));
	if (!copy)
		return log_no_memory();
	if (may_lack && attribute_find(option, copy)) {
		*list = copy;
		*value = NULL;
		return 0;
	}
	*list = attribute_next(option, copy);
	if (*list)
		(*list)[-1] = '\0';
	*value = copy;
	return refuse_similar(option, copy);
}

/* Of a row that was given as an option, with what is behind its value. */
static exit_status option_read(struct reading *reading, const struct option_row *row, char *value)
{
	struct options *options = reading->options;
	bool again = reading->given[option_row_index(row)];
	int status = attributes_cut(reading, row, &value, &options->attributes);

	reading->given[option_row_index(row)] = true;
	reading->moved[option_row_index(row)] |= row->of != NULL;
	if (status)
		return status;
	if (value && *value && row->read == read_flag && row->takes != TAKES_NONE)
		return options_refuse_value(row, value, "is not what it takes", "give --%s=%s",
					    row->name, row->value);
	/* Without a value: the preset one, but attributes alone keep one that was given. */
	if (value || (row->takes != TAKES_VALUE && !(again && options->attributes)))
		status = row->read(row, value ? value : row->implied, options);
	return status ?: attributes_read(reading, row, options->attributes, NULL);
}

static exit_status word_read(void *context, const struct option_row *row, char *text)
{
	struct reading *reading = context;

	if (row)
		return option_read(reading, row, text);
	if (*text == '@')
		return file_read(reading, text + 1);
	if (reading->process) {
		log_error("unexpected argument '%s': the process is '%s'", text, reading->process);
		return options_see_help();
	}
	reading->process = text;
	return 0;
}

/* As --pid or --comm would be. */
static exit_status process_read(struct reading *reading)
{
	const char digit = *reading->process;
	const struct option_row *row = option_row_find(digit >= '0' && digit <= '9' ? 'p' : 'C');
	char *value = reading->process, *list;
	int status = attributes_cut(reading, row, &value, &list)
			     ?: options_read_process(value, reading->options);

	if (!status)
		reading->given[option_row_index(row)] = true;
	return status ?: attributes_read(reading, row, list, NULL);
}

static exit_status output_settle(struct reading *reading, struct output *output,
				 const struct option_row *option)
{
	struct output_settings *settings = &reading->options->outputs.settings;
	const struct output_settings common = *settings;
	int status = attributes_read(reading, option, output->attributes, output->format);

	output->settings = *settings;
	*settings = common;
	return status;
}

/* What each output has of its own, and else of what is given for all. */
static exit_status outputs_settle(struct reading *reading)
{
	struct outputs_config *outputs = &reading->options->outputs;
	size_t similar;
	const struct option_row *listen = option_row_named("listen", strlen("listen"), &similar);
	int status = output_settle(reading, &outputs->served, listen);

	outputs->settings.report.extent = reading->options->full      ? REPORT_FULL
					  : reading->options->summary ? REPORT_SUMMARY
								      : REPORT_SHORT;
	for (size_t i = 0; i < outputs->n && !status; i++)
		status = output_settle(reading, &outputs->all[i], option_row_find('o'));
	return status;
}

/* How what was given the old way is given now. */
static void moved_tell(const struct reading *reading)
{
	const struct option_row *row;
	attribute_text spelled;

	for (size_t i = 0; (row = option_row_at(i)) && !reading->options->outputs.quiet; i++) {
		if (reading->moved[i] && *row->of)
			log_note("--%s is now an attribute: %s", row->name,
				 attribute_spelled(row, spelled));
		else if (reading->moved[i])
			log_note("--%s means nothing any more", row->name);
	}
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
		status = process_read(reading);
	return status ?: outputs_settle(reading)
		      ?: options_check_modes(options, reading->given, reading->process);
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

static bool has_triggers(const struct options *options)
{
	return options->triggers[KD_START] || options->triggers[KD_STOP] || options->long_poll;
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
	bool unlimited = options->command && !options->sample_time_given && !options->record_on &&
			 !has_triggers(options) &&
			 (unset ? !options->outputs.listen : options->sample_count == 1);

	if (unset)
		options->sample_count = has_other_end(options) && !unlimited ? 0 : 1;
	if (unlimited)
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
	moved_tell(&reading);
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
	if (options->skip_polls)
		syscall_set_remove_polls(&options->calls);
	round_sizes(options);
	status = options_check_together(options);
	if (!status)
		warn_of_deltas(options);
	options->calls_chosen |= options->skip_polls;
	return status;
}

void options_clear(struct options *options)
{
	struct option_texts *texts = &options->texts;

	for (size_t i = 0; i < texts->n; i++)
		free(texts->all[i]);
	free(texts->all);
	*texts = (struct option_texts){ 0 };
}
