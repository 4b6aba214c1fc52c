/* SPDX-License-Identifier: Apache-2.0 */
/* Options for outputs: where reports go, in what form, and how the program runs. */
#define _GNU_SOURCE
#include "options_read.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/base/parse.h"

#define SORT_WORD(sort, key) key,
static const char *const colors[] = { "auto", "always", "never", NULL }; /* enum color_when */
static const char *const sorts[] = { REPORT_SORTS(SORT_WORD) NULL };

static const char *const machine_formats[] = { "text", "json", NULL };

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define WORD LETTERS "0123456789_-"

/* Lists the names of all formats: "the formats are a, b and c". Returns text. */
static const char *formats_list(char text[static 256])
{
	const struct output_format *format, *next;
	size_t length = (size_t)snprintf(text, 256, "the formats are ");

	for (size_t i = 0; (format = output_format_at(i)) && length < 256; i++) {
		next = output_format_at(i + 1);
		length += (size_t)snprintf(text + length, 256 - length, "%s%s", format->name,
					   !next                     ? ""
					   : output_format_at(i + 2) ? ", "
								     : " and ");
	}
	return text;
}

/* What a file's last suffix says of its format; NULL: nothing. Numbers say nothing, as in
 * report.1; a name without any, and without a slash, is more likely a mistyped format. */
static const struct output_format *format_of_file(const char *file)
{
	const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
	const char *dot = strrchr(name, '.');
	char suffix[20];
	size_t i = 0;

	if (!dot || dot == name || !dot[1] || strspn(dot + 1, "0123456789") == strlen(dot + 1))
		return slash || strspn(file, WORD) < strlen(file) ? output_format_at(0) : NULL;
	for (; dot[i] && i < sizeof(suffix) - 1; i++)
		suffix[i] = (char)tolower((unsigned char)dot[i]);
	suffix[i] = '\0';
	return output_format_of_suffix(suffix);
}

/* FORMAT,ATTRIBUTE:FILE is what the names of attributes in the help suggest. */
static exit_status refuse_behind(const struct option_row *row, const char *text, size_t format,
				 const char *attributes)
{
	const int length = (int)strcspn(attributes, ":");

	return options_refuse_value(row, text, "has its file behind an attribute",
				    "give %.*s:%s,%.*s", (int)format, text, attributes + length + 1,
				    length, attributes);
}

/* Finds the format at the beginning of the text. *file gets what follows its colon, or NULL
 * without one. Text without a format is a file, whose suffix says the format. */
static exit_status read_format(const struct option_row *row, const char *text,
			       struct output *output)
{
	size_t length = strcspn(text, ":");
	char list[256];

	output->format = output_format_find(text, length);
	if (output->format) {
		output->file = text[length] ? text + length + 1 : NULL;
		return 0;
	}
	if (!length)
		return options_refuse_value(row, text, "names neither a format nor a file", "%s",
					    formats_list(list));
	/* A mistyped format would become a file name. */
	if (text[length] && strspn(text, WORD) == length)
		return options_refuse_value(row, text, "does not begin with a format",
					    "%s; or give text:FILE", formats_list(list));
	/* And so would a mistyped attribute. */
	length = strcspn(text, ",");
	if (text[length] && output_format_find(text, length) && strchr(text + length, ':'))
		return refuse_behind(row, text, length, text + length + 1);
	if (text[length] && output_format_find(text, length))
		return options_refuse_value(row, text, "has an unknown attribute",
					    "--help=output lists those of a format; or give "
					    "text:FILE");
	output->format = strcmp(text, "-") ? format_of_file(text) : output_format_at(0);
	output->file = text;
	if (output->format)
		return 0;
	return options_refuse_value(row, text, "names no format, and has no suffix of one",
				    "%s; or give text:%s", formats_list(list), text);
}

/* True if the last component of a path has a % that means nothing. */
static bool has_unknown_sequence(const char *file)
{
	const char *at = strrchr(file, '/') ? strrchr(file, '/') : file;

	while ((at = strchr(at, '%'))) {
		if (!at[1] || !strchr("ntp%", at[1]))
			return true;
		at += 2;
	}
	return false;
}

static exit_status refuse_twice(const struct option_row *row, const char *file)
{
	if (file)
		log_error("option --%s: the file '%s' is given twice", row->name, file);
	else
		log_error("option --%s: two formats would go to standard output", row->name);
	log_hint("give each output a file of its own");
	return EX_USAGE;
}

