/* SPDX-License-Identifier: Apache-2.0 */
/* options_parse() may print and may end the process: each test runs it in a
 * child, whose output and fate are looked at. */
#define _GNU_SOURCE
#include <fcntl.h>

#include "options_run.h"

/* What a command line must yield; what is not set here is the default. */
struct good {
	const char *args[ARGS];
	pid_t pid;
	const char *comm;
	uint64_t time, interval, count;
	bool forever; /* count 0 */
	const char *btf_file;
	unsigned int debug;
	bool strict;
};

static const struct good good[] = {
	{ .args = { NULL } },
	{ .args = { "--" } },
	/* target */
	{ { "-p", "1" }, .pid = 1 },
	{ { "-p1" }, .pid = 1 },
	{ { "--pid", "4194304" }, .pid = 4194304 },
	{ { "--pid=2147483647" }, .pid = 2147483647 },
	{ { "-p", "1", "-p", "2" }, .pid = 2 },
	{ { "-C", "redis-server" }, .comm = "redis-server" },
	{ { "-Cx" }, .comm = "x" },
	{ { "--comm=exactly15bytes_" }, .comm = "exactly15bytes_" },
	{ { "--comm", "-p" }, .comm = "-p" },
	{ { "--comm", "two words" }, .comm = "two words" },
	/* samples */
	{ { "--sample-time", "1" }, .time = S },
	{ { "--sample-time=0.1" }, .time = 100 * MS },
	{ { "--sample-time", "10ms" }, .time = 10 * MS },
	{ { "--sample-time", "1ns" }, .time = 1 },
	{ { "--sample-time", "2min" }, .time = 120 * S },
	{ { "--sample-time", "1e-3" }, .time = MS },
	{ { "--sample-time", "525600min" }, .time = 31536000 * S },
	{ { "--sample-time", "31536000" }, .time = 31536000 * S },
	{ .args = { "--sample-interval", "0" } },
	{ { "--sample-interval", "0.25" }, .interval = 250 * MS },
	{ { "--sample-interval=3s" }, .interval = 3 * S },
	{ { "--sample-count", "7" }, .count = 7 },
	{ { "--sample-count=0" }, .forever = true },
	{ { "--sample-count", "18446744073709551614" }, .count = UINT64_MAX - 1 },
	/* run */
	{ { "--btf", "/x/vmlinux" }, .btf_file = "/x/vmlinux" },
	{ { "--strict" }, .strict = true },
	/* an optional value */
	{ { "-D" }, .debug = 0x3f },
	{ { "--debug" }, .debug = 0x3f },
	{ { "-D1" }, .debug = 1 },
	{ { "-D", "1" }, .debug = 1 },
	{ .args = { "-D", "0" } },
	{ { "-D", "2147483647" }, .debug = 2147483647 },
	{ { "--debug=8" }, .debug = 8 },
	{ { "--debug", "8" }, .debug = 8 },
	{ { "--deb", "8" }, .debug = 8 },
	{ { "-D", "-p", "9" }, .debug = 0x3f, .pid = 9 },
	{ { "-D", "--strict" }, .debug = 0x3f, .strict = true },
	{ { "-D", "1", "-p", "9" }, .debug = 1, .pid = 9 },
	{ { "-p", "9", "-D" }, .debug = 0x3f, .pid = 9 },
	{ { "-D", "--" }, .debug = 0x3f },
	/* abbreviations, and an option that has a similar one */
	{ { "--pi", "3" }, .pid = 3 },
	{ { "--sample-c", "3" }, .count = 3 },
	{ { "--sample-t=3", "--sample-i", "4", "--str" },
	  .time = 3 * S,
	  .interval = 4 * S,
	  .strict = true },
};

static void test_good(void)
{
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		const struct good *want = &good[i];
		const struct outcome *got = run(want->args, -1);
		const struct options *options = &got->options;
		char line[256];

		join(want->args, line);
		is_i64(got->status, 0, "'%s' is accepted", line);
		if (got->status)
			continue;
		is_str(got->err, "", "'%s': no message", line);
		is_str(got->out, "", "'%s': no output", line);
		is_i64(options->pid, want->pid, "'%s': pid", line);
		is_str(got->comm, want->comm ? want->comm : "(none)", "'%s': comm", line);
		is_u64(options->sample_time, want->time ? want->time : 500 * MS, "'%s': time",
		       line);
		is_u64(options->sample_interval, want->interval, "'%s': interval", line);
		is_u64(options->sample_count, want->count || want->forever ? want->count : 1,
		       "'%s': count", line);
		is_str(got->btf_file, want->btf_file ? want->btf_file : "(none)", "'%s': btf",
		       line);
		is_u64(options->debug, want->debug, "'%s': debug", line);
		ok(options->strict == want->strict, "'%s': strict", line);
	}
}

