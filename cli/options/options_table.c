/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "options_table.h"

#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/clock.h"
#include "cli/base/log.h"
#include "cli/base/names.h"
#include "cli/base/texts.h"

#ifndef KERNEL_DELAY_VERSION
#define KERNEL_DELAY_VERSION "(unversioned build)"
#endif

#define HELP_TOPICS "target, samples, recording, triggers, output, run or all"
static const char *const help_topics[] = { "target", "samples", "recording", "triggers",
					   "output", "run",     "all",       NULL };

static const struct option_row help_rows[] = {
	{ .help = "Help:", .value = "run" },
	{ "help", 'h', TAKES_ATTACHED, "TOPIC",
	  "Print what most people need, or the options of a topic: " HELP_TOPICS
	  "; -? does the same as --help.",
	  .read = read_help, .choices = help_topics, .words = WORDS_CHOICES, .in = EVERYWHERE },
	{ .letter = '?', .read = read_help, .in = EVERYWHERE },
	{ "usage", 0, TAKES_NONE, NULL, "Print a short usage message.", .read = read_help,
	  .min = ARGP_HELP_USAGE, .in = EVERYWHERE },
	{ "version", 'V', TAKES_NONE, NULL, "Print the version.", .read = read_version,
	  .in = EVERYWHERE },
};
static OPTION_GROUP(options_of_help, help_rows);

/* In help order. */
static const struct option_group *const groups[] = { &options_of_target, &options_of_samples,
						     &options_of_outputs, &options_of_help };
#define GROUPS (sizeof(groups) / sizeof(*groups))
_Static_assert(GROUPS *OPTIONS_OF_GROUP <= OPTIONS_MAX, "room for each option");

const struct option_row *option_row_at(size_t index)
{
	for (size_t i = 0; i < GROUPS; index -= groups[i++]->n)
		if (index < groups[i]->n)
			return &groups[i]->rows[index];
	return NULL;
}

size_t option_row_index(const struct option_row *row)
{
	size_t index = 0;

	while (option_row_at(index) != row)
		index++;
	return index;
}

/* Returns argp's key for a row: its letter or a number of its own. */
static int option_row_key(size_t index)
{
	const struct option_row *row = option_row_at(index);

	return row->letter ? row->letter : 256 + (int)index;
}

const struct option_row *option_row_find(int key)
{
	const struct option_row *row;

	for (size_t i = 0; (row = option_row_at(i)); i++)
		if (row->read && option_row_key(i) == key)
			return row;
	return NULL;
}

static bool begins_with(const char *name, const char *prefix, size_t length)
{
	return name && !strncmp(name, prefix, length);
}

const struct option_row *option_row_named(const char *name, size_t length, size_t *similar)
{
	const struct option_row *row, *found = NULL;

	*similar = 0;
	for (size_t i = 0; length && (row = option_row_at(i)); i++) {
		if (!begins_with(row->name, name, length))
			continue;
		++*similar;
		found = row;
		if (!row->name[length])
			return row;
	}
	return *similar == 1 ? found : NULL;
}

/* --- Attributes --- */

static bool is_attribute(const struct option_row *row, const struct option_row *option)
{
	return row->of && option->name &&
	       option_list_has(row->of, option->name, strlen(option->name));
}

const struct option_row *attribute_find(const struct option_row *option, const char *text)
{
	size_t length = strcspn(text, ",=");
	const struct option_row *row;

	for (size_t i = 0; (row = option_row_at(i)); i++)
		if (is_attribute(row, option) && strlen(attribute_name(row)) == length &&
		    begins_with(attribute_name(row), text, length))
			return row;
	return NULL;
}

const char *attribute_spelled(const struct option_row *row, attribute_text text)
{
	size_t similar;
	const struct option_row *option = option_row_named(row->of, strcspn(row->of, " "),
							   &similar);
	/* Without what is optional in it. */
	const char *value = option->value ? option->value : "";
	int length = (int)(*value == '[' ? strlen(value) : strcspn(value, "[|"));

	if (row->formats) {
		value = row->formats;
		length = (int)strcspn(value, " ");
	}
	snprintf(text, sizeof(attribute_text), "--%s=%.*s", option->name, length, value);
	text_append(text, sizeof(attribute_text), ",%s%s%s", attribute_name(row),
		    row->value ? "=" : "", row->value ?: "");
	return text;
}

