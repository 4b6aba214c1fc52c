/* SPDX-License-Identifier: Apache-2.0 */
/* Files of options against the same options on a command line. */
#define _GNU_SOURCE
#include <stdio.h>

#include "cli/options/options_file.h"
#include "options_run.h"

#define AT_ROOM 64

/* A file with a text, and the word that names it. Returns its descriptor. */
static int file_new(const char *text, size_t size, char at[static AT_ROOM])
{
	int fd = memory_file("options");

	if (write(fd, text, size) != (ssize_t)size) {
		perror("write");
		exit(1);
	}
	snprintf(at, AT_ROOM, "@/proc/self/fd/%d", fd);
	return fd;
}

/* Runs "kernel_delay [BEFORE] @FILE [BEHIND]". */
static const struct outcome *run_file(const char *text, size_t size, const char *before,
				      const char *behind)
{
	const char *args[ARGS] = { NULL };
	const struct outcome *got;
	char at[AT_ROOM];
	int fd = file_new(text, size, at), n = 0;

	if (before)
		args[n++] = before;
	args[n++] = at;
	args[n] = behind;
	got = run(args, -1);
	close(fd);
	return got;
}

static void test_good(void)
{
	static const char text[] = "# what the lab records each night\n"
				   "\n"
				   "--sample-time 2s   # two seconds\n"
				   "\t--sample-count=7\r\n"
				   "-v\n"
				   "-o json:two words.json\n"
				   "--output   text:a#b\n"
				   "--list-probes a*\n"
				   "redis-server";
	const struct outcome *got = run_file(text, strlen(text), NULL, NULL);

	is_i64(got->status, 0, "a file of options is read");
	is_str(got->err, "", "without a word");
	is_str(got->comm, "redis-server", "the process, in a line without an end");
	is_u64(got->options.sample_time, 2 * S, "a value after a blank, and a comment");
	is_u64(got->options.sample_count, 7, "a value after =, and another kind of line end");
	ok(got->options.verbose, "a letter");
	is_u64(got->options.outputs.n, 2, "two outputs");
	is_str(got->outputs[0], "two words.json", "a value with a blank in it");
	is_str(got->outputs[1], "a#b", "a # inside a word begins no comment");
	is_str(got->list_glob, "a*", "a value that need not be there");

	got = run_file("--sample-time 2s\n", 17, "--sample-time=1s", NULL);
	is_u64(got->options.sample_time, 2 * S,
	       "it counts where it stands: what follows overrides");
	got = run_file("--sample-time 2s\n", 17, NULL, "--sample-time=3s");
	is_u64(got->options.sample_time, 3 * S, "and is overridden");
	got = run_file("", 0, "17", NULL);
	is_i64(got->options.pids[0], 17, "an empty file says nothing");
}

static void test_names(void)
{
	const char *args[ARGS] = { "--comm", "@x" };
	const struct outcome *got = run(args, -1);

	is_i64(got->status, 0, "a value may begin with @");
	is_str(got->comm, "@x", "and is none of a file");
}

static void test_bad(void)
{
	static const struct {
		const char *text;
		int status;
		const char *says, *line;
	} cases[] = {
		{ "-v\n--sample-tme 2s\n", 64, "unknown option --sample-tme", "line 2 of " },
		{ "--sample-time 2 parsecs\n", 64, "2 parsecs", "line 1 of " },
		{ "\n\n-p\n", 64, "option --pid needs a value", "line 3 of " },
		{ "--all yes\n", 64, "option --all takes no value", "line 1 of " },
		{ "@other\n", 64, "cannot name another", "line 1 of " },
		{ "-- ls\n", 64, "an options file cannot hold", "line 1 of " },
		{ "--\n", 64, "an options file cannot hold", "line 1 of " },
		{ "17\n18\n", 64, "unexpected argument '18'", "line 2 of " },
	};
	char large[OPTIONS_FILE_MAX + 2];
	const struct outcome *got;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		got = run_file(cases[i].text, strlen(cases[i].text), NULL, NULL);
		is_i64(got->status, cases[i].status, "'%s' is refused", cases[i].says);
		ok(strstr(got->err, cases[i].says), "saying what is wrong: %s", got->err);
		ok(strstr(got->err, cases[i].line), "and where");
	}
	got = run_file("-v\n\0-v\n", 7, NULL, NULL);
	is_i64(got->status, 66, "a file that is no text is refused");
	memset(large, '#', sizeof(large));
	got = run_file(large, sizeof(large), NULL, NULL);
	is_i64(got->status, 66, "and one that is too large");
	got = run((const char *[ARGS]){ "@/nowhere/x" }, -1);
	is_i64(got->status, 66, "and one that is not there");
	ok(strstr(got->err, "'/nowhere/x': No such file") && strstr(got->err, "--comm"),
	   "which says what to do");
	got = run((const char *[ARGS]){ "@/proc/self" }, -1);
	is_i64(got->status, 66, "and a directory");
	got = run((const char *[ARGS]){ "@" }, -1);
	is_i64(got->status, 66, "and none");
}

int main(void)
{
	options_run_begin();
	test_good();
	test_names();
	test_bad();
	options_run_end();
	return done_testing();
}
