/* SPDX-License-Identifier: Apache-2.0 */
/* Runs command lines, and describes what was read of each. Those that may end the process have a
 * child, which takes long with sanitizers. */
#ifndef TESTS_UNIT_OPTIONS_RUN_H
#define TESTS_UNIT_OPTIONS_RUN_H

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/options/options_parse.h"
#include "cli/options/options_table.h"
#include "cases.h"
#include "say.h"
#include "tap.h"

#define WORDS 12
#define S 1000000000ULL
#define ENDED 1000 /* status if the child ended the process: this + exit status */

struct outcome {
	int status; /* returned, or ENDED + the exit status */
	char meaning[SAY_LEN];
	uint64_t buffer_pages;
	char out[32768], err[16384];
};

static struct outcome *shared; /* with a child */

#define SAY(...) say(shared->meaning, __VA_ARGS__)

/* The name without what it is a part of. */
static const char *last_part(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot ? dot + 1 : name;
}

static void say_text(const char *name, const char *text)
{
	if (text)
		SAY(" %s=%s", last_part(name), text);
}

/* In ns; it is shown in seconds. */
static void say_time(const char *name, uint64_t ns, uint64_t usual)
{
	if (ns == UINT64_MAX && ns != usual)
		SAY(" %s=ever", last_part(name));
	else if (ns != usual)
		SAY(" %s=%.12g", last_part(name), (double)ns / (double)S);
}

static void say_number(const char *name, uint64_t value, uint64_t usual, bool is_flag)
{
	if (value == usual)
		return;
	if (is_flag)
		SAY(" %s", last_part(name));
	else
		SAY(strstr(name, "mode") ? " %s=%" PRIo64 : " %s=%" PRIu64, last_part(name), value);
}

/* Members, and what they are unless the command line says otherwise. */
#define TEXT(member) say_text(#member, options->member)
#define TIME(member, usual) say_time(#member, options->member, usual)
#define N(member, usual)                                                                           \
	say_number(#member, (uint64_t)options->member, usual, sizeof(options->member) == 1)
#undef FLAG /* as rows have it */
#define FLAG(member) N(member, 0)

static void say_members(const struct options *options)
{
	TEXT(comm), TEXT(exe), TEXT(cgroup), TEXT(container), TEXT(pidfile), TEXT(record_on),
		TEXT(list_glob), TEXT(replay), TEXT(triggers[0]), TEXT(btf_file), TEXT(fail_if[0]),
		TEXT(triggers[1]), TEXT(fail_if[1]), TEXT(outputs.compare),
		TEXT(outputs.allow_host);
	TIME(wait, 0), TIME(sample_time, S / 2), TIME(sample_interval, 0),
		TIME(duration, UINT64_MAX), TIME(interruptions, 0), TIME(record, 0),
		TIME(long_poll, 0), TIME(trigger_deltas.others, 0), TIME(call_threshold, 0),
		TIME(off_cpu, 0);
	N(uid, UID_ANY), FLAG(all), FLAG(follow_fork), FLAG(show_arguments), FLAG(pid_ns),
		FLAG(follow_restart), FLAG(pass_status), N(sample_count, 1), FLAG(histogram),
		FLAG(counters.n), FLAG(counters.per_cpu), N(record_memory, 32 << 20),
		FLAG(resources), FLAG(trigger_worst), FLAG(target_only), FLAG(any),
		FLAG(same_thread), FLAG(unsafe_returns), N(max_overhead, 10), FLAG(overhead_stops),
		N(window_banks, 4), FLAG(verbose), FLAG(machine), FLAG(machine_json),
		FLAG(list_probes), FLAG(check), FLAG(call_events), FLAG(calls_chosen),
		FLAG(calls_named), FLAG(skip_polls), FLAG(all_wakers), FLAG(profile_hz),
		N(buffer_pages, 1024), N(stacks, 4096), N(stack_bytes, 131072),
		N(stack_share, 10000), FLAG(outputs.quiet), FLAG(outputs.live),
		FLAG(outputs.listen), FLAG(full), FLAG(summary), FLAG(list_metrics),
		FLAG(skip_upcall_stats), FLAG(debug), FLAG(strict), FLAG(keep_privileges);
}

static void say_settings(const struct output_settings *options)
{
	N(mode, 0600), FLAG(limit), FLAG(color), FLAG(no_pager), FLAG(report.sort),
		N(report.top, 10), FLAG(report.lines), FLAG(report.max_syscalls),
		FLAG(report.per_thread), FLAG(report.fold_names), FLAG(report.timestamps);
}

static bool lists(const struct options *options, uint32_t state, uint32_t awaited)
{
	return wait_filter_passes(
		&options->waits,
		&(struct trace_row){ .kind = TRACE_WAIT, .state = state, .awaited = awaited });
}

static void say_choices(const struct options *options)
{
	const bool *calls = options->calls.has[0];

	if (options->calls_chosen || options->call_events)
		SAY("%s%s%s", calls[SYS_futex] ? "" : " -futex", calls[SYS_ppoll] ? "" : " -ppoll",
		    calls[SYS_read] ? "" : " -read");
	SAY("%s%s%s", lists(options, KD_BLOCKED, KD_AWAITED_TIMER) ? " +timer" : "",
	    lists(options, KD_BLOCKED, KD_AWAITED_LOCK) ? "" : " -lock",
	    lists(options, KD_READY_WOKEN, 0) ? "" : " -ready");
	if ((bool)(options_scans(options) & SCAN_TRACES) !=
	    (options->call_events || options->off_cpu || options->profile_hz))
		SAY(" and is wrong about traces");
}

/* Whatever differs from what is usual. */
static void describe(const struct options *options)
{
	for (size_t i = 0; options->pids[i]; i++)
		SAY("%s%d", i ? "," : " pid=", options->pids[i]);
	for (size_t i = 0; options->tids[i]; i++)
		SAY("%s%d", i ? "," : " tid=", options->tids[i]);
	for (char **word = options->command; word && *word; word++)
		SAY("%s%s", word == options->command ? " command=" : " ", *word);
	say_members(options);
	say_choices(options);
	for (size_t i = 0; i < options->outputs.n; i++) {
		SAY(" -o %s:%s", options->outputs.all[i].format->name,
		    options->outputs.all[i].file ? options->outputs.all[i].file : "");
		say_settings(&options->outputs.all[i].settings);
	}
	if (options->outputs.listen) {
		SAY(" %s %u", options->outputs.address, options->outputs.port);
		say_settings(&options->outputs.served.settings);
	}
	if (!options->outputs.n && !options->outputs.listen)
		say_settings(&options->outputs.settings);
	shared->buffer_pages = options->buffer_pages;
}

static void parse(char **words)
{
	struct options options;
	char *argv[WORDS + 2] = { (char[]){ "./build/kernel_delay" } };
	int argc = 1;

	for (; words[argc - 1]; argc++)
		argv[argc] = words[argc - 1];
	memset(&options, 0xa5, sizeof(options));
	shared->status = options_parse(argc, argv, &options);
	if (!shared->status)
		describe(&options);
	options_clear(&options);
	fflush(NULL);
}

/* If one does and is not among these, there is no plan, which the runner sees. */
static bool may_end(char **words)
{
	while (*words && !strpbrk(*words, "hV?@") && !strstr(*words, "ver") &&
	       !strstr(*words, "--u"))
		words++;
	return *words;
}

static void parse_in_child(char **words)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		parse(words);
		_exit(0);
	}
	need(pid >= 0 && waitpid(pid, &status, 0) == pid);
	if (shared->status < 0)
		shared->status = WIFEXITED(status) ? ENDED + WEXITSTATUS(status) : -1;
}

