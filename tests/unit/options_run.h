/* SPDX-License-Identifier: Apache-2.0 */
/* Runs options_parse() in a child, as it may print and may end the process. */
#ifndef TESTS_UNIT_OPTIONS_RUN_H
#define TESTS_UNIT_OPTIONS_RUN_H

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/options/options.h"
#include "tap.h"

#define ARGS 10
#define MS 1000000ULL
#define S (1000 * MS)
#define ENDED 1000 /* status if the child ended the process: this + exit status */

struct outcome {
	int status; /* returned, or ENDED + the exit status */
	struct options options;
	char comm[32], btf_file[32], command[32]; /* "(none)" for NULL */
	char triggers[KD_ROLES][32], list_glob[32];
	char outputs[OUTPUTS_MAX][32];
	char out[32768], err[16384];
};

/* What the child leaves for its parent. */
static struct outcome *shared;

static void copy_name(char to[static 32], const char *from)
{
	snprintf(to, 32, "%s", from ? from : "(none)");
}

static void child(char **args, int out, int err)
{
	char *argv[ARGS + 2] = { (char[]){ "./build/kernel_delay" } };
	int argc = 1;

	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	for (; args[argc - 1]; argc++)
		argv[argc] = args[argc - 1];
	memset(&shared->options, 0xa5, sizeof(shared->options));
	shared->status = options_parse(argc, argv, &shared->options);
	if (!shared->status) {
		copy_name(shared->comm, shared->options.comm);
		copy_name(shared->btf_file, shared->options.btf_file);
		copy_name(shared->command,
			  shared->options.command ? shared->options.command[0] : NULL);
		copy_name(shared->list_glob, shared->options.list_glob);
		for (int role = 0; role < KD_ROLES; role++)
			copy_name(shared->triggers[role], shared->options.triggers[role]);
		for (size_t i = 0; i < shared->options.outputs.n; i++)
			copy_name(shared->outputs[i], shared->options.outputs.all[i].file);
	}
	fflush(NULL);
	_exit(0);
}

static int memory_file(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	if (fd < 0) {
		perror("memfd_create");
		exit(1);
	}
	return fd;
}

static void read_back(int fd, char *text, size_t size)
{
	ssize_t n = pread(fd, text, size - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	close(fd);
}

/* Runs options_parse() with its standard output on the file descriptor, or to
 * memory if that is -1. */
static const struct outcome *run(const char *const args[ARGS], int stdout_fd)
{
	int out = memory_file("out"), err = memory_file("err"), status = 0;
	pid_t pid;

	memset(shared, 0, sizeof(*shared));
	shared->status = -1;
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		char *copies[ARGS + 1] = { NULL };

		for (size_t i = 0; i < ARGS && args[i]; i++)
			copies[i] = strdup(args[i]);
		child(copies, stdout_fd < 0 ? out : stdout_fd, err);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror("fork");
		exit(1);
	}
	if (shared->status < 0)
		shared->status = WIFEXITED(status) ? ENDED + WEXITSTATUS(status) : -1;
	read_back(out, shared->out, sizeof(shared->out));
	read_back(err, shared->err, sizeof(shared->err));
	return shared;
}

/* The arguments as one line, for the name of a test. */
static const char *join(const char *const args[ARGS], char line[static 256])
{
	size_t used = 0;

	line[0] = '\0';
	for (size_t i = 0; i < ARGS && args[i] && used < 200; i++)
		used += (size_t)snprintf(line + used, 256 - used, "%s%.50s", i ? " " : "", args[i]);
	return line;
}

static unsigned int count_lines(const char *text)
{
	unsigned int lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

/* A command line that is refused, and what the message must say. */
struct refusal {
	const char *args[ARGS];
	const char *names, *says;
};

__attribute__((unused)) static void check_refusal(const struct refusal *want)
{
	const struct outcome *got = run(want->args, -1);
	unsigned int lines = count_lines(got->err);
	char line[256];

	join(want->args, line);
	is_i64(got->status, 64, "'%s' is refused with a returned 64", line);
	is_str(got->out, "", "'%s': nothing on stdout", line);
	ok(lines == 1 || lines == 2, "'%s': one or two lines", line);
	ok(!strncmp(got->err, "kernel_delay: ", 14), "'%s': our message", line);
	ok(!strpbrk(got->err, "\x1b\t\r\xff"), "'%s': no control characters", line);
	ok(strstr(got->err, want->names) && strstr(got->err, want->says),
	   "'%s': names %s, says '%s'", line, want->names, want->says);
	if (!strstr(got->err, want->says))
		tap_print_string("err", got->err);
}

static void options_run_begin(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	unsetenv("ARGP_HELP_FMT");
}

static void options_run_end(void)
{
	munmap(shared, sizeof(*shared));
}

#endif
