/* SPDX-License-Identifier: Apache-2.0 */
/* One table describes the options: argp formats the help from it and
 * getopt_long reads the command line by it (argp itself would not tell which
 * argument was wrong). */
#include "options.h"

#include <argp.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../bpf/kernel_delay.h"
#include "clock.h"
#include "exit_status.h"
#include "log.h"
#include "parse.h"

#ifndef KERNEL_DELAY_VERSION
#define KERNEL_DELAY_VERSION "(unversioned build)"
#endif

#define PROGRAM "kernel_delay"
#define DEBUG_DEFAULT 0x3f /* as kernel_delay.py */
#define SAMPLE_TIME_DEFAULT (NSEC_PER_SEC / 2)
#define DURATION_MAX (365 * 24 * 3600 * NSEC_PER_SEC)

/* Options without a letter. */
enum {
	OPT_SAMPLE_TIME = 256,
	OPT_SAMPLE_COUNT,
	OPT_SAMPLE_INTERVAL,
	OPT_BTF,
	OPT_STRICT,
	OPT_USAGE,
};

/* argp puts --help and --version into group -1, the last one, by itself. */
enum group { GROUP_HELP = -1, GROUP_TARGET = 1, GROUP_SAMPLES, GROUP_RUN };

static const struct argp_option table[] = {
	{ .doc = "Target:", .group = GROUP_TARGET },
	{ "pid", 'p', "PID", 0, "Watch the process PID.", GROUP_TARGET },
	{ "comm", 'C', "NAME", 0,
	  "Watch the one process of this name (default: the one running ovs-vswitchd, else the one "
	  "running vpp_main or vpp).",
	  GROUP_TARGET },

	{ .doc = "Samples:", .group = GROUP_SAMPLES },
	{ "sample-time", OPT_SAMPLE_TIME, "DURATION", 0,
	  "Length of a sample, more than 0 (default: 0.5s).", GROUP_SAMPLES },
	{ "sample-count", OPT_SAMPLE_COUNT, "N", 0,
	  "Number of samples; 0: until stopped (default: 1).", GROUP_SAMPLES },
	{ "sample-interval", OPT_SAMPLE_INTERVAL, "DURATION", 0,
	  "Pause between two samples (default: 0s).", GROUP_SAMPLES },

	{ .doc = "Run:", .group = GROUP_RUN },
	{ "btf", OPT_BTF, "FILE", 0,
	  "Take the kernel's types from FILE (default: /sys/kernel/btf/vmlinux).", GROUP_RUN },
	{ "strict", OPT_STRICT, NULL, 0, "Exit with status 1 if anything was lost.", GROUP_RUN },
	{ "debug", 'D', "N", OPTION_ARG_OPTIONAL,
	  "Print the messages of libbpf and of the kernel's verifier. N may follow a space; 0: do "
	  "not print them (default: 0; without N: 63).",
	  GROUP_RUN },

	{ .doc = "Help:", .group = GROUP_HELP },
	{ "help", 'h', NULL, 0, "Print this help (-? too).", GROUP_HELP },
	{ "usage", OPT_USAGE, NULL, 0, "Print a short usage message.", GROUP_HELP },
	{ "version", 'V', NULL, 0, "Print the version.", GROUP_HELP },
	{ 0 },
};
#define TABLE_LEN (sizeof(table) / sizeof(table[0]))

static const struct argp help = {
	.options = table,
	.doc = "Show where each thread of a running process spends its time, and which of it is "
	       "the kernel's doing.\v"
	       "DURATION is a number of seconds, or a number directly followed by ns, us, ms, s "
	       "or min: 0.5, 250ms, 2min. The longest is 365 days.\n\n"
	       "SIGINT and SIGTERM end the sample and print it; a second one quits at once.\n\n"
	       "Exit status: 0 success, 1 losses with --strict, 64 wrong command line, 66 several "
	       "processes fit, 69 no such process, 71 refused by the kernel, 72 no BTF, 74 output "
	       "error, 77 not permitted.",
};