/* Command lines that are refused, and why. */
static const struct refusal bad[] = {
	/* unknown */
	{ { "-q" }, "-q", "unknown option" },
	{ { "-\xc3\xa9" }, "-\\xc3", "unknown option" },
	{ { "--silent" }, "--silent", "unknown option" },
	{ { "--silent=5" }, "--silent", "unknown option" },
	{ { "--\x1b[2J\n" }, "--\\x1b[2J\\n", "unknown option" },
	{ { "--pidx", "1" }, "--pidx", "unknown option" },
	{ { "--sample", "1" }, "--sample", "ambiguous option" },
	{ { "--s" }, "--s", "ambiguous option" },
	{ { "--=" }, "--", "unknown option" },
	/* stray arguments */
	{ { "stray" }, "'stray'", "unexpected argument" },
	{ { "" }, "''", "unexpected argument" },
	{ { "-" }, "'-'", "unexpected argument" },
	{ { "5" }, "'5'", "unexpected argument" },
	{ { "-p", "1", "stray" }, "'stray'", "unexpected argument" },
	{ { "stray", "-p", "1" }, "'stray'", "unexpected argument" },
	{ { "--", "-p" }, "'-p'", "unexpected argument" },
	{ { "-D", "stray" }, "'stray'", "unexpected argument" },
	{ { "-D", "--", "1" }, "'1'", "unexpected argument" },
	{ { "-D1", "1" }, "'1'", "unexpected argument" },
	{ { "--strict", "1" }, "'1'", "unexpected argument" },
	{ { "a\x1b[31m\xff" }, "'a\\x1b[31m\\xff'", "unexpected argument" },
	/* values missing or too many */
	{ { "-p" }, "--pid", "needs a value" },
	{ { "--pid" }, "--pid", "needs a value" },
	{ { "--sample-time" }, "--sample-time", "needs a value" },
	{ { "--sample-count" }, "--sample-count", "needs a value" },
	{ { "--sample-interval" }, "--sample-interval", "needs a value" },
	{ { "--btf" }, "--btf", "needs a value" },
	{ { "-C" }, "--comm", "needs a value" },
	{ { "--strict=1" }, "--strict", "takes no value" },
	{ { "--str=1" }, "--strict", "takes no value" },
	{ { "--version=1" }, "--version", "takes no value" },
	/* whole numbers */
	{ { "-p", "" }, "--pid", "no whole number" },
	{ { "-p", "0" }, "--pid", "out of range" },
	{ { "-p", "-1" }, "--pid", "no whole number" },
	{ { "-p", "2147483648" }, "--pid", "out of range" },
	{ { "-p", "99999999999999999999" }, "--pid", "out of range" },
	{ { "-p", "12abc" }, "--pid", "no whole number" },
	{ { "-p", " 1" }, "--pid", "no whole number" },
	{ { "-p", "--strict" }, "--pid", "no whole number" },
	{ { "--pid=" }, "--pid", "no whole number" },
	{ { "--sample-count", "1.5" }, "--sample-count", "no whole number" },
	{ { "--sample-count", "-1" }, "--sample-count", "no whole number" },
	{ { "--sample-count", "18446744073709551616" }, "--sample-count", "out of range" },
	{ { "-Dx" }, "--debug", "no whole number" },
	{ { "-D", "1x" }, "--debug", "no whole number" },
	{ { "-D", "0x3f" }, "--debug", "no whole number" },
	{ { "-D-1" }, "--debug", "no whole number" },
	{ { "--debug=" }, "--debug", "no whole number" },
	{ { "--debug", "2147483648" }, "--debug", "out of range" },
	/* durations */
	{ { "--sample-time", "" }, "--sample-time", "no duration" },
	{ { "--sample-time", "0" }, "--sample-time", "too short" },
	{ { "--sample-time", "0.0" }, "--sample-time", "too short" },
	{ { "--sample-time", "0.1ns" }, "--sample-time", "too short" },
	{ { "--sample-time", "-1" }, "--sample-time", "no duration" },
	{ { "--sample-time", "1h" }, "--sample-time", "no duration" },
	{ { "--sample-time", "1ms5" }, "--sample-time", "no duration" },
	{ { "--sample-time", "nan" }, "--sample-time", "no duration" },
	{ { "--sample-time", "inf" }, "--sample-time", "no duration" },
	{ { "--sample-time", "1e300" }, "--sample-time", "too long" },
	{ { "--sample-time", "31536000.000000001" }, "--sample-time", "too long" },
	{ { "--sample-interval", "-1" }, "--sample-interval", "no duration" },
	{ { "--sample-interval", "x" }, "--sample-interval", "no duration" },
	{ { "--sample-interval", "9999999999" }, "--sample-interval", "too long" },
	/* names */
	{ { "-C", "" }, "--comm", "empty" },
	{ { "-C", "sixteen_bytes_16" }, "--comm", "at most 15 bytes" },
	{ { "--btf=" }, "--btf", "empty" },
	{ { "-p", "1", "-C", "x" }, "--pid and --comm", "exclude each other" },
	{ { "-C", "x", "--strict", "-p", "1" }, "--pid and --comm", "exclude each other" },
};

