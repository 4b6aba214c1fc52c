// SPDX-License-Identifier: Apache-2.0
/* Command lines and files of options (@FILE), and the texts in them. An input is lines, each a
 * word of the command line; behind a line "@" they are in a file. A first byte from 0x80 on is
 * short for an option, by its number in the table. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <sysexits.h>

#include "cli/options/options_parse.h"
#include "cli/options/options_table.h"
#include "cli/output/fail_if.h"
#include "probes/trigger.h"
#include "input.h"

#define WORDS 32

/* Those of the library print and end the process. */
int read_help(const struct option_row *row, const char *text, struct options *options)
{
	(void)row, (void)text, (void)options;
	return EX_USAGE;
}

int read_version(const struct option_row *row, const char *text, struct options *options)
{
	(void)row, (void)text, (void)options;
	return EX_USAGE;
}

/* The text with the names of options instead of their numbers. The caller frees it. */
static char *text_make(const uint8_t *bytes, size_t size)
{
	bool begins = true;
	size_t length;
	char *text;
	FILE *out = open_memstream(&text, &length);

	MUST(out);
	for (size_t i = 0; i < size; i++) {
		const struct option_row *row = NULL;

		if (begins && bytes[i] & 0x80)
			row = option_row_at(bytes[i] & 0x7f);
		if (row && row->name)
			fprintf(out, "--%s%s", row->name, row->takes == TAKES_NONE ? "" : "=");
		else
			putc(bytes[i], out);
		begins = bytes[i] == '\n';
	}
	MUST(!fclose(out));
	return text;
}

/* What is read later. */
static void texts_read(const struct options *options)
{
	const struct fail_recorded all = { true, ~0U, NULL };
	struct fail_if *fail_if;
	struct trigger trigger;
	const char *why;

	for (int role = 0; role < KD_ROLES; role++)
		if (options->triggers[role] &&
		    !trigger_parse(&trigger, options->triggers[role], &why))
			trigger_clear(&trigger);
	MUST(options->n_fail_if <= FAIL_IF_MAX);
	fail_if_new(&fail_if, "--fail-if", options->fail_if, options->n_fail_if, &all);
	fail_if_free(fail_if);
}

/* What all of the program may rely on. */
static void options_check(const struct options *options)
{
	MUST(options->sample_time && options->window_banks && options->max_overhead <= 100);
	MUST(!(options->buffer_pages & (options->buffer_pages - 1)));
	MUST(options->stack_bytes % KD_STACK_PAGE == 0 && options->stack_bytes <= KD_STACK_MAX);
	MUST(options->outputs.n <= OUTPUTS_MAX);
	MUST(!options->command || *options->command);
	MUST(!options->machine || !options->command);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *argv[WORDS + 3] = { (char[]){ "kernel_delay" } }, file[64], *text, *rest, *word;
	static struct options options;
	int argc = 1, fd = -1, status;

	rest = text = text_make(bytes, size);
	while (argc <= WORDS && (word = strsep(&rest, "\n"))) {
		if (!strcmp(word, "@")) {
			fd = input_file_of(
				(struct input){ (uint8_t *)rest, rest ? strlen(rest) : 0 });
			snprintf(file, sizeof(file), "@/proc/self/fd/%d", fd);
			argv[argc++] = file;
			break;
		}
		argv[argc++] = word;
	}
	status = options_parse(argc, argv, &options);
	if (!status) {
		options_check(&options);
		texts_read(&options);
	}
	MUST(!status || status == EX_USAGE || status == EX_NOINPUT);
	options_clear(&options);
	if (fd >= 0)
		close(fd);
	free(text);
	return 0;
}