/* Ends the process after something was printed on stdout. */
static _Noreturn void finish_output(void)
{
	errno = 0;
	if (fflush(stdout) || ferror(stdout)) {
		log_error("cannot write to standard output: %s", strerror(errno ? errno : EIO));
		exit(EX_IOERR);
	}
	exit(EX_OK);
}

static _Noreturn void print_help(unsigned int parts)
{
	signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error to report */
	argp_help(&help, stdout, parts, (char[]){ PROGRAM });
	finish_output();
}

static _Noreturn void print_version(void)
{
	signal(SIGPIPE, SIG_IGN);
	puts(PROGRAM " " KERNEL_DELAY_VERSION);
	finish_output();
}

static int see_help(void)
{
	log_hint("`" PROGRAM " --help` lists the options");
	return EX_USAGE;
}

/* The two tables of getopt_long. */
static void make_getopt_tables(struct option longs[TABLE_LEN], char shorts[3 * TABLE_LEN + 3])
{
	/* Report a stray argument where it stands; be silent; tell what is missing. */
	*shorts++ = '-';
	*shorts++ = ':';

	for (size_t i = 0; i < TABLE_LEN; i++) {
		const struct argp_option *entry = &table[i];
		int colons = !entry->arg ? 0 : entry->flags & OPTION_ARG_OPTIONAL ? 2 : 1;

		if (!entry->name)
			continue;
		*longs++ = (struct option){ entry->name, colons, NULL, entry->key };
		if (entry->key >= 256)
			continue;
		*shorts++ = (char)entry->key;
		for (int colon = 0; colon < colons; colon++)
			*shorts++ = ':';
	}
	*longs = (struct option){ 0 };
	*shorts = '\0';
}

static const struct argp_option *find_option(int key)
{
	for (size_t i = 0; i < TABLE_LEN; i++) {
		if (table[i].name && table[i].key == key)
			return &table[i];
	}
	return NULL;
}

/* What getopt_long answered with '?', which for a long option is the argument
 * before the next one. */
static int refuse_option(int key, const char *argument)
{
	const struct argp_option *option = find_option(key);
	size_t length, similar = 0;

	if (key == '?') /* which it does not know as an option */
		print_help(ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC);
	if (option) {
		log_error("option --%s takes no value: '%s'", option->name, argument);
		return see_help();
	}
	if (key) {
		log_error("unknown option -%c", key);
		return see_help();
	}
	length = strcspn(argument, "=");
	for (size_t i = 0; i < TABLE_LEN && length > 2; i++)
		similar += table[i].name && !strncmp(table[i].name, argument + 2, length - 2);
	log_error("%s option %.*s", similar > 1 ? "ambiguous" : "unknown", (int)length, argument);
	return see_help();
}

static int read_number(const char *option, const char *text, uint64_t min, uint64_t max,
		       uint64_t *number)
{
	int error = parse_u64(text, min, max, number);

	if (!error)
		return 0;
	log_error("option --%s: '%s' is %s", option, text,
		  error == -ERANGE ? "out of range" : "no whole number");
	log_hint("give a number from %llu to %llu", (unsigned long long)min,
		 (unsigned long long)max);
	return EX_USAGE;
}

static int read_duration(const char *option, const char *text, uint64_t min, uint64_t *ns)
{
	uint64_t duration = 0;
	int error = parse_duration(text, NSEC_PER_SEC, DURATION_MAX, &duration);

	if (!error && duration >= min) {
		*ns = duration;
		return 0;
	}
	if (error == -EINVAL) {
		log_error("option --%s: '%s' is no duration", option, text);
		log_hint("give a number of seconds, or one with ns, us, ms, s or min: 0.5, 250ms");
	} else {
		log_error("option --%s: '%s' is too %s", option, text, error ? "long" : "short");
		log_hint(error ? "give at most 365 days: 525600min" : "give at least 1ns");
	}
	return EX_USAGE;
}

