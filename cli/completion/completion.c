// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "completion.h"

#include <ctype.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/kernel_delay.h"
#include "cli/base/exit_status.h"
#include "cli/base/names.h"
#include "cli/base/syscall_set.h"
#include "cli/model/traces.h"
#include "cli/model/verdict.h"
#include "cli/model/words.h"
#include "cli/options/options_table.h"
#include "cli/output/fail_if_condition.h"
#include "cli/output/output_format.h"
#include "cli/process/preflight.h"
#include "cli/process/target.h"
#include "probes/list.h"
#include "probes/trigger.h"

#define PATIENCE 3 /* seconds: users do not wait longer for a word */

struct completion {
	const char *last;             /* word to complete */
	const struct option_row *row; /* option whose value it is; NULL: none */
	const char *value;            /* part of it to complete */
	bool is_process;              /* not an option */
	bool in_file;                 /* a file of options */
	pid_t pid;                    /* process named by other words */
	const char *comm;
};

static bool has_control(const char *text)
{
	while (*text && !iscntrl((unsigned char)*text))
		text++;
	return *text;
}

/* Prints a word if it matches. Names may contain anything; a line feed would end the word. */
static void offer(const struct completion *completion, char kind, const char *word,
		  const char *about)
{
	size_t length = strlen(completion->value);

	if (*word && !strncmp(word, completion->value, length) && !strchr(word, '\n'))
		printf("%c%.*s%s\t%s\n", kind, (int)(completion->value - completion->last),
		       completion->last, word, about);
}

static void offer_files(const struct completion *completion, const char *suffix)
{
	printf("f%.*s\t%.*s\n", (int)(completion->value - completion->last), completion->last,
	       (int)strcspn(suffix, " "), suffix);
}

static void offer_options(const struct completion *completion)
{
	const struct option_row *row;
	char word[64], about[256];

	for (size_t i = 0; (row = option_row_at(i)); i++) {
		const char *end;

		if (!row->name || row->of)
			continue;
		end = strstr(row->help, ". ");
		snprintf(word, sizeof(word), "--%s", row->name);
		snprintf(about, sizeof(about), "%.*s",
			 (int)(end ? end - row->help : (long)strlen(row->help) - 1), row->help);
		offer(completion, 'w', word, about);
	}
}

static void offer_processes(const struct completion *completion, bool by_pid)
{
	struct process_walk walk = { 0 };
	const char *comm = walk.stat.comm;
	char pid[16];

	while (target_next(&walk)) {
		snprintf(pid, sizeof(pid), "%d", (int)walk.pid);
		offer(completion, 'w', by_pid ? pid : comm,
		      !by_pid             ? "process"
		      : has_control(comm) ? ""
					  : comm);
	}
}

static void offer_users(const struct completion *completion)
{
	const struct passwd *user;

	setpwent();
	while ((user = getpwent()))
		offer(completion, 'w', user->pw_name, "user");
	endpwent();
}

