// SPDX-License-Identifier: Apache-2.0
#include "registers.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <string.h>

#include "cli/base/proc_file.h"
#include "cli/capture/session/config.h"
#include "cli/capture/session/parts.h"
#include "kernel_delay.skel.h"

struct registers {
	const __u64 *at; /* where they are in what the BPF side reads; NULL: not known yet */
};

static exit_status registers_select(struct session *session)
{
	const struct options *options = session->config->options;

	bpf_program__set_autoload(session->skel->progs.kd_stack_top_read,
				  options->stacks && options->stack_bytes);
	return 0;
}

SESSION_PART(registers) = { SESSION_STATE(registers), .select = registers_select };

/* Words of struct pt_regs by DWARF number; and those of the call and its first argument. */
#if defined(__x86_64__)
static const unsigned char words[KD_REGS] = { 10, 12, 11, 5, 13, 14, 4, 19, 9,
					      8,  7,  6,  3, 2,  1,  0, 16 };
#define WORDS 21
#define CALL_WORD 15
#define ARGUMENT_WORD 14
#else
static const unsigned char words[KD_REGS] = { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
					      11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
					      22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32 };
#define WORDS 36
#define CALL_WORD 35
#define ARGUMENT_WORD 34
#endif

static bool proc_read(pid_t tid, struct user_registers *registers)
{
	struct proc_call call;

	if (!proc_call_read(&call, tid))
		return false;
	*registers = (struct user_registers){ .call = call.number,
					      .argument = call.arguments[0],
					      .missing = ~(1ULL << KD_REG_SP | 1ULL << KD_REG_IP) };
	registers->all[KD_REG_SP] = call.sp;
	registers->all[KD_REG_IP] = call.ip;
	return true;
}

/* Has the BPF side read the top of the thread's kernel stack. */
static bool top_read(const struct session *session, const struct kd_thread *thread)
{
	uint64_t arguments[1] = { thread->task };
	LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = arguments,
		    .ctx_size_in = sizeof(arguments));
	int fd = bpf_program__fd(session->skel->progs.kd_stack_top_read);

	return fd >= 0 && !bpf_prog_test_run_opts(fd, &options) &&
	       session->skel->bss->kd_stack_top_tid == thread->tid;
}

/* Finds the registers of which two are known. Kernels differ in how many words are above them. */
static const __u64 *top_find(const struct session *session, const struct user_registers *known)
{
	const __u64 *top = session->skel->bss->kd_stack_top;

	for (const __u64 *at = top + KD_STACK_TOP - WORDS; at >= top; at--)
		if (at[words[KD_REG_SP]] == known->all[KD_REG_SP] &&
		    at[words[KD_REG_IP]] == known->all[KD_REG_IP])
			return at;
	return NULL;
}

/* /proc/TID/syscall takes some 10 us, and has not all of them; the other way 2. */
bool session_registers(const struct session *session, const struct kd_thread *thread,
		       struct user_registers *registers)
{
	struct registers *known = session->registers;
	bool has_top = top_read(session, thread);

	if (!has_top || !known->at) {
		if (!proc_read((pid_t)thread->tid, registers))
			return false;
		known->at = has_top ? top_find(session, registers) : known->at;
	}
	if (!has_top || !known->at)
		return true;
	for (unsigned int i = 0; i < KD_REGS; i++)
		registers->all[i] = known->at[words[i]];
	registers->missing = 0;
	registers->call = (int32_t)known->at[CALL_WORD];
	registers->argument = known->at[ARGUMENT_WORD];
	return true;
}