/* A refused value may be longer than any message. */
static void test_long_value(void)
{
	static char value[100000];
	const char *args[ARGS] = { "-p", value };
	const struct outcome *got;

	memset(value, '\x1b', sizeof(value) - 1);
	got = run(args, -1);
	is_i64(got->status, 64, "a value of 99,999 control characters is refused");
	is_u64(count_lines(got->err), 2, "in two lines");
	args[0] = value;
	args[1] = NULL;
	is_i64(run(args, -1)->status, 64, "and so it is as an argument");
}

/* --help and the like: status, and what the output has at least. */
static void test_endings(void)
{
	static const struct {
		const char *args[ARGS];
		const char *has[12];
	} cases[] = {
		{ { "--help" },
		  { "-p, --pid=PID", "-C, --comm=NAME", "--sample-time=DURATION", "0.5s",
		    "--sample-count=N", "--sample-interval=DURATION", "--btf=FILE", "--strict",
		    "-D, --debug[=N]", "-V, --version", "DURATION is" } },
		{ { "-h" }, { "Usage: kernel_delay [OPTION...]", "\n Target:" } },
		{ { "--help" },
		  { "-s, --syscall-events[=NS]", "-e, --syscall-filter=LIST", "--off-cpu=DURATION",
		    "--profile[=HZ]", "-o, --output=FORMAT[:FILE]", "--user-stack-bytes=BYTES",
		    "--stack-rate=N", "--stack-trace-size=N", "--buffer-page-count=N" } },
		{ { "-?" }, { "Usage: kernel_delay [OPTION...]", "\n Samples:" } },
		{ { "--he" }, { "Usage: kernel_delay [OPTION...]" } },
		{ { "-p", "1", "--help", "--nonsense" }, { "Usage: kernel_delay" } },
		{ { "--usage" }, { "Usage: kernel_delay", "[--pid=PID]", "[--debug[=N]]" } },
		{ { "--version" }, { "kernel_delay " } },
		{ { "-V" }, { "kernel_delay " } },
		{ { "-Vq" }, { "kernel_delay " } },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct outcome *got = run(cases[i].args, -1);
		char line[256];

		join(cases[i].args, line);
		is_i64(got->status, ENDED, "'%s' ends the process with status 0", line);
		is_str(got->err, "", "'%s': nothing on stderr", line);
		for (size_t j = 0; cases[i].has[j]; j++)
			ok(strstr(got->out, cases[i].has[j]), "'%s': prints '%s'", line,
			   cases[i].has[j]);
		for (const char *at = got->out, *end; (end = strchr(at, '\n')); at = end + 1) {
			if (end - at > 80)
				ok(false, "'%s': a line is longer than 80", line);
		}
	}
}

/* --help and the like where the output cannot be written. */
static void test_output_errors(void)
{
	static const char *const options[] = { "--help", "--usage", "--version" };
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC), ends[2];

	if (full < 0 || pipe2(ends, O_CLOEXEC)) {
		perror("/dev/full, pipe");
		exit(1);
	}
	close(ends[0]);
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		const char *args[ARGS] = { options[i] };
		const struct outcome *got = run(args, full);

		is_i64(got->status, ENDED + 74, "'%s' to a full disk: status 74", options[i]);
		is_u64(count_lines(got->err), 1, "'%s' to a full disk: one line", options[i]);
		got = run(args, ends[1]);
		is_i64(got->status, ENDED + 74, "'%s' to a closed pipe: status 74", options[i]);
		is_u64(count_lines(got->err), 1, "'%s' to a closed pipe: one line", options[i]);
	}
	close(full);
	close(ends[1]);
}

/* Random command lines of pieces that matter: refused, accepted or ended, with
 * one or two lines if refused and none otherwise. */
static void test_random(void)
{
	static const char *const pieces[] = {
		"-p",  "-p1", "1", "-C", "x",  "-D", "-D1", "--debug", "--sample-time", "--sample-",
		"1ms", "--",  "-", "",   "=1", "-V", "--s", "--pid=",  "--comm=y",      "-DVh",
		"-?",  "0",   ":", "-:", "-;", "-W", "-=",  "--=1",    "\xff\x1b",      "--strict",
	};
	const unsigned int rounds = 500;
	uint64_t state = 0x2545f4914f6cdd1d, wrong = 0;

	for (unsigned int round = 0; round < rounds; round++) {
		const char *args[ARGS] = { NULL };
		const struct outcome *got;
		unsigned int lines;
		char line[256];

		for (size_t i = 0; i < round % ARGS; i++) {
			state = state * 6364136223846793005 + 1442695040888963407;
			args[i] = pieces[(state >> 33) % (sizeof(pieces) / sizeof(pieces[0]))];
		}
		got = run(args, -1);
		lines = count_lines(got->err);
		if (got->status == 64 ? lines < 1 || lines > 2
				      : lines || (got->status && got->status != ENDED)) {
			wrong++;
			tap_print_string("wrong", join(args, line));
		}
	}
	is_u64(wrong, 0, "%u random command lines end well", rounds);
}

int main(void)
{
	options_run_begin();
	test_good();
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		check_refusal(&bad[i]);
	test_long_value();
	test_endings();
	test_output_errors();
	test_random();
	options_run_end();
	return done_testing();
}
