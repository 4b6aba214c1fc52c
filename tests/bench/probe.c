/* SPDX-License-Identifier: Apache-2.0 */
/* Usage: probe PID FUNCTION. Attaches the programs of probe.bpf.c to a function of
 * the process's executable, makes the kernel count the run time of every BPF
 * program, says "ready" and stays until stdin is closed. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe.skel.h"

static int fail(const char *what)
{
	fprintf(stderr, "probe: %s: %s\n", what, strerror(errno));
	return 1;
}

static struct bpf_link *attach(const struct bpf_program *program, pid_t pid, const char *function,
			       bool at_return)
{
	LIBBPF_OPTS(bpf_uprobe_opts, options, .func_name = function, .retprobe = at_return);
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	return bpf_program__attach_uprobe_opts(program, pid, path, 0, &options);
}

int main(int argc, char **argv)
{
	struct probe *skel;
	pid_t pid;

	if (argc != 3) {
		fprintf(stderr, "usage: probe PID FUNCTION\n");
		return 64;
	}
	pid = (pid_t)strtol(argv[1], NULL, 10);
	libbpf_set_print(NULL);
	skel = probe__open_and_load();
	if (!skel)
		return fail("cannot load the BPF programs");
	skel->links.empty_entry = attach(skel->progs.empty_entry, pid, argv[2], false);
	skel->links.empty_return = attach(skel->progs.empty_return, pid, argv[2], true);
	if (!skel->links.empty_entry || !skel->links.empty_return)
		return fail("cannot attach the BPF programs");
	if (bpf_enable_stats(BPF_STATS_RUN_TIME) < 0)
		return fail("cannot have the run time counted");
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	probe__destroy(skel);
	return 0;
}
