/* SPDX-License-Identifier: Apache-2.0 */
/* Usage: floor TGID | floor empty. Attaches the programs of floor.bpf.c that this kernel has
 * tracepoints for, makes the kernel count the run time of every BPF program, says
 * "ready" and stays until stdin is closed. With "empty" only those that do nothing, on the
 * tracepoints that have both, and nothing is counted: what calling programs there costs. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "floor.skel.h"

static int fail(const char *what)
{
	fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
	return 1;
}

static int print_nothing(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

static bool has_floor(struct floor *skel, const char *tracepoint)
{
	char name[64];

	snprintf(name, sizeof(name), "floor_%s", tracepoint);
	return bpf_object__find_program_by_name(skel->obj, name);
}

static void programs_select(struct floor *skel, bool empty_only)
{
	struct bpf_program *program;

	bpf_object__for_each_program (program, skel->obj) {
		const char *tracepoint = strchr(bpf_program__section_name(program), '/') + 1;
		bool is_empty = !strncmp(bpf_program__name(program), "empty_", strlen("empty_"));

		if (empty_only && (!is_empty || !has_floor(skel, tracepoint)))
			continue;
		if (!bpf_program__set_attach_target(program, 0, tracepoint))
			bpf_program__set_autoload(program, true);
	}
}

int main(int argc, char **argv)
{
	bool empty_only = argc == 2 && !strcmp(argv[1], "empty");
	struct floor *skel;

	if (argc != 2) {
		fprintf(stderr, "usage: floor TGID|empty\n");
		return 64;
	}
	libbpf_set_print(print_nothing);
	skel = floor__open();
	if (!skel)
		return fail("cannot open the BPF object");
	skel->rodata->floor_tgid = (__u32)strtoul(argv[1], NULL, 10);
	programs_select(skel, empty_only);
	if (floor__load(skel))
		return fail("cannot load the BPF programs");
	if (floor__attach(skel))
		return fail("cannot attach the BPF programs");
	if (!empty_only && bpf_enable_stats(BPF_STATS_RUN_TIME) < 0)
		return fail("cannot have the run time counted");
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	floor__destroy(skel);
	return 0;
}
