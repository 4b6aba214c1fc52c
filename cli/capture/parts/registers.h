/* SPDX-License-Identifier: Apache-2.0 */
/* User registers of threads that sleep, which are not stopped for that. */
#ifndef PART_REGISTERS_H
#define PART_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/kernel_delay.h"

struct session;

/* Reads the registers, by DWARF number, of the task at an address, as struct kd_thread has it.
 * Those of the stack pointer and the instruction are known, and show that the others are its own.
 * Returns false if they are not, or the run does not look for them. */
bool session_registers(const struct session *session, uint64_t task, uint64_t regs[static KD_REGS]);

#endif