/* Prints a list of probes, up to the next colon; equal ones are adjacent. */
static void offer_listed(const struct completion *completion, char *list)
{
	size_t typed = strlen(completion->value);
	char *line, *save = NULL, last[TRIGGER_MAX] = "";

	for (line = strtok_r(list, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *end = strstr(line, "  "), *colon;

		if (end)
			*end = '\0';
		if (strlen(line) < typed || strlen(line) >= sizeof(last))
			continue;
		colon = strchr(line + typed, ':');
		if (colon)
			colon[1] = '\0';
		if (strcmp(line, last))
			offer(completion, colon ? 'p' : 'w', line, "");
		strcpy(last, line);
	}
}

static void offer_triggers(const struct completion *completion)
{
	enum trigger_kind kind;
	const struct target_name name = { completion->comm, NULL, UID_ANY };
	struct target target = { .pid = 0 };
	const char *word;
	char glob[TRIGGER_MAX], *list = NULL;
	size_t length;
	FILE *out;

	if (!strchr(completion->value, ':')) {
		for (size_t i = 0; i < TRIGGER_KINDS * TRIGGER_WORDS; i++) {
			word = probe_kinds[i / TRIGGER_WORDS].words[i % TRIGGER_WORDS];
			/* Before anything is typed, the short forms. */
			if (!word || (!*completion->value && i % TRIGGER_WORDS != 1))
				continue;
			snprintf(glob, sizeof(glob), "%s:", word);
			offer(completion, 'p', glob, "");
		}
		return;
	}
	if (names_is_glob(completion->value) || !trigger_kind_read(&kind, completion->value) ||
	    (probe_kinds[kind].is_user &&
	     target_find(&target, completion->pid, name.comm ? &name : NULL)))
		return;
	tracefs_provide();
	alarm(PATIENCE);
	out = open_memstream(&list, &length);
	if (!out)
		return;
	snprintf(glob, sizeof(glob), "%s*", completion->value);
	if (probes_list(out, target.pid, glob) < 0)
		length = 0;
	if (!fclose(out) && length)
		offer_listed(completion, list);
	free(list);
}

static void offer_calls(struct completion *completion)
{
	const char *comma = strrchr(completion->value, ','), *name;

	completion->value = comma ? comma + 1 : completion->value + (*completion->value == '!');
	for (uint32_t call = 0; call < KD_CLASSES; call++) {
		name = syscall_name(call);
		if (name)
			offer(completion, 'w', name, "");
	}
}

static void offer_waits(struct completion *completion)
{
	const char *comma = strrchr(completion->value, ','), *word;

	completion->value = comma ? comma + 1 : completion->value + (*completion->value == '!');
	for (size_t i = 0; (word = wait_filter_word(i)); i++)
		offer(completion, 'w', word, "");
}

static void offer_outputs(struct completion *completion)
{
	const char *colon = strchr(completion->value, ':');
	const struct output_format *format = NULL;
	char word[64];

	if (colon)
		format = output_format_find(completion->value, (size_t)(colon - completion->value));
	if (format)
		completion->value = colon + 1;
	offer_files(completion, format && format->suffixes ? format->suffixes : "");
	for (size_t i = 0; !colon && (format = output_format_at(i)); i++) {
		snprintf(word, sizeof(word), "%s:", format->name);
		offer(completion, 'p', word, format->about);
	}
}

/* METRIC.FIELD, or METRIC.NAME.FIELD; name ends with a dot. */
static void offer_fields(const struct completion *completion, const struct fail_metric *metric,
			 const char *name, int length)
{
	char word[128];

	for (int i = 0; i < FAIL_FIELDS; i++) {
		const char *field = fail_field_name((enum fail_field)i);

		if (!(fail_metric_fields(metric) & FAIL_HAS(i)))
			continue;
		snprintf(word, sizeof(word), "%s%s%.*s%s", fail_metric_title(metric),
			 *field ? "." : "", length, name, field);
		offer(completion, 'p', word, "");
	}
}

static void offer_label(const struct completion *completion, const struct fail_metric *metric,
			const char *name)
{
	char word[128];

	snprintf(word, sizeof(word), "%s.%s.", fail_metric_title(metric), name);
	offer(completion, 'p', word, "");
}

/* Prints what can follow METRIC: a dot and a name that starts with typed. Too many system calls
 * to list them all. */
static void offer_labels(const struct completion *completion, const struct fail_metric *metric,
			 const char *typed)
{
	const char *end = strrchr(typed, '.'), *name;

	if (end) {
		offer_fields(completion, metric, typed, (int)(end + 1 - typed));
		return;
	}
	for (size_t i = 0; (name = fail_metric_name(metric, i)); i++)
		offer_label(completion, metric, name);
	for (uint32_t i = 0; metric->needs == NEEDS_CALL_NAMES && *typed && i < KD_CLASSES; i++)
		if ((name = syscall_name(i)))
			offer_label(completion, metric, name);
}

/* Completes up to the comparison. */
static void offer_conditions(struct completion *completion)
{
	const char *threads = strstr(completion->value, ").");
	const struct fail_metric *metric;
	size_t length;

	if (threads)
		completion->value = threads + 2;
	else
		offer(completion, 'p', "thread(", "of threads of this name");
	for (size_t i = 0; (metric = fail_metric_at(i)); i++) {
		if (threads && !fail_metric_of_threads(metric))
			continue;
		length = strlen(fail_metric_title(metric));
		offer_fields(completion, metric, "", 0);
		if (fail_metric_fields(metric) & FAIL_NAMES &&
		    !strncmp(completion->value, fail_metric_title(metric), length) &&
		    completion->value[length] == '.')
			offer_labels(completion, metric, completion->value + length + 1);
	}
}

/* Behind the last comma. The value of one is completed like that of an option. */
static void offer_attributes(struct completion *completion)
{
	const char *comma = strrchr(completion->value, ','), *value = completion->value;
	const struct option_row *row, *option = completion->row;
	char word[64];

	if (!comma)
		return;
	completion->value = comma + 1;
	for (size_t i = 0; (row = option_row_at(i)); i++) {
		if (!row->of || attribute_find(option, attribute_name(row)) != row)
			continue;
		snprintf(word, sizeof(word), "%s%s", attribute_name(row), row->value ? "=" : "");
		offer(completion, row->value ? 'p' : 'w', word, "");
	}
	row = attribute_find(option, comma + 1);
	if (row && strchr(comma, '=')) {
		completion->row = row;
		completion->value = strchr(comma, '=') + 1;
	} else {
		completion->value = value;
	}
}

static void offer_values(struct completion *completion)
{
	offer_attributes(completion);
	switch (completion->row->words) {
	case WORDS_NONE:
		break;
	case WORDS_PIDS:
		offer_processes(completion, true);
		break;
	case WORDS_NAMES:
		offer_processes(completion, false);
		break;
	case WORDS_USERS:
		offer_users(completion);
		break;
	case WORDS_TRIGGERS:
		offer_triggers(completion);
		break;
	case WORDS_CALLS:
		offer_calls(completion);
		break;
	case WORDS_WAITS:
		offer_waits(completion);
		break;
	case WORDS_OUTPUTS:
		offer_outputs(completion);
		break;
	case WORDS_CONDITIONS:
		offer_conditions(completion);
		break;
	case WORDS_FILES:
		offer_files(completion, "");
		break;
	case WORDS_CHOICES:
		for (size_t i = 0; completion->row->choices[i]; i++)
			offer(completion, 'w', completion->row->choices[i], "");
		break;
	}
}

static void process_note(struct completion *completion, const char *text)
{
	bool is_pid = isdigit((unsigned char)*text) && !text[strspn(text, "0123456789,")];

	completion->pid = is_pid ? (pid_t)strtol(text, NULL, 10) : 0;
	completion->comm = is_pid ? NULL : text;
}

static int word_note(void *context, const struct option_row *row, char *text)
{
	struct completion *completion = context;
	bool is_last = text && text >= completion->last &&
		       text <= completion->last + strlen(completion->last);

	if (is_last) {
		completion->row = row;
		completion->in_file = !row && *text == '@';
		completion->value = text + completion->in_file;
		completion->is_process = !row;
	} else if (row && row->words == WORDS_NAMES) {
		completion->comm = text;
		completion->pid = 0;
	} else if (row ? row->words == WORDS_PIDS : *text != '@') {
		process_note(completion, text);
	}
	return 0;
}

exit_status completion_print(int argc, char **argv)
{
	struct completion completion = { .last = argv[argc - 1], .value = argv[argc - 1] };
	char **command = NULL;
	int at;

	if (argc < 2)
		return EX_USAGE;
	/* Stops at an unreadable word: it may be the one to complete. */
	options_walk(argc, argv, word_note, &completion, &at, &command);
	if (command && *command) /* otherwise -- is the word itself */
		offer_files(&completion, "");
	else if (completion.in_file)
		offer_files(&completion, "");
	else if (completion.row)
		offer_values(&completion);
	else if (*completion.last == '-')
		offer_options(&completion);
	else if (completion.is_process && !completion.pid && !completion.comm)
		offer_processes(&completion, isdigit((unsigned char)*completion.last));
	return fflush(stdout) ? EX_IOERR : EX_OK;
}
