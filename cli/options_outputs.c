/* SPDX-License-Identifier: Apache-2.0 */
#include "options_outputs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "exit_status.h"
#include "log.h"
#include "options_read.h"
#include "parse.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define WORD LETTERS "0123456789_-"
#define FORMATS_HINT "the formats are text, json, openmetrics, prometheus and folded"

static const char *const formats[OUTPUT_FORMATS] = {
	[OUTPUT_TEXT] = "text",
	[OUTPUT_JSON] = "json",
	[OUTPUT_OPENMETRICS] = "openmetrics",
	[OUTPUT_PROMETHEUS] = "prometheus",
	[OUTPUT_FOLDED] = "folded",
};

const char *options_format_name(enum output_format format)
{
	return formats[format];
}

static int refuse_output(const char *option, const char *text, const char *what, const char *hint)
{
	log_error("option --%s: '%s' %s", option, text, what);
	log_hint("%s", hint);
	return EX_USAGE;
}

/* Finds the format at the text's beginning, and sets *file to what follows its colon,
 * NULL if it stands alone. Text without a format is a file for the text report. */
static int read_format(const char *option, const char *text, struct output *output)
{
	size_t length = strcspn(text, ":");

	for (unsigned int i = 0; i < OUTPUT_FORMATS; i++) {
		if (strlen(formats[i]) != length || strncmp(text, formats[i], length))
			continue;
		output->format = (enum output_format)i;
		output->file = text[length] ? text + length + 1 : NULL;
		return 0;
	}
	if (!length)
		return refuse_output(option, text, "names no format and no file", FORMATS_HINT);
	/* A mistyped format would be the name of a file that nobody looks for. */
	if (text[length] && strspn(text, WORD) == length)
		return refuse_output(option, text, "does not begin with a format",
				     FORMATS_HINT "; or give text:FILE");
	output->format = OUTPUT_TEXT;
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

static int refuse_twice(const char *option, const char *file)
{
	if (file)
		log_error("option --%s: the file '%s' is given twice", option, file);
	else
		log_error("option --%s: two formats are to go to standard output", option);
	log_hint("give each output a file of its own");
	return EX_USAGE;
}

int read_output(const char *option, const char *text, struct options *options)
{
	struct output output = { 0 };
	int status = read_format(option, text, &output);

	if (status)
		return status;
	if (output.file && !*output.file)
		return refuse_output(option, text, "names no file",
				     "give FORMAT:FILE, or FORMAT alone for standard output");
	if (output.file && (!strcmp(output.file, "-") || !strcmp(output.file, "/dev/stdout")))
		output.file = NULL;
	if (output.file && has_unknown_sequence(output.file))
		return refuse_output(option, text, "has an unknown % sequence",
				     "there are %n, the sample's number, %t, the time, %p, this "
				     "process's ID, and %%");
	for (size_t i = 0; i < options->n_outputs; i++) {
		const char *other = options->outputs[i].file;

		if (output.file && other ? !strcmp(output.file, other) : output.file == other)
			return refuse_twice(option, output.file);
	}
	if (options->n_outputs == OUTPUTS_MAX) {
		log_error("option --%s is given more than %d times", option, OUTPUTS_MAX);
		return options_see_help();
	}
	options->outputs[options->n_outputs++] = output;
	return 0;
}

int read_mode(const char *option, const char *text, mode_t *mode)
{
	mode_t value = 0;
	size_t length = strspn(text, "01234567");

	for (size_t i = 0; i < length && i < 5; i++)
		value = value * 8 + (mode_t)(text[i] - '0');
	if (!length || text[length] || length > 4 || value > 0666 || value & 0111)
		return refuse_output(option, text, "is no mode of such a file",
				     "give it in octal, as 0644 or 0600");
	*mode = value;
	return 0;
}

int read_size(const char *option, const char *text, uint64_t *bytes)
{
	static const char units[] = "KMG";
	size_t length = strspn(text, "0123456789");
	const char *unit = text[length] ? strchr(units, text[length]) : NULL;
	unsigned int shift = unit ? 10 * (unsigned int)(unit - units + 1) : 0;
	char digits[24] = "";
	uint64_t number;

	if (length < sizeof(digits) && (unit ? !text[length + 1] : !text[length])) {
		memcpy(digits, text, length);
		if (!parse_u64(digits, 1, UINT64_MAX >> shift, &number)) {
			*bytes = number << shift;
			return 0;
		}
	}
	return refuse_output(option, text, "is no size",
			     "give a number of bytes, at least 1, or one with K, M or G: 100M");
}

int read_listen(const char *option, const char *text, struct options *options)
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
		return refuse_output(option, text, "is no address and port",
				     "give a port, or an address before it: 9155, 0.0.0.0:9155, "
				     "[::1]:9155");
	options->listen = true;
	memcpy(options->listen_address, address, sizeof(address));
	options->listen_port = (uint16_t)number;
	return 0;
}

int read_fail_if(const char *option, const char *text, struct options *options)
{
	if (options->n_fail_if == FAIL_IF_MAX) {
		log_error("option --%s is given more than %d times", option, FAIL_IF_MAX);
		return options_see_help();
	}
	options->fail_if[options->n_fail_if++] = text;
	return 0;
}