/* --- argp finds the options and formats the help --- */

/* argp does not report which word is wrong, so this finds out. */

static const char args_doc[] = "[PID|NAME] [@FILE...]\n-- COMMAND [ARGUMENT...]";

#define HELP_BRIEF "brief" /* topic of the first screen */

static const char usage[] =
	"Usage: kernel_delay [OPTION...] [PID|NAME] [@FILE...]\n"
	"  or:  kernel_delay [OPTION...] -- COMMAND [ARGUMENT...]\n"
	"Show where each thread of a running process spends its time, and how much of that "
	"is the kernel's doing. COMMAND is started, and watched from its first instruction to "
	"its end.\n";

/* Text below the options of a topic. */
static const struct topic_text {
	const char *topic, *text;
} topic_texts[] = {
	{ HELP_BRIEF,
	  "Examples:\n"
	  "  kernel_delay ovs-vswitchd\n"
	  "  kernel_delay --live redis-server\n"
	  "  kernel_delay -p 4711 -s 1ms --off-cpu 1ms --sample-count 10\n"
	  "  kernel_delay --start-trigger up:bridge_run --stop-trigger ur:bridge_run\n"
	  "  kernel_delay --record --fail-if 'ready.max>10ms' -o html:report.html nginx\n\n"
	  "`kernel_delay --help=TOPIC` lists all options: " HELP_TOPICS
	  ". The manual page has more: man kernel_delay." },
	{ "samples",
	  "DURATION is a number directly followed by ns, us, ms, s or min: 0.5s, 250ms, "
	  "2min. The longest is 365 days. A number without a unit is an error, except with "
	  "--sample-time and --sample-interval, where it means seconds." },
	{ "triggers",
	  "TRIGGER is one of\n"
	  "  u:[OBJECT:]PROVIDER:PROBE      USDT probe (also usdt:)\n"
	  "  up:[OBJECT:]FUNCTION[+OFFSET]  function of the process (uprobe:)\n"
	  "  up:[OBJECT:]0xADDR             address as in OBJECT's symbol table\n"
	  "  ur:[OBJECT:]FUNCTION           its return (upr:, uretprobe:)\n"
	  "  ur:[OBJECT:]0xADDR             its return\n"
	  "  t:SYSTEM:EVENT                 kernel tracepoint (trace:)\n"
	  "  k:FUNCTION[+OFFSET]            function of the kernel (kprobe:)\n"
	  "  kr:FUNCTION                    its return (kretprobe:)\n"
	  "OBJECT is a file that the process has mapped, by path or soname (default: its "
	  "executable). Names may be patterns; all that match are one trigger. What stands behind "
	  "a comma of one trigger is about both; target-only, banks and worst may stand behind "
	  "--long-poll, too." },
	{ "output", NULL }, /* the formats */
	{ "run",
	  "@FILE stands for the options in FILE, one per line as on the command line, without "
	  "quotes; "
	  "# begins a comment.\n\n"
	  "The first SIGINT or SIGTERM ends the sample and prints it, the second one quits "
	  "at once.\n\n"
	  "Exit status: 0 success, 1 losses with --strict, 4 --fail-if is true, 64 wrong "
	  "command line, 65 damaged file, 66 no such file, or several processes or containers "
	  "match, 69 no such process, thread, control group or container, 71 refused by the "
	  "kernel, 72 no BTF, 74 output error, 75 no trigger led to a sample, the probes cost "
	  "too much, or --at or --duration is over, 77 not permitted, 78 wrong trigger, 126 "
	  "COMMAND cannot be run, 127 there is no such COMMAND." },
};

/* --- Reading --- */

struct argp_walk {
	options_found *found;
	void *context;
	int next; /* index of the word after the last one found */
	char **command;
	int result; /* of found() */
};

