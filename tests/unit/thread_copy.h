/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel's programs would have copied of a thread: its registers and its stack. */
#ifndef TESTS_UNIT_THREAD_COPY_H
#define TESTS_UNIT_THREAD_COPY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "cli/stack/stack_copy.h"

/* By DWARF number: System V ABI for AMD64, figure 3.36. */
static void thread_copy_registers(struct stack_copy *copy, const struct user_regs_struct *regs)
{
#if defined(__x86_64__)
	const uint64_t all[KD_REGS] = { regs->rax, regs->rdx, regs->rcx, regs->rbx, regs->rsi,
					regs->rdi, regs->rbp, regs->rsp, regs->r8,  regs->r9,
					regs->r10, regs->r11, regs->r12, regs->r13, regs->r14,
					regs->r15, regs->rip };

	memcpy(copy->regs, all, sizeof(all));
#else
	memcpy(copy->regs, regs->regs, sizeof(regs->regs));
	copy->regs[KD_REG_SP] = regs->sp;
	copy->regs[KD_REG_IP] = regs->pc;
#endif
}

/* Of a thread that is stopped under ptrace. The caller frees the data. Returns whether that
 * worked. */
static bool thread_copy(pid_t tid, struct stack_copy *copy)
{
	struct user_regs_struct regs;
	struct iovec vector = { &regs, sizeof(regs) };
	static uint8_t data[KD_STACK_MAX];
	uint64_t page;

	*copy = (struct stack_copy){ .size = 0 };
	if (ptrace(PTRACE_GETREGSET, tid, 1, &vector))
		return false;
	thread_copy_registers(copy, &regs);
	copy->start = (copy->regs[KD_REG_SP] - 128) & ~7ULL;
	page = copy->start / KD_STACK_PAGE;
	for (unsigned int i = 0; i < KD_STACK_MAX / KD_STACK_PAGE; i++) {
		uint64_t from = i ? (page + i) * KD_STACK_PAGE : copy->start;
		size_t size = (page + i + 1) * KD_STACK_PAGE - from;
		struct iovec local = { data + copy->size, size };
		struct iovec remote = { (void *)from, size }; /* NOLINT: of the other process */

		if (process_vm_readv(tid, &local, 1, &remote, 1, 0) != (ssize_t)size)
			break;
		copy->pages[i / 64] |= 1ULL << (i % 64);
		copy->size += size;
	}
	copy->data = malloc(copy->size); /* no larger, for the sanitizer */
	return copy->size && memcpy((void *)copy->data, data, copy->size);
}

/* Stops a thread, wherever it is. */
static bool thread_stop(pid_t tid)
{
	return !ptrace(PTRACE_SEIZE, tid, NULL, NULL) &&
	       !ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) && waitpid(tid, NULL, __WALL) == tid;
}

#endif
