/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "options_read.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/base/parse.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define WORD LETTERS "0123456789_-"

/* The names of all formats: "the formats are a, b and c". Returns text. */
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

/* Finds the format at the text's beginning, and sets *file to what follows its colon,
 * NULL if it stands alone. Text without a format is a file for the text report. */
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
	/* A mistyped format would be the name of a file that nobody looks for. */
	if (text[length] && strspn(text, WORD) == length)
		return options_refuse_value(row, text, "does not begin with a format",
					    "%s; or give text:FILE", formats_list(list));
	output->format = output_format_at(0);
	output->file = text;
	return 0;
}

/* In the last name of a path a % stands for something. */
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

exit_status read_output(const struct option_row *row, const char *text, struct options *options)
{
	struct outputs_config *outputs = &options->outputs;
	struct output output = { 0 };
	int status = read_format(row, text, &output);

	if (status)
		return status;
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
	outputs->all[outputs->n++] = output;
	return 0;
}

exit_status read_mode(const struct option_row *row, const char *text, struct options *options)
{
	mode_t value = 0;
	size_t length = strspn(text, "01234567");

	for (size_t i = 0; i < length && i < 5; i++)
		value = value * 8 + (mode_t)(text[i] - '0');
	if (!length || text[length] || length > 4 || value > 0666 || value & 0111)
		return options_refuse_value(row, text, "is not a mode for such files",
					    "give it in octal, such as 0644 or 0600");
	options->outputs.mode = value;
	return 0;
}

exit_status read_listen(const struct option_row *row, const char *text, struct options *options)
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
	memcpy(options->outputs.address, address, sizeof(address));
	options->outputs.port = (uint16_t)number;
	return 0;
}

exit_status read_fail_if(const struct option_row *row, const char *text, struct options *options)
{
	if (options->n_fail_if == FAIL_IF_MAX) {
		log_error("option --%s is given more than %d times", row->name, FAIL_IF_MAX);
		return options_see_help();
	}
	options->fail_if[options->n_fail_if++] = text;
	return 0;
}