/* A thread name, as long as the kernel keeps them. */
static int read_name(const char *option, const char *text, const char **name)
{
	if (!*text) {
		log_error("option --%s: the name is empty", option);
		log_hint("give the name of a process, as in /proc/PID/comm");
		return EX_USAGE;
	}
	if (strlen(text) >= KD_COMM_LEN) {
		log_error("option --%s: '%s' is too long", option, text);
		log_hint("thread names have at most %d bytes: give the name as in /proc/PID/comm",
			 KD_COMM_LEN - 1);
		return EX_USAGE;
	}
	*name = text;
	return 0;
}

static int read_file(const char *option, const char *text, const char **file)
{
	if (!*text) {
		log_error("option --%s: the file name is empty", option);
		return see_help();
	}
	*file = text;
	return 0;
}

/* One option; text is its value, NULL if it has none. */
static int read_option(int key, const char *text, struct options *options)
{
	const char *name = find_option(key)->name;
	uint64_t number = 0;
	int status = 0;

	switch (key) {
	case 'p':
		status = read_number(name, text, 1, INT32_MAX, &number);
		options->pid = (pid_t)number;
		return status;
	case 'C':
		return read_name(name, text, &options->comm);
	case OPT_SAMPLE_TIME:
		return read_duration(name, text, 1, &options->sample_time);
	case OPT_SAMPLE_COUNT:
		return read_number(name, text, 0, UINT64_MAX, &options->sample_count);
	case OPT_SAMPLE_INTERVAL:
		return read_duration(name, text, 0, &options->sample_interval);
	case OPT_BTF:
		return read_file(name, text, &options->btf_file);
	case OPT_STRICT:
		options->strict = true;
		return 0;
	case 'D':
		number = DEBUG_DEFAULT;
		if (text)
			status = read_number(name, text, 0, INT32_MAX, &number);
		options->debug = (unsigned int)number;
		return status;
	case 'h':
		print_help(ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC);
	case OPT_USAGE:
		print_help(ARGP_HELP_USAGE);
	case 'V':
		print_version();
	}
	return EX_USAGE; /* an option of the table that is not above */
}

/* An optional value may also be the next argument, if that begins with a digit. */
static char *following_value(int key, char **argv)
{
	const char *next = argv[optind];

	if (!(find_option(key)->flags & OPTION_ARG_OPTIONAL))
		return NULL;
	return next && *next >= '0' && *next <= '9' ? argv[optind++] : NULL;
}

static int refuse_argument(const char *argument)
{
	log_error("unexpected argument '%s'", argument);
	return see_help();
}

static int read_all(int argc, char **argv, struct options *options)
{
	struct option longs[TABLE_LEN];
	char shorts[3 * TABLE_LEN + 3];
	int key, status = 0;

	make_getopt_tables(longs, shorts);
	optind = 0; /* glibc: from the beginning */
	while (!status && (key = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		switch (key) {
		case 1:
			return refuse_argument(optarg);
		case '?':
			return refuse_option(optopt, argv[optind - 1]);
		case ':':
			log_error("option --%s needs a value", find_option(optopt)->name);
			return see_help();
		}
		if (!optarg)
			optarg = following_value(key, argv);
		status = read_option(key, optarg, options);
	}
	if (!status && optind < argc)
		return refuse_argument(argv[optind]);
	return status;
}

int options_parse(int argc, char **argv, struct options *options)
{
	int status;

	*options = (struct options){
		.sample_time = SAMPLE_TIME_DEFAULT,
		.sample_count = 1,
	};
	status = read_all(argc, argv, options);
	if (!status && options->pid && options->comm) {
		log_error("options --pid and --comm exclude each other");
		log_hint("give one of them");
		return EX_USAGE;
	}
	return status;
}