static error_t word_take(int key, char *text, struct argp_state *state)
{
	struct argp_walk *walk = state->input;
	const struct option_row *row = key == ARGP_KEY_ARG ? NULL : option_row_find(key);
	const char *next = state->argv[state->next];

	if (state->quoted && (key == ARGP_KEY_ARG || key == ARGP_KEY_END)) {
		walk->command = &state->argv[state->quoted];
		state->next = state->argc;
		return 0;
	}
	if (!row && key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	if (row && row->takes == TAKES_FOLLOWING && !text && next && *next >= '0' && *next <= '9')
		text = state->argv[state->next++];
	walk->next = state->next;
	walk->result = walk->found(walk->context, row, text);
	return walk->result ? EINVAL : 0;
}

static bool topic_has(const char *topic, const char *other)
{
	return !strcmp(topic, other) || (!strcmp(topic, "all") && strcmp(other, HELP_BRIEF) != 0);
}

/* Makes *argp, with entries for all options. What was an option once is still read. */
static void argp_fill(struct argp *argp, struct argp_option entries[OPTIONS_MAX + 1])
{
	const struct option_row *row;
	size_t n = 0;

	for (size_t i = 0; (row = option_row_at(i)); i++)
		if (row->read && (row->name || row->letter))
			entries[n++] = (struct argp_option){
				.name = row->name,
				.key = option_row_key(i),
				.arg = row->value,
				.flags = (row->takes > TAKES_VALUE ? OPTION_ARG_OPTIONAL : 0) |
					 (row->help && !row->of ? 0 : OPTION_HIDDEN),
				.doc = row->help,
			};
	entries[n] = (struct argp_option){ 0 };
	*argp = (struct argp){ .options = entries, .parser = word_take, .args_doc = args_doc };
}

int options_walk(int argc, char **argv, options_found *found, void *context, int *at,
		 char ***command)
{
	struct argp_walk walk = { .found = found, .context = context, .next = 1 };
	struct argp_option entries[OPTIONS_MAX + 1];
	struct argp argp;
	int error;

	argp_fill(&argp, entries);
	error = argp_parse(&argp, argc, argv, ARGP_SILENT | ARGP_IN_ORDER, NULL, &walk);
	*at = walk.next;
	*command = walk.command;
	return walk.result ? walk.result : -error;
}

/* --- Invalid words --- */

static exit_status refuse_value(const struct option_row *row, const char *word)
{
	if (row->takes == TAKES_NONE)
		log_error("option --%s takes no value: '%s'", row->name, word);
	else
		log_error("option --%s needs a value", row->name);
	return options_see_help();
}

/* --NAME or --NAME=VALUE */
static exit_status refuse_long(const char *word)
{
	size_t length = strcspn(word, "=") - 2, similar;
	const struct option_row *row = option_row_named(word + 2, length, &similar);
	struct names_closest closest;
	char name[64];

	if (row)
		return refuse_value(row, word);
	log_error("%s option --%.*s", similar ? "ambiguous" : "unknown", (int)length, word + 2);
	snprintf(name, sizeof(name), "%.*s", (int)length, word + 2);
	names_closest_init(&closest, name);
	for (size_t i = 0; (row = option_row_at(i)); i++)
		if (row->name && !row->of && (!similar || begins_with(row->name, name, length)))
			names_closest_offer(&closest, row->name);
	names_closest_hint(&closest, "--", OPTIONS_SEE_HELP);
	names_closest_clear(&closest);
	return EX_USAGE;
}

exit_status options_refuse_word(const char *word)
{
	const struct option_row *row = NULL;

	if (word[1] == '-')
		return refuse_long(word);
	/* Letters without values may precede the wrong one. */
	while (*++word) {
		row = option_row_find(*word);
		if (!row)
			break;
		if (row->takes == TAKES_VALUE)
			return refuse_value(row, word);
	}
	log_error("unknown option -%c", *word);
	return options_see_help();
}

/* --- Help --- */

#define HELP_SIZE (1 << 16)

/* Ends the process after printing to stdout. */
static _Noreturn void finish_output(void)
{
	errno = 0;
	if (fflush(stdout) || ferror(stdout)) {
		exit(log_write_failed("to standard output", errno ? -errno : -EIO));
	}
	exit(EX_OK);
}

const char *options_version(void)
{
	return KERNEL_DELAY_VERSION;
}

/* Writes everything at once at the end, as the reason of an earlier failed write would be lost. */
static void output_begin(void)
{
	char *all = malloc(HELP_SIZE);

	if (!all)
		exit(log_no_memory());
	setvbuf(stdout, all, _IOFBF, HELP_SIZE);
	signal(SIGPIPE, SIG_IGN); /* a closed pipe is an ordinary error */
}

#define HELP_WIDTH 79
#define HELP_COLUMN 29 /* of what is said about options */

/* Prints a text from the column at on, and where it needs more lines, or has them, from another. */
static void help_text(const char *text, size_t at, size_t margin)
{
	for (size_t n; *text; text += n) {
		size_t blanks = strspn(text, " ");

		n = *text == '\n' ? 1 : blanks + strcspn(text + blanks, " \n");
		if (*text == '\n' || (at + n > HELP_WIDTH && at > margin)) {
			printf("\n%*s", text[1] == '\n' ? 0 : (int)margin, "");
			at = margin;
			text += *text == '\n' ? 1 : blanks;
			n = 0;
			continue;
		}
		printf("%.*s", (int)n, text);
		at += n;
	}
	putchar('\n');
}

static void topic_text_write(const struct topic_text *text)
{
	const struct output_format *format;

	if (text->text) {
		help_text(text->text, 0, 0);
		return;
	}
	puts("FORMAT is one of");
	for (size_t i = 0; (format = output_format_at(i)); i++)
		printf("  %-12s %s\n", format->name, format->about);
}

/* With what holds without it, or without its value. */
static void help_option(const struct option_row *row, const char *text)
{
	const char *without = row->preset ? row->preset : row->implied;
	char left[sizeof(attribute_text) + 8], right[1024];
	attribute_text spelled;
	int at;

	if (row->of)
		at = snprintf(left, sizeof(left), "%8s%s", "", attribute_spelled(row, spelled));
	else
		at = snprintf(left, sizeof(left), "  %c%c%c --%s%s%s%s", row->letter ? '-' : ' ',
			      row->letter ? row->letter : ' ', row->letter ? ',' : ' ', row->name,
			      row->takes > TAKES_VALUE ? "[="
			      : row->value             ? "="
						       : "",
			      row->value ? row->value : "", row->takes > TAKES_VALUE ? "]" : "");
	printf("%-*s", HELP_COLUMN, left);
	if (at >= HELP_COLUMN)
		printf("\n%*s", HELP_COLUMN, "");
	if (text != row->help || !without) {
		help_text(text, HELP_COLUMN, HELP_COLUMN);
		return;
	}
	snprintf(right, sizeof(right), "%.*s (default: %s", (int)strlen(text) - 1, text, without);
	if (row->preset && row->implied)
		text_append(right, sizeof(right), "; without %s: %s", row->value, row->implied);
	text_append(right, sizeof(right), ").");
	help_text(right, HELP_COLUMN, HELP_COLUMN);
}

/* Prints what there is about a topic. */
static void help_print(const char *topic)
{
	bool is_brief = !strcmp(topic, HELP_BRIEF), is_in = false;
	const struct option_row *row;

	if (is_brief)
		help_text(usage, 0, 0);
	for (size_t i = 0; (row = option_row_at(i)); i++) {
		const char *text = is_brief ? row->brief : row->help;

		if (!row->read) {
			is_in = topic_has(topic, row->value);
			if (is_in)
				printf(" %s\n", row->help);
		} else if ((is_in || is_brief) && text && !(row->of && !*row->of)) {
			help_option(row, text);
		}
		if (is_in && (!option_row_at(i + 1) || !option_row_at(i + 1)->read))
			putchar('\n');
	}
	if (is_brief)
		putchar('\n');
	for (size_t i = 0, n = 0; i < sizeof(topic_texts) / sizeof(*topic_texts); i++) {
		if (!topic_has(topic, topic_texts[i].topic))
			continue;
		fputs(n++ ? "\n" : "", stdout);
		topic_text_write(&topic_texts[i]);
	}
}

/* Prints all options, without what they do. */
static void usage_print(void)
{
	struct argp_option entries[OPTIONS_MAX + 1];
	struct argp argp;

	argp_fill(&argp, entries);
	argp_help(&argp, stdout, ARGP_HELP_USAGE, (char[]){ PROGRAM });
}

int read_help(const struct option_row *row, const char *text, struct options *options)
{
	size_t i = 0;

	(void)options;
	while (text && help_topics[i] && strcmp(text, help_topics[i]) != 0)
		i++;
	if (text && !help_topics[i])
		return options_refuse_value(row, text, "is no topic", "give " HELP_TOPICS);
	output_begin();
	if (row->min)
		usage_print();
	else
		help_print(text ? text : HELP_BRIEF);
	finish_output();
}

int read_version(const struct option_row *row, const char *text, struct options *options)
{
	(void)row, (void)text, (void)options;
	signal(SIGPIPE, SIG_IGN);
	printf(PROGRAM " %s\n", options_version());
	finish_output();
}
