// SPDX-License-Identifier: Apache-2.0
#include "registers.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <string.h>

#include "cli/capture/session/config.h"
#include "cli/capture/session/parts.h"
#include "kernel_delay.skel.h"

static exit_status registers_select(struct session *session)
{
	const struct options *options = session->config->options;

	bpf_program__set_autoload(session->skel->progs.kd_stack_top_read,
				  options->stacks && options->stack_bytes);
	return 0;
}

SESSION_PART(registers) = { .select = registers_select };

/* Words of struct pt_regs by DWARF number, and their number without what kernels add. */
#if defined(__x86_64__)
static const unsigned char words[KD_REGS] = { 10, 12, 11, 5, 13, 14, 4, 19, 9,
					      8,  7,  6,  3, 2,  1,  0, 16 };
#define WORDS 21
#else
static const unsigned char words[KD_REGS] = { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
					      11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
					      22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32 };
#define WORDS 34
#endif

bool session_registers(const struct session *session, uint64_t task, uint64_t regs[static KD_REGS])
{
	uint64_t arguments[1] = { task };
	LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = arguments,
		    .ctx_size_in = sizeof(arguments));
	const __u64 *top = session->skel->bss->kd_stack_top;
	int fd = bpf_program__fd(session->skel->progs.kd_stack_top_read);

	if (fd < 0 || bpf_prog_test_run_opts(fd, &options))
		return false;
	for (const __u64 *at = top + KD_STACK_TOP - WORDS; at >= top; at--) {
		if (at[words[KD_REG_SP]] != regs[KD_REG_SP] ||
		    at[words[KD_REG_IP]] != regs[KD_REG_IP])
			continue;
		for (unsigned int i = 0; i < KD_REGS; i++)
			regs[i] = at[words[i]];
		return true;
	}
	return false;
}