static exit_status read_output(const struct option_row *row, const char *text,
			       struct options *options)
{
	struct outputs_config *outputs = &options->outputs;
	struct output output = { .attributes = options->attributes };
	int status = read_format(row, text, &output);
	char whole[512];

	if (status)
		return status;
	if (output.attributes && !output.file && strchr(output.attributes, ':')) {
		snprintf(whole, sizeof(whole), "%s,%s", text, output.attributes);
		return refuse_behind(row, whole, strlen(text), output.attributes);
	}
	if (output.format->tables && !output.file)
		return options_refuse_value(row, text,
					    "has several files, and no directory for them",
					    "give %s:DIRECTORY", output.format->name);
	if (output.file && !*output.file)
		return options_refuse_value(
			row, text, "names no file",
			"give FORMAT:FILE, or FORMAT alone for standard output");
	if (output.file && !output.format->tables &&
	    (!strcmp(output.file, "-") || !strcmp(output.file, "/dev/stdout")))
		output.file = NULL;
	if (output.file && has_unknown_sequence(output.file))
		return options_refuse_value(
			row, text, "has an unknown % sequence",
			"there are %%n, the sample's number, %%t, the time, %%p, "
			"this process's ID, and %%%%");
	for (size_t i = 0; i < outputs->n; i++) {
		const char *other = outputs->all[i].file;

		if (output.file && other ? !strcmp(output.file, other) : output.file == other)
			return refuse_twice(row, output.file);
	}
	if (outputs->n == OUTPUTS_MAX) {
		log_error("option --%s is given more than %d times", row->name, OUTPUTS_MAX);
		return options_see_help();
	}
	options->attributes = NULL; /* they are the output's */
	outputs->all[outputs->n++] = output;
	return 0;
}

static exit_status read_mode(const struct option_row *row, const char *text,
			     struct options *options)
{
	mode_t value = 0;
	size_t length = strspn(text, "01234567");

	for (size_t i = 0; i < length && i < 5; i++)
		value = value * 8 + (mode_t)(text[i] - '0');
	if (!length || text[length] || length > 4 || value > 0666 || value & 0111)
		return options_refuse_value(row, text, "is not a mode for such files",
					    "give it in octal, such as 0644 or 0600");
	options->outputs.settings.mode = value;
	return 0;
}

static exit_status read_listen(const struct option_row *row, const char *text,
			       struct options *options)
{
	const char *colon = strrchr(text, ':'), *port = colon ? colon + 1 : text;
	size_t length = colon ? (size_t)(colon - text) : 0;
	char address[ADDRESS_LEN] = "127.0.0.1";
	unsigned char binary[sizeof(struct in6_addr)];
	int family = AF_INET;
	uint64_t number;

	if (colon && *text == '[' && length > 2 && text[length - 1] == ']') {
		family = AF_INET6;
		text++;
		length -= 2;
	}
	if (colon)
		snprintf(address, sizeof(address), "%.*s", (int)length, text);
	if (length >= sizeof(address) || inet_pton(family, address, binary) != 1 ||
	    parse_u64(port, 1, UINT16_MAX, &number))
		return options_refuse_value(
			row, text, "is not an address and port",
			"give a port, or an address before it: 9155, 0.0.0.0:9155, "
			"[::1]:9155");
	options->outputs.listen = true;
	options->outputs.served.attributes = options->attributes;
	options->attributes = NULL;
	memcpy(options->outputs.address, address, sizeof(address));
	options->outputs.port = (uint16_t)number;
	return 0;
}

static exit_status read_fail_if(const struct option_row *row, const char *text,
				struct options *options)
{
	if (options->n_fail_if == FAIL_IF_MAX) {
		log_error("option --%s is given more than %d times", row->name, FAIL_IF_MAX);
		return options_see_help();
	}
	options->fail_if[options->n_fail_if++] = text;
	return 0;
}

static int read_machine(const struct option_row *row, const char *text, struct options *options)
{
	options->machine = true;
	options->machine_json = !strcmp(text, "json");
	if (options->machine_json || !strcmp(text, "text"))
		return 0;
	return options_refuse_value(row, text, "is no format of it", "give %s or %s",
				    row->choices[0], row->choices[1]);
}

static int read_nothing(const struct option_row *row, const char *text, struct options *options)
{
	(void)row, (void)text, (void)options;
	return 0;
}

