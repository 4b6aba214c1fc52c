/* SPDX-License-Identifier: Apache-2.0 */
/* options_parse() may print and may end the process: each test runs it in a
 * child, whose output and fate are looked at. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>

#include "options_run.h"

/* What a command line must yield; what is not set here is the default. */
struct good {
	const char *args[ARGS];
	pid_t pid, second;
	const char *comm, *command;
	uint64_t time, interval, count;
	bool forever; /* count 0 */
	const char *btf_file;
	unsigned int debug;
	bool strict;
};

static const struct good good[] = {
	{ .args = { NULL } },
	/* target */
	{ { "-p", "1" }, .pid = 1 },
	{ { "-p1" }, .pid = 1 },
	{ { "--pid", "4194304" }, .pid = 4194304 },
	{ { "--pid=2147483647" }, .pid = 2147483647 },
	{ { "-p", "1", "-p", "2" }, .pid = 2 },
	{ { "-p", "12,34" }, .pid = 12, .second = 34 },
	{ { "-p", "12,34", "-p", "5" }, .pid = 5 },
	{ { "12,34,56" }, .pid = 12, .second = 34 },
	{ { ",12" }, .comm = ",12" },
	{ { "-C", "x", "--all" }, .comm = "x" },
	{ { "x", "--all", "--wait" }, .comm = "x" },
	{ .args = { "--cgroup", "/a", "--follow-fork" } },
	{ .args = { "--container", "web" } },
	{ .args = { "--container", "web", "--long-poll" } },
	{ { "--follow-fork", "5" }, .pid = 5 },
	{ { "--follow-fork", "--", "x" }, .command = "x", .time = UINT64_MAX },
	{ { "-C", "redis-server" }, .comm = "redis-server" },
	{ { "-Cx" }, .comm = "x" },
	{ { "--comm=exactly15bytes_" }, .comm = "exactly15bytes_" },
	{ { "--comm", "-p" }, .comm = "-p" },
	{ { "--comm", "two words" }, .comm = "two words" },
	{ { "4711" }, .pid = 4711 },
	{ { "0004711" }, .pid = 4711 },
	{ { "redis-server" }, .comm = "redis-server" },
	{ { "4711x" }, .comm = "4711x" },
	{ { "two words" }, .comm = "two words" },
	{ { "-C", "4711" }, .comm = "4711" },
	{ { "-" }, .comm = "-" },
	/* a command: one sample of it lasts to its end */
	{ { "--", "-p" }, .command = "-p", .time = UINT64_MAX },
	{ { "--", "5" }, .command = "5", .time = UINT64_MAX },
	{ { "--", "" }, .command = "", .time = UINT64_MAX },
	{ { "--", "ls", "--", "-V", "-p" }, .command = "ls", .time = UINT64_MAX },
	{ { "--strict", "--", "ls", "-l" }, .command = "ls", .time = UINT64_MAX, .strict = true },
	{ { "--exit-status", "--", "ls" }, .command = "ls", .time = UINT64_MAX },
	{ { "--sample-count", "1", "--", "ls" }, .command = "ls", .count = 1, .time = UINT64_MAX },
	{ { "--sample-count", "2", "--", "ls" }, .command = "ls", .count = 2 },
	{ { "--sample-count", "0", "--", "ls" }, .command = "ls", .forever = true },
	{ { "--sample-time", "0.5s", "--", "ls" }, .command = "ls" },
	{ { "--start-trigger", "up:main", "--", "ls" }, .command = "ls" },
	{ { "--strict", "5" }, .pid = 5, .strict = true },
	{ { "vpp", "--strict" }, .comm = "vpp", .strict = true },
	{ { "-D", "vpp" }, .debug = 0x3f, .comm = "vpp" },
	{ { "-D1", "1" }, .debug = 1, .pid = 1 },
	{ { "-D", "--", "1" }, .debug = 0x3f, .command = "1", .time = UINT64_MAX },
	{ { "--machine", "x" }, .comm = "x" },
	{ .args = { "--machine=json" } },
	{ { "--wait", "x" }, .comm = "x" },
	{ { "--wait=1s", "-C", "x" }, .comm = "x" },
	{ .args = { "--pidfile", "x", "--wait=1min", "--pid-ns", "1" } },
	{ { "-p", "5", "--pid-ns=1" }, .pid = 5 },
	{ { "--follow-restart", "x", "--sample-count", "5" }, .comm = "x", .count = 5 },
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
	/* abbreviations, and an option that has a similar one */
	{ { "--sample-t", "1" }, .time = S },
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
		is_i64(options->pids[0], want->pid, "'%s': pid", line);
		is_i64(options->pids[1], want->second, "'%s': second pid", line);
		is_str(got->comm, want->comm ? want->comm : "(none)", "'%s': comm", line);
		is_str(got->command, want->command ? want->command : "(none)", "'%s': command",
		       line);
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
	{ { "--pidx", "1" }, "unknown option --pidx\n", "similar names: --pid\n" },
	{ { "--sample-tiem=1" }, "unknown option --sample-tiem\n", "names: --sample-time\n" },
	{ { "--trigger-detla" }, "--trigger-detla\n", "similar names: --trigger-delta" },
	{ { "--xyzzyxyzzy" }, "unknown option --xyzzyxyzzy", "--help` lists the options" },
	{ { "--sample", "1" },
	  "ambiguous option --sample\n",
	  "similar names: --sample-time, --sample-count, --sample-interval\n" },
	{ { "--s" }, "--s", "ambiguous option" },
	{ { "--=" }, "--", "unknown option" },
	/* stray arguments */
	{ { "vpp", "stray" }, "unexpected argument 'stray'", "the process is 'vpp'" },
	{ { "vpp", "vpp" }, "unexpected argument 'vpp'", "the process is 'vpp'" },
	{ { "1", "--strict", "2" }, "unexpected argument '2'", "the process is '1'" },
	/* a command */
	{ { "1", "--", "ls" }, "'1' and a command", "give one of them" },
	{ { "1", "--pidfile", "x" }, "'1' and --pidfile", "give one of them" },
	{ { "-p", "1", "--pidfile", "x" }, "--pidfile", "--pid, --comm or a command" },
	{ { "--pidfile=x", "--", "ls" }, "--pidfile", "--pid, --comm or a command" },
	{ { "--pidfile", "" }, "--pidfile", "file name is empty" },
	{ { "-p", "1," }, "'1,'", "commas between them" },
	{ { "-p", ",1" }, "',1'", "commas between them" },
	{ { "-p", "1, 2" }, "'1, 2'", "commas between them" },
	{ { "-p", "1,0" }, "'1,0' is out of range", "--pid 12,34" },
	{ { "-p", "1,99999999999999999999999999" }, "out of range", "--pid 12,34" },
	{ { "1,,2" }, "'1,,2' is not a PID", "digits with --comm" },
	{ { "--all" }, "--all", "--comm postgres --all" },
	{ { "--all", "-p", "1" }, "--all", "needs --comm" },
	{ { "--cgroup", "/a", "-p", "1" }, "--cgroup and", "with --pid" },
	{ { "--cgroup", "/a", "1" }, "'1' and --cgroup", "give one of them" },
	{ { "--cgroup", "/a", "--container", "b" }, "--cgroup and --container", "one of them" },
	{ { "--container", "a", "--", "ls" }, "--container", "or a command" },
	{ { "--container", "a", "1" }, "'1' and --container", "give one of them" },
	{ { "--container", "" }, "--container", "empty" },
	{ { "--cgroup", "" }, "--cgroup", "empty" },
	{ { "--follow-restart", "x", "--all", "--sample-count=0" },
	  "--follow-restart",
	  "a target of one process" },
	{ { "--machine", "-p", "1,2" }, "--machine", "one process" },
	{ { "--machine", "-p", "1", "--tid=1" }, "--machine", "no threads of the process" },
	{ { "--machine", "-p", "1", "--threads=a" }, "--machine", "no threads of the process" },
	{ { "-p", "1", "--tid=1", "--follow-fork" }, "--tid", "--threads and a pattern" },
	{ { "--cgroup=/", "--tid=1" }, "--tid", "--threads and a pattern" },
	{ { "--container=a", "--tid=1" }, "--tid", "--threads and a pattern" },
	{ { "-p", "1,2", "--list-probes" }, "--list-probes", "give one PID, without --all" },
	{ { "--cgroup=/", "--list-probes=t:*" }, "--list-probes", "give one PID, without --all" },
	{ { "--replay", "x", "--cgroup", "/" }, "--replay", "does not look at any process" },
	{ { "--replay", "x", "--follow-fork" }, "--replay", "does not look at any process" },
	{ { "--pid-ns", "1" }, "--pid-ns", "needs --pid or --pidfile" },
	{ { "--pid-ns", "0", "-p", "1" }, "--pid-ns", "out of range" },
	{ { "--follow-restart", "x" }, "--follow-restart", "give --sample-count, or --listen" },
	{ { "--follow-restart", "--", "x" }, "--follow-restart", "give its name or PID" },
	{ { "--follow-restart", "--long-poll", "x", "--sample-count=0" },
	  "--follow-restart",
	  "with triggers" },
	{ { "--follow-restart", "x", "--listen=1", "-s" }, "--follow-restart", "and --listen" },
	{ { "--machine=xml" }, "--machine", "give text or json" },
	{ { "--machine", "--", "x" }, "--machine", "with a command" },
	{ { "--machine", "--replay", "x" }, "--machine", "with --replay" },
	{ { "--list-metrics", "--", "x" }, "--list-metrics", "with a command" },
	{ { "--wait" }, "--wait", "needs --comm or --pidfile" },
	{ { "--wait=1", "x" }, "--wait", "has no unit" },
	{ { "--wait=0s", "x" }, "--wait", "too short" },
	{ { "--wait", "-p", "1" }, "--wait", "needs --comm or --pidfile" },
	{ { "-p", "1", "--", "ls" }, "--pid and --comm", "command after --" },
	{ { "-C", "x", "--", "ls" }, "--pid and --comm", "command after --" },
	{ { "--" }, "no command after --", "give one" },
	{ { "-D", "--" }, "no command after --", "give one" },
	{ { "--exit-status" }, "--exit-status needs a command", "give one" },
	{ { "--replay", "x", "--", "ls" }, "--replay", "with a command" },
	{ { "a", "b\x1b[31m\xff" }, "'b\\x1b[31m\\xff'", "unexpected argument" },
	/* the process */
	{ { "" }, "name of the process", "is empty" },
	{ { "0" }, "'0' is out of range", "from 1 to 2147483647" },
	{ { "2147483648" }, "'2147483648' is out of range", "from 1 to 2147483647" },
	{ { "99999999999999999999" }, "out of range for a PID", "digits with --comm" },
	{ { "systemd-journald" }, "'systemd-journald' is too long", "give 'systemd-journal'\n" },
	{ { "-p", "1", "redis" }, "given twice", "as 'redis' and with --pid" },
	{ { "redis", "-p", "1" }, "given twice", "as 'redis' and with --pid" },
	{ { "5", "-p", "5" }, "given twice", "as '5' and with --pid" },
	{ { "5", "-C", "x" }, "given twice", "as '5' and with --comm" },
	{ { "--list-probes", "up:ma*" }, "'up:ma*' is not a process", "--list-probes='up:ma*'" },
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
	{ { "-p", "" }, "--pid", "not a whole number" },
	{ { "-p", "0" }, "--pid", "out of range" },
	{ { "-p", "-1" }, "--pid", "not a whole number" },
	{ { "-p", "2147483648" }, "--pid", "out of range" },
	{ { "-p", "99999999999999999999" }, "--pid", "out of range" },
	{ { "-p", "12abc" }, "--pid", "not a whole number" },
	{ { "-p", " 1" }, "--pid", "not a whole number" },
	{ { "-p", "--strict" }, "--pid", "not a whole number" },
	{ { "--pid=" }, "--pid", "not a whole number" },
	{ { "--sample-count", "1.5" }, "--sample-count", "not a whole number" },
	{ { "--sample-count", "-1" }, "--sample-count", "not a whole number" },
	{ { "--sample-count", "18446744073709551616" }, "--sample-count", "out of range" },
	{ { "-Dx" }, "--debug", "not a whole number" },
	{ { "-D", "1x" }, "--debug", "not a whole number" },
	{ { "-D", "0x3f" }, "--debug", "not a whole number" },
	{ { "-D-1" }, "--debug", "not a whole number" },
	{ { "--debug=" }, "--debug", "not a whole number" },
	{ { "--debug", "2147483648" }, "--debug", "out of range" },
	/* durations */
	{ { "--sample-time", "" }, "--sample-time", "not a duration" },
	{ { "--sample-time", "0" }, "--sample-time", "too short" },
	{ { "--sample-time", "0.0" }, "--sample-time", "too short" },
	{ { "--sample-time", "0.1ns" }, "--sample-time", "too short" },
	{ { "--sample-time", "-1" }, "--sample-time", "not a duration" },
	{ { "--sample-time", "1h" }, "--sample-time", "not a duration" },
	{ { "--sample-time", "1ms5" }, "--sample-time", "not a duration" },
	{ { "--sample-time", "nan" }, "--sample-time", "not a duration" },
	{ { "--sample-time", "inf" }, "--sample-time", "not a duration" },
	{ { "--sample-time", "1e300" }, "--sample-time", "too long" },
	{ { "--sample-time", "31536000.000000001" }, "--sample-time", "too long" },
	{ { "--sample-interval", "-1" }, "--sample-interval", "not a duration" },
	{ { "--sample-interval", "x" }, "--sample-interval", "not a duration" },
	{ { "--sample-interval", "9999999999" }, "--sample-interval", "too long" },
	/* names */
	{ { "-C", "" }, "name of the process", "is empty" },
	{ { "-C", "sixteen_bytes_16" },
	  "'sixteen_bytes_16' is too long",
	  "give 'sixteen_bytes_1'" },
	{ { "--btf=" }, "--btf", "empty" },
	{ { "-p", "1", "-C", "x" }, "--pid and --comm", "cannot be combined" },
	{ { "-C", "x", "--strict", "-p", "1" }, "--pid and --comm", "cannot be combined" },
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
		{ { "-h" },
		  { "Usage: kernel_delay [OPTION...] [PID|NAME] [@FILE...]\n", "\n Target:" } },
		{ { "--help" },
		  { "-s, --syscall-events[=NS]", "-e, --syscall-filter=LIST", "--off-cpu=DURATION",
		    "--profile[=HZ]", "-o, --output=FORMAT[:FILE]", "--user-stack-bytes=BYTES",
		    "--lines", "--stack-overhead=PERCENT", "--stack-trace-size=N",
		    "--buffer-page-count=N" } },
		{ { "-?" }, { "Usage: kernel_delay [OPTION...]", "\n Samples:" } },
		{ { "--he" }, { "Usage: kernel_delay [OPTION...]" } },
		{ { "-p", "1", "--help", "--nonsense" }, { "Usage: kernel_delay" } },
		{ { "--usage" },
		  { "Usage: kernel_delay", "[--pid=PID[,PID...]]", "[--debug[=N]]" } },
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
		is_i64(got->status, ENDED + 128 + SIGPIPE, "'%s' to a closed pipe", options[i]);
		is_u64(count_lines(got->err), 0, "'%s' to a closed pipe: quietly", options[i]);
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
