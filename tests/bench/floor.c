/* SPDX-License-Identifier: Apache-2.0 */
/* Usage: floor TGID. Attaches the programs of floor.bpf.c that this kernel has
 * tracepoints for, makes the kernel count the run time of every BPF program, says
 * "ready" and stays until stdin is closed. */
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

static void programs_select(struct floor *skel)
{
	struct bpf_program *program;

	bpf_object__for_each_program (program, skel->obj) {
		const char *tracepoint = strchr(bpf_program__section_name(program), '/') + 1;

		if (!bpf_program__set_attach_target(program, 0, tracepoint))
			bpf_program__set_autoload(program, true);
	}
}

int main(int argc, char **argv)
{
	struct floor *skel;

	if (argc != 2) {
		fprintf(stderr, "usage: floor TGID\n");
		return 64;
	}
	libbpf_set_print(print_nothing);
	skel = floor__open();
	if (!skel)
		return fail("cannot open the BPF object");
	skel->rodata->floor_tgid = (__u32)strtoul(argv[1], NULL, 10);
	programs_select(skel);
	if (floor__load(skel))
		return fail("cannot load the BPF programs");
	if (floor__attach(skel))
		return fail("cannot attach the BPF programs");
	if (bpf_enable_stats(BPF_STATS_RUN_TIME) < 0)
		return fail("cannot have the run time counted");
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	floor__destroy(skel);
	return 0;
}