/* --- Rows --- */

#define METRICS "openmetrics prometheus"

/* The help appends the default and the implied value. */
static const struct option_row rows[] = {
	{ .help = "Output:", .value = "output" },
	{ "output", 'o', TAKES_VALUE, "FORMAT[:FILE]",
	  "Write the samples to FILE, or to standard output, in this format; can be repeated "
	  "(default: text; with a COMMAND on standard error). Of a FILE alone, the suffix says the "
	  "format: .txt, .json, .html and so on. In its name "
	  "%n is the number of the sample, "
	  "%t its time, %p the process ID of this program.",
	  .brief = "text, json, html, openmetrics, perfetto, ...", .read = read_output,
	  .words = WORDS_OUTPUTS, .in = REPORT },
	{ "output-mode", 0, TAKES_VALUE, "OCTAL", "Permissions of files.", .read = read_mode,
	  INTO(outputs.settings.mode), .preset = "0600", .in = REPORT, .of = "output",
	  .attribute = "mode" },
	{ "output-limit", 0, TAKES_VALUE, "SIZE",
	  "How many bytes its files may fill, also with K, M or G; the oldest files of this run "
	  "are removed (default: no limit).",
	  .read = read_size, INTO(outputs.settings.limit), .in = REPORT, .of = "output",
	  .attribute = "limit" },
	{ "top", 0, TAKES_VALUE, "N",
	  "Print sections of the first N threads, and one line for each other thread. If N is at "
	  "most 10, fewer have sections where the report would exceed 400 lines.",
	  NUMBER(outputs.settings.report.top, 0, UINT32_MAX), .preset = "10", .in = REPORT,
	  .of = "output", .formats = "text" },
	{ "sort", 0, TAKES_VALUE, "KEY",
	  "The order of threads, also with --live: first those that were kept from running for "
	  "the longest time in total (kept) or at once (longest), or that were running, ready or "
	  "blocked for the longest time; or by name or tid.",
	  .read = read_choice, INTO(outputs.settings.report.sort), .choices = sorts,
	  .words = WORDS_CHOICES, .preset = "kept", .in = REPORT, .of = "output live",
	  .formats = "text" },
	{ "lines", 0, TAKES_NONE, NULL,
	  "In the lists of waits and of running code, give each offset in a function a row of its "
	  "own.",
	  FLAG(outputs.settings.report.lines), .in = REPORT, .of = "output",
	  .formats = "text folded" },
	{ "color", 0, TAKES_VALUE, "WHEN",
	  "Bold headings on the standard streams: always, never, or on a terminal (auto) unless "
	  "NO_COLOR is set. Files have none.",
	  .read = read_choice, INTO(outputs.settings.color), .choices = colors,
	  .words = WORDS_CHOICES, .preset = "auto", .in = REPORT, .of = "output",
	  .formats = "text" },
	{ "no-pager", 0, TAKES_NONE, NULL,
	  "Do not show a report that is longer than the terminal with PAGER (default: less).",
	  FLAG(outputs.settings.no_pager), .in = REPORT, .of = "output", .formats = "text" },
	{ "per-thread", 0, TAKES_NONE, NULL,
	  "List each thread separately, with its TID: in the list of waits, in stacks and in "
	  "metrics (there the default with one sample).",
	  FLAG(outputs.settings.report.per_thread), .in = REPORT, .of = "output listen",
	  .formats = "text folded " METRICS },
	{ "fold-names", 0, TAKES_NONE, NULL, "Drop the numbers at the end of thread names.",
	  FLAG(outputs.settings.report.fold_names), .in = REPORT, .of = "output listen",
	  .formats = METRICS },
	{ "max-syscalls", 0, TAKES_VALUE, "N",
	  "Name only the N longest system calls of each thread and add up the others; 0: name "
	  "all.",
	  NUMBER(outputs.settings.report.max_syscalls, 0, UINT32_MAX), .preset = "0", .in = REPORT,
	  .of = "output listen", .formats = METRICS },
	{ "timestamps", 0, TAKES_NONE, NULL, "Give the time of the sample with each value.",
	  FLAG(outputs.settings.report.timestamps), .in = REPORT, .of = "output listen",
	  .formats = METRICS },
	{ "ewma", 0, TAKES_VALUE, "ALPHA", "", .read = read_nothing, .in = REPORT, .of = "" },
	{ "live", 0, TAKES_ATTACHED, "sort=KEY",
	  "Show one window after the other on this terminal, of 1s each unless --sample-time says "
	  "otherwise; ? lists the keys.",
	  .brief = "show one window after the other on the terminal", FLAG(outputs.live),
	  .in = IN_CLOCKED | IN_LIVE },
	{ "full", 0, TAKES_NONE, NULL,
	  "In the text, print all sections of all threads, without the first screen.", FLAG(full),
	  .in = REPORT },
	{ "summary", 0, TAKES_NONE, NULL, "In the text, print the first screen only.",
	  FLAG(summary), .in = REPORT, .not_with = "full" },
	{ "quiet", 0, TAKES_NONE, NULL,
	  "Print no text unless -o asks for it, no warnings and no notes.", FLAG(outputs.quiet),
	  .in = EVERYWHERE },
	{ "fail-if", 0, TAKES_VALUE, "EXPR",
	  "End with status 4 if EXPR is true for any sample, such as 'ready.max>1ms', "
	  "'softirq.pct>5' or 'lost>0'; can be repeated.",
	  .brief = "end with status 4 if this is true of a sample", .read = read_fail_if,
	  .words = WORDS_CONDITIONS, .in = REPORT },
	{ "replay", 0, TAKES_VALUE, "FILE",
	  "Read the samples from FILE, written by -o json:FILE; -: standard input.",
	  .read = read_file, INTO(replay), .words = WORDS_FILES, .in = IN_REPLAY },
	{ "compare", 0, TAKES_VALUE, "FILE",
	  "At the end, show what differs from the samples in FILE, written by -o json:FILE, beyond "
	  "how the samples of each differ. Eight samples of each, or more, are needed.",
	  .read = read_file, INTO(outputs.compare), .words = WORDS_FILES,
	  .in = IN_CLOCKED | IN_LIVE | IN_COMMAND | IN_REPLAY },
	{ "list-metrics", 0, TAKES_NONE, NULL, "List the metrics, and exit.", FLAG(list_metrics),
	  .in = IN_LIST_METRICS },
	{ "listen", 0, TAKES_VALUE, "[ADDR:]PORT",
	  "Serve metrics over HTTP while sampling (default ADDR: 127.0.0.1). What -o openmetrics "
	  "has behind a comma may stand here, too.",
	  .read = read_listen, .in = SAMPLES },
	{ "allow-host", 0, TAKES_VALUE, "NAME[,NAME...]",
	  "Also answer requests for these names of hosts, not only for addresses, localhost and "
	  "the name of this machine; '*': for any.",
	  .read = read_text, INTO(outputs.allow_host), .in = SAMPLES, .of = "listen",
	  .needs = "listen", .why = "give the port that requests come to" },

	{ .help = "Run:", .value = "run" },
	{ "machine", 0, TAKES_ATTACHED, "FORMAT",
	  "Check this machine's setup for what can delay a process, print the findings, and exit; "
	  "if a process is given, check for that one. FORMAT is text or json.",
	  .read = read_machine, .choices = machine_formats, .words = WORDS_CHOICES,
	  .implied = "text", .in = IN_MACHINE },
	{ "skip-upcall-stats", 0, TAKES_NONE, NULL, "Do not count the upcalls of Open vSwitch.",
	  FLAG(skip_upcall_stats), .in = SAMPLES },
	{ "btf", 0, TAKES_VALUE, "FILE",
	  "Read the kernel's types from FILE (default: /sys/kernel/btf/vmlinux).",
	  .read = read_file, INTO(btf_file), .words = WORDS_FILES, .in = SAMPLES },
	{ "strict", 0, TAKES_NONE, NULL,
	  "Exit with status 1 if anything was lost or a signal cut a sample short.", FLAG(strict),
	  .in = REPORT },
	{ "debug", 'D', TAKES_FOLLOWING, "N",
	  "Print the messages of libbpf and of the kernel's verifier. N may follow after a space; "
	  "0: do not print them.",
	  NUMBER(debug, 0, INT32_MAX), .preset = "0", .implied = "63", .in = EVERYWHERE },
	{ "keep-privileges", 0, TAKES_NONE, NULL,
	  "Keep all privileges for the whole run, instead of giving up those that only attaching "
	  "needs.",
	  FLAG(keep_privileges), .in = REPORT, .of = "debug" },
};

OPTION_GROUP(options_of_outputs, rows);