static int memory_file(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	need(fd >= 0);
	return fd;
}

static void read_back(int fd, char *text, size_t size)
{
	ssize_t n = pread(fd, text, size - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	close(fd);
}

/* Runs options_parse() with its standard output on the file descriptor, or to memory if that
 * is -1. */
static const struct outcome *run_words(char *words[WORDS + 1], int stdout_fd)
{
	int out = memory_file("out"), err = memory_file("err");
	int own_out = dup(STDOUT_FILENO), own_err = dup(STDERR_FILENO);

	memset(shared, 0, sizeof(*shared));
	shared->status = -1;
	fflush(stdout);
	dup2(stdout_fd < 0 ? out : stdout_fd, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	(stdout_fd >= 0 || may_end(words) ? parse_in_child : parse)(words);
	dup2(own_out, STDOUT_FILENO);
	dup2(own_err, STDERR_FILENO);
	close(own_out);
	close(own_err);
	read_back(out, shared->out, sizeof(shared->out));
	read_back(err, shared->err, sizeof(shared->err));
	return shared;
}

/* The line's words are between blanks; those with blanks, and empty ones, are in ''. */
static const struct outcome *run_to(const char *line, int stdout_fd)
{
	char copy[CASE_LEN], *words[WORDS + 1] = { NULL }, *at = copy;

	snprintf(copy, sizeof(copy), "%s", line);
	for (size_t n = 0; *(at += strspn(at, " "));) {
		char end = *at == '\'' ? '\'' : ' ';

		at += end == '\'';
		need(n != WORDS);
		words[n++] = at;
		at = strchrnul(at, end);
		if (*at)
			*at++ = '\0';
	}
	return run_words(words, stdout_fd);
}

static const struct outcome *run(const char *line)
{
	return run_to(line, -1);
}

static unsigned int count_lines(const char *text)
{
	unsigned int lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

/* What a line means; or if it is refused, or ends the process, its status and what is said. */
static const char *result(const struct outcome *got)
{
	static char text[sizeof(got->err) + 32];

	snprintf(text, sizeof(text), "status %d: %s", got->status, got->err);
	return got->status || *got->err || *got->out ? text : got->meaning + (*got->meaning == ' ');
}

__attribute__((unused)) static const struct outcome *run_value(const char *option,
							       const char *value)
{
	char word[CASE_LEN + 32], *words[WORDS + 1] = { word };

	snprintf(word, sizeof(word), "%s=%s", option, value);
	return run_words(words, -1);
}

/* Runs a line in which @ stands for a file with this text. */
static const struct outcome *run_file(const char *line, const char *text, size_t size)
{
	int fd = memory_file("options");
	char whole[CASE_LEN];
	const struct outcome *got;

	need(write(fd, text, size) == (ssize_t)size);
	snprintf(whole, sizeof(whole), "%.*s@/proc/self/fd/%d%s", (int)strcspn(line, "@"), line, fd,
		 strchr(line, '@') + 1);
	got = run(whole);
	close(fd);
	return got;
}

void tests_begin(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	need(shared != MAP_FAILED);
	unsetenv("ARGP_HELP_FMT");
}

#endif
