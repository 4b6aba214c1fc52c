/* SPDX-License-Identifier: Apache-2.0 */
/* User registers of threads that sleep in a system call. They are not stopped for that. */
#ifndef PART_REGISTERS_H
#define PART_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/kernel_delay.h"

struct session;

struct user_registers {
	uint64_t all[KD_REGS]; /* by DWARF number */
	uint64_t missing;      /* as in struct stack_copy */
	int64_t call;          /* number, or negative */
	uint64_t argument;     /* its first */
};

/* Reads them. The thread may have gone on meanwhile. False if they cannot be read. */
bool session_registers(const struct session *session, const struct kd_thread *thread,
		       struct user_registers *registers);

#endif
